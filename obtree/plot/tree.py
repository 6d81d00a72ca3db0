"""A tree as a picture."""

import math

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from obtree.core.hints import Names
from obtree.core.params import FLAG, Number, check_param
from obtree.plot.boxes import LEAST_WIDTH, Bars, Box
from obtree.plot.layout import place_columns, place_rows
from obtree.plot.scaled_text import ScaledText, measure_width
from obtree.tree.cards import make_cards
from obtree.tree.colours import DARK

# In units of the size of the font.
GAP, LEVEL_GAP = 1.1, 3.0  # between boxes, and between levels
MARGIN = 1.0
LEGEND_LINE = 1.5

#: Points of the font in a figure of its own, and the most in axes that are given.
OWN_SIZE, LARGEST_SIZE = 9.0, 14.0
#: Inches of a figure of its own: a side is at least, and at most, so long.
LEAST_SIDE, MOST_SIDE = 1.5, 100.0


def plot_tree(
    model: object,
    *,
    member: int | None = None,
    max_depth: int | None = None,
    feature_names: Names | None = None,
    class_names: Names | None = None,
    filled: bool = True,
    impurity: bool = False,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = True,
    precision: int = 2,
    ax: Axes | None = None,
    fontsize: float | None = None,
    legend: bool = True,
    max_terms: int = 5,
    max_name: int | None = 32,
) -> Axes:
    """Draw a tree.

    A box shows what a node asks and what its rows say. A sum has a line for each term, with a bar
    that goes to the right for positive weights and to the left for negative ones, in parts of the
    largest. Below stand how many rows there are and what they say: fractions of the classes side by
    side, or a number as a bar between the smallest and the largest of the tree. Leaves
    with models show these: sums, the noise around them, or means and deviations of a Gaussian. Rows
    for which the answer is yes go to the left; "or missing" stands where rows do that lack a
    feature of the test.

    Parameters
    ----------
    model : Tree, fitted tree or fitted forest
    member : int, optional
        Which tree of a forest; negative numbers count from the last.
    max_depth : int, optional
        Deeper tests are not shown; by default all are.
    feature_names : sequence of str, optional
        Names of the columns; ``x[0]``, ``x[1]``, ... by default, or the estimator's
        ``feature_names_in_``.
    class_names : sequence of str, optional
        Names of the classes, or such a sequence for each of several outputs; by default the
        estimator's ``classes_``, or their numbers.
    filled : bool, default=True
        Whether boxes have the colour of their class, the stronger the purer they are, or of
        their number.
    impurity, node_ids : bool, default=False
        Whether to show these.
    proportion : bool, default=False
        Whether to show sizes as percentages of the weight of all rows, and not as numbers of rows.
    rounded : bool, default=True
        Whether boxes have round corners.
    precision : int, default=2
        Digits after the point; more where all would be zero.
    ax : matplotlib axes, optional
        Where to draw; the tree fills it. By default the current figure is used if it is still
        empty, else a new one is made that is as large as the tree needs.
    fontsize : float, optional
        Points of the text, less where the tree would not fit. By default 9 in a new figure, and
        as large as fits, up to 14, in axes that are there.
    legend : bool, default=True
        Whether the colours of up to 20 classes are explained below the tree.
    max_terms : int, default=5
        Terms of a sum that are shown, those with the largest weights.
    max_name : int or None, default=32
        Characters of a name that are shown, None for all; the middle of longer names is left out.

    Returns
    -------
    ax : matplotlib axes
        Its patches have the ids ``node-0``, ``node-1``, ... (``get_gid``).

    See Also
    --------
    obtree.export.export_graphviz : The same picture by Graphviz.
    obtree.export_text : Trees and forests as text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.plot import plot_tree
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ObliqueTreeClassifier(splitter="oc1", max_depth=2, random_state=0).fit(X, y)
    >>> ax = plot_tree(tree, class_names=["setosa", "versicolor", "virginica"])
    >>> len([patch for patch in ax.patches if patch.get_gid().startswith("node-")])
    5
    """
    check_param("fontsize", fontsize, None, Number(0.0, open_low=True))
    check_param("rounded", rounded, FLAG)
    check_param("legend", legend, FLAG)
    _, cards, classes = make_cards(
        model,
        member=member,
        max_depth=max_depth,
        feature_names=feature_names,
        class_names=class_names,
        precision=precision,
        filled=filled,
        impurity=impurity,
        node_ids=node_ids,
        proportion=proportion,
        max_terms=max_terms,
        max_name=max_name,
    )
    size = OWN_SIZE if fontsize is None else float(fontsize)
    boxes = [Box(card, size) for card in cards]
    width, height = _place(boxes, size)
    rows = _wrap_legend(classes, width, size) if legend else []
    bottom = -height - LEGEND_LINE * size * len(rows) - (size if rows else 0.0)
    span = (width + 2 * MARGIN * size, -bottom + 2 * MARGIN * size)
    if ax is None:
        ax = _find_axes(span)
    points = [side * 72.0 / ax.figure.dpi for side in ax.get_window_extent().size]
    scale = min(points[0] / span[0], points[1] / span[1])
    most = size if fontsize is not None else LARGEST_SIZE
    # What is left over when text must not be larger.
    spare = max(scale * size / most, 1.0)
    _draw_edges(ax, boxes, size)
    bars = Bars()
    for box in boxes:
        box.draw(ax, rounded, bars)
    bars.draw(ax)
    _draw_legend(ax, rows, -height - size, size)
    middle = (0.5 * width, 0.5 * bottom)
    half = [0.5 * spare * side for side in span]
    ax.set(
        xlim=(middle[0] - half[0], middle[0] + half[0]),
        ylim=(middle[1] - half[1], middle[1] + half[1]),
        aspect="equal",
    )
    ax.set_axis_off()
    return ax


