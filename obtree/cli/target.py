"""The column to predict: classes or a quantity, and what counts as missing in it."""

from obtree.cli.source import CommandError
from obtree.cli.table import pick_column, to_numbers

# Whole numbers with more distinct values than this are taken for a quantity.
MAX_CLASSES = 20


def read_target(table, name, task):
    """Return the column to predict.

    In a feature "NA", "None" or "null" is a missing value. In a target of text it is a
    label like any other, and only an empty cell is missing.

    Parameters
    ----------
    table : Table
        What was read.
    name : str
        Name of the column.
    task : {"auto", "classification", "regression"}
        What the user asked for.

    Returns
    -------
    task : {"classification", "regression"}
        What it is.
    target : ndarray
        Labels or numbers.
    """
    column = pick_column(table, name)
    missing = column.isna().to_numpy(dtype=bool)
    text = table.read_text(name) if missing.any() else None
    if text is not None and task != "regression":
        # Whatever pandas took for missing, and what else there is, as it was written.
        found, marks = column[~missing], text[missing]
        is_text = column.dtype.kind not in "iuf" or (found.empty and marks.nunique() > 1)
        if is_text or task == "classification":
            column = text
            missing = (text == "").to_numpy(dtype=bool)
    if missing.any():
        row = int(missing.argmax())
        mark, remedy = "", ""
        if text is not None and text.iloc[row]:
            mark = f" ({text.iloc[row]!r})"
            remedy = "; remove the row, or take it for a label with --task classification"
        raise CommandError(
            f"{table.label}: column {name!r}, data row {row + 1}: the target is missing"
            f"{mark}{remedy}"
        )
    task = guess_task(column) if task == "auto" else task
    if task == "regression":
        column = to_numbers(column.to_frame(), table.label)[name]
    return task, column.to_numpy()


def guess_task(target):
    """Tell whether a column holds classes or quantities.

    Parameters
    ----------
    target : pandas.Series
        Column to predict.

    Returns
    -------
    task : {"classification", "regression"}
    """
    if target.dtype.kind in "iu" and target.nunique() <= MAX_CLASSES:
        return "classification"
    return "regression" if target.dtype.kind in "iuf" else "classification"
