"""Draw what splitters make of two dimensions: a tree beside a forest, as a PNG file.

    python doc/draw_boundaries.py --splitter axis oc1 --folder /tmp

Needs nothing but NumPy and obtree. ``conf.py`` draws the pictures of the user guide when the
documentation is built.
"""

import argparse
import struct
import zlib
from pathlib import Path

import numpy as np

from obtree import ObliqueForestClassifier, ObliqueTreeClassifier
from obtree.splitter import RotationSplitter, available, resolve_splitter

SIZE = 300  # pixels of a panel's side
GAP = 12
SPAN = 3.2  # coordinates run from -SPAN to SPAN
COLOURS = np.array([[222, 119, 66], [60, 126, 196], [95, 160, 92]], dtype=float)
PAPER = 255.0
TREE_DEPTH = 4
N_TREES = 50


def make_bands(n=240, seed=0):
    """Make three classes: two oblique bands, and a ring around the upper end of one.

    Parameters
    ----------
    n : int, default=240
        Number of rows.
    seed : int, default=0
        Seed of all that is random.

    Returns
    -------
    X : ndarray of float32, shape (n, 2)
    y : ndarray of int, shape (n,)
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    along = rng.uniform(-2.6, 2.6, n)
    across = np.where(y == 0, 0.75, -0.75) + 0.28 * rng.normal(size=n)
    turn = rng.uniform(0, 2 * np.pi, n)
    X = np.c_[along - 0.8 * across, 0.8 * along + across] / 1.2
    ring = np.c_[1.7 + 0.75 * np.cos(turn), -1.6 + 0.75 * np.sin(turn)]
    X = np.where((y == 2)[:, None], ring + 0.16 * rng.normal(size=(n, 2)), X)
    return X.astype(np.float32), y


def draw_panel(model, X, y):
    """Colour each point of the plane by a model's probabilities and put the rows on it.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y : ndarray
        The rows.

    Returns
    -------
    panel : ndarray of float, shape (SIZE, SIZE, 3)
    """
    ticks = (np.arange(SIZE) + 0.5) / SIZE * 2 * SPAN - SPAN
    grid = np.stack(np.meshgrid(ticks, -ticks), axis=-1).reshape(-1, 2)
    proba = model.predict_proba(grid.astype(np.float32))
    panel = (PAPER + 0.55 * (proba @ COLOURS[: proba.shape[1]] - PAPER)).reshape(SIZE, SIZE, 3)
    rows = ((SPAN - X[:, 1]) / (2 * SPAN) * SIZE).astype(int)
    columns = ((X[:, 0] + SPAN) / (2 * SPAN) * SIZE).astype(int)
    for row, column, label in zip(rows, columns, y, strict=True):
        panel[max(row - 3, 0) : row + 4, max(column - 3, 0) : column + 4] = PAPER
        panel[max(row - 2, 0) : row + 3, max(column - 2, 0) : column + 3] = COLOURS[label]
    return panel


def draw_picture(name, path):
    """Draw one splitter, or "rotation" for axis splits of rotated features.

    Parameters
    ----------
    name : str
        A name of a splitter, or "rotation".
    path : path-like
        The file to write.
    """
    X, y = make_bands()
    splitter, rotation = name, None
    single = resolve_splitter("axis" if name == "rotation" else name)
    if name == "rotation":
        splitter, rotation = "axis", "pca"
        single = RotationSplitter(single, group_size=2)
    tree = ObliqueTreeClassifier(splitter=single, max_depth=TREE_DEPTH, random_state=0)
    forest = ObliqueForestClassifier(N_TREES, splitter=splitter, rotation=rotation, random_state=0)
    panels = [draw_panel(model.fit(X, y), X, y) for model in (tree, forest)]
    gap = np.full((SIZE, GAP, 3), PAPER)
    write_png(np.concatenate([panels[0], gap, panels[1]], axis=1).astype(np.uint8), path)


def write_png(pixels, path):
    """Write an image.

    Parameters
    ----------
    pixels : ndarray of uint8, shape (height, width, 3)
        Red, green and blue.
    path : path-like
        The file to write.
    """
    height, width, _ = pixels.shape
    # Every line begins with the number of its filter: none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n"
    for kind, body in chunks:
        data += struct.pack(">I", len(body)) + kind + body
        data += struct.pack(">I", zlib.crc32(kind + body))
    Path(path).write_bytes(data)


def draw_all(folder, names=None):
    """Draw some splitters, by default all there are.

    Parameters
    ----------
    folder : path-like
        Where the files ``<name>.png`` go; made if need be.
    names : sequence of str, default=None
        What to draw.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or [*available(), "rotation"]:
        draw_picture(name, folder / f"{name}.png")


def main():
    """Draw what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splitter", nargs="+", choices=[*available(), "rotation"])
    parser.add_argument("--folder", default="pictures", help="where to write the files")
    args = parser.parse_args()
    draw_all(args.folder, args.splitter)


if __name__ == "__main__":
    main()
