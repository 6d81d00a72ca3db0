"""What leaves hold, each different one once, and the numbers that trees know them by.

Numbers run through *sections*, of which any may be empty: pure leaves by their class, class
fractions as a ratio of small whole numbers, other values, linear models, and lines with noise.
"""

import numpy as np

from obtree.tree.leaf_models import LinearGaussianLeaf, LinearLeaf
from obtree.tree.predict import PROBABILITY_FLOOR

PURE, COUNTED, VALUED, LINEAR, LINES = SECTIONS = range(5)

#: Largest whole number of a ratio.
MAX_COUNT = 2**16 - 1


class Leaves:
    """Collects the leaves of trees.

    Parameters
    ----------
    model : ExportedModel
    only_classes : bool
        Whether nothing but the most probable class of a leaf matters.

    Attributes
    ----------
    counts : list of tuple of int
        Class counts of leaves, and last their sum.
    values : list of ndarray
        Values of leaves.
    first : list of int
        Where each section begins, once all trees have been added; one more at the end.
    """

    def __init__(self, model, only_classes):
        self._model = model
        self._only_classes = only_classes
        self._has_pure = model.n_outputs == 1 and model.max_n_classes > 1
        self._n_pure = 0
        self._known = {}
        self._codes = []
        self.counts = []
        self.values = []
        self.linear = {"ptr": [0], "feature": [], "weight": [], "intercept": [], "fallback": []}
        self.lines = {"ptr": [0], "feature": [], "centre": [], "weight": []}
        self.lines |= {"mean": [], "low": [], "high": []}
        self.first = None

    def add_group(self, group):
        """Take in the leaves of the trees of a group."""
        for tree in group.trees:
            leaf = np.flatnonzero(tree.children_left < 0)
            vectors = tree.value.reshape(tree.node_count, -1)[leaf]
            weights = tree.weighted_n_node_samples[leaf]
            codes = self._number_values(vectors, weights, group.combine)
            if tree.leaf_kind is LinearLeaf:
                codes = self._add_linear(tree, leaf, codes)
            elif tree.leaf_kind is LinearGaussianLeaf:
                codes = self._add_lines(tree, leaf)
            self._codes.append((tree.node_count, leaf, codes))

    def finish(self):
        """Lay the sections end to end.

        Returns
        -------
        codes : list of int64 ndarray of shape (n_nodes,)
            For each tree the number of what its leaves hold; -1 at other nodes.
        """
        sizes = (
            *(self._n_pure, len(self.counts), len(self.values)),
            *(len(self.linear["fallback"]), len(self.lines["mean"])),
        )
        self.first = [0, *np.cumsum(sizes).tolist()]
        self.linear["fallback"] = [self._place(code) for code in self.linear["fallback"]]
        numbers = []
        for n_nodes, leaf, codes in self._codes:
            number = np.full(n_nodes, -1, dtype=np.int64)
            number[leaf] = [self._place(code) for code in codes]
            numbers.append(number)
        return numbers

    def has(self, section):
        """Whether some leaf is of a section."""
        return self.first[section] < self.first[section + 1]

    def list_classes(self):
        """Return the most probable class of each leaf that has counts or values."""
        rows = [np.array(count[:-1]) for count in self.counts] + self.values
        return [int(np.argmax(row)) for row in rows]

    def _place(self, code):
        """Return the number of a leaf, given its section and its place there."""
        section, number = code
        return self.first[section] + number

    def _number_values(self, vectors, weights, combine):
        """Return section and place of constant leaves."""
        pure = np.full(len(vectors), -1)
        if self._has_pure:
            is_pure = ((vectors == 0.0) | (vectors == 1.0)).all(axis=1)
            is_pure &= (vectors == 1.0).sum(axis=1) == 1
            pure[is_pure] = vectors[is_pure].argmax(axis=1)
        if combine == "vote" or self._only_classes:
            vectors = self._vote(vectors)
            if self._has_pure:
                pure = vectors.argmax(axis=1)
        elif combine == "product":
            vectors = np.log(np.maximum(vectors, PROBABILITY_FLOOR))
        codes = []
        for vector, weight, own in zip(vectors, weights.tolist(), pure.tolist(), strict=True):
            if own >= 0:
                self._n_pure = self._model.max_n_classes
                codes.append((PURE, own))
                continue
            key = vector.tobytes()
            if key not in self._known:
                self._known[key] = self._add_values(vector, weight)
            codes.append(self._known[key])
        return codes

    def _vote(self, vectors):
        """Return 1 for the most probable class of each output and 0 for others."""
        shape = (-1, self._model.n_outputs, self._model.max_n_classes)
        best = vectors.reshape(shape).argmax(axis=2)
        return (best[:, :, None] == np.arange(shape[2])).astype(np.float64).reshape(vectors.shape)

    def _add_values(self, vector, weight):
        """Keep what a leaf predicts, as counts if they give the same bits."""
        counts = None
        if self._model.labels is not None and 1.0 <= weight <= MAX_COUNT and weight == int(weight):
            counts = np.rint(vector * weight)
            if not (counts >= 0.0).all() or not (counts / weight == vector).all():
                counts = None
        if counts is None:
            self.values.append(vector)
            return VALUED, len(self.values) - 1
        whole = np.append(counts, weight).astype(np.int64)
        whole //= np.gcd.reduce(whole)
        self.counts.append(tuple(whole.tolist()))
        return COUNTED, len(self.counts) - 1

    def _add_linear(self, tree, leaf, codes):
        """Keep linear models; where there is none, a leaf is constant."""
        found = []
        for node, code in zip(leaf.tolist(), codes, strict=True):
            terms = slice(tree.leaf_ptr[node], tree.leaf_ptr[node + 1])
            if terms.start == terms.stop:
                found.append(code)
                continue
            kept = self.linear
            found.append((LINEAR, len(kept["fallback"])))
            kept["fallback"].append(code)
            kept["feature"].append(tree.leaf_feature[terms])
            kept["weight"].append(tree.leaf_weight[terms])
            kept["intercept"].append(tree.leaf_intercept[node])
            kept["ptr"].append(kept["ptr"][-1] + int(terms.stop - terms.start))
        return found

    def _add_lines(self, tree, leaf):
        """Keep lines with noise, of which only the lines matter."""
        found = []
        for node in leaf.tolist():
            terms = slice(tree.leaf_line_ptr[node], tree.leaf_line_ptr[node + 1])
            kept = self.lines
            found.append((LINES, len(kept["mean"])))
            kept["feature"].append(tree.leaf_line_feature[terms])
            kept["centre"].append(tree.leaf_line_centre[terms])
            kept["weight"].append(tree.leaf_line_weight[terms])
            kept["ptr"].append(kept["ptr"][-1] + int(terms.stop - terms.start))
            for name in ("mean", "low", "high"):
                kept[name].append(getattr(tree, f"leaf_line_{name}")[node])
        return found
