"""A chapter of Criminisi, Shotton and Konukoglu (2011): data, fits, tables and pictures."""

from collections.abc import Callable
from dataclasses import dataclass

from obtree.bench.results import OK
from obtree.bench.summary import NOT_RUN


@dataclass(frozen=True)
class Chapter:
    """One task of the unified model, as the paper shows it.

    Parameters
    ----------
    data : tuple of str
        Data sets, which no other chapter has.
    list_cells : callable of Plan
        Returns the fits on those data sets that the plan names.
    measure : callable of (Cell, Plan)
        Returns a list of `Result`.
    make_tables : callable of (Summaries, Plan)
        Returns a list of `Table`.
    draw : callable of Plan
        Draws pictures and returns their paths.
    """

    data: tuple
    list_cells: Callable
    measure: Callable
    make_tables: Callable
    draw: Callable


def list_first(cells):
    """List the cells of the first seed.

    Parameters
    ----------
    cells : list of Cell

    Returns
    -------
    cells : list of Cell
    """
    return [cell for cell in cells if cell.seed == 0]


def find_figure(found, cell, field, form):
    """Return the mean of a figure over seeds as text, or that it was not measured.

    Parameters
    ----------
    found : Summaries
    cell : Cell
        Of the first seed.
    field : str
        Of `Result`.
    form : str
        Format of the number.

    Returns
    -------
    text : str
    """
    summary = found.find(cell.data, cell.model, cell.sizes[-1], cell.setting)
    if summary is None or summary.status != OK:
        return NOT_RUN
    return f"{summary.mean(field):{form}}"


def name_picture(plan, name):
    """Return the path of a picture.

    Parameters
    ----------
    plan : Plan
    name : str
        What it shows.

    Returns
    -------
    path : Path
    """
    return plan.output / f"unified-figures-{plan.form}-{name}.png"
