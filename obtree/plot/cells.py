"""The cells of a tree of two features, and the lines that its tests draw between them.

scikit-learn's ``DecisionBoundaryDisplay`` asks a model about the points of a grid; it sees where
predictions change, but not the cells that predict the same, nor which test has drawn a line. Here
cells are cut out of the picture as the tree cuts them, polygon by polygon. Curves, of tests with
products, are found on a grid.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb

from obtree.core.hints import ArrayLike
from obtree.core.params import FLAG, Integer, Number, check_param
from obtree.tree.cards import CardMaker
from obtree.tree.describe import TreeDescription
from obtree.tree.members import find_tree

#: How far the picture reaches beyond the rows, as a part of what they span.
MARGIN = 0.05
#: Width of the lines of a level, as a part of those of the level above, and their least.
THINNER, THINNEST = 0.8, 0.25


def plot_cells(
    model: object,
    X: ArrayLike | None = None,
    *,
    member: int | None = None,
    max_depth: int | None = None,
    filled: bool = True,
    alpha: float = 1.0,
    linewidth: float = 2.0,
    color: Any = "black",
    grid_resolution: int = 400,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cells of a tree of two features, and the lines of its tests.

    Lines of tests near the root are thicker. Put on top of a picture of `plot_boundary` or of
    scikit-learn's ``DecisionBoundaryDisplay`` (``ax=display.ax_, filled=False``) the lines show how
    the predictions came about.

    Parameters
    ----------
    model : Tree, fitted tree or fitted forest
        Of two features.
    X : array-like of shape (n_samples, 2), optional
        Rows that the picture is to show. By default it shows what `ax` does.
    member : int, optional
        Which tree of a forest; negative numbers count from the last.
    max_depth : int, optional
        Deeper tests are not shown; by default all are.
    filled : bool, default=True
        Whether cells have the colours of `plot_tree`.
    alpha : float, default=1.0
        How strong these are.
    linewidth : float, default=2.0
        Points of the line of the root; 0 draws no lines.
    color : default="black"
        Of the lines, as matplotlib takes it.
    grid_resolution : int, default=400
        Points of a side of the grid on which tests with products are drawn.
    ax : matplotlib axes, optional
        Where to draw; in a new figure by default.

    Returns
    -------
    ax : matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.plot import plot_cells
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(X[:, 2:], y)
    >>> ax = plot_cells(tree, X[:, 2:])
    >>> points = ax.scatter(X[:, 2], X[:, 3], c=y)
    """
    check_param("filled", filled, FLAG)
    alpha = check_param("alpha", alpha, Number(0.0, 1.0))
    linewidth = check_param("linewidth", linewidth, Number(0.0))
    check_param("grid_resolution", grid_resolution, Integer(2))
    check_param("max_depth", max_depth, None, Integer(0))
    tree, feature_names, class_names = find_tree(model, member, None, None)
    if tree.n_features != 2:
        raise ValueError(
            f"plot_cells draws trees of two features, and this one has {tree.n_features}; expected "
            "a model that was fitted to two columns"
        )
    if tree.set_ptr is not None:
        raise ValueError("plot_cells draws trees of numbers, and this one has sets of categories")
    described = TreeDescription(tree, feature_names, class_names)
    limits = find_limits(X, ax)
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    if X is not None or feature_names is not None:
        ax.set(xlabel=described.feature_names[0], ylabel=described.feature_names[1])
    fills = CardMaker(described) if filled else None
    widths = _list_widths(described, linewidth)
    draw = _draw_polygons if tree.term_partner is None else _draw_grid
    options = {"grid_resolution": grid_resolution} if draw is _draw_grid else {}
    draw(
        ax, described, limits, max_depth, fills if filled else None, alpha, widths, color, **options
    )
    ax.set(xlim=limits[0], ylim=limits[1])
    return ax


