"""Columns of a table as features: numbers, and categories where a model takes them."""

import numpy as np

from obtree.cli.table import has_comma, to_numbers
from obtree.data.categories import FROM_DTYPE, find_categorical

#: A column of text is one of numbers with mistakes in it if so many of its cells are numbers.
MOSTLY = 0.5
TRUTH = ("true", "false")


def read_features(frame, label, model):
    """Return the features of a table that a model is to be fitted to.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of the features; empty cells are missing values.
    label : str
        What messages call the table.
    model : estimator object
        Not fitted.

    Returns
    -------
    features : pandas.DataFrame
        Text only in columns of categories.
    """
    wanted = getattr(model, "categorical_features", None)
    if wanted is None:
        advice = "encode text as numbers, or drop the column; 'tree' and 'forest' take categories"
        return to_numbers(frame, label, None if hasattr(model, "categorical_features") else advice)
    chosen = find_categorical(frame, wanted)
    advice = "the column is not one of categorical_features"
    if isinstance(wanted, str) and wanted == FROM_DTYPE:
        chosen &= [not _is_mostly_numbers(column) for _, column in frame.items()]
        advice = (
            "most others in the column are: empty the cell if it stands for a missing value, or "
            "name the column, and all others of categories, by --set categorical_features=[...]"
        )
    return _join(frame, label, chosen, advice)


def match_features(table, names, model):
    """Return the features of a table to which a model is to be applied.

    Parameters
    ----------
    table : Table
    names : list of str
        Its columns that are features, in the order of the model.
    model : estimator object
        Fitted.

    Returns
    -------
    features : pandas.DataFrame
    """
    frame = table.frame[names].copy(deep=False)
    categories = getattr(model, "categories_", None)
    if categories is None:
        return to_numbers(frame, table.label)
    chosen = np.array([known is not None for known in categories])
    for j in np.flatnonzero(chosen):
        known, column = categories[j].tolist(), frame.iloc[:, j]
        is_text = [isinstance(value, str) for value in known]
        if all(is_text) and not _is_text(column):
            # Here are only such as look like numbers or truth values.
            cells = table.read_text(names[j])
            if cells is not None:
                frame.isetitem(j, cells.astype(object).where(cells != "", None).to_numpy())
        elif not all(is_text) and column.dtype.kind not in "biuf":
            # And here are others than at the fit, which make all of them text.
            frame.isetitem(j, _read_values(column, known, table.options.get("decimal", ".")))
    return _join(frame, table.label, chosen, "the model was fitted to numbers there")


def _join(frame, label, chosen, advice):
    """Return a table of which only some columns need not be numbers."""
    numbers = to_numbers(frame.loc[:, ~chosen], label, advice)
    frame = frame.copy(deep=False)
    for j, (_, column) in zip(np.flatnonzero(~chosen), numbers.items(), strict=True):
        frame.isetitem(int(j), column)
    return frame


def _is_text(column):
    """Tell whether all cells of a column that are not empty are text."""
    return column.dtype.kind not in "biuf" and all(
        isinstance(cell, str) for cell in column.dropna().astype(object)
    )


def _read_values(column, known, decimal):
    """Return the cells of a column, those as numbers and truth values that look like known ones."""
    cells = column.astype(object).where(column.notna(), None).tolist()
    value_of = {cell: cell for cell in known if isinstance(cell, str)}
    if any(isinstance(value, bool) for value in known):
        value_of |= {text: word == "true" for word in TRUTH for text in _spell(word)}
    for text in {cell for cell in cells if isinstance(cell, str)} - value_of.keys():
        value_of[text] = _read_number(text, decimal)
    values = np.empty(len(cells), dtype=object)
    values[:] = [value_of[cell] if isinstance(cell, str) else cell for cell in cells]
    return values


def _spell(word):
    """The ways of writing a truth value that are read as one."""
    return word, word.capitalize(), word.upper()


def _read_number(text, decimal):
    """Return the number that a text stands for, or the text."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return text


def _is_mostly_numbers(column):
    """Tell whether a column of text has numbers in most of its cells."""
    if column.dtype.kind in "biuf" or hasattr(column.dtype, "categories"):
        return False
    cells = column.dropna().astype(object)
    numbers = sum(map(_looks_like_number, cells))
    return bool(numbers) and numbers >= MOSTLY * len(cells)


def _looks_like_number(cell):
    """Tell whether a cell would be a number, with whatever mark of decimals."""
    if not isinstance(cell, str):
        return not isinstance(cell, bool)
    try:
        float(cell)
    except ValueError:
        return has_comma(cell)
    return True
