"""Draw how the error falls while rows are labelled one by one, as a PNG file.

    python doc/draw_active.py --folder pictures

Needs nothing but NumPy and obtree. ``conf.py`` draws the picture when the documentation is built.
"""

import argparse
from pathlib import Path

import numpy as np
from draw_convergence import draw_curves

from obtree.bench.active import label_one_by_one, make_banana

N_LABELS = 100
N_SEEDS = 6
N_TREES = 20


def draw_active(folder):
    """Label rows by what a forest knows least about, and at random, and draw the mean errors.

    Parameters
    ----------
    folder : path-like
        Where ``active.png`` goes; made if need be.
    """
    X, y = make_banana(2000)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    curves = [
        np.mean(
            [label_one_by_one(X, y, kind, N_LABELS, seed, N_TREES)[1] for seed in range(N_SEEDS)],
            axis=0,
        )
        for kind in ("random", "total")
    ]
    draw_curves(curves, folder / "active.png")


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the file")
    draw_active(parser.parse_args().folder)


if __name__ == "__main__":
    main()
