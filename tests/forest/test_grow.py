"""Growing many trees: seeds decide, threads do not; errors and interruptions end cleanly."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from obtree.splitter import Splitter
from obtree.testing.growth import find_differences, grow_forest, hash_trees


def draw_classes(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.digitize(np.nan_to_num(X[:, 0] + X[:, 1] ** 2) + rng.normal(size=n) * 0.3, [0, 1])
    return X, y


def grow_and_hash(n_threads=2):
    """Used by other processes, too."""
    X, y = draw_classes()
    return hash_trees(grow_forest(X, y, seeds=range(6), n_bootstrap=400, n_threads=n_threads))


def test_no_seeds_no_trees():
    X, y = draw_classes()
    assert grow_forest(X, y, seeds=[]) == []


@pytest.mark.parametrize("splitter", ["axis", "axis_random"])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_threads_change_nothing(splitter, criterion):
    X, y = draw_classes()
    options = {"splitter": splitter, "seeds": range(9), "n_bootstrap": 400, "max_features": 2}
    expected = hash_trees(grow_forest(X, y, criterion, **options))
    for n_threads in (2, 3, 16):
        trees = grow_forest(X, y, criterion, n_threads=n_threads, **options)
        assert hash_trees(trees) == expected


def test_a_tree_depends_on_its_own_seed_only():
    X, y = draw_classes()
    options = {"n_bootstrap": 400, "max_features": 2}
    forest = grow_forest(X, y, seeds=[5, 6, 7, 6], **options)
    assert find_differences(forest[1], forest[3]) == []
    assert find_differences(forest[1], grow_forest(X, y, seeds=[6], **options)[0]) == []
    assert "threshold" in find_differences(forest[0], forest[1])


def test_weights_follow_from_bootstrap_and_sample_weight():
    X, y = draw_classes()
    weight = np.random.default_rng(1).random(400)
    (tree,) = grow_forest(X, y, seeds=[3], n_bootstrap=400, sample_weight=weight)
    from obtree.forest.grow import bootstrap_counts

    total = np.sum(bootstrap_counts(3, 400, 400) * weight)
    assert tree.weighted_n_node_samples[0] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("max_leaf_nodes", [-1, 10])
def test_an_error_in_the_splitter_is_raised_once_and_leaves_nothing_running(
    n_threads, max_leaf_nodes
):
    X, y = draw_classes()
    with pytest.raises(NotImplementedError, match="Splitter must implement node_split"):
        grow_forest(
            X,
            y,
            splitter=Splitter(),
            seeds=range(20),
            n_threads=n_threads,
            max_leaf_nodes=max_leaf_nodes,
        )
    assert not [thread for thread in threading.enumerate() if "obtree" in thread.name]
    assert len(grow_forest(X, y, seeds=range(4), n_threads=n_threads)) == 4


def test_inside_threads():
    expected = grow_and_hash()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: grow_and_hash(), range(8))) == {expected}


def grow_in_child(queue):
    queue.put(grow_and_hash())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_fork():
    expected = grow_and_hash()  # the parent has used its threads
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=grow_in_child, args=(queue,))
    child.start()
    try:
        assert queue.get(timeout=120) == expected
    finally:
        child.join(30)
        child.kill()
    assert grow_and_hash() == expected


def test_inside_joblib():
    expected = grow_and_hash()
    # A script of its own, because workers cannot import this file by name.
    code = textwrap.dedent("""
        import joblib, numpy as np
        from obtree.testing.growth import grow_forest, hash_trees

        def work(X, y):
            return hash_trees(grow_forest(X, y, seeds=range(6), n_bootstrap=400, n_threads=2))
    """)
    X, y = draw_classes()
    space = {}
    exec(code, space)
    hashes = joblib.Parallel(n_jobs=2)(joblib.delayed(space["work"])(X, y) for _ in range(4))
    assert set(hashes) == {expected}


LONG_RUN = """
import sys, threading
import numpy as np
from obtree.testing.growth import grow_forest, hash_trees

rng = np.random.default_rng(0)
X = rng.normal(size=(60000, 10)).astype(np.float32)
y = rng.random(60000)
options = {"criterion": sys.argv[1], "n_threads": int(sys.argv[2]), "max_features": 10}
small = X[:500], y[:500]
before = hash_trees(grow_forest(*small, seeds=range(3), **options))
threading.Timer(0.3, lambda: print("growing", flush=True)).start()
try:
    grow_forest(X, y, seeds=range(10000), **options)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    sys.exit("was not interrupted")
assert not [thread for thread in threading.enumerate() if "obtree" in thread.name]
assert hash_trees(grow_forest(*small, seeds=range(3), **options)) == before
print("grew again", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("n_threads", ["1", "2"])
@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_interruption_ends_growth_and_the_process_stays_healthy(criterion, n_threads):
    # Ten thousand trees would take hours; the limits only catch a run that goes on.
    child = subprocess.Popen(
        [sys.executable, "-P", "-c", LONG_RUN, criterion, n_threads],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "growing\n", child.stderr.read()
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 0, errors
    assert output.splitlines() == ["interrupted", "grew again"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts kilobytes")
def test_memory_follows_threads_and_not_trees():
    # Scratch of 1 MB for each of 2000 small trees would show.
    import resource

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20000, 1)).astype(np.float32), rng.integers(0, 2, 20000)
    options = {"n_threads": 2, "max_depth": 1}
    grow_forest(X, y, seeds=range(4), **options)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    trees = grow_forest(X, y, seeds=range(2000), **options)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(trees) == 2000
    assert after - before < 200_000
