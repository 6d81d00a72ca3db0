"""Estimators by the names that stand on the command line, and their parameters."""

import ast

import obtree.estimators as estimators
from obtree.cli.source import CommandError
from obtree.core.names import expect_name, show, unknown_name
from obtree.splitter import resolve_splitter

#: Beginning of the names of the classes; a task comes behind.
ESTIMATORS = {
    "tree": "ObliqueTree",
    "forest": "ObliqueForest",
    "tao-tree": "TAOTree",
    "tao-forest": "TAOForest",
    "nongreedy-tree": "NonGreedyTree",
    "nongreedy-forest": "NonGreedyForest",
    "disjunctive-tree": "DisjunctiveTree",
    "disjunctive-forest": "DisjunctiveForest",
    "ferns": "Fern",
}
TASKS = {"classification": "Classifier", "regression": "Regressor"}

#: Options that stand for a parameter; None is the one that holds the splitter.
OPTIONS = {
    "--splitter": None,
    "--n-estimators": "n_estimators",
    "--n-jobs": "n_jobs",
    "--seed": "random_state",
    "--verbose": "verbose",
}
DEFAULTS = {"n_jobs": -1, "random_state": 0}


def check_estimator(name):
    """Refuse a name that no estimator has.

    Parameters
    ----------
    name : str
        What the user gave.
    """
    if name not in ESTIMATORS:
        raise CommandError(unknown_name("estimator", name, ESTIMATORS))


def parse_setting(text):
    """Split ``name=value``, and read the value as Python would; else it is text.

    Parameters
    ----------
    text : str
        What the user gave.

    Returns
    -------
    name : str
    value : object
    """
    name, sign, value = text.partition("=")
    name = name.strip()
    if not sign or not name:
        raise CommandError(
            f"--set {text} is not valid; expected name=value, such as --set max_depth=8"
        )
    try:
        return name, ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return name, value


def make_estimator(name, task, options, settings):
    """Make an unfitted estimator.

    Parameters
    ----------
    name : str
        A key of `ESTIMATORS`.
    task : {"classification", "regression"}
        What it is to do.
    options : dict of str to object
        By option, as in `OPTIONS`; None where the user gave none.
    settings : list of str
        Values of ``--set``.

    Returns
    -------
    estimator : estimator object
    """
    kind = getattr(estimators, ESTIMATORS[name] + TASKS[task], None)
    if kind is None:
        (other,) = set(TASKS) - {task}
        raise CommandError(f"{name} is for {other} only, and the task is {task}; see --task")
    known = list(kind().get_params(deep=False))
    given = {}
    for option, value in options.items():
        param = OPTIONS[option] or kind._splitter_param
        if value is None:
            continue
        if param not in known:
            raise CommandError(f"{option} has no meaning for {name}, which has no {param}")
        given[param] = (value, option)
    for setting in settings:
        param, value = parse_setting(setting)
        if param in given:
            raise CommandError(f"{param} is set twice: by {given[param][1]} and by --set {setting}")
        given[param] = (value, f"--set {setting}")
    params = {param: value for param, (value, _) in given.items()}
    _check_names(kind, name, known, params)
    defaults = {param: value for param, value in DEFAULTS.items() if param in known}
    return kind().set_params(**{**defaults, **params})


def _check_names(kind, name, known, params):
    """Refuse parameters that the estimator, or its splitter, does not have."""
    place = kind._splitter_param
    for param in params:
        outer, nested, inner = param.partition("__")
        if not nested:
            if param not in known:
                expected = expect_name(param, known)
                raise CommandError(f"{name} has no parameter {show(param)}; {expected}")
            continue
        if outer != place:
            raise CommandError(
                f"{name} has no parameter {show(param)}; expected {place}__ and the name of a "
                "parameter of its splitter"
            )
        given = params.get(place, getattr(kind(), place))
        if isinstance(given, str) and given in kind._other_starts:
            continue  # set_params says that it has no parameters
        of_splitter = resolve_splitter(given, place, kind._other_starts).get_params()
        if inner not in of_splitter:
            raise CommandError(
                f"{place}={show(given)} has no parameter {show(inner)}; "
                f"{expect_name(inner, of_splitter)}"
            )
