"""Draw what a forest of linear Gaussian leaves predicts of one feature, as a PNG file.

    python doc/draw_lines.py --folder pictures

Needs nothing but NumPy and obtree. ``conf.py`` draws the picture when the documentation is built.
"""

import argparse
from pathlib import Path

import numpy as np
from draw_distributions import draw_bands

from obtree import ObliqueForestRegressor

N_ROWS = 400
GAP = (0.55, 0.72)


def make_lines(n, seed=0):
    """Make broken lines of one feature whose noise differs, with nothing in a gap.

    Parameters
    ----------
    n : int
        Number of rows.
    seed : int, default=0

    Returns
    -------
    X : ndarray of shape (n, 1)
    y : ndarray of shape (n,)
    """
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.0, 1.0 - GAP[1] + GAP[0], n)
    x[x > GAP[0]] += GAP[1] - GAP[0]
    y = np.where(x < 0.3, 8.0 * x - 2.0, 1.0 - 6.0 * (x - 0.3))
    y = np.where(x > GAP[1], 12.0 * (x - GAP[1]) - 2.0, y)
    return x[:, None], y + rng.normal(size=n) * np.where(x < 0.3, 0.4, 0.12)


def draw_lines(folder):
    """Fit a forest to broken lines and draw its intervals, its mean and the rows.

    Parameters
    ----------
    folder : path-like
        Where ``linear_gaussian.png`` goes; made if need be.
    """
    X, y = make_lines(N_ROWS)
    forest = ObliqueForestRegressor(
        200,
        splitter="axis",
        criterion="linear_gaussian",
        min_samples_leaf=25,
        random_state=0,
    ).fit(X, y)
    draw_bands(forest, X, y, Path(folder) / "linear_gaussian.png")


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the file")
    draw_lines(parser.parse_args().folder)


if __name__ == "__main__":
    main()
