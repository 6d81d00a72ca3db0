"""What an experiment is made of, and what the user asked of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from obtree.bench.folder import find_folder, list_tables
from obtree.bench.results import Result
from obtree.core.names import expect_name, show
from obtree.core.params import Integer, check_param


class LibraryNotFoundError(Exception):
    """A library that takes part in a comparison is not installed."""


@dataclass(frozen=True)
class Limits:
    """How much a form of an experiment does.

    Parameters
    ----------
    seeds : int
        Models, or random splits, to average over.
    trees : tuple of int or None
        Sizes of the forests; None where these are not for the user to choose.
    rows : int or None, default=None
        Most rows for training.
    """

    seeds: int
    trees: tuple | None
    rows: int | None = None


@dataclass(frozen=True)
class Plan:
    """An experiment's limits after the user's options.

    Parameters
    ----------
    form : {"full", "quick"}
        Which limits these were.
    seeds : int
        See `Limits`.
    trees : tuple of int or None
        See `Limits`.
    rows : int or None
        See `Limits`.
    only : tuple of str
        Data sets to run.
    n_jobs : int
        Threads of every model.
    output : Path
        Folder of everything that is written.
    tables : Path or None, default=None
        Folder that the data sets come from, for an experiment on whatever is in one.
    """

    form: str
    seeds: int
    trees: tuple | None
    rows: int | None
    only: tuple
    n_jobs: int
    output: Path
    tables: Path | None = None

    @property
    def quick(self):
        """Whether this is the quick form."""
        return self.form == "quick"

    def shorten(self, split):
        """Return a split with no more training rows than allowed, drawn at random.

        Parameters
        ----------
        split : Split
            The data.

        Returns
        -------
        split : Split
        """
        if self.rows is None or len(split.y_train) <= self.rows:
            return split
        rows = np.random.default_rng(0).permutation(len(split.y_train))[: self.rows]
        return split._replace(X_train=split.X_train[rows], y_train=split.y_train[rows])


@dataclass(frozen=True)
class Cell:
    """One fit: all the figures it gives are measured together.

    Parameters
    ----------
    data, model : str
        Names.
    seed : int
        Of split and model.
    sizes : tuple of int, default=(1,)
        Numbers of trees at which a forest is tested; the last one is fitted.
    params : tuple of (str, object), default=()
        What else the experiment varies.
    """

    data: str
    model: str
    seed: int
    sizes: tuple = (1,)
    params: tuple = ()

    @property
    def setting(self):
        """The parameters as text."""
        return " ".join(f"{name}={value}" for name, value in self.params)

    def make_result(self, plan, trees=None, **figures):
        """Return a line of results for this cell.

        Parameters
        ----------
        plan : Plan
            The plan.
        trees : int, default=None
            Size of the forest; None means the largest.
        **figures
            Fields of `Result`.

        Returns
        -------
        result : Result
        """
        trees = self.sizes[-1] if trees is None else trees
        return Result(plan.form, self.data, self.model, self.setting, trees, self.seed, **figures)

    def list_keys(self, plan):
        """List the keys of the lines that this cell gives.

        Parameters
        ----------
        plan : Plan
            The plan.

        Returns
        -------
        keys : list of tuple
        """
        return [self.make_result(plan, trees).key for trees in self.sizes]


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper, or a comparison.

    Parameters
    ----------
    name : str
        What stands on the command line.
    summary : str
        One line on it.
    source : str
        The paper, or what is compared.
    data : tuple of str or None
        Data sets in the order of the tables; None where they are what a folder holds.
    full, quick : Limits
        What the two forms do.
    list_cells : callable of Plan
        Returns a list of `Cell`.
    measure : callable of (Cell, Plan)
        Returns a list of `Result`.
    make_tables : callable of (list of Result, Plan)
        Returns a list of `Table`.
    draw : callable of (list of Result, Plan), default=None
        Draws the figures and returns their paths.
    """

    name: str
    summary: str
    source: str
    data: tuple | None
    full: Limits
    quick: Limits
    list_cells: Callable
    measure: Callable
    make_tables: Callable
    draw: Callable | None = None

    def make_plan(
        self,
        output,
        quick=False,
        seeds=None,
        trees=None,
        only=None,
        n_jobs=-1,
        tables=None,
        measuring=True,
    ):
        """Put limits and options together.

        Parameters
        ----------
        output : path-like
            Folder for results.
        quick : bool, default=False
            The quick form.
        seeds : int, default=None
            In place of the form's.
        trees : list of int, default=None
            In place of the form's.
        only : list of str, default=None
            Data sets; None means all.
        n_jobs : int, default=-1
            Threads.
        tables : path-like, default=None
            Folder of the data sets, where the experiment does not name them; None looks for one.
        measuring : bool, default=True
            Whether data are needed; without, a folder of them may be missing.

        Returns
        -------
        plan : Plan
        """
        limits = self.quick if quick else self.full
        check_param("--seeds", seeds, None, Integer(1))
        if trees is not None and limits.trees is None:
            raise ValueError(f"--trees has no meaning for {self.name}; leave it out")
        for size in trees or ():
            check_param("--trees", size, Integer(1))
        if tables is not None and self.data is not None:
            raise ValueError(f"--tables has no meaning for {self.name}; leave it out")
        folder = find_folder(tables, measuring) if self.data is None else None
        data = list_tables(folder) if self.data is None else self.data
        for name in only or ():
            if name not in data:
                expected = expect_name(name, data)
                raise ValueError(f"{self.name} has no data set {show(name)}; {expected}")
        return Plan(
            form="quick" if quick else "full",
            seeds=seeds or limits.seeds,
            trees=tuple(sorted(set(trees))) if trees else limits.trees,
            rows=limits.rows,
            only=tuple(name for name in data if not only or name in only),
            n_jobs=n_jobs,
            output=Path(output),
            tables=folder,
        )
