"""Boxes of one level never touch, and parents stand above the middle of their children."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obtree.plot.layout import place_columns, place_rows


@st.composite
def trees(draw):
    """Parents in the order of a walk, and widths."""
    n_splits = draw(st.integers(0, 25))
    parents, stack = [], [-1]
    while stack:
        parents.append(stack.pop())
        if len(parents) + len(stack) <= 2 * n_splits and draw(
            st.booleans() if stack else st.just(1)
        ):
            stack += [len(parents) - 1] * 2
    widths = draw(st.lists(st.floats(1, 50), min_size=len(parents), max_size=len(parents)))
    return parents, widths


def find_depths(parents):
    depths = []
    for parent in parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return depths


@given(trees(), st.floats(0.5, 5))
def test_boxes_do_not_touch(tree, gap):
    parents, widths = tree
    centres = place_columns(parents, widths, gap)
    depths = np.array(find_depths(parents))
    for depth in range(depths.max() + 1):
        # Parents come before children and left before right: the order on the level.
        level = np.flatnonzero(depths == depth)
        for a, b in itertools.pairwise(level):
            assert centres[b] - widths[b] / 2 - centres[a] - widths[a] / 2 >= gap - 1e-6
    edges = [c - w / 2 for c, w in zip(centres, widths, strict=True)]
    assert min(edges) == pytest.approx(0, abs=1e-6)
    for k in range(len(parents)):
        children = [j for j, parent in enumerate(parents) if parent == k]
        if children:
            assert np.mean([centres[j] for j in children]) == pytest.approx(centres[k])


def test_the_tightest_level_decides():
    # The children of the left child and of the right one are two gaps of 1 and widths of 10.
    centres = place_columns([-1, 0, 1, 1, 0, 4, 4], [2, 2, 10, 10, 2, 10, 10], 1.0)
    assert centres == [21.5, 10.5, 5.0, 16.0, 32.5, 27.0, 38.0]


def test_a_chain_of_a_thousand_levels():
    parents, node = [-1], 0
    for _ in range(1000):
        parents += [node, node]
        node = len(parents) - 1
    centres = place_columns(parents, [1.0] * len(parents), 1.0)
    assert len(centres) == 2001


def test_rows():
    tops, height = place_rows([0, 1, 2, 2, 1], [5, 3, 1, 7, 4], 2)
    assert tops == [0, 7, 13, 13, 7]
    assert height == 20
