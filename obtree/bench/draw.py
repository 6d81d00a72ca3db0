"""Pictures of figures, by matplotlib, which is imported only when something is drawn."""

import numpy as np

from obtree.bench.plan import LibraryNotFoundError
from obtree.bench.ranking import find_groups

COLOURS = np.array([[0.87, 0.47, 0.26], [0.24, 0.49, 0.77], [0.37, 0.63, 0.36], [0.6, 0.4, 0.65]])

MOST_MARKED = 30  # points of a curve that are drawn as dots


def make_figure(n_rows, n_columns, width, height):
    """Make an empty figure that belongs to no window.

    Parameters
    ----------
    n_rows, n_columns : int
        Panels.
    width, height : float
        Inches of a panel.

    Returns
    -------
    figure : matplotlib.figure.Figure
    axes : ndarray of matplotlib axes, shape (n_rows, n_columns)
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LibraryNotFoundError(
            "figures need matplotlib, which is not installed; pip install 'obtree[figures]'"
        ) from None
    figure = Figure(figsize=(n_columns * width, n_rows * height), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def add_point(panels, title, label, x, y):
    """Append a point to a curve of `draw_lines`, which may be new."""
    curve = panels.setdefault(title, {}).setdefault(label, ([], []))
    curve[0].append(x)
    curve[1].append(y)


def draw_lines(path, panels, x_label, y_label, *, log_x=False, log_y=False, n_columns=3):
    """Draw curves, a panel for each title.

    Parameters
    ----------
    path : Path
        The file; its suffix tells the format.
    panels : dict of str to dict of str to (x, y)
        Curves by title and label; a label that ends in " (training)" is dashed.
    x_label, y_label : str
        What the axes show.
    log_x, log_y : bool, default=False
        Logarithmic axes.
    n_columns : int, default=3
        Most panels side by side.

    Returns
    -------
    path : Path
    """
    n_columns = max(1, min(n_columns, len(panels)))
    n_rows = max(1, -(-len(panels) // n_columns))
    figure, axes = make_figure(n_rows, n_columns, 3.6, 2.9)
    colours = {}
    for ax, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        for label, (x, y) in curves.items():
            base = label.removesuffix(" (training)")
            colour = colours.setdefault(base, f"C{len(colours)}")
            style = ("o" if len(x) <= MOST_MARKED else "") + ("-" if base == label else "--")
            ax.plot(x, y, style, color=colour, label=label, ms=3, lw=1.2)
        ax.set(title=title, xlabel=x_label, ylabel=y_label)
        if log_x:
            ax.set_xscale("log")
        if log_y and all(min(y) > 0 for _, y in curves.values()):
            ax.set_yscale("log")
        ax.grid(alpha=0.3)
        if curves:
            ax.legend(fontsize=7)
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    figure.savefig(path, dpi=110)
    return path


def draw_posteriors(path, panels, span, n_columns):
    """Draw class probabilities over the plane with the training rows on them.

    Parameters
    ----------
    path : Path
        The file.
    panels : list of (str, callable, ndarray, ndarray)
        Title; function from points to probabilities; rows and classes of the training data, -1
        for rows without a class.
    span : float
        Coordinates run from -span to span.
    n_columns : int
        Panels side by side.

    Returns
    -------
    path : Path
    """
    n_rows = max(1, -(-len(panels) // n_columns))
    figure, axes = make_figure(n_rows, n_columns, 2.5, 2.6)
    ticks = np.linspace(-span, span, 160)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    for ax, (title, predict, X, y) in zip(axes.flat, panels, strict=False):
        proba = predict(grid)
        image = (proba @ COLOURS[: proba.shape[1]]).reshape(len(ticks), len(ticks), 3)
        ax.imshow(image, extent=(-span, span, -span, span), origin="lower", alpha=0.8)
        plain = y < 0
        ax.scatter(*X[plain].T, c="black", s=1.5, linewidths=0.0, alpha=0.6)
        size = 60 if plain.any() else 5
        colours = COLOURS[y[~plain]]
        ax.scatter(*X[~plain].T, c=colours, s=size, linewidths=0.2, edgecolors="black")
        ax.set_title(title, fontsize=8)
        ax.set(xticks=[], yticks=[])
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    figure.savefig(path, dpi=110)
    return path


def draw_densities(path, panels, n_columns, connect=False):
    """Draw densities over the plane, and rows on them.

    Parameters
    ----------
    path : Path
        The file.
    panels : list of (str, ((float, float), (float, float)), callable or None, ndarray)
        Title; ranges of the two coordinates; function from points to densities, none for an empty
        plane; rows.
    n_columns : int
        Panels side by side.
    connect : bool, default=False
        Whether densities are of the second coordinate given the first, and a line shows its mean.

    Returns
    -------
    path : Path
    """
    n_rows = max(1, -(-len(panels) // n_columns))
    figure, axes = make_figure(n_rows, n_columns, 2.6, 2.6)
    for ax, (title, spans, density, rows) in zip(axes.flat, panels, strict=False):
        x, y = (np.linspace(*span, 120) for span in spans)
        if density is not None:
            grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
            image = density(grid).reshape(len(y), len(x))
            extent = (*spans[0], *spans[1])
            most = np.quantile(image, 0.995)
            ax.imshow(image, extent=extent, origin="lower", aspect="auto", cmap="Blues", vmax=most)
            if connect:
                mean = (image * y[:, None]).sum(axis=0) / np.maximum(image.sum(axis=0), 1e-300)
                ax.plot(x, mean, color=COLOURS[0], lw=1.2)
        ax.scatter(rows[:, 0], rows[:, 1], s=1.5, c="black", linewidths=0.0, alpha=0.5)
        ax.set_title(title, fontsize=8)
        ax.set(xticks=[], yticks=[], xlim=spans[0], ylim=spans[1])
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    figure.savefig(path, dpi=110)
    return path


def draw_maps(path, panels, n_columns):
    """Draw rows in two coordinates, coloured by a number that each has.

    Parameters
    ----------
    path : Path
        The file.
    panels : list of (str, ndarray, ndarray)
        Title; rows, of which the first and the last coordinate are drawn; their numbers.
    n_columns : int
        Panels side by side.

    Returns
    -------
    path : Path
    """
    n_rows = max(1, -(-len(panels) // n_columns))
    figure, axes = make_figure(n_rows, n_columns, 2.5, 2.6)
    for ax, (title, rows, colour) in zip(axes.flat, panels, strict=False):
        ax.scatter(rows[:, 0], rows[:, -1], s=2, c=colour, linewidths=0.0, cmap="viridis")
        ax.set_title(title, fontsize=8)
        ax.set(xticks=[], yticks=[])
    for ax in axes.flat[len(panels) :]:
        ax.set_axis_off()
    figure.savefig(path, dpi=110)
    return path


def draw_ranks(path, panels):
    """Draw mean ranks on a line; bars join models that do not differ (Demsar 2006).

    Parameters
    ----------
    path : Path
        The file.
    panels : dict of str to (dict of str to float, float)
        Mean ranks by model and their critical difference, by title.

    Returns
    -------
    path : Path
    """
    most = max(len(ranks) for ranks, _ in panels.values())
    figure, axes = make_figure(len(panels), 1, 7.5, 1.2 + 0.14 * most)
    for ax, (title, (ranks, difference)) in zip(axes.flat, panels.items(), strict=True):
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
        _draw_rank_line(ax, ranks, difference)
    figure.savefig(path, dpi=110)
    return path


def _draw_rank_line(ax, ranks, difference):
    """Draw one line of ranks: its length is a unit of x for each rank, a label one of y."""
    n = len(ranks)
    line = {"color": "black", "lw": 0.9, "solid_capstyle": "butt"}
    ax.plot([1, n], [0, 0], **line)
    for rank in range(1, n + 1):
        ax.plot([rank, rank], [0, 0.25], **line)
        ax.text(rank, 0.35, str(rank), ha="center", va="bottom", fontsize=8)
    ax.plot([1, 1 + difference], [1.9, 1.9], color="black", lw=1.8)
    label = f"critical difference {difference:.2f}"
    ax.text(1 + difference / 2, 2.0, label, ha="center", va="bottom", fontsize=8)
    groups = find_groups(list(ranks.values()), difference)
    for k, (lowest, highest) in enumerate(groups):
        ends = [lowest - 0.04, highest + 0.04]
        ax.plot(ends, [-0.4 - 0.35 * k] * 2, color="black", lw=2.5)
    # The better half is named on the left, the best on top; the other half on the right.
    names = sorted(ranks, key=ranks.get)
    top = -0.6 - 0.35 * len(groups)
    half = (n + 1) // 2
    sides = (("right", 0.7, names[:half]), ("left", n + 0.3, names[half:][::-1]))
    for side, end, some in sides:
        for k, name in enumerate(some):
            y = top - k
            ax.plot([ranks[name], ranks[name], end], [0, y, y], **line)
            ax.text(end, y, f" {name}, {ranks[name]:.2f} ", ha=side, va="center", fontsize=8)
    ax.set(xlim=(0.7 - 0.4 * n, n + 0.3 + 0.4 * n), ylim=(top - half, 2.9))
