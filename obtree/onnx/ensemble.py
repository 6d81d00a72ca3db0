"""Trees whose nodes compare a column with a number, as TreeEnsembleRegressor.

The operator has one number for each tree and row: not what the leaf predicts, but its place in a
table of such. It comes as float32, which counts to 2^24.
"""

import numpy as np
from onnx import numpy_helper

from obtree.onnx.graph import INT64

#: Leaves that float32 can tell apart.
MAX_SLOTS = 2**24


class Ensemble:
    """Collects trees for one operator."""

    def __init__(self):
        self._parts = []

    def add_tree(self, tree, column, threshold, slot):
        """Take in a tree.

        Parameters
        ----------
        tree : Tree
        column : ndarray of shape (n_nodes,)
            Which column each node compares.
        threshold : float ndarray of shape (n_nodes,)
            Rows up to here go left.
        slot : int64 ndarray of shape (n_nodes,)
            Places of leaves in the table.
        """
        is_leaf = tree.children_left < 0
        self._parts.append(
            {
                "nodeids": np.arange(tree.node_count),
                "treeids": np.full(tree.node_count, len(self._parts)),
                "featureids": np.where(is_leaf, 0, column),
                "truenodeids": np.where(is_leaf, 0, tree.children_left),
                "falsenodeids": np.where(is_leaf, 0, tree.children_right),
                "missing_value_tracks_true": np.where(is_leaf, 0, tree.missing_go_left),
                "is_leaf": is_leaf,
                "values": np.where(is_leaf, 0.0, threshold),
                "slots": slot,
            }
        )

    def write(self, graph, columns, dtype):
        """Add the operator.

        Parameters
        ----------
        graph : Graph
        columns : str
            What the trees compare, (n_rows, n_columns).
        dtype : type
            Of the columns.

        Returns
        -------
        str
            Places in the table, int64 (n_rows, n_trees).
        """
        nodes = {key: np.concatenate([part[key] for part in self._parts]) for key in self._parts[0]}
        is_leaf, values, slots = (nodes.pop(key) for key in ("is_leaf", "values", "slots"))
        attributes = {f"nodes_{key}": array.tolist() for key, array in nodes.items()}
        attributes["nodes_modes"] = ["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf.tolist()]
        numbers = {"nodes_values": values, "target_weights": slots[is_leaf]}
        for key, array in numbers.items():
            array = array.astype(dtype)
            if dtype is np.float64:
                attributes[f"{key}_as_tensor"] = numpy_helper.from_array(array, key)
            else:
                attributes[key] = array
        found = graph.op(
            "TreeEnsembleRegressor",
            columns,
            n_targets=len(self._parts),
            aggregate_function="SUM",
            post_transform="NONE",
            target_treeids=nodes["treeids"][is_leaf].tolist(),
            target_nodeids=nodes["nodeids"][is_leaf].tolist(),
            target_ids=nodes["treeids"][is_leaf].tolist(),
            **attributes,
        )
        return graph.cast(found, INT64)
