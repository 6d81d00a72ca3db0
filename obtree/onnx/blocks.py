"""Many planes of many terms: trees are cut into blocks of neighbouring nodes.

Rows that are in a block together are multiplied by all of its planes, as a product of matrices:
most of these sums nobody asked for, and yet they take less time than looking up the weights of
each row's own node would. What a block compares then tells the exit that a row takes. With one
column for each exit, 1 where a plane has it on its left, -1 where it has it on its right and 0
elsewhere, and D the comparisons, 1 for left, ::

    D @ paths - n_left

is 0 for the exit that all comparisons lead to and negative for others (n_left: how often the path
to an exit turns left). An exit is a leaf, or another block. The first block of a tree sees all
rows; of others, only those that rows are in are computed.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from obtree.onnx.graph import BOOL, FLOAT, INT64

#: Planes of the first block of a tree, and of others. Rows are copied for each of the others: as
#: much work as some hundred planes.
MAX_FIRST = 31
MAX_PLANES = 512


@dataclass
class _Tables:
    """Arrays of blocks, one block after the other, as lists of what is to be concatenated."""

    n_planes: list = field(default_factory=list)
    index: list = field(default_factory=list)
    weight: list = field(default_factory=list)
    threshold: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    paths: list = field(default_factory=list)
    n_left: list = field(default_factory=list)
    target: list = field(default_factory=list)


class Blocks:
    """The blocks of some trees that have at least one plane each.

    Parameters
    ----------
    trees : list of Tree
        For shifted features; planes without products and intervals, and weights other than 0.
    """

    def __init__(self, trees):
        self._trees = trees
        self._features = np.unique(np.concatenate([tree.term_feature for tree in trees]))

    def write(self, graph, features, slots):
        """Add the walk of all rows; see `obtree.onnx.columns.Columns.write`."""
        tables, roots = self._cut(slots)
        names = self._make_tables(graph, tables)
        clean, missing = features.clean(graph), features.missing(graph)
        if len(self._features) < features.n_features:
            used = graph.const(self._features, np.int64)
            clean, missing = (graph.op("Gather", each, used, axis=1) for each in (clean, missing))
        rows = clean, missing, features.any_missing(graph)
        body = graph.body()
        tree, going = body.name("tree"), body.name("going")
        first = body.op("Gather", graph.const(np.array(roots)[:, None]), tree, axis=0)
        at = self._pass(body, names, first, rows)
        found = self._follow(body, names, rows, at)
        slot = body.op("Sub", body.const(-1), found)
        attribute = body.finish(
            [(tree, INT64, []), (going, BOOL, [])], [(going, BOOL, []), (slot, INT64, [None])]
        )
        trips = graph.const(len(self._trees), np.int64)
        found = graph.op("Loop", trips, graph.const(True), body=attribute)
        return graph.op("Transpose", found, perm=[1, 0])

    def _follow(self, graph, names, rows, at):
        """Add the blocks that rows come to, the lowest number first, until all are at leaves."""
        body = graph.body()
        step, going, here, block = (body.name(key) for key in ("step", "going", "here", "block"))
        own = body.op("Squeeze", body.op("NonZero", body.op("Equal", here, block)), body.const([0]))
        clean, missing, any_missing = rows
        taken = body.op("Gather", clean, own, axis=0)
        there = self._pass(body, names, block, (taken, missing, any_missing), own)
        there = body.op("ScatterElements", here, own, there, axis=0)
        more, lowest = self._find_next(body, there)
        attribute = body.finish(
            [(step, INT64, []), (going, BOOL, []), (here, INT64, [None]), (block, INT64, [1])],
            [(more, BOOL, []), (there, INT64, [None]), (lowest, INT64, [1])],
        )
        some, lowest = self._find_next(graph, at)
        return graph.op("Loop", "", some, at, lowest, n_outputs=2, body=attribute)[0]

    @staticmethod
    def _find_next(graph, at):
        """Add whether some row is at a block, and the lowest number of such, (1,)."""
        none = graph.const([np.iinfo(np.int64).max])
        inside = graph.op("GreaterOrEqual", at, graph.const(0))
        numbers = graph.op("Concat", graph.op("Where", inside, at, none), none, axis=0)
        lowest = graph.op("ReduceMin", numbers, keepdims=1)
        return graph.op("Squeeze", graph.op("Less", lowest, none)), lowest

    def _pass(self, body, names, block, rows, own=None):
        """Add where rows go from a block: the number of a block, or -1 less a place of a leaf.

        `own` is the numbers of these rows in `missing`; None if it is all.
        """
        clean, missing, any_missing = rows
        after = body.op("Add", block, body.const(1))

        def find(ptr):
            """Where the parts of tables begin and end that belong to the block."""
            return tuple(body.op("Gather", names[ptr], at, axis=0) for at in (block, after))

        planes, exits = find("planes"), find("exits")
        weight = body.op("Slice", names["weight"], *planes)
        sums = body.op("Gemm", clean, weight, transB=1)
        left = body.op("LessOrEqual", sums, body.op("Slice", names["threshold"], *planes))

        def add_missing(inner):
            lacks = missing if own is None else inner.op("Gather", missing, own, axis=0)
            reads = inner.op("Not", inner.op("Equal", weight, inner.const(0.0, np.float64)))
            found = inner.op("Gemm", inner.cast(lacks, FLOAT), inner.cast(reads, FLOAT), transB=1)
            found = inner.op("Greater", found, inner.const(0.5, np.float32))
            known = inner.op("And", left, inner.op("Not", found))
            to_left = inner.op("Slice", names["missing"], *planes)
            return inner.op("Or", known, inner.op("And", found, to_left))

        left = body.branch(any_missing, add_missing, lambda inner: left)
        shape = body.op(
            "Concat", body.op("Gather", names["n_planes"], block, axis=0), body.const([-1]), axis=0
        )
        paths = body.op("Reshape", body.op("Slice", names["paths"], *find("paths_ptr")), shape)
        turns = body.op("MatMul", body.cast(left, FLOAT), body.cast(paths, FLOAT))
        score = body.op("Sub", turns, body.op("Slice", names["n_left"], *exits))
        taken = body.op("ArgMax", score, axis=1, keepdims=0)
        return body.op("Gather", body.op("Slice", names["target"], *exits), taken, axis=0)

    # ---- tables ------------------------------------------------------------------------------

    def _cut(self, slots):
        """Return the tables of all blocks, and the first block of each tree."""
        tables, roots, n_blocks = _Tables(), [], 0
        for tree, own in zip(self._trees, slots, strict=True):
            roots.append(n_blocks)
            # Blocks get their numbers when they are met, so that rows only go on to higher ones.
            waiting, number = [0], {0: n_blocks}
            n_blocks += 1
            for root in waiting:
                planes, exits = _choose_planes(tree, root, MAX_PLANES if root else MAX_FIRST)
                target = []
                for node in exits:
                    if tree.children_left[node] < 0:
                        target.append(-1 - int(own[node]))
                        continue
                    waiting.append(node)
                    number[node] = n_blocks
                    target.append(n_blocks)
                    n_blocks += 1
                self._add_block(tables, tree, planes, exits, target)
        return tables, roots

    def _add_block(self, tables, tree, planes, exits, target):
        """Take in the numbers of a block."""
        n_planes = len(planes)
        terms = [np.arange(tree.term_ptr[node], tree.term_ptr[node + 1]) for node in planes]
        local = np.repeat(np.arange(n_planes), [len(each) for each in terms])
        terms = np.concatenate(terms)
        column = np.searchsorted(self._features, tree.term_feature[terms])
        tables.n_planes.append(n_planes)
        first = sum(tables.n_planes[:-1])
        tables.index.append((first + local) * len(self._features) + column)
        tables.weight.append(tree.term_weight[terms])
        tables.threshold.append(tree.threshold[planes])
        tables.missing.append(tree.missing_go_left[planes] != 0)
        paths = _trace(tree, planes, exits)
        tables.paths.append(paths.ravel())
        tables.n_left.append((paths > 0).sum(axis=0).astype(np.float32))
        tables.target.append(np.array(target, dtype=np.int64))

    def _make_tables(self, graph, tables):
        """Return names of constants, and of the matrix of all planes.

        The file has the terms; the matrix is made when a model is loaded.
        """
        n_planes = np.array(tables.n_planes)
        sizes = {
            "planes": n_planes,
            "exits": n_planes + 1,
            "paths_ptr": n_planes * (n_planes + 1),
        }
        names = {
            key: graph.const(np.concatenate([[0], np.cumsum(size)]), np.int64)
            for key, size in sizes.items()
        }
        for key in ("threshold", "missing", "paths", "n_left", "target"):
            names[key] = graph.const(np.concatenate(getattr(tables, key)))
        shape = int(n_planes.sum()), len(self._features)
        size = shape[0] * shape[1]
        index = np.concatenate(tables.index).astype(np.int32 if size < 2**31 else np.int64)
        weight = graph.const(np.concatenate(tables.weight))
        zeros = graph.op("Expand", graph.const([0.0]), graph.const([size]))
        weight = graph.op("ScatterElements", zeros, graph.const(index), weight, axis=0)
        names["weight"] = graph.op("Reshape", weight, graph.const(shape, np.int64))
        return names | {"n_planes": graph.const(n_planes, np.int64)}


def _choose_planes(tree, root, most):
    """Return the nodes of a block, parents first, and the nodes that follow on it.

    The nodes that most rows reached in training come first.
    """
    weight = tree.weighted_n_node_samples
    heap, planes, exits = [(-weight[root], root)], [], []
    while heap:
        _, node = heapq.heappop(heap)
        if tree.children_left[node] < 0 or len(planes) == most:
            exits.append(node)
            continue
        planes.append(node)
        for child in (int(tree.children_left[node]), int(tree.children_right[node])):
            heapq.heappush(heap, (-weight[child], child))
    return planes, exits


def _trace(tree, planes, exits):
    """Return on which side of each plane an exit is: int8 (n_planes, n_exits), 1 for left."""
    place = {node: k for k, node in enumerate(planes)}
    column = {node: k for k, node in enumerate(exits)}
    paths = np.zeros((len(planes), len(exits)), dtype=np.int8)
    # Bottom up: what is behind a plane is what is behind its children.
    behind = {node: [column[node]] for node in exits}
    for node in reversed(planes):
        sides = []
        for child, sign in ((tree.children_left[node], 1), (tree.children_right[node], -1)):
            own = behind.pop(int(child))
            paths[place[node], own] = sign
            sides += own
        behind[node] = sides
    return paths
