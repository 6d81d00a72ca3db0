"""Means over seeds, and cells of tables that show them beside published figures."""

from dataclasses import dataclass

import numpy as np

from obtree.bench.results import OK

NOT_RUN = "not run"


@dataclass(frozen=True)
class Summary:
    """The lines that differ in their seed only.

    Parameters
    ----------
    results : tuple of Result
        At least one.
    """

    results: tuple

    @property
    def status(self):
        """The word "ok", or why there are no figures."""
        return OK if self._list_good() else self.results[0].status

    @property
    def n_seeds(self):
        """How many seeds have figures."""
        return len(self._list_good())

    def mean(self, field):
        """Return the mean of a field over seeds; NaN when no seed has it.

        Parameters
        ----------
        field : str
            Of `Result`.

        Returns
        -------
        mean : float
        """
        values = self._list_values(field)
        return float(np.mean(values)) if values else float("nan")

    def spread(self, field):
        """Return the standard deviation of a field over seeds.

        Parameters
        ----------
        field : str
            Of `Result`.

        Returns
        -------
        spread : float
            NaN with fewer than two seeds.
        """
        values = self._list_values(field)
        return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")

    def _list_good(self):
        return [result for result in self.results if result.status == OK]

    def _list_values(self, field):
        values = [getattr(result, field) for result in self._list_good()]
        return [value for value in values if value is not None]


class Summaries:
    """Lines of results by what was measured.

    Parameters
    ----------
    results : list of Result
        Any order.
    seeds : int, default=1
        How many seeds a mean should have; cells with fewer get a star.
    """

    def __init__(self, results, seeds=1):
        self.seeds = seeds
        groups = {}
        for result in results:
            key = (result.data, result.model, result.setting, result.trees)
            groups.setdefault(key, []).append(result)
        self.groups = {key: Summary(tuple(group)) for key, group in groups.items()}

    def find(self, data, model, trees=1, setting=""):
        """Return the summary of a figure, or None when it was never tried.

        Parameters
        ----------
        data, model : str
            Names.
        trees : int, default=1
            Size of the forest.
        setting : str, default=""
            Other parameters.

        Returns
        -------
        summary : Summary or None
        """
        return self.groups.get((data, model, setting, trees))

    def list_curve(self, data, model, field, setting=""):
        """List a figure by number of trees.

        Parameters
        ----------
        data, model, field, setting : str
            As in `find` and `Result`.

        Returns
        -------
        sizes : list of int
        values : list of float
        """
        points = sorted(
            (trees, summary.mean(field))
            for (of, by, other, trees), summary in self.groups.items()
            if (of, by, other) == (data, model, setting) and summary.status == OK
        )
        return [size for size, _ in points], [value for _, value in points]

    def show(self, data, model, trees=1, setting="", *, field="error", scale=100.0, digits=2):
        """Return a cell: the mean, or why there is none.

        Parameters
        ----------
        data, model, trees, setting
            As in `find`.
        field : str, default="error"
            Of `Result`.
        scale : float, default=100.0
            Factor; the default makes percent of a fraction.
        digits : int, default=2
            Decimals.

        Returns
        -------
        cell : str
        """
        summary = self.find(data, model, trees, setting)
        if summary is None:
            return NOT_RUN
        if summary.status != OK:
            return summary.status
        return f"{scale * summary.mean(field):.{digits}f}{self.mark(summary)}"

    def mark(self, summary):
        """Return a star for a mean over fewer seeds than there should be.

        Parameters
        ----------
        summary : Summary
            With figures.

        Returns
        -------
        mark : str
        """
        return "*" if summary.n_seeds < self.seeds else ""

    def describe_seeds(self, what="seeds"):
        """Return a sentence on how many seeds a cell stands for.

        Parameters
        ----------
        what : str, default="seeds"
            What the seeds stand for.

        Returns
        -------
        sentence : str
        """
        if self.seeds == 1:
            return f"One {what.removesuffix('s')}."
        return f"Means over {self.seeds} {what}; a star marks those over fewer."


def set_beside(cell, published):
    """Put a published figure behind a cell of ours, in brackets.

    Parameters
    ----------
    cell : str
        Our figure.
    published : float, str or None
        The paper's; None where it has none.

    Returns
    -------
    cell : str
    """
    return f"{cell} (-)" if published is None else f"{cell} ({published})"
