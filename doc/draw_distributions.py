"""Draw what a forest predicts of one feature, with its intervals, as a PNG file.

    python doc/draw_distributions.py --folder pictures

Needs nothing but NumPy and obtree. ``conf.py`` draws the picture when the documentation is built.
"""

import argparse
from pathlib import Path

import numpy as np
from draw_boundaries import COLOURS, write_png

from obtree import ObliqueForestRegressor

WIDTH, HEIGHT = 560, 300
LOW, HIGH = -3.2, 3.2
N_ROWS = 600


def make_waves(n, seed=0):
    """Make a wave of one feature whose noise grows to the right.

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
    x = rng.uniform(0.0, 1.0, n)
    y = np.sin(10.0 * x) * (1.2 - 0.5 * x) + rng.normal(size=n) * (0.1 + 0.8 * x**2)
    return x[:, None], y


def draw_distributions(folder):
    """Fit a forest to the wave and draw its 50 % and 90 % intervals, its mean and the rows.

    Parameters
    ----------
    folder : path-like
        Where ``distributions.png`` goes; made if need be.
    """
    X, y = make_waves(N_ROWS)
    forest = ObliqueForestRegressor(200, splitter="axis", min_samples_leaf=10, random_state=0).fit(
        X, y
    )
    draw_bands(forest, X, y, Path(folder) / "distributions.png")


def draw_bands(forest, X, y, path):
    """Draw 50 % and 90 % intervals of a forest of one feature, its mean and the rows.

    Parameters
    ----------
    forest : ObliqueForestRegressor
    X : ndarray of shape (n, 1)
        From 0 to 1.
    y : ndarray of shape (n,)
    path : Path
        The file to write; its folder is made if need be.
    """
    columns = (np.arange(WIDTH) + 0.5)[:, None] / WIDTH
    levels = forest.predict(columns, quantiles=[0.05, 0.25, 0.75, 0.95])
    place = np.linspace(HIGH, LOW, HEIGHT)[:, None]
    pixels = np.full((HEIGHT, WIDTH, 3), 255.0)
    for k, share in ((0, 0.25), (1, 0.5)):
        inside = (place >= levels[:, k]) & (place <= levels[:, 3 - k])
        pixels[inside] = (1.0 - share) * 255.0 + share * COLOURS[1]
    for x, value in zip(X[:, 0], y, strict=True):
        across, down = int(x * WIDTH), _find_line(value)
        pixels[max(down - 1, 0) : down + 1, max(across - 1, 0) : across + 1] = COLOURS[0]
    for across, value in enumerate(forest.predict(columns)):
        down = _find_line(value)
        pixels[down - 1 : down + 1, across] = 0.0
    path.parent.mkdir(parents=True, exist_ok=True)
    write_png(pixels.astype(np.uint8), path)


def _find_line(value):
    """Return the line of the picture that shows a value."""
    return int(np.clip((HIGH - value) / (HIGH - LOW) * HEIGHT, 1, HEIGHT - 1))


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the file")
    draw_distributions(parser.parse_args().folder)


if __name__ == "__main__":
    main()
