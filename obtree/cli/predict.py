"""``obtree predict``: apply a saved model to a table."""

import os

import numpy as np
from sklearn.base import is_classifier

from obtree.cli.features import match_features
from obtree.cli.source import CommandError
from obtree.cli.table import (
    add_reading_options,
    make_frame,
    pick_column,
    read_table,
    write_table,
)
from obtree.estimators import load_model


def add_parser(subparsers):
    """Describe the arguments.

    Parameters
    ----------
    subparsers : argparse subparsers
        Where the command is added.

    Returns
    -------
    parser : argparse.ArgumentParser
    """
    parser = subparsers.add_parser(
        "predict",
        help="apply a saved model to a CSV or Parquet file",
        description="Predict each row of a table. Columns are found by name; columns that "
        "the model does not use are ignored.",
    )
    parser.add_argument("model", help="file written by 'obtree fit' or obtree.save_model")
    parser.add_argument(
        "data", help="file of the table (.csv, .tsv, .parquet), or - for standard input"
    )
    parser.add_argument("--out", help="file to write to (default: CSV on standard output)")
    parser.add_argument("--proba", action="store_true", help="one probability per class")
    add_reading_options(parser)
    parser.add_argument(
        "--allow-plugins",
        action="store_true",
        help="import a splitter of another package that the model names, and make it with the "
        "parameters in the file; predicting does not need it",
    )
    return parser


def run(args):
    """Predict and write.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed arguments.
    """
    if not os.path.isfile(args.model):
        raise CommandError(f"no such file: {args.model}")
    model = load_model(args.model, allow_plugins=args.allow_plugins)
    if args.proba and not is_classifier(model):
        raise CommandError(f"--proba needs a classifier, {args.model} is a regressor")
    table = read_table(args.data, args.separator, args.encoding, args.decimal)
    features = select_features(table, model)
    columns = list_probabilities(model, features) if args.proba else list_values(model, features)
    write_table(make_frame(columns), args.out)


def select_features(table, model):
    """Return the columns of a model as numbers and categories, in its order.

    Parameters
    ----------
    table : Table
        What was read.
    model : estimator object
        Fitted estimator.

    Returns
    -------
    features : pandas.DataFrame or ndarray
        An array when the model was fitted without names.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        for name in names:
            pick_column(table, name)
        return match_features(table, list(names), model)
    if table.frame.shape[1] != model.n_features_in_:
        raise CommandError(
            f"{table.label} has {table.frame.shape[1]} columns, the model was fitted on "
            f"{model.n_features_in_} columns without names{table.hint()}"
        )
    features = match_features(table, list(table.frame.columns), model)
    has_categories = getattr(model, "is_categorical_", None) is not None
    return features.to_numpy(dtype=object if has_categories else np.float64)


def list_values(model, features):
    """Predict, one column per output.

    Parameters
    ----------
    model : estimator object
        Fitted estimator.
    features : pandas.DataFrame or ndarray
        Columns of the model.

    Returns
    -------
    columns : dict of str to ndarray
    """
    values = model.predict(features)
    if values.ndim == 1:
        return {"prediction": values}
    return {f"prediction_{k}": values[:, k] for k in range(values.shape[1])}


def list_probabilities(model, features):
    """Predict probabilities, one column per class.

    Parameters
    ----------
    model : estimator object
        Fitted classifier.
    features : pandas.DataFrame or ndarray
        Columns of the model.

    Returns
    -------
    columns : dict of str to ndarray
    """
    proba = model.predict_proba(features)
    if not isinstance(proba, list):  # of one output; pipelines know no number of them
        return {f"proba_{label}": proba[:, c] for c, label in enumerate(model.classes_)}
    return {
        f"proba_{k}_{label}": proba[k][:, c]
        for k, classes in enumerate(model.classes_)
        for c, label in enumerate(classes)
    }
