"""Draw a Swiss roll and digits, and what a forest unrolls them to, as PNG files.

    python doc/draw_embedding.py --folder pictures

Needs nothing but NumPy, scikit-learn's data sets and obtree. ``conf.py`` draws the pictures when
the documentation is built.
"""

import argparse
from pathlib import Path

import numpy as np
from draw_boundaries import write_png
from sklearn.datasets import load_digits, make_swiss_roll

from obtree import ForestEmbedding, ObliqueForestClassifier

SIZE, MARGIN, GAP = 300, 12, 16
# From one end of the roll to the other; and one colour a digit.
RAMP = np.array([[59, 76, 192], [86, 170, 172], [120, 185, 90], [240, 190, 70], [196, 60, 50]])
TEN = np.array(
    [
        *([31, 119, 180], [255, 127, 14], [44, 160, 44], [214, 39, 40], [148, 103, 189]),
        *([140, 86, 75], [227, 119, 194], [110, 110, 110], [188, 189, 34], [23, 190, 207]),
    ]
)


def colour_positions(position):
    """Return a colour for each number, from the smallest to the largest.

    Parameters
    ----------
    position : ndarray of shape (n,)

    Returns
    -------
    colours : ndarray of shape (n, 3)
    """
    place = (position - position.min()) / np.ptp(position) * (len(RAMP) - 1)
    return np.stack([np.interp(place, np.arange(len(RAMP)), part) for part in RAMP.T], axis=1)


def scatter(points, colours):
    """Return a square panel with points.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
    colours : ndarray of shape (n, 3)

    Returns
    -------
    panel : ndarray of shape (SIZE, SIZE, 3)
    """
    panel = np.full((SIZE, SIZE, 3), 255.0)
    share = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    place = np.round(MARGIN + share * (SIZE - 2 * MARGIN)).astype(int)
    for (x, y), colour in zip(place, colours, strict=True):
        panel[SIZE - y - 1 : SIZE - y + 2, x - 1 : x + 2] = colour
    return panel


def show_matrix(matrix):
    """Return a square panel with a matrix, dark where it is large.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)

    Returns
    -------
    panel : ndarray of shape (SIZE, SIZE, 3)
    """
    edges = np.linspace(0, len(matrix), SIZE + 1).astype(int)[:-1]
    sums = np.add.reduceat(np.add.reduceat(matrix, edges, axis=0), edges, axis=1)
    dark = np.sqrt(sums / np.quantile(sums, 0.999)).clip(0.0, 1.0)[:, :, None]
    return 255.0 + dark * (np.array([30.0, 60.0, 120.0]) - 255.0)


def write_panels(panels, path):
    """Write panels side by side.

    Parameters
    ----------
    panels : list of ndarray
    path : path-like
        The file to write.
    """
    gap = np.full((SIZE, GAP, 3), 255.0)
    parts = [part for panel in panels for part in (panel, gap)][:-1]
    write_png(np.concatenate(parts, axis=1).astype(np.uint8), path)


def draw_embedding(folder):
    """Draw the roll, what becomes of it, and digits in two dimensions and as proximities.

    Parameters
    ----------
    folder : path-like
        Where ``embedding.png`` and ``proximity.png`` go; made if need be.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    X, position = make_swiss_roll(2000, random_state=0)
    found = ForestEmbedding(random_state=0).fit_transform(X)
    colours = colour_positions(position)
    digits, y = load_digits(return_X_y=True)
    flat = ForestEmbedding(random_state=0).fit_transform(digits)
    # Ranks spread out what would be a few dense spots.
    flat = flat.argsort(axis=0).argsort(axis=0)
    panels = [scatter(X[:, [0, 2]], colours), scatter(found, colours), scatter(flat, TEN[y])]
    write_panels(panels, folder / "embedding.png")
    order = np.argsort(y, kind="stable")
    forest = ObliqueForestClassifier(200, splitter="axis", random_state=0).fit(digits, y)
    shown = [forest.proximity(digits, kind=kind).toarray() for kind in ("leaf", "oob", "gap")]
    panels = [show_matrix(matrix[np.ix_(order, order)]) for matrix in shown]
    write_panels(panels, folder / "proximity.png")


def main():
    parser = argparse.ArgumentParser(description="Draw embeddings and proximities.")
    parser.add_argument("--folder", default="pictures")
    draw_embedding(parser.parse_args().folder)


if __name__ == "__main__":
    main()
