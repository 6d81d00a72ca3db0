"""Running an experiment: what is missing is measured, then everything is written anew."""

import sys

from tqdm import tqdm

from obtree.bench import co2, dnrf, nongreedy, peers, tables, tao, unified
from obtree.bench.data import DataNotFoundError
from obtree.bench.plan import LibraryNotFoundError
from obtree.bench.report import format_table, write_tables
from obtree.bench.results import OK, ResultFile
from obtree.core.names import expect_name, show

EXPERIMENTS = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (co2, dnrf, tao, nongreedy, unified, peers, tables)
}
NO_DATA = "no data"


class NothingMeasuredError(Exception):
    """There is nothing to show: no data, no library, or no earlier results."""


def run_experiment(
    experiment, plan, *, models=None, fresh=False, figures=True, only_report=False, required=()
):
    """Measure what is not in the results yet, write tables and draw figures.

    Parameters
    ----------
    experiment : Experiment
        One of `EXPERIMENTS`.
    plan : Plan
        Made by the experiment.
    models : list of str, default=None
        Models to measure; None means all.
    fresh : bool, default=False
        Whether earlier results are thrown away.
    figures : bool, default=True
        Whether to draw.
    only_report : bool, default=False
        Whether nothing is measured: tables and figures show what earlier runs found.
    required : sequence of str, default=()
        Data sets that have to be there; others may be missing as long as one is not.

    Returns
    -------
    paths : list of Path
        Files that were written.
    """
    absent = {}
    cells = list(dict.fromkeys(experiment.list_cells(plan)))  # papers have lines that coincide
    known = list(dict.fromkeys(cell.model for cell in cells))
    for name in models or ():
        if name not in known:
            expected = expect_name(name, known)
            raise ValueError(f"{experiment.name} has no model {show(name)}; {expected}")
    plan.output.mkdir(parents=True, exist_ok=True)
    store = ResultFile(plan.output / f"{experiment.name}.csv", fresh)
    try:
        if not only_report:
            chosen = [cell for cell in cells if not models or cell.model in models]
            absent = measure_missing(experiment, plan, store, chosen)
    finally:  # also of an interrupted run: what there is can be read
        results = store.select(plan.form)
        stem = experiment.name if plan.form == "full" else f"{experiment.name}-{plan.form}"
        heading = f"{experiment.name}, {plan.form} form: {experiment.source}"
        shown = experiment.make_tables(results, plan)
        paths = [store.path, *write_tables(shown, plan.output, stem, heading)]
    if not any(result.status == OK for result in results):
        raise NothingMeasuredError(
            f"{store.path} has no results of the {plan.form} form; expected some, or no --report"
        )
    for table in shown:
        print(f"\n{table.title}\n")
        print(format_table(table.columns, table.body))
        print(f"\n{table.note}" if table.note else "")
    if figures and experiment.draw is not None:
        try:
            paths += experiment.draw(results, plan)
        except LibraryNotFoundError as error:
            print(f"no figures were drawn: {error}", file=sys.stderr)
    for name in required:
        if name in absent:
            raise NothingMeasuredError(absent[name])
    return paths


def measure_missing(experiment, plan, store, cells):
    """Measure the cells that the results lack, and write each at once.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    plan : Plan
        Its plan.
    store : ResultFile
        Where results are and go.
    cells : list of Cell
        What is wanted.

    Returns
    -------
    absent : dict of str to str
        Data sets that were not found, and why.
    """
    pending = [cell for cell in cells if not store.has(cell.list_keys(plan))]
    some = len(pending) < len(cells)
    absent, reasons, untold = {}, [], []
    with tqdm(pending, unit="fit", disable=None) as bar:
        for cell in bar:
            bar.set_description(f"{cell.data}, {cell.model} {cell.setting}".strip())
            status = NO_DATA if cell.data in absent else None
            if status is None:
                try:
                    store.add(experiment.measure(cell, plan))
                    some = True
                except DataNotFoundError as error:
                    absent[cell.data] = str(error)
                    untold.append(f"no data: {error}")
                    status = NO_DATA
                except LibraryNotFoundError as error:
                    status = str(error)
                    reasons.append(status)
            if status is not None:
                store.add([cell.make_result(plan, size, status=status) for size in cell.sizes])
            # Without any data one line at the end says it all.
            while some and untold:
                bar.write(untold.pop(0), file=sys.stderr)
    if cells and not some:
        reason = next(iter([*absent.values(), *reasons]))
        raise NothingMeasuredError(f"{experiment.name} measured nothing: {reason}")
    return absent
