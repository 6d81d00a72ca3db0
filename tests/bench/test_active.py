"""Labelling rows one by one."""

import numpy as np

from obtree.bench.active import count_labels, label_one_by_one, make_banana


def test_asking_takes_fewer_labels_than_drawing():
    X, y = make_banana(1200)
    n_labels = {}
    for kind in ("random", "total"):
        runs = [label_one_by_one(X, y, kind, 100, seed, n_trees=20)[:2] for seed in range(4)]
        found = [count_labels(counts, errors, 0.12) for counts, errors in runs]
        n_labels[kind] = np.mean([100 if n is None else n for n in found])
    assert n_labels["total"] < n_labels["random"]


def test_rows_are_labelled_once_and_the_same_at_the_start():
    X, y = make_banana(300)
    runs = [label_one_by_one(X, y, kind, 20, 1, n_trees=5) for kind in ("random", "knowledge")]
    for counts, errors, rows in runs:
        np.testing.assert_array_equal(counts, np.arange(10, 21))
        assert len(errors) == 11
        assert len(set(rows.tolist())) == 20
    np.testing.assert_array_equal(runs[0][2][:10], runs[1][2][:10])
    assert runs[0][1][0] == runs[1][1][0]
    assert runs[0][2][10:].tolist() != runs[1][2][10:].tolist()


def test_labels_until_the_error_stays_low():
    counts = np.arange(10, 20)
    errors = np.array([9, 0, 9, 9, 9, 1, 1, 1, 1, 1]) / 10
    assert count_labels(counts, errors, 0.1) == 15
    assert count_labels(counts, errors, 0.05) is None
