"""A folder of tiny data under the names of the real ones, and no way to OpenML."""

import numpy as np
import pytest

from obtree.bench.data import FOLDER_VARIABLE, SOURCES
from obtree.bench.folder import TABLES_VARIABLE

ABSENT = ("usps", "protein", "sensit", "ijcnn", "char74k")


def make_table(name, n_rows=60, n_columns=5):
    """Rows and targets for a data set."""
    rng = np.random.default_rng(len(name))
    if SOURCES[name].one_hot:
        X = rng.integers(0, 3, (n_rows, n_columns)).astype(np.uint8)
    else:
        X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    if SOURCES[name].regression:
        return X, (X[:, 0] + 0.1 * rng.normal(size=n_rows)).astype(np.float32)
    return X, (X[:, 0] > np.median(X[:, 0])).astype(np.int16) + np.int16(X[:, 1] > 1)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name in SOURCES:
        if name in ABSENT:
            continue
        X, y = make_table(name)
        if SOURCES[name].n_train:
            parts = {"X_train": X[:40], "y_train": y[:40], "X_test": X[40:], "y_test": y[40:]}
        else:
            parts = {"X": X, "y": y}
        np.savez(folder / f"{name}.npz", **parts)
    return folder


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(name, **options):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


@pytest.fixture(scope="session")
def tiny_tables(tmp_path_factory):
    """Two tables of each task."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    for name in ("c_one", "c_two", "r_one", "r_two"):
        X = rng.normal(size=(64, 3)).astype(np.float32)
        y = X[:, 0] + 0.1 * rng.normal(size=64)
        y = y.astype(np.float32) if name[0] == "r" else np.digitize(y, [0, 1]).astype(np.int16)
        np.savez(folder / f"{name}.npz", X=X, y=y)
    return folder


@pytest.fixture
def tiny_data(tiny_folder, tiny_tables, monkeypatch):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tiny_folder))
    monkeypatch.setenv(TABLES_VARIABLE, str(tiny_tables))
    return tiny_folder