def _place(boxes, size):
    """Give all boxes their places, and return the width and height of the tree."""
    position = {box.card.place.node: k for k, box in enumerate(boxes)}
    parents = [position.get(box.card.place.parent, -1) for box in boxes]
    centres = place_columns(parents, [box.width for box in boxes], GAP * size)
    depths = [box.card.place.depth for box in boxes]
    tops, height = place_rows(depths, [box.height for box in boxes], LEVEL_GAP * size)
    for box, x, top in zip(boxes, centres, tops, strict=True):
        box.x, box.top = x, -top
    return max(box.x + 0.5 * box.width for box in boxes), height


def _find_axes(span):
    """Axes of the whole of a figure: the current one if nothing is in it, or a new one."""
    figure = plt.gcf() if plt.get_fignums() else None
    if figure is None or figure.axes:
        # One inch has 72 points.
        shrink = min(1.0, MOST_SIDE * 72.0 / max(span))
        sides = [max(shrink * side / 72.0, LEAST_SIDE) for side in span]
        figure = plt.figure(figsize=sides)
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _draw_edges(ax, boxes, size):
    """Draw lines from parents to children, and what the answers mean below the root."""
    of_node = {box.card.place.node: box for box in boxes}
    lines = []
    for box in boxes[1:]:
        place = box.card.place
        parent = of_node[place.parent]
        start, end = (parent.x, parent.bottom), (box.x, box.top)
        lines.append([start, end])
        if place.depth == 1:
            _draw_answer(ax, start, end, "yes" if place.is_yes else "no", size)
    edges = LineCollection(lines, colors=DARK, linewidths=0.8, zorder=0)
    edges.set_gid("edges")
    ax.add_collection(edges)


def _draw_answer(ax, start, end, word, size):
    """Write a word above the middle of a line, as near as it can be without touching."""
    along = (end[0] - start[0], end[1] - start[1])
    length = math.hypot(*along)
    # Upwards, away from the line.
    normal = (-abs(along[1]) / length, abs(along[0]) / length)
    if along[0] > 0.0:
        normal = (-normal[0], normal[1])
    half = (0.5 * measure_width(word, size), 0.5 * size)
    distance = abs(normal[0]) * half[0] + abs(normal[1]) * half[1] + 0.2 * size
    # Nearer to the child, for whose box the line makes room.
    ends = zip(start, end, normal, strict=True)
    x, y = (0.45 * a + 0.55 * b + distance * n for a, b, n in ends)
    text = ScaledText(x, y, word, size, ha="center", va="center_baseline")
    text.set_gid("answer")
    ax.add_artist(text)


def _wrap_legend(classes, width, size):
    """Deal classes out to lines that are no wider than the tree.

    Returns lists of (name, colour, where it begins).
    """
    rows, x = [], float("inf")
    for name, colour in classes:
        needed = measure_width(name, size) + 2.6 * size
        if x + needed > max(width, 4 * LEAST_WIDTH * size):
            rows.append([])
            x = 0.0
        rows[-1].append((name, colour, x))
        x += needed
    return rows


def _draw_legend(ax, rows, top, size):
    """Draw a square and a name for each class."""
    for k, row in enumerate(rows):
        y = top - (k + 0.5) * LEGEND_LINE * size
        for name, colour, x in row:
            square = Rectangle((x, y - 0.4 * size), 0.8 * size, 0.8 * size, facecolor=colour)
            square.set_gid("legend")
            ax.add_patch(square)
            text = ScaledText(x + 1.2 * size, y, name, size, ha="left", va="center_baseline")
            text.set_gid("legend-text")
            ax.add_artist(text)