def find_limits(X, ax):
    """What the picture shows: ((left, right), (bottom, top))."""
    if X is None:
        if ax is None:
            raise ValueError("plot_cells needs rows X, or ax with the limits of a picture")
        return tuple(sorted(ax.get_xlim())), tuple(sorted(ax.get_ylim()))
    rows = np.asarray(X, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 2 or not len(rows):
        raise ValueError(f"X has shape {rows.shape}; expected rows of two columns")
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    if not np.isfinite([low, high]).all():
        raise ValueError("X holds infinity or a column without values; expected finite numbers")
    margin = np.where(high > low, MARGIN * (high - low), 1.0)
    return tuple(zip((low - margin).tolist(), (high + margin).tolist(), strict=True))


def _list_widths(described, linewidth):
    """Width of the lines of each level."""
    levels = np.arange(described.tree.max_depth + 1)
    return np.maximum(linewidth * THINNER**levels, min(THINNEST, linewidth))


def _draw_polygons(ax, described, limits, max_depth, fills, alpha, widths, color):
    """Cut the picture into the polygons of the cells."""
    (left, right), (bottom, top) = limits
    pieces = {0: [np.array([(left, bottom), (right, bottom), (right, top), (left, top)])]}
    cells, colours, lines, line_widths = [], [], [], []
    tree = described.tree
    for place in described.list_places(max_depth):
        own = pieces.pop(place.node)
        if described.is_leaf(place.node) or place.is_cut:
            cells += own
            if fills is not None:
                colours += [fills.choose_fill(place.node)] * len(own)
            continue
        yes, no = [], []
        for polygon in own:
            inside, outside, cuts = _cut(polygon, *_read_plane(tree, place.node))
            yes += inside
            no += outside
            lines += cuts
            line_widths += [widths[place.depth]] * len(cuts)
        pieces[int(tree.children_left[place.node])] = yes
        pieces[int(tree.children_right[place.node])] = no
    if fills is not None:
        # Thin edges of the same colour, since cells side by side would leave a gap.
        found = PolyCollection(
            cells, facecolors=colours, edgecolors=colours, linewidths=0.3, alpha=alpha, zorder=0.5
        )
        found.set_gid("cells")
        ax.add_collection(found)
    if widths[0] > 0.0:
        found = LineCollection(lines, linewidths=line_widths, colors=color, zorder=1.5)
        found.set_gid("tests")
        ax.add_collection(found)


def _read_plane(tree, node):
    """Normal, lower and upper threshold of a test without products."""
    normal = np.zeros(2)
    terms = slice(tree.term_ptr[node], tree.term_ptr[node + 1])
    np.add.at(normal, tree.term_feature[terms], tree.term_weight[terms])
    lower = -np.inf if tree.lower_threshold is None else tree.lower_threshold[node]
    return normal, lower, tree.threshold[node]


def _cut(polygon, normal, lower, upper):
    """Parts of a convex polygon inside and outside of an interval, and the lines between them."""
    inside, outside, cuts = [polygon], [], []
    for limit, sign in ((upper, 1.0), (lower, -1.0)):
        if not np.isfinite(limit) or not inside:
            continue
        kept, dropped, line = _halve(inside[0], sign * (inside[0] @ normal - limit))
        inside = [kept] if len(kept) else []
        outside += [dropped] if len(dropped) else []
        cuts += [line] if len(line) == 2 else []
    return inside, outside, cuts


def _halve(polygon, side):
    """Parts of a convex polygon where corners have `side` <= 0 and > 0, and the line between."""
    kept, dropped, line = [], [], []
    for k in range(len(polygon)):
        here, there = k, (k + 1) % len(polygon)
        (kept if side[here] <= 0.0 else dropped).append(polygon[here])
        if (side[here] <= 0.0) != (side[there] <= 0.0):
            part = side[here] / (side[here] - side[there])
            crossing = polygon[here] + part * (polygon[there] - polygon[here])
            kept.append(crossing)
            dropped.append(crossing)
            line.append(crossing)
    # Two corners and less have no area.
    kept, dropped = (np.array(part) if len(part) > 2 else [] for part in (kept, dropped))
    return kept, dropped, line


def _draw_grid(ax, described, limits, max_depth, fills, alpha, widths, color, grid_resolution):
    """Draw cells point by point, and lines where tests change sign within the cell of a node."""
    x, y = (np.linspace(*span, grid_resolution) for span in limits)
    points = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    tree = described.tree
    passed = tree.decision_path(points).tocsc()
    image = np.ones((len(points), 3))
    for place in described.list_places(max_depth):
        rows = passed.indices[passed.indptr[place.node] : passed.indptr[place.node + 1]]
        if described.is_leaf(place.node) or place.is_cut:
            if fills is not None:
                image[rows] = to_rgb(fills.choose_fill(place.node))
            continue
        near = np.zeros(len(points), dtype=bool)
        near[rows] = True
        near = _widen(near.reshape(len(y), len(x)))
        for level in _measure_sides(tree, place.node, points):
            level = np.where(near, level.reshape(near.shape), np.nan)
            if widths[0] > 0.0 and np.nanmin(level) < 0.0 < np.nanmax(level):
                width = widths[place.depth]
                ax.contour(x, y, level, levels=[0.0], colors=[color], linewidths=width, zorder=1.5)
    if fills is not None:
        shape = (len(y), len(x), 3)
        extent = (*limits[0], *limits[1])
        ax.imshow(
            image.reshape(shape),
            extent=extent,
            origin="lower",
            aspect="auto",
            alpha=alpha,
            zorder=0.5,
        )


def _widen(inside):
    """The points of a cell and their neighbours, between which a line may run."""
    wide = inside.copy()
    wide[1:] |= inside[:-1]
    wide[:-1] |= inside[1:]
    wide[:, 1:] |= wide[:, :-1].copy()
    wide[:, :-1] |= wide[:, 1:].copy()
    return wide


def _measure_sides(tree, node, points):
    """Yield what is positive on one side of a limit of a test and negative on the other."""
    offset = 0.0 if tree.feature_offset is None else tree.feature_offset
    points, tree = points - offset, tree.shifted
    total = np.zeros(len(points))
    for k in range(tree.term_ptr[node], tree.term_ptr[node + 1]):
        value = points[:, tree.term_feature[k]]
        partner = -1 if tree.term_partner is None else tree.term_partner[k]
        total += tree.term_weight[k] * (value if partner < 0 else value * points[:, partner])
    yield total - tree.threshold[node]
    if tree.lower_threshold is not None and np.isfinite(tree.lower_threshold[node]):
        yield total - tree.lower_threshold[node]
