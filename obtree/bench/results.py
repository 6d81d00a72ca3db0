"""What was measured: one line of a CSV file for each model, written as it comes.

A run that was interrupted keeps its lines, and the next one goes on from there: a line is found
again by the columns of `KEY`. Lines of figures that could not be had (no data, no library) say so
in their status and are tried again. Files of older versions lack the columns that came later.
"""

import csv
import os
from dataclasses import asdict, dataclass, fields

OK = "ok"
KEY = ("form", "data", "model", "setting", "trees", "seed")


@dataclass(frozen=True)
class Result:
    """One model's figures.

    Parameters
    ----------
    form : {"full", "quick"}
        Form of the run.
    data, model, setting : str
        What was fitted, to what, and with which parameters besides those of the model.
    trees : int
        Size of the forest.
    seed : int
        Seed of the model, and of the split where it is random.
    status : str, default="ok"
        Why there are no figures.
    error, train_error : float, default=None
        Fraction of wrong classes, or root mean squared error, of test and training rows.
    leaves, nodes, n_bytes : float, default=None
        Size of the model.
    fit_s, predict_s : float, default=None
        Processor time of all threads, for all trees and all test rows.
    rows : int, default=None
        Rows for training.
    extra : float, default=None
        A figure that only this experiment has.
    fit_wall_s, predict_wall_s : float, default=None
        As `fit_s` and `predict_s`, but the time that passed.
    """

    form: str
    data: str
    model: str
    setting: str
    trees: int
    seed: int
    status: str = OK
    error: float | None = None
    train_error: float | None = None
    leaves: float | None = None
    nodes: float | None = None
    n_bytes: float | None = None
    fit_s: float | None = None
    predict_s: float | None = None
    rows: int | None = None
    extra: float | None = None
    fit_wall_s: float | None = None
    predict_wall_s: float | None = None

    @property
    def key(self):
        """What tells this line from all others."""
        return tuple(getattr(self, name) for name in KEY)


COLUMNS = [field.name for field in fields(Result)]
TEXTS = ("form", "data", "model", "setting", "status")
WHOLE = ("trees", "seed", "rows")


class ResultFile:
    """The lines of one experiment, in memory and on disk.

    Parameters
    ----------
    path : Path
        The CSV file; made on the first line.
    fresh : bool, default=False
        Whether what the file holds is thrown away.
    """

    def __init__(self, path, fresh=False):
        self.path = path
        self.found = {}
        if fresh:
            path.unlink(missing_ok=True)
        elif path.exists():
            results = read_results(path)
            self.found = {result.key: result for result in results}
            text = path.read_bytes()
            halved = not text.endswith(b"\n") or text.count(b"\n") != len(results) + 1
            # Lines are appended, so that a file needs all columns before the first new one.
            if halved or text.splitlines()[0].decode() != ",".join(COLUMNS):
                self._write_whole()

    def add(self, results):
        """Append lines and see that they are on disk.

        Parameters
        ----------
        results : list of Result
            New figures; a figure that is there already is replaced.
        """
        new = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            if new:
                writer.writeheader()
            for result in results:
                writer.writerow(asdict(result))
                self.found[result.key] = result
            stream.flush()
            os.fsync(stream.fileno())

    def has(self, keys):
        """Tell whether there are figures for all of these keys.

        Parameters
        ----------
        keys : iterable of tuple
            As `Result.key`.

        Returns
        -------
        complete : bool
        """
        return all(key in self.found and self.found[key].status == OK for key in keys)

    def select(self, form):
        """List the lines of one form.

        Parameters
        ----------
        form : str
            As in `Result`.

        Returns
        -------
        results : list of Result
        """
        return [result for result in self.found.values() if result.form == form]

    def _write_whole(self):
        """Write all lines anew, through a second file so that none is ever lost."""
        beside = self.path.with_suffix(".part")
        with beside.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(asdict(result) for result in self.found.values())
        beside.replace(self.path)


def read_results(path):
    """Read the lines of a file, leaving out those that are not whole.

    Parameters
    ----------
    path : Path
        A file that `ResultFile` wrote.

    Returns
    -------
    results : list of Result
    """
    results = []
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        known = reader.fieldnames or COLUMNS
        if known != COLUMNS[: len(known)] or len(known) <= len(KEY):
            raise ValueError(
                f"{path} has the columns {', '.join(reader.fieldnames)}; expected "
                f"{', '.join(COLUMNS)}. Use --fresh to begin anew"
            )
        for line in reader:
            if None in line or None in line.values():
                continue
            try:
                results.append(Result(**{name: _parse(name, line[name]) for name in known}))
            except ValueError:
                continue
    return results


def _parse(name, text):
    """Return a cell as what it was when it was written."""
    if name in TEXTS:
        return text
    if text == "":
        if name in KEY:
            raise ValueError(name)
        return None
    return int(text) if name in WHOLE else float(text)
