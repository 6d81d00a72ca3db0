"""What stands in the box of a node, line by line: pictures only have to place it.

A line is text, a bar, or both. Bars of weights leave the middle to the right where weights are
positive, to the left where they are negative, and are scaled to the node's largest. Bars of classes
are stacked fractions; those of numbers run from the smallest value in the tree to the largest;
those of Gaussians reach a standard deviation to both sides, within what the leaves of the tree
span.
"""

import textwrap
from dataclasses import dataclass

import numpy as np

from obtree.core.params import FLAG, Integer, check_param, check_params
from obtree.tree.colours import DARK, TOP, WHITE, fade, list_colours
from obtree.tree.describe import TreeDescription
from obtree.tree.digits import write_number
from obtree.tree.members import find_categories, find_tree
from obtree.tree.parts import Spread

#: Outputs that are shown; more are counted.
MAX_OUTPUTS = 4
#: Classes of which there is a legend.
MAX_LEGEND = 20
#: Characters of a line of a set of categories, or of what a leaf model writes by itself.
TEXT_WIDTH = 44
#: How strong the colour of a pure leaf is; text must remain readable.
STRONGEST = 0.62

_RULES = {
    "filled": (FLAG,),
    "impurity": (FLAG,),
    "node_ids": (FLAG,),
    "proportion": (FLAG,),
    "max_terms": (Integer(0),),
    "max_name": (None, Integer(3)),
}


@dataclass(frozen=True)
class Bar:
    """Rectangles side by side, on a line from 0 to 1.

    Attributes
    ----------
    segments : tuple of (float, float, str)
        Start, end and colour, in order, none over another.
    mark : float or None
        Where a thin line crosses the bar.
    """

    segments: tuple
    mark: float | None = None


@dataclass(frozen=True)
class Line:
    """A line of a box; a bar without text is as wide as the box.

    Attributes
    ----------
    text : str
    bar : Bar or None
    """

    text: str = ""
    bar: Bar | None = None


@dataclass(frozen=True)
class Card:
    """The box of one node.

    Attributes
    ----------
    place : Place
    is_leaf : bool
    lines : tuple of Line
    fill : str
        Colour of the box.
    """

    place: object
    is_leaf: bool
    lines: tuple
    fill: str


def make_cards(model, *, member, max_depth, feature_names, class_names, precision, **style):
    """Check what the user asked for, and make the boxes of a tree.

    Parameters
    ----------
    model, member, feature_names, class_names
        As `find_tree` takes them.
    max_depth : int or None
        Deeper tests are not shown.
    precision : int
        Digits after the point.
    **style
        Parameters of `CardMaker`.

    Returns
    -------
    described : TreeDescription
    cards : list of Card
        In the order of `TreeDescription.list_places`.
    legend : list of (str, str)
        Names and colours of classes.
    """
    check_params(_RULES, **style)
    check_param("precision", precision, Integer(0))
    check_param("max_depth", max_depth, None, Integer(0))
    tree, feature_names, class_names = find_tree(model, member, feature_names, class_names)
    described = TreeDescription(tree, feature_names, class_names, precision, find_categories(model))
    maker = CardMaker(described, **style)
    cards = [maker.make(place) for place in described.list_places(max_depth)]
    return described, cards, maker.list_legend()


