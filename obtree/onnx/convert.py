"""From a fitted estimator to the nodes of a graph."""

import numpy as np
from sklearn.base import is_classifier

from obtree.estimators.computed import read_model
from obtree.onnx.features import Features
from obtree.onnx.forms import add_forms
from obtree.onnx.graph import Graph
from obtree.onnx.leaves import LeafTable, normalise
from obtree.onnx.outputs import add_classes, add_numbers
from obtree.onnx.walks import add_walk
from obtree.tree.naive_bayes import FernPredictor
from obtree.tree.normal_predict import NormalPredictor

FORM = "ONNX"


def convert(scope, operator, container):
    """Add what an estimator computes to a model; skl2onnx calls it.

    Parameters
    ----------
    scope : skl2onnx Scope
    operator : skl2onnx Operator
        Has the fitted estimator.
    container : skl2onnx ModelComponentContainer
    """
    model = operator.raw_operator
    graph = Graph(scope, container, type(model).__name__)
    first = model._list_trees()[0]
    features = Features(graph, operator.inputs, first.n_features, first.feature_offset)
    scores = None
    if model._predictor_kind is NormalPredictor:
        values = add_forms(graph, features, model._list_trees(), _find_combine(model))
    elif isinstance(predictor := model._predictor.get(model._list_trees()), FernPredictor):
        values, scores = _add_ferns(graph, features, predictor)
    else:
        values = _add_groups(graph, features, read_model(model, FORM))
    if is_classifier(model):
        n_outputs = first.n_outputs
        n_max = int(np.max(first.n_classes))
        add_classes(graph, operator, values, n_outputs, n_max, scores)
    else:
        add_numbers(graph, operator, values)


def _add_groups(graph, features, model):
    """Add what trees and boosted chains predict together, in the order of the package."""
    total = None
    for group in model.groups:
        table = LeafTable(group.trees, group.combine)
        places = add_walk(graph, features, group.trees, table.slots)
        values = table.add_up(graph, features, places)
        if group.factor is not None:
            values = graph.op("Mul", values, graph.const(group.factor, np.float64))
        total = values if total is None else graph.op("Add", total, values)
    return total


def _add_ferns(graph, features, predictor):
    """Add naive Bayes over the cells of ferns: probabilities, and what tells the class."""
    trees = [tree.shifted for tree in predictor.trees]
    table = LeafTable(trees, "average")
    places = add_walk(graph, features, trees, table.slots)
    values = table.add_up(graph, features, places)
    logs = graph.op("Mul", values, graph.const(float(len(trees)), np.float64))
    prior = np.where(
        np.arange(trees[0].max_n_classes) < trees[0].n_classes[:, None],
        predictor.log_prior,
        -np.inf,
    )
    logs = graph.op("Add", logs, graph.const(prior.ravel(), np.float64))
    return normalise(graph, logs, trees[0].n_classes), logs


def _find_combine(model):
    """Return how the members of a model are combined; one by itself has nothing to combine."""
    return model._choose_combine() if hasattr(model, "_choose_combine") else "average"
