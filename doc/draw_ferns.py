"""Draw what random ferns make of two dimensions, from one fern to many, as a PNG file.

    python doc/draw_ferns.py --folder pictures

Needs nothing but NumPy and obtree. ``conf.py`` draws the picture when the documentation is built.
"""

import argparse
from pathlib import Path

import numpy as np
from draw_boundaries import GAP, PAPER, SIZE, draw_panel, make_bands, write_png

from obtree import FernClassifier

N_FERNS = (1, 5, 50)
DEPTH = 6


def draw_ferns(folder):
    """Draw the posteriors of one fern, of a few and of many, side by side.

    Parameters
    ----------
    folder : path-like
        Where ``ferns.png`` goes; made if need be.
    """
    X, y = make_bands()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    panels = []
    for n_ferns in N_FERNS:
        ferns = FernClassifier(n_ferns, depth=DEPTH, splitter="axis_random", random_state=0).fit(
            X, y
        )
        panels += [draw_panel(ferns, X, y), np.full((SIZE, GAP, 3), PAPER)]
    write_png(np.concatenate(panels[:-1], axis=1).astype(np.uint8), folder / "ferns.png")


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the file")
    draw_ferns(parser.parse_args().folder)


if __name__ == "__main__":
    main()
