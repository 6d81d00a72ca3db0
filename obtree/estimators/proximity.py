"""Proximities of rows: how often they share a leaf.

Three kinds. The fraction of trees in which two rows share a leaf (Breiman, 2003); the same among
trees that saw neither, which does not call rows near because a tree has learnt both by heart; and
the weights of the training rows in the forest's prediction (Rhodes, Cutler and Moon, 2023).
"""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from obtree.core.hints import MatrixLike
from obtree.core.names import show
from obtree.core.params import Integer, check_param
from obtree.estimators.hints import Mixin
from obtree.estimators.leaf_rows import find_leaves, list_leaf_rows
from obtree.forest.proximity import LeafJoin

KINDS = ("leaf", "oob", "gap")
#: Bytes of a column number.
INDEX_BYTES = 4


class ProximityMixin(Mixin):
    """Proximities, for forests whose trees have leaves."""

    def proximity(
        self,
        X: MatrixLike,
        Y: MatrixLike | None = None,
        *,
        kind: Literal["leaf", "oob", "gap"] = "leaf",
        n_neighbors: int | None = None,
        max_bytes: int = 3 * 2**29,
    ) -> Any:
        """Return how near rows are to each other, by the leaves they share.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features, read as float32. NaN means missing. Without `Y`, the kinds "oob" and "gap"
            need the rows that the forest was fitted to, in the same order.
        Y : {array-like, sparse matrix} of shape (n_others, n_features), default=None
            Rows to compare with; None compares the rows of X with each other. The kinds "oob"
            and "gap" need the rows that the forest was fitted to, and take those of X for new
            ones, which no tree has seen.
        kind : {"leaf", "oob", "gap"}, default="leaf"
            "leaf": fraction of the trees in which two rows share a leaf. "oob": the same among the
            trees that have neither in their sample. "gap": mean, over the trees that do not
            have the row in their sample, of the weight that the other row has in its leaf.
        n_neighbors : int, default=None
            Keep only so many entries of each row, the largest, the first of equals; the
            row itself is one of them. None keeps all.
        max_bytes : int, default=3 * 2**29
            Refuse a result that takes more.

        Returns
        -------
        proximity : csr_matrix of shape (n_samples, n_samples) or (n_samples, n_others)
            "leaf" and "oob" are float32, symmetric, and have ones on the diagonal, unless
            `n_neighbors` cuts rows short. "gap" is float64, not symmetric, has zeros on the
            diagonal, and its rows sum to one. Rows that are in the sample of every tree are empty
            in "oob" and "gap".

        Notes
        -----
        All trees in ``estimators_`` count alike, whichever setting of a race they are of; trees
        of boosted chains, which predict what others have left, do not count.

        The product of "gap" with the targets is the out-of-bag prediction of a forest that
        averages trees with constant leaves, and has no chains.
        """
        check_param("kind", kind, *KINDS)
        check_param("n_neighbors", n_neighbors, None, Integer(1))
        check_param("max_bytes", max_bytes, Integer(1))
        n_threads = self._count_threads()
        leaves = self._find_leaves(X)
        others = leaves if Y is None else self._find_leaves(Y)
        node_counts = [tree.node_count for tree in self._list_trees()]
        divisor = np.full(len(leaves), float(len(node_counts)))
        bits = weights = None
        if kind != "leaf":
            counts = self._count_draws_of_rows(
                f"kind={show(kind)}", others, "; expected kind='leaf'"
            )
            is_out = np.ones_like(leaves, bool) if Y is not None else counts == 0
            if not is_out.any():
                raise ValueError(
                    f"kind={show(kind)} needs rows that trees have left out, and every tree has "
                    "seen every row; expected a forest fitted with bootstrap=True, or new rows "
                    "as X and the training rows as Y"
                )
            leaves = np.where(is_out, leaves, np.int32(-1))
            if kind == "oob":
                others = np.where(counts == 0, others, np.int32(-1))
                bits = _pack_bits(is_out), _pack_bits(counts == 0)
                divisor[:] = 1.0
            else:
                weights = self._weigh_draws(counts)
                divisor = np.maximum(is_out.sum(axis=1), 1).astype(np.float64)
        rows = list_leaf_rows(others, node_counts, weights)
        options = {"bits": bits, "n_neighbors": n_neighbors, "max_bytes": max_bytes}
        return join_leaves(leaves, rows, divisor, n_threads, single=kind != "gap", **options)

    def _find_leaves(self, X):
        """Check rows and return the leaf of each in each tree, int32 (n_samples, n_trees)."""
        return self._find_leaves_of(self._read_features(X))

    def _find_leaves_of(self, X):
        """Return the leaves of rows that are checked."""
        predictor = self._predictor.get(self._list_trees())
        return find_leaves(predictor, X, self._count_threads())

    def _count_draws_of_rows(self, what, leaves, advice=""):
        """Return how often each tree drew each training row, (n_samples, n_trees).

        Messages begin with what the user asked for.
        """
        bags = getattr(self, "_bags", None)
        if bags is None:
            raise ValueError(
                f"{what} is not available for this {type(self).__name__}: it needs the "
                "rows that each tree was grown on, which forests know whose trees are grown and "
                "not optimised on all rows, until update_leaves, and which model files do not "
                f"keep{advice}"
            )
        if len(leaves) != bags.n_samples:
            raise ValueError(
                f"{what} needs the {bags.n_samples} rows that the forest was fitted "
                f"to, got {len(leaves)}"
            )
        seeds = [tree.random_state for tree in self.estimators_]
        counts = np.stack(
            [bags.count(t, seed) for t, seed in enumerate(seeds)], axis=1, dtype=np.int32
        )
        for t, tree in enumerate(self._list_trees()):
            # Each leaf remembers how many rows it was made of.
            found = np.bincount(leaves[:, t], counts[:, t] > 0, minlength=tree.node_count)
            is_leaf = tree.children_left < 0
            if (found[is_leaf] != tree.n_node_samples[is_leaf]).any():
                raise ValueError(
                    f"{what} needs the rows that the forest was fitted to, in the same "
                    "order; the leaves of these have other sizes"
                )
        return counts

    def _weigh_draws(self, counts):
        """Yield what each training row weighs in each tree."""
        weight = self._bags.spread_weight()
        for t in range(counts.shape[1]):
            yield counts[:, t] * weight


