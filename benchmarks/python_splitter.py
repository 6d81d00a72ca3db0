#!/usr/bin/env python
"""The splitter of the tutorial, in Python, beside the compiled one: ``python_splitter.py``.

Grows forests of ten trees on Letter (15,000 rows for training, 5,000 for testing) with
``splitter="axis"`` and with ``BestCut`` of ``tests/extending/best_cut.py``, for three seeds, and
prints the mean accuracies and times. Times are for orientation: one run each.
"""

import sys
import time
from pathlib import Path

import numpy as np

from obtree import ObliqueForestClassifier
from obtree.bench.data import load

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "extending"))

from best_cut import BestCut


def main():
    """Print a line for each splitter."""
    X, y, X_test, y_test = load("letter")
    for name, splitter in (("axis", "axis"), ("BestCut", BestCut())):
        scores, started = [], time.perf_counter()
        for seed in range(3):
            forest = ObliqueForestClassifier(10, splitter=splitter, random_state=seed)
            scores.append(forest.fit(X, y).score(X_test, y_test))
        seconds = (time.perf_counter() - started) / 3
        print(f"{name:8s} accuracy {np.mean(scores):.4f}, {seconds:.2f} s for a forest")


if __name__ == "__main__":
    main()
