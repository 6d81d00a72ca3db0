"""The loader."""

import numpy as np
import pytest
import scipy.sparse

from obtree.bench.data import (
    FOLDER_VARIABLE,
    SOURCES,
    DataNotFoundError,
    load,
    load_shuffled,
    make_million,
)


def test_a_stored_split_is_kept(tiny_data):
    split = load("letter", seed=3)
    with np.load(tiny_data / "letter.npz") as stored:
        np.testing.assert_array_equal(split.X_train, stored["X_train"])
        np.testing.assert_array_equal(split.y_test, stored["y_test"])
    assert split.y_train.dtype == np.int64
    assert not split.regression


def test_other_data_are_split_by_seed(tiny_data):
    first, again, other = load("kin8nm", 0), load("kin8nm", 0), load("kin8nm", 1)
    np.testing.assert_array_equal(first.X_test, again.X_test)
    assert not np.array_equal(first.X_test, other.X_test)
    assert (len(first.y_train), len(first.y_test)) == (48, 12)
    assert first.regression
    assert first.y_train.dtype == np.float64


def test_codes_become_columns(tiny_data):
    split = load("connect4")
    assert split.X_train.shape[1] == 15
    np.testing.assert_array_equal(
        split.X_train.reshape(-1, 3, 5).sum(axis=1), np.ones((48, 5), dtype=int)
    )


def test_the_first_rows_on_request(tiny_data):
    split = load("letter", n_train=50)
    assert (len(split.y_train), len(split.y_test)) == (50, 10)
    with pytest.raises(DataNotFoundError, match="has 60 rows, expected more than 60"):
        load("letter", n_train=60)


def test_a_split_of_everything(tiny_data):
    split = load_shuffled("letter", 1, 2 / 3)
    assert (len(split.y_train), len(split.y_test)) == (40, 20)
    whole = load("letter")
    rows = np.sort(np.concatenate([split.X_train, split.X_test])[:, 0])
    np.testing.assert_array_equal(
        rows, np.sort(np.concatenate([whole.X_train, whole.X_test])[:, 0])
    )
    assert not np.array_equal(split.X_train, load_shuffled("letter", 2, 2 / 3).X_train)


@pytest.mark.parametrize("name", ["usps", "char74k"])
def test_absent_data_say_what_was_tried(name, tiny_data, monkeypatch):
    with pytest.raises(DataNotFoundError, match=rf"has no {name}\.npz, and OpenML's") as caught:
        load(name)
    assert FOLDER_VARIABLE in str(caught.value)
    monkeypatch.delenv(FOLDER_VARIABLE)
    with pytest.raises(DataNotFoundError, match="OBTREE_DATA is not set"):
        load(name)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="unknown data set 'lettre'; expected one of '"):
        load("lettre")


def test_openml(monkeypatch):
    """Labels become numbers, sorted rows are shuffled, and the split is the known one."""
    asked = []

    def fetch(name, **options):
        asked.append(name)
        X = np.arange(300_000, dtype=np.float64)[:, None]
        return X, np.where(X[:, 0] < 150_000, "b", "a")

    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    split = load("covertype")
    assert asked == [SOURCES["covertype"].openml]
    assert len(split.y_train) == 100_000
    assert len(split.y_test) == 300_000 - 290_506
    assert not np.array_equal(split.X_train[:, 0], np.sort(split.X_train[:, 0]))
    np.testing.assert_array_equal(split.y_train, split.X_train[:, 0] < 150_000)


def test_sparse_tables_are_filled(monkeypatch):
    table = scipy.sparse.csr_array(np.eye(10))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda name, **_: (table, np.arange(10)))
    split = load("spambase")
    assert split.X_train.shape == (8, 10)
    np.testing.assert_array_equal(split.X_train.sum(axis=1), 1)


def test_made_data():
    split = make_million(0, 300, 100)
    assert split.X_train.shape == (300, 20)
    assert split.X_test.shape == (100, 20)
    truth = (split.X_train[:, 0] + split.X_train[:, 1] > 1) ^ (
        split.X_train[:, 2] * split.X_train[:, 3] > 0.25
    )
    assert 0.9 < np.mean(truth == split.y_train) < 1
