"""Trees in the language of Graphviz.

Labels are tables in what Graphviz takes for HTML: bars are rows of coloured cells, so that pictures
show what those of `obtree.plot.plot_tree` do.
"""

import re
from html import escape
from os import PathLike
from pathlib import Path
from typing import TextIO

from obtree.core.hints import Names
from obtree.core.params import FLAG, check_param, refuse_param
from obtree.tree.cards import make_cards
from obtree.tree.colours import DARK, LIGHT

#: Pixels of bars beside text, of those across a box, and of their heights.
NARROW, WIDE = 60, 120
HEIGHT, WIDE_HEIGHT = 8, 7
#: Terms of a sum that the text under the mouse has.
TOOLTIP_TERMS = 30

#: Other names end the attribute that they stand in, in what Graphviz writes.
_FONT = re.compile(r"[\w ,.-]+")


def export_graphviz(
    model: object,
    out_file: str | PathLike[str] | TextIO | None = None,
    *,
    member: int | None = None,
    max_depth: int | None = None,
    feature_names: Names | None = None,
    class_names: Names | None = None,
    filled: bool = True,
    leaves_parallel: bool = False,
    impurity: bool = False,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = True,
    precision: int = 2,
    fontname: str = "helvetica",
    max_terms: int = 5,
    max_name: int | None = 32,
) -> str | None:
    """Write a tree in the language of Graphviz, whose ``dot`` makes pictures of it.

    Parameters
    ----------
    model : Tree, fitted tree or fitted forest
    out_file : path-like or file object, optional
        Where to write; by default the text is returned.
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
    leaves_parallel : bool, default=False
        Whether all leaves stand at the bottom.
    impurity, node_ids : bool, default=False
        Whether to show these.
    proportion : bool, default=False
        Whether to show sizes as percentages of the weight of all rows, and not as numbers of rows.
    rotate : bool, default=False
        Whether the root is on the left, and not at the top.
    rounded : bool, default=True
        Whether boxes have round corners.
    precision : int, default=2
        Digits after the point; more where all would be zero.
    fontname : str, default="helvetica"
        Font of all text.
    max_terms : int, default=5
        Terms of a sum that are shown, those with the largest weights. The text that appears under
        the mouse has up to 30.
    max_name : int or None, default=32
        Characters of a name that are shown, None for all; the middle of longer names is left out.

    Returns
    -------
    str or None
        None if `out_file` is given.

    See Also
    --------
    obtree.plot.plot_tree : The same picture by matplotlib.
    obtree.export.export_text : Trees and forests as text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obtree import ObliqueTreeClassifier
    >>> from obtree.export import export_graphviz
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ObliqueTreeClassifier(splitter="oc1", max_depth=3, random_state=0).fit(X, y)
    >>> export_graphviz(tree).startswith("digraph Tree {")
    True

    ``dot -Tsvg tree.dot -o tree.svg`` draws what ``export_graphviz(tree, "tree.dot")`` writes.
    """
    for name, value in (
        ("leaves_parallel", leaves_parallel),
        ("rotate", rotate),
        ("rounded", rounded),
    ):
        check_param(name, value, FLAG)
    is_text = isinstance(fontname, str)
    if not is_text or not _FONT.fullmatch(fontname):
        expected = "a name of letters, digits, blanks and . , -"
        refuse_param("fontname", fontname, expected=expected, wrong_type=not is_text)
    described, cards, _ = make_cards(
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
    font = f'"{fontname}"'
    style = "filled, rounded" if rounded else "filled"
    lines = [
        "digraph Tree {",
        f"graph [ordering=out, rankdir={'LR' if rotate else 'TB'}, fontname={font}];",
        f'node [shape=box, style="{style}", color="{DARK}", fontname={font}, fontsize=10];',
        f'edge [color="{DARK}", fontname={font}, fontsize=10];',
    ]
    ends = []
    for card in cards:
        place = card.place
        tooltip = _quote(_write_tooltip(described, place))
        label = _write_label(card.lines)
        lines.append(f'{place.node} [label=<{label}>, fillcolor="{card.fill}", tooltip={tooltip}];')
        if place.parent >= 0:
            label = f' [label="{"yes" if place.is_yes else "no"}"]' if place.depth == 1 else ""
            lines.append(f"{place.parent} -> {place.node}{label};")
        if card.is_leaf or place.is_cut:
            ends.append(str(place.node))
    if leaves_parallel:
        lines.append(f"{{rank=same; {'; '.join(ends)};}}")
    text = "\n".join([*lines, "}"]) + "\n"
    if out_file is None:
        return text
    if hasattr(out_file, "write"):
        out_file.write(text)
    else:
        Path(out_file).write_text(text, encoding="utf-8")
    return None


def _write_tooltip(described, place):
    """A node in words, with more terms than its box has."""
    node = place.node
    if not described.is_leaf(node):
        return described.describe_test(node).write(TOOLTIP_TERMS)
    return described.write_model(node, TOOLTIP_TERMS) or f"leaf {node}"


def _write_label(lines):
    """The lines of a box as a table."""
    has_bars = any(line.text and line.bar for line in lines)
    rows = []
    for line in lines:
        if not line.text:
            span = ' COLSPAN="2"' if has_bars else ""
            rows.append(f"<TR><TD{span}>{_write_bar(line.bar, WIDE, WIDE_HEIGHT)}</TD></TR>")
        elif line.bar is None:
            span = ' COLSPAN="2" ALIGN="LEFT"' if has_bars else ""
            rows.append(f"<TR><TD{span}>{_escape(line.text)}</TD></TR>")
        else:
            bar = _write_bar(line.bar, NARROW, HEIGHT)
            rows.append(f'<TR><TD ALIGN="LEFT">{_escape(line.text)}</TD><TD>{bar}</TD></TR>')
    table = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">'
    return f"{table}{''.join(rows)}</TABLE>"


def _write_bar(bar, width, height):
    """A bar as a table of one row, whose cells are as wide as segments and gaps."""
    pixels = [LIGHT] * width
    for start, end, colour in bar.segments:
        first, last = round(start * width), round(end * width)
        pixels[first : max(last, first + 1)] = [colour] * max(last - first, 1)
    pixels = pixels[:width]
    if bar.mark is not None:
        pixels[min(round(bar.mark * width), width - 1)] = "#000000"
    cells, first = [], 0
    for k in range(1, width + 1):
        if k == width or pixels[k] != pixels[first]:
            size = f'WIDTH="{k - first}" HEIGHT="{height}" FIXEDSIZE="TRUE"'
            cells.append(f'<TD {size} BGCOLOR="{pixels[first]}"></TD>')
            first = k
    # Of a fixed size, since a table that is given more room would spread its cells.
    size = f'FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="{height}"'
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" {size}>'
    return f"{table}<TR>{''.join(cells)}</TR></TABLE>"


def _escape(text):
    """Text of a label, in which nothing has a meaning of its own."""
    return escape(text).replace("\\", "\\\\")


def _quote(text):
    """A string of Graphviz, in which nothing has a meaning of its own."""
    # How often escapes are read depends on the attribute and the version: another character
    # that looks the same.
    text = text.replace("\\", "\N{SET MINUS}").replace('"', '\\"').replace("&", "&amp;")
    return f'"{text}"'
