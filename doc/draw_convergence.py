"""Draw how the objectives of optimised trees fall, step by step, as PNG files.

    python doc/draw_convergence.py --folder pictures

Needs nothing but NumPy, scikit-learn's digits and obtree. ``conf.py`` draws the pictures when
the documentation is built.
"""

import argparse
from pathlib import Path

import numpy as np
from draw_boundaries import COLOURS, write_png
from sklearn.datasets import load_digits

from obtree import DisjunctiveTreeClassifier, NonGreedyTreeClassifier, TAOTreeClassifier

WIDTH, HEIGHT, MARGIN = 560, 280, 14


def draw_curves(curves, path):
    """Draw falling curves, each as a fraction of where the highest begins.

    Parameters
    ----------
    curves : list of ndarray
        Values per iteration.
    path : path-like
        The file to write.
    """
    pixels = np.full((HEIGHT, WIDTH, 3), 255.0)
    pixels[HEIGHT - MARGIN, MARGIN : WIDTH - MARGIN] = 90.0
    pixels[MARGIN : HEIGHT - MARGIN, MARGIN] = 90.0
    longest = max(len(curve) for curve in curves) - 1
    top = max(curve.max() for curve in curves)
    for curve, colour in zip(curves, COLOURS, strict=False):
        at = np.linspace(0, len(curve) - 1, 4000)
        across = MARGIN + at / longest * (WIDTH - 2 * MARGIN - 1)
        height = np.interp(at, np.arange(len(curve)), curve) / top
        down = HEIGHT - MARGIN - height * (HEIGHT - 2 * MARGIN - 1)
        for shift in (-1, 0, 1):
            pixels[np.round(down).astype(int) + shift, np.round(across).astype(int)] = colour
        for k, value in enumerate(curve):
            x = round(MARGIN + k / longest * (WIDTH - 2 * MARGIN - 1))
            y = round(HEIGHT - MARGIN - value / top * (HEIGHT - 2 * MARGIN - 1))
            pixels[max(y - 3, 0) : y + 4, max(x - 3, 0) : x + 4] = colour
    write_png(pixels.astype(np.uint8), path)


def draw_convergence(folder):
    """Fit trees to scikit-learn's digits and draw their objectives.

    Parameters
    ----------
    folder : path-like
        Where ``tao.png``, ``nongreedy.png`` and ``disjunctive.png`` go; made if need be.
    """
    X, y = load_digits(return_X_y=True)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {
        "tao": [
            TAOTreeClassifier(init="random", max_depth=5, n_iter=10, tol=0.0, random_state=0),
            TAOTreeClassifier(init="axis", max_depth=5, n_iter=10, tol=0.0, random_state=0),
        ],
        "nongreedy": [NonGreedyTreeClassifier(max_depth=depth, random_state=0) for depth in (4, 6)],
        "disjunctive": [
            DisjunctiveTreeClassifier(shared_weights=shared, random_state=0)
            for shared in (False, True)
        ],
    }
    for name, trees in pictures.items():
        draw_curves([tree.fit(X, y).objective_ for tree in trees], folder / f"{name}.png")


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the files")
    draw_convergence(parser.parse_args().folder)


if __name__ == "__main__":
    main()