class CardMaker:
    """Makes the boxes of a tree.

    Parameters
    ----------
    described : TreeDescription
    filled : bool, default=True
        Whether boxes have the colour of their class or number.
    impurity, node_ids : bool, default=False
        Whether these are shown.
    proportion : bool, default=False
        Whether sizes are percentages of the weight of all rows.
    max_terms : int, default=5
        Terms of a sum that are shown, the largest.
    max_name : int or None, default=32
        Characters of a name that are shown; more are left out in its middle.
    """

    def __init__(
        self,
        described,
        *,
        filled=True,
        impurity=False,
        node_ids=False,
        proportion=False,
        max_terms=5,
        max_name=32,
    ):
        self._described = described
        self._filled = filled
        self._impurity = impurity
        self._node_ids = node_ids
        self._proportion = proportion
        self._max_terms = max_terms
        self._max_name = max_name
        tree = described.tree
        self._colours = list_colours(tree.max_n_classes)
        self._spans = None
        if described.class_names is None:
            self._low, self._high = tree.value[:, :, 0].min(axis=0), tree.value[:, :, 0].max(axis=0)

    def list_legend(self):
        """Names and colours of the classes.

        Returns
        -------
        list of (str, str)
            Empty for numbers, for several outputs and where there are too many classes.
        """
        classes = self._described.class_names
        if classes is None or len(classes) > 1 or not 1 < len(classes[0]) <= MAX_LEGEND:
            return []
        names = [self._shorten(name) for name in classes[0]]
        return list(zip(names, self._colours, strict=False))

    def make(self, place):
        """Make the box of a node.

        Parameters
        ----------
        place : Place

        Returns
        -------
        Card
        """
        described, node = self._described, place.node
        is_leaf = described.is_leaf(node)
        lines = [Line(f"node {node}")] if self._node_ids else []
        if place.is_cut:
            lines.append(Line("..."))
        elif not is_leaf:
            lines += self._list_test(described.describe_test(node))
        lines += self._list_facts(node)
        if not described.predicts_nothing:
            lines += self._list_values(node)
        if is_leaf:
            lines += self._list_model(node)
        return Card(place, is_leaf, tuple(lines), self.choose_fill(node))

    def _shorten(self, name):
        """A name that is not longer than it may be."""
        if self._max_name is None or len(name) <= self._max_name:
            return name
        tail = (self._max_name - 1) // 2
        return f"{name[: self._max_name - 1 - tail]}…{name[len(name) - tail :]}"

    def _list_test(self, test):
        if test.is_plain:
            text = test.write_about(self._shorten(test.sum.names[0]))
            return [Line(piece) for piece in ([text] if test.members is None else _wrap(text))]
        return [*self._list_terms(test.sum, test.decimals), Line(test.write_about("sum"))]

    def _list_terms(self, total, decimals):
        """A line for each of the largest terms, and one for the others."""
        shown = total.find_largest(self._max_terms)
        largest = np.abs(total.weights).max(initial=0.0) or 1.0
        lines = []
        for k in shown:
            name, size = self._shorten(total.names[k]), total.weights[k] / largest
            if total.is_softmax:
                lines.append(Line(name, Bar(((0.0, float(size), DARK),))))
                continue
            ends = sorted((0.5, 0.5 + 0.5 * float(size)))
            sign = "-" if total.weights[k] < 0 else "+"
            text = f"{sign} {write_number(abs(total.weights[k]), decimals)} {name}"
            lines.append(Line(text, Bar(((*ends, DARK),), mark=0.5)))
        n_hidden = len(total.names) - len(shown)
        return [*lines, Line(f"+ {n_hidden} smaller terms")] if n_hidden else lines

    def _list_facts(self, node):
        """Lines about impurity and size."""
        tree = self._described.tree
        lines = []
        if self._impurity:
            lines.append(Line(f"impurity {tree.impurity[node]:.{self._described.decimals}f}"))
        if self._proportion:
            whole = tree.weighted_n_node_samples[0] or 1.0
            share = tree.weighted_n_node_samples[node] / whole
            return [*lines, Line(f"{100 * share:.1f} % of rows")]
        return [*lines, Line(f"n = {tree.n_node_samples[node]}")]

    def _list_values(self, node):
        """Lines about the outputs: classes as stacked bars, numbers between least and most."""
        outputs = self._described.list_outputs(node)
        lines = []
        for k, output in enumerate(outputs[:MAX_OUTPUTS]):
            if output.classes is None:
                low, span = self._low[k], self._high[k] - self._low[k]
                at = float((output.value[0] - low) / span) if span > 0 else 1.0
                text = f"value {write_number(output.value[0], self._described.decimals)}"
                lines.append(Line(text, Bar(((0.0, at, TOP),))))
                continue
            name = self._shorten(output.classes[output.best])
            fraction = output.value[output.best]
            lines.append(Line(f"class {name} {fraction:.{self._described.decimals}f}"))
            lines.append(Line("", self._stack(output.value)))
        if len(outputs) > MAX_OUTPUTS:
            lines.append(Line(f"({len(outputs) - MAX_OUTPUTS} more outputs)"))
        return lines

    def _stack(self, fractions):
        """Fractions of classes side by side."""
        ends = np.cumsum(fractions) / (np.sum(fractions) or 1.0)
        starts = np.concatenate([[0.0], ends[:-1]])
        pieces = zip(starts.tolist(), ends.tolist(), self._colours, strict=False)
        return Bar(tuple(piece for piece in pieces if piece[1] > piece[0]))

    def _list_model(self, node):
        """Lines about what the leaf predicts beside its value."""
        described = self._described
        decimals = described.decimals
        parts = described.list_parts(node)
        if not parts:
            text = described.write_model(node, self._max_terms)
            return [Line(piece) for piece in _wrap(text)]
        lines = []
        for k, part in enumerate(parts[:MAX_OUTPUTS]):
            if isinstance(part, Spread):
                lines += self._list_spread(part)
                continue
            if part.is_softmax:
                lines.append(Line("softmax of"))
            elif len(parts) > 1:
                lines.append(Line(f"output {k}"))
            lines += self._list_terms(part, decimals)
            if part.intercept is not None:
                sign = "-" if part.intercept < 0 else "+"
                lines.append(Line(f"{sign} {write_number(abs(part.intercept), decimals)}"))
            if part.noise is not None:
                lines.append(Line(f"noise {write_number(part.noise, decimals)}"))
        if len(parts) > MAX_OUTPUTS:
            lines.append(Line(f"({len(parts) - MAX_OUTPUTS} more outputs)"))
        return lines

    def _list_spread(self, spread):
        """A line for each feature of a Gaussian."""
        low, span = self._find_spans()
        ends = [spread.mean - spread.deviation - low, spread.mean + spread.deviation - low]
        start, end = (np.clip(side / span, 0.0, 1.0) for side in ends)
        at = np.clip((spread.mean - low) / span, 0.0, 1.0)
        decimals, lines = self._described.decimals, []
        for j, name in enumerate(spread.names[: self._max_terms]):
            sides = (spread.mean[j], spread.deviation[j])
            size = " ± ".join(write_number(side, decimals) for side in sides)
            bar = Bar(((float(start[j]), float(end[j]), TOP),), mark=float(at[j]))
            lines.append(Line(f"{self._shorten(name)} {size}", bar))
        n_hidden = len(spread.names) - len(lines)
        return [*lines, Line(f"({n_hidden} more features)")] if n_hidden > 0 else lines

    def _find_spans(self):
        """Where the Gaussians of all leaves begin, and how far they reach."""
        if self._spans is None:
            described = self._described
            leaves = np.flatnonzero(described.tree.children_left < 0)
            spreads = [described.list_parts(leaf)[0] for leaf in leaves]
            low = np.min([s.mean - 2 * s.deviation for s in spreads], axis=0)
            high = np.max([s.mean + 2 * s.deviation for s in spreads], axis=0)
            self._spans = low, np.where(high > low, high - low, 1.0)
        return self._spans

    def choose_fill(self, node):
        """Colour of the box of a node.

        Parameters
        ----------
        node : int

        Returns
        -------
        str
        """
        described = self._described
        outputs = described.list_outputs(node)
        if not self._filled or described.predicts_nothing or len(outputs) > 1:
            return WHITE
        output = outputs[0]
        if output.classes is None:
            span = self._high[0] - self._low[0]
            at = (output.value[0] - self._low[0]) / span if span > 0 else 0.5
            return fade(TOP, STRONGEST * float(at))
        n = len(output.classes)
        chance = 1.0 / n
        purity = (output.value[output.best] - chance) / (1.0 - chance) if n > 1 else 0.5
        return fade(self._colours[output.best], STRONGEST * float(purity))


def _wrap(text):
    """Text in lines; a word stays in one."""
    return textwrap.wrap(text, TEXT_WIDTH, break_long_words=False, break_on_hyphens=False)
