"""Compiled inner loops, through the probes that the tests use.

A commit that lacks one of them skips its benchmarks.
"""

import numpy as np

try:
    from obtree.testing.criterion_node import NodeProbe
    from obtree.testing.growth import bind_criterion
    from obtree.testing.probe_core import sort_words
    from obtree.testing.probe_scores import sort_scores, sweep_scores
except ImportError:
    bind_criterion = None


def require_probes():
    """Skip a benchmark when the probes are not there."""
    if bind_criterion is None:
        raise NotImplementedError("no such probes here; install with -Csetup-args=-Dprobes=true")


class Sort:
    """Ordering a node: 64-bit words of rank and row, and real numbers."""

    param_names = ("n",)
    params = ([1_000, 100_000],)

    def setup(self, n):
        require_probes()
        rng = np.random.default_rng(0)
        self.words = rng.integers(0, 2**40, n, dtype=np.uint64)
        self.scores = rng.standard_normal(n)

    def time_sort_words(self, n):
        sort_words(self.words)

    def time_sort_scores(self, n):
        sort_scores(self.scores)


class Sweep:
    """The best cut of one column of a node, sorted or counted into bins."""

    param_names = ("criterion", "layout")
    params = (["gini", "entropy", "squared_error"], ["sorted", "column"])

    def setup(self, criterion, layout):
        require_probes()
        rng = np.random.default_rng(0)
        n = 20_000
        classes = None if criterion == "squared_error" else [10]
        y = rng.integers(0, 10, (n, 1)) if classes else rng.standard_normal((n, 1))
        bound = bind_criterion(criterion, y, classes)
        self.node = NodeProbe(bound, np.arange(n), np.ones(n))
        self.codes = rng.integers(0, 200, n)

    def time_scan(self, criterion, layout):
        self.node.scan(self.codes, layout=layout)


class SweepScores:
    """The best cut of a projection."""

    param_names = ("criterion",)
    params = (["gini", "squared_error"],)

    def setup(self, criterion):
        require_probes()
        rng = np.random.default_rng(0)
        n = 20_000
        classes = [10] if criterion == "gini" else None
        y = rng.integers(0, 10, (n, 1)) if classes else rng.standard_normal((n, 1))
        self.criterion = bind_criterion(criterion, y, classes)
        self.weight = np.ones(n)
        self.scores = rng.standard_normal((1, n))

    def time_sweep(self, criterion):
        sweep_scores(self.criterion, self.weight, self.scores)
