"""Every instruction set gives the same bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from obtree.core.dispatch import active_target, available_targets

TESTS = Path(__file__).parents[1]
TARGETS = available_targets()

GROW = """
import numpy as np
from scipy import sparse
from obtree.core.dispatch import active_target
from obtree.testing.growth import bind_criterion, grow_forest, hash_trees
from obtree.testing.criterion_node import NodeProbe

rng = np.random.default_rng(0)
n = 3000
X = rng.normal(size=(n, 24)).astype(np.float32)
X[:, 3] = np.round(X[:, 3])                       # few values
X[:, 4:12] = np.round(40 * X[:, 4:12])            # one byte, enough columns for row-wise ranks
X[:, 12:] = np.round(500 * X[:, 12:])             # two bytes
latent = X[:, 0] + X[:, 1] ** 2 + X[:, 4] / 40
y_class = np.digitize(latent, [-0.5, 0.5, 1.5])
y_pair = np.stack([y_class, rng.integers(0, 3, n)], axis=1)
y_real = np.exp(0.3 * latent) + rng.random(n)
X_missing = X.copy()
X_missing[rng.random(X.shape) < 0.1] = np.nan
X_sparse = sparse.csr_matrix(X * (rng.random(X.shape) < 0.2), dtype=np.float32)
X_narrow = np.round(X[:, :20] * 10).astype(np.float32)
weight = rng.random(n) + 0.1
cases = {
    "gini": (y_class, n), "entropy": (y_class, n), "gini pair": (y_pair, 800),
    "entropy pair": (y_pair, 800), "squared_error": (y_real, n), "poisson": (y_real, n),
    "friedman_mse": (y_real, n), "absolute_error": (y_real, 500),
}
print(active_target())
y_many = rng.integers(0, 11, n)
for criterion, y in (("gini", y_many), ("entropy", y_many), ("squared_error", y_real),
                     ("friedman_mse", y_real), ("poisson", y_real)):
    # Not only the same cut but the same bits of its worth, with weights that round.
    node = NodeProbe(bind_criterion(criterion, y), np.arange(n), weight)
    for column in rng.integers(0, 40, (12, n)):
        for layout in ("sorted", "gathered", "column", "rows"):
            print(criterion, layout, node.scan(column, layout=layout)[0].hex())
for case, (y, m) in cases.items():
    for kind, table in (("dense", X), ("missing", X_missing), ("sparse", X_sparse),
                        ("bytes", np.tile(X_narrow, (1, 20)))):
        for splitter in ("axis", "axis_random"):
            if kind == "bytes" and m < n:
                continue
            trees = grow_forest(
                table[:m], y[:m], case.split()[0], splitter=splitter, seeds=[1, 2],
                n_bootstrap=m, sample_weight=weight[:m] if kind in ("missing", "bytes") else None,
                max_features=5, n_threads=2,
            )
            print(case, kind, splitter, hash_trees(trees))
"""

OPTIMISE = """
import hashlib
import numpy as np
import obtree
from obtree.core.dispatch import active_target

rng = np.random.default_rng(0)
n = 400
narrow = rng.normal(size=(n, 9)).astype(np.float32)
wide = rng.normal(size=(n, 150)).astype(np.float32)
pixels = rng.integers(0, 256, (n, 150)).astype(np.float32)
print(active_target())
for kind, X in (("narrow", narrow), ("wide", wide), ("pixels", pixels)):
    latent = X[:, 0] - X[:, 1]
    y = np.digitize(latent, np.quantile(latent, [0.3, 0.7]))
    for name, options in (
        ("TAOTreeClassifier", {"max_depth": 4}),
        ("TAOTreeClassifier", {"max_depth": 2, "leaf": "linear"}),
        ("TAOForestClassifier", {"n_estimators": 2}),
        ("TAOTreeRegressor", {"max_depth": 4}),
        ("NonGreedyTreeClassifier", {"max_depth": 4}),
        ("NonGreedyTreeRegressor", {"max_depth": 4}),
        ("DisjunctiveTreeClassifier", {"max_depth": 4}),
    ):
        model = getattr(obtree, name)(random_state=1, **options)
        model.fit(X, y if "Classifier" in name else latent)
        found = model.predict_proba(X) if "Classifier" in name else model.predict(X)
        digest = hashlib.sha256(np.ascontiguousarray(found).tobytes())
        for curve in model.objective_ if "Forest" in name else [model.objective_]:
            digest.update(np.ascontiguousarray(curve).tobytes())
        print(kind, name, digest.hexdigest())
"""


def run(command, target):
    return subprocess.run(
        command,
        env={**os.environ, "OBTREE_TARGET": target},
        capture_output=True,
        text=True,
        check=False,
    )


def test_plain_is_always_there():
    assert "plain" in TARGETS
    assert active_target() in TARGETS


def test_unknown_target_is_refused():
    result = run([sys.executable, "-P", "-c", "import obtree"], "mmx")
    assert result.returncode != 0
    assert "OBTREE_TARGET='mmx' cannot run here; expected one of " in result.stderr


@pytest.mark.parametrize("target", [name for name in TARGETS if name != active_target()])
def test_kernels_of_other_targets(target):
    files = ["core/test_sort.py", "core/test_column.py", "core/test_bytes.py"]
    files.append("data/test_encode.py")
    command = [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    result = run(command + [str(TESTS / name) for name in files], target)
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(len(TARGETS) == 1, reason="only one instruction set here")
@pytest.mark.parametrize("program", [GROW, OPTIMISE], ids=["grown", "optimised"])
def test_models_are_the_same_on_all_targets(program):
    outputs = {}
    for target in TARGETS:
        result = run([sys.executable, "-P", "-c", program], target)
        assert result.returncode == 0, result.stderr
        active, *outputs[target] = result.stdout.splitlines()
        assert active == target
    for target in TARGETS:
        assert outputs[target] == outputs[TARGETS[0]]
