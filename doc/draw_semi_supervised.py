"""Draw what a forest makes of two labels, alone and with unlabelled rows, as a PNG file.

    python doc/draw_semi_supervised.py --folder pictures

Needs nothing but NumPy, scikit-learn and obtree. ``conf.py`` draws the picture when the
documentation is built.
"""

import argparse
from pathlib import Path

import numpy as np
from draw_boundaries import COLOURS, GAP, PAPER, SIZE, SPAN, draw_panel, write_png
from sklearn.datasets import make_moons

from obtree import ObliqueForestClassifier, SemiSupervisedForestClassifier

GREY = 110.0


def make_rows(n=400, seed=0):
    """Make two moons with a label each.

    Returns
    -------
    X : ndarray of float32, shape (n, 2)
    y : ndarray of int, shape (n,)
        -1 in all rows but two.
    """
    X, truth = make_moons(n, noise=0.07, random_state=seed)
    X = (1.8 * (X - X.mean(axis=0))).astype(np.float32)
    y = np.full(n, -1)
    for c in (0, 1):
        y[np.flatnonzero(truth == c)[0]] = c
    return X, y


def draw_semi_supervised(folder):
    """Draw the forest of two labels beside that of all rows.

    Parameters
    ----------
    folder : path-like
        Where ``semi_supervised.png`` goes; made if need be.
    """
    X, y = make_rows()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known = y >= 0
    alone = ObliqueForestClassifier(random_state=0).fit(X[known], y[known])
    together = SemiSupervisedForestClassifier(random_state=0).fit(X, y)
    panels = []
    for model in (alone, together):
        panel = draw_panel(model, X[:0], y[:0])
        for x, label in sorted(zip(X.tolist(), y.tolist(), strict=True), key=lambda row: row[1]):
            row = int((SPAN - x[1]) / (2 * SPAN) * SIZE)
            column = int((x[0] + SPAN) / (2 * SPAN) * SIZE)
            if label < 0:
                panel[row : row + 2, column : column + 2] = GREY
            else:
                panel[max(row - 6, 0) : row + 7, max(column - 6, 0) : column + 7] = PAPER
                panel[max(row - 5, 0) : row + 6, max(column - 5, 0) : column + 6] = COLOURS[label]
        panels += [panel, np.full((SIZE, GAP, 3), PAPER)]
    write_png(np.concatenate(panels[:-1], axis=1).astype(np.uint8), folder / "semi_supervised.png")


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the file")
    draw_semi_supervised(parser.parse_args().folder)


if __name__ == "__main__":
    main()
