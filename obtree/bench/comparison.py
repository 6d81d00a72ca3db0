"""Which lines of results can be compared: those of models on the same tables and splits.

A run may have been interrupted, a library may be missing, and some models may have been measured on
some tables only. Means over different splits, or ranks over different tables, say nothing.
"""

from dataclasses import dataclass

import numpy as np

from obtree.bench.results import OK


@dataclass(frozen=True)
class Comparison:
    """Models on the tables and splits that all of them have.

    Parameters
    ----------
    models, tables : list of str
        Names.
    errors : ndarray of shape (n_tables, n_models)
        Means over splits.
    seconds : ndarray of shape (n_fits, n_models)
        Time that passed in fits, a row for each table and split.
    """

    models: list
    tables: list
    errors: np.ndarray
    seconds: np.ndarray


def compare(results, first, models):
    """Compare some models, and then all that were measured wherever these were.

    Of the first models, those that were never measured, say because a library is not installed,
    are left out; the others are compared on the tables and splits that all of them have.

    Parameters
    ----------
    results : list of Result
        Any order.
    first, models : sequence of str
        The first models, and all of them in the order of the comparisons.

    Returns
    -------
    among_first, among_all : Comparison or None
        None where nothing was measured.
    """
    lines = _sort_lines(results)
    tried = [model for model in models if any(model in by_model for by_model in lines.values())]
    chosen = [model for model in tried if model in first]
    shared = _share_splits(lines, chosen or tried)
    if not shared:
        return None, None
    everywhere = [
        model
        for model in tried
        if all(set(splits) <= set(lines[table].get(model, ())) for table, splits in shared.items())
    ]
    return tuple(_collect(lines, some, shared) if some else None for some in (chosen, everywhere))


def _sort_lines(results):
    """Return the lines with figures by table, model and split."""
    lines = {}
    for result in sorted(results, key=lambda result: result.data):
        if result.status == OK:
            by_model = lines.setdefault(result.data, {})
            by_model.setdefault(result.model, {})[result.seed] = result
    return lines


def _share_splits(lines, models):
    """Return by table the splits on which all of these models were measured, if any."""
    shared = {}
    for table, by_model in lines.items():
        splits = [set(by_model.get(model, ())) for model in models]
        if splits and (common := set.intersection(*splits)):
            shared[table] = sorted(common)
    return shared


def _collect(lines, models, shared):
    """Return the comparison of models on given splits."""
    found = [
        [[lines[table][model][split] for model in models] for split in splits]
        for table, splits in shared.items()
    ]
    errors = [np.mean([[one.error for one in row] for row in rows], axis=0) for rows in found]
    seconds = [[one.fit_wall_s for one in row] for rows in found for row in rows]
    return Comparison(models, list(shared), np.array(errors), np.array(seconds))
