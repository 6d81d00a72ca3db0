"""Draw densities of two dimensions, their samples and a conditional, as a PNG file.

    python doc/draw_density.py --folder pictures

``conf.py`` draws the picture when the documentation is built.
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from obtree import DensityForest

N_ROWS = 1500


def draw_spirals(rng):
    """Rows on two spirals."""
    angle = 1.0 + 3 * np.pi * np.sqrt(rng.random(N_ROWS))
    turn = angle + np.pi * rng.integers(0, 2, N_ROWS)
    X = angle[:, np.newaxis] * np.column_stack([np.cos(turn), np.sin(turn)])
    return X + 0.35 * rng.normal(size=(N_ROWS, 2))


def draw_mixture(rng):
    """Rows of four Gaussians, one of them narrow."""
    centres = np.array([[-6, -4], [5, 5], [6, -6], [-4, 6]])
    shapes = np.array([[[2, 1], [0, 1]], [[1, 0], [-2, 1]], [[3, 0], [0, 0.4]], [[1, 0], [0, 1]]])
    heap = rng.integers(0, 4, N_ROWS)
    return centres[heap] + np.einsum("nij,nj->ni", shapes[heap], rng.normal(size=(N_ROWS, 2)))


def draw_density(folder):
    """Draw rows, density, samples and a conditional density of two sets of rows.

    Parameters
    ----------
    folder : path-like
        Where ``density.png`` goes; made if need be.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    side = np.linspace(-13, 13, 241)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    figure, panels = plt.subplots(2, 4, figsize=(11, 5.6), constrained_layout=True)
    for row, X in zip(panels, (draw_spirals(rng), draw_mixture(rng)), strict=True):
        forest = DensityForest(60, random_state=0).fit(X)
        density = np.exp(forest.score_samples(grid)).reshape(241, 241)
        sample = forest.sample(N_ROWS, random_state=0)
        line = np.column_stack([np.full(241, 5.0), side])
        log_density, mean = forest.conditional(line, columns=[1])
        row[0].plot(*X.T, ".", markersize=2, color="tab:blue")
        row[1].imshow(np.sqrt(density), extent=(-13, 13, -13, 13), origin="lower", cmap="magma")
        row[1].axvline(5.0, color="white", linewidth=0.8, linestyle="--")
        row[2].plot(*sample.T, ".", markersize=2, color="tab:orange")
        row[3].plot(np.exp(log_density), side, color="tab:red")
        row[3].axhline(mean[0, 0], color="grey", linewidth=0.8, linestyle="--")
        row[3].set_ylim(-13, 13)
        for panel in row[:3]:
            panel.set(xlim=(-13, 13), ylim=(-13, 13), aspect="equal", xticks=[], yticks=[])
        row[3].set_yticks([])
    titles = ("1,500 rows", "density (its root)", "1,500 samples", "density on the line")
    for panel, title in zip(panels[0], titles, strict=True):
        panel.set_title(title, fontsize=10)
    figure.savefig(folder / "density.png", dpi=90)
    plt.close(figure)


def main():
    """Draw where the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", default="pictures", help="where to write the file")
    draw_density(parser.parse_args().folder)


if __name__ == "__main__":
    main()
