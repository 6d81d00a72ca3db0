"""Folders of tables, and how tables are split."""

import numpy as np
import pytest

from obtree.bench.data import FOLDER_VARIABLE, DataNotFoundError
from obtree.bench.folder import (
    TABLES_VARIABLE,
    find_folder,
    is_regression,
    list_tables,
    load_table,
)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    monkeypatch.delenv(TABLES_VARIABLE, raising=False)
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def write_table(folder, name, n_rows=40, dtype=np.int16):
    folder.mkdir(parents=True, exist_ok=True)
    numbers = np.arange(n_rows)
    np.savez(folder / f"{name}.npz", X=numbers[:, None], y=numbers.astype(dtype))


def test_tables_are_found_by_their_names(tmp_path):
    for name in ("r_b", "c_z", "c_a", "other"):
        write_table(tmp_path, name)
    (tmp_path / "c_notes.txt").write_text("")
    assert list_tables(tmp_path) == ("c_a", "c_z", "r_b")
    assert list_tables(tmp_path / "none") == ()
    assert [is_regression(name) for name in ("c_r_", "r_c_")] == [False, True]


def test_the_folder_is_looked_for_in_turn(tmp_path, monkeypatch):
    for folder in ("chosen", "named", "suite"):
        write_table(tmp_path / folder, "c_a")
    with pytest.raises(ValueError, match=r"no folder of tables was given, by --tables or the var"):
        find_folder()
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "data"))
    assert find_folder() == tmp_path / "suite"
    monkeypatch.setenv(TABLES_VARIABLE, str(tmp_path / "named"))
    assert find_folder() == tmp_path / "named"
    assert find_folder(tmp_path / "chosen") == tmp_path / "chosen"
    with pytest.raises(ValueError, match=r"none has no tables; expected a folder with files c_<na"):
        find_folder(tmp_path / "none")


def test_the_last_quarter_is_for_testing(tmp_path):
    write_table(tmp_path, "c_a", 43)
    split = load_table(tmp_path, "c_a", 2)
    order = np.random.default_rng(1002).permutation(43)
    np.testing.assert_array_equal(split.y_train, order[:32])
    np.testing.assert_array_equal(split.y_test, order[32:])
    np.testing.assert_array_equal(split.X_test[:, 0], split.y_test)
    assert split.y_train.dtype == np.int64


def test_training_rows_are_limited(tmp_path):
    write_table(tmp_path, "r_a", 6_000, np.float32)
    split = load_table(tmp_path, "r_a", 0)
    order = np.random.default_rng(1000).permutation(6_000)
    np.testing.assert_array_equal(split.y_train, order[:4_000])
    np.testing.assert_array_equal(split.y_test, order[4_500:])
    assert split.regression


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04 half a file"])
def test_files_that_are_no_tables(tmp_path, content):
    (tmp_path / "c_a.npz").write_bytes(content)
    with pytest.raises(DataNotFoundError, match=r"c_a\.npz is not a table with arrays X and y"):
        load_table(tmp_path, "c_a", 0)


def test_tables_without_targets(tmp_path):
    np.savez(tmp_path / "c_a.npz", X=np.eye(3))
    with pytest.raises(DataNotFoundError, match="is not a table with arrays X and y"):
        load_table(tmp_path, "c_a", 0)
