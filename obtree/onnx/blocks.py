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

The products are of float32, twice as fast as float64. With u = 2^-24 a sum of n terms less a
threshold is wrong by at most (n + 8) u (|x| |w| + |threshold|) for a row x and weights w, which
matters only if the threshold is not more than 2 |x| |w|: three times (n + 8) u |x| |w| is a reach
from which on the side is certain. Planes are divided by twice their reach, and rows by their
length (the threshold is one term more), so that one product and a clip give what stands for D,

    clip(0.5 - (x @ w - threshold) / (2 reach), 0, 1)

which is 1 or 0 where the side is certain. If it is not, and the plane is on the row's path, no exit
gets 0; the row then belongs to the few that walk down the tree in float64 (`obtree.onnx.levels`).
"""

import numpy as np

from obtree.onnx.cuts import cut_trees
from obtree.onnx.features import pad
from obtree.onnx.graph import BOOL, DOUBLE, FLOAT, INT64
from obtree.onnx.levels import Levels

#: How many times the reach of errors counts, and how much an exit has to be short of 0: what is
#: wrong by 1 / SAFETY of the reach is short of it by at least 0.5 - 0.5 / SAFETY.
SAFETY = 1.05
SHORT = 0.01

#: Lengths of rows between which float32 holds all that is computed with them.
MIN_NORM, MAX_NORM = 1e-30, 1e30

#: Where a row is of which float32 cannot tell; less than any -1 less a place.
DOUBTFUL = np.iinfo(np.int64).min

#: Rows that walk in float64 together.
N_TOGETHER = 4096


class Blocks:
    """The blocks of some trees that have at least one plane each.

    Parameters
    ----------
    trees : list of Tree
        For shifted features; planes without products and intervals, and weights other than 0.
    """

    def __init__(self, trees):
        self._cuts, self._trees = cut_trees(trees)
        self._features = np.unique(np.concatenate([tree.term_feature for tree in trees]))
        self._levels = Levels(self._trees)

    def write(self, graph, features, slots):
        """Add the walk of all rows; see `obtree.onnx.columns.Columns.write`."""
        exact = self._levels.make_tables(graph, features.n_features)
        names = self._make_tables(graph, features.n_features, exact, slots)
        clean, missing = features.clean_single(graph), features.missing(graph)
        if len(self._features) < features.n_features:
            used = graph.const(self._features, np.int64)
            clean, missing = (graph.op("Gather", each, used, axis=1) for each in (clean, missing))
        rows = self._divide(graph, clean), missing, features.any_missing(graph)
        body = graph.body()
        tree, going = body.name("tree"), body.name("going")
        first = body.op("Gather", graph.const(np.array(self._cuts.first)[:, None]), tree, axis=0)
        at = self._pass(body, names, first, rows)
        found = self._follow(body, names, rows, at)
        attribute = body.finish(
            [(tree, INT64, []), (going, BOOL, [])], [(going, BOOL, []), (found, INT64, [None])]
        )
        trips = graph.const(len(self._trees), np.int64)
        found = graph.op("Loop", trips, graph.const(True), body=attribute)
        found = self._decide(graph, exact, features, slots, found)
        slot = graph.op("Sub", graph.const(-1), found)
        return graph.op("Transpose", slot, perm=[1, 0])

    @staticmethod
    def _divide(graph, clean):
        """Add rows of length 1 and their part of a threshold, float32 (n_rows, n_columns + 1).

        Rows that are too long become 0, which is certain of nothing.
        """
        axis, one = graph.const([1], np.int64), graph.const(1.0, np.float64)
        clean = graph.cast(clean, DOUBLE)
        norm = graph.op("Sqrt", graph.op("ReduceSumSquare", clean, axis, keepdims=1))
        fits = graph.op("LessOrEqual", norm, graph.const(MAX_NORM, np.float64))
        share = graph.op("Div", one, graph.op("Max", norm, graph.const(MIN_NORM, np.float64)))
        share = graph.op("Where", fits, share, graph.const(0.0, np.float64))
        columns = graph.op("Mul", clean, share), share
        return graph.cast(graph.op("Concat", *columns, axis=1), FLOAT)

    def _follow(self, graph, names, rows, at):
        """Add the blocks that rows come to, the lowest number first, until all are at leaves."""
        body = graph.body()
        step, going, here, block = (body.name(key) for key in ("step", "going", "here", "block"))
        own = body.op("Squeeze", body.op("NonZero", body.op("Equal", here, block)), body.const([0]))
        divided, missing, any_missing = rows
        taken = body.op("Gather", divided, own, axis=0)
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
        """Add where rows go from a block.

        The number of a block, -1 less a place of a leaf, or DOUBTFUL. `own` is the numbers of these
        rows in what tells what is missing; None if it is all.
        """
        divided, missing, any_missing = rows
        after = body.op("Add", block, body.const(1))

        def find(ptr):
            """Where the parts of tables begin and end that belong to the block."""
            return tuple(body.op("Gather", names[ptr], at, axis=0) for at in (block, after))

        planes, exits = find("planes"), find("exits")
        zero, one = body.const(0.0, np.float32), body.const(1.0, np.float32)
        matrix = body.op("Slice", names["matrix"], *planes)
        left = body.op("Gemm", divided, matrix, body.const([0.5], np.float32), transB=1)
        left = body.op("Clip", left, zero, one)

        def add_missing(inner):
            lacks = missing if own is None else inner.op("Gather", missing, own, axis=0)
            # All columns but that of the threshold.
            weight = inner.op("Slice", matrix, *(inner.const([k]) for k in (0, -1, 1)))
            reads = inner.op("Not", inner.op("Equal", weight, zero))
            found = inner.op("Gemm", inner.cast(lacks, FLOAT), inner.cast(reads, FLOAT), transB=1)
            found = inner.op("Greater", found, inner.const(0.5, np.float32))
            return inner.op("Where", found, inner.op("Slice", names["missing"], *planes), left)

        left = body.branch(any_missing, add_missing, lambda inner: left)
        n_planes = body.op("Gather", names["n_planes"], block, axis=0)
        shape = body.op("Concat", n_planes, body.const([-1]), axis=0)
        paths = body.op("Reshape", body.op("Slice", names["paths"], *find("paths_ptr")), shape)
        n_left = body.op("Slice", names["n_left"], *exits)
        score = body.op("Gemm", left, body.cast(paths, FLOAT), n_left, beta=-1.0)
        taken = body.op("ArgMax", score, axis=1, keepdims=0)
        target = body.op("Gather", body.op("Slice", names["target"], *exits), taken, axis=0)
        best = body.op("ReduceMax", score, body.const([1]), keepdims=0)
        is_certain = body.op("Greater", best, body.const(-SHORT, np.float32))
        return body.op("Where", is_certain, target, body.const(DOUBTFUL))

    def _decide(self, graph, exact, features, slots, found):
        """Add the walk in float64 of rows that float32 cannot tell the way, some at a time."""
        pairs = graph.op("NonZero", graph.op("Equal", found, graph.const(DOUBTFUL)))
        count = graph.op("Shape", pairs, start=1, end=2)
        size = graph.const([N_TOGETHER])
        trips = graph.op("Div", graph.op("Add", count, graph.const([N_TOGETHER - 1])), size)
        body = graph.body()
        step, going, known = body.name("step"), body.name("going"), body.name("known")
        start = body.op("Mul", body.op("Unsqueeze", step, body.const([0])), size)
        end = body.op("Add", start, size)
        own = body.op("Slice", pairs, start, end, body.const([1]))
        tree, row = (body.op("Gather", own, body.const(k), axis=0) for k in (0, 1))
        node = body.op("Gather", exact["root"], tree, axis=0)
        node = body.op("Unsqueeze", node, body.const([1]))
        x = body.op("Gather", features.single, row, axis=0)
        x = pad(body, body.cast(x, DOUBLE))
        leaf = self._levels.go_down(body, exact, x, node, 1)
        leaf = body.op("Squeeze", leaf, body.const([1]))
        codes = -1 - np.concatenate(
            [own[order] for own, order in zip(slots, self._cuts.orders, strict=True)]
        )
        code = body.op("Gather", body.const(codes), leaf, axis=0)
        place = body.op("Transpose", own, perm=[1, 0])
        fresh = body.op("ScatterND", known, place, code)
        shape = [len(self._trees), None]
        attribute = body.finish(
            [(step, INT64, []), (going, BOOL, []), (known, INT64, shape)],
            [(going, BOOL, []), (fresh, INT64, shape)],
        )
        trips = graph.op("Squeeze", trips)
        return graph.op("Loop", trips, graph.const(True), found, body=attribute)

    # ---- tables ------------------------------------------------------------------------------

    def _make_tables(self, graph, n_features, exact, slots):
        """Return names of the tables of blocks, one block after the other."""
        n_planes = np.array(self._cuts.n_planes)
        names = {
            "planes": _end_to_end(graph, n_planes),
            "exits": _end_to_end(graph, n_planes + 1),
            "paths_ptr": _end_to_end(graph, n_planes * (n_planes + 1)),
            "n_planes": graph.const(n_planes, np.int64),
            "paths": graph.const(np.concatenate(self._cuts.paths)),
            "n_left": graph.const(self._cuts.list_turns()),
            "target": graph.const(self._cuts.list_targets(slots)),
            "missing": graph.const(self._join("missing_go_left") != 0, np.float32),
        }
        names["matrix"] = self._add_matrix(graph, n_features, exact)
        return names

    def _join(self, name):
        """Return an array of all planes, which come before leaves in each tree."""
        return np.concatenate(
            [getattr(tree, name)[: tree.node_count - tree.n_leaves] for tree in self._trees]
        )

    def _count_terms(self):
        """Return the number of terms of each plane, and all weights."""
        counts = [np.diff(tree.term_ptr)[: tree.node_count - tree.n_leaves] for tree in self._trees]
        return np.concatenate(counts), np.concatenate([tree.term_weight for tree in self._trees])

    def _find_factors(self):
        """Return what each plane is multiplied by: -1 over twice its reach for rows of length 1."""
        count, weight = self._count_terms()
        first = np.cumsum(count) - count
        # By powers of 2, so that squares neither overflow nor vanish.
        _, exponent = np.frexp(np.maximum.reduceat(np.abs(weight), first))
        scale = np.ldexp(1.0, -np.clip(exponent, -1000, 1000))
        norm = np.sqrt(np.add.reduceat(np.square(weight * np.repeat(scale, count)), first))
        return -scale / (2.0 * SAFETY * 3.0 * (count + 8) * 2.0**-24 * norm)

    def _add_matrix(self, graph, n_features, exact):
        """Add all planes as rows of float32, made of the terms when a model is loaded."""
        count, weight = self._count_terms()
        n_planes, n_columns = len(count), len(self._features) + 1
        factor = self._find_factors()
        axis = graph.const([0])
        terms = graph.const([1]), graph.const([len(weight) + 1]), axis
        weight, feature = (graph.op("Slice", exact[key], *terms) for key in ("weight", "feature"))
        # The plane of each term: how many have begun after the first. All numbers of places are
        # of 32 bits, since there are as many of them as terms while a model is loaded.
        begin = graph.const(np.cumsum(count) - count, np.int32)
        follows = graph.const(np.arange(n_planes) > 0, np.int32)
        begun = graph.op("Expand", graph.const([0], np.int32), graph.op("Shape", weight))
        begun = graph.op("ScatterElements", begun, begin, follows, axis=0)
        owner = graph.op("CumSum", begun, graph.const(0, np.int32))
        weight = graph.op("Mul", weight, graph.op("Gather", graph.const(factor), owner, axis=0))
        column = np.zeros(n_features + 2, dtype=np.int32)
        column[self._features] = np.arange(n_columns - 1)
        place = graph.op("Gather", graph.const(column), feature, axis=0)
        width = graph.const(n_columns, np.int32)
        place = graph.op("Add", graph.op("Mul", owner, width), place)
        # Behind the weights of each plane stands its threshold.
        last = graph.const(np.arange(1, n_planes + 1) * n_columns - 1, np.int32)
        with np.errstate(over="ignore"):
            threshold = graph.const(-self._join("threshold") * factor, np.float32)
        place = graph.op("Concat", place, last, axis=0)
        numbers = graph.op("Concat", graph.cast(weight, FLOAT), threshold, axis=0)
        size = graph.const([n_planes * n_columns])
        zeros = graph.op("Expand", graph.const([0.0], np.float32), size)
        matrix = graph.op("ScatterElements", zeros, place, numbers, axis=0)
        return graph.op("Reshape", matrix, graph.const([n_planes, n_columns]))


def _end_to_end(graph, sizes):
    """Return the name of where parts of these sizes begin that lie one after the other."""
    return graph.const(np.concatenate([[0], np.cumsum(sizes)]), np.int64)