def join_leaves(
    leaves,
    rows,
    divisor,
    n_threads=1,
    *,
    single=False,
    bits=None,
    n_neighbors=None,
    max_bytes=2**62,
):
    """Return the sparse matrix of the leaves that rows share.

    Parameters
    ----------
    leaves : int32 ndarray of shape (n_samples, n_trees)
        Leaf of each row, -1 where a tree has no say.
    rows : LeafRows
        Rows to compare with.
    divisor : float64 ndarray of shape (n_samples,)
        What the sums of a row are divided by.
    n_threads : int, default=1
        Number of threads.
    single : bool, default=False
        Whether the matrix is of float32, and not of float64.
    bits, n_neighbors
        See `LeafJoin`.
    max_bytes : int, optional
        Refuse a result that takes more.

    Returns
    -------
    matrix : csr_matrix of shape (n_samples, rows.n_rows)
    """
    join = LeafJoin(
        np.ascontiguousarray(leaves),
        rows.offset,
        rows.start,
        rows.member,
        rows.weight,
        divisor,
        rows.n_rows,
        bits,
        n_neighbors,
        n_threads,
    )
    row_ptr = np.concatenate([[0], np.cumsum(join.count(), dtype=np.int64)])
    n_bytes = (INDEX_BYTES + (4 if single else 8)) * int(row_ptr[-1])
    if n_bytes > max_bytes:
        raise ValueError(
            f"the proximities of {len(leaves)} rows to {rows.n_rows} have {row_ptr[-1]} entries "
            f"and take {n_bytes / 2**20:.1f} MB, more than max_bytes={max_bytes}; expected "
            "n_neighbors, such as 100, to keep the nearest of each row, smaller leaves, or a "
            "higher max_bytes"
        )
    indices, values = join.fill(row_ptr, single)
    if row_ptr[-1] < 2**31:
        row_ptr = row_ptr.astype(np.int32)
    else:
        indices = indices.astype(np.int64)
    matrix = sp.csr_matrix((values, indices, row_ptr), shape=(len(leaves), rows.n_rows))
    matrix.sort_indices()
    return matrix


def _pack_bits(flags):
    """Return flags of trees as 64-bit words, (n_samples, n_words)."""
    n_words = -(-flags.shape[1] // 64)
    packed = np.zeros((len(flags), 8 * n_words), dtype=np.uint8)
    packed[:, : -(-flags.shape[1] // 8)] = np.packbits(flags, axis=1)
    return packed.view(np.uint64)
