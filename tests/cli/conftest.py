"""A table of flowers, and how commands are run and fail."""

import numpy as np
import pytest

from obtree.cli.main import main


@pytest.fixture
def flowers(tmp_path):
    """A CSV file of iris with names of species and some empty cells."""
    pytest.importorskip("pandas")
    from sklearn.datasets import load_iris

    data = load_iris(as_frame=True)
    frame = data.frame.rename(columns={"target": "species"})
    frame["species"] = data.target_names[frame["species"]]
    frame.iloc[::7, 1] = np.nan
    path = tmp_path / "flowers.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def obtree(capsys):
    """Run a command in this process; returns exit code, output and errors."""

    def run(*args):
        try:
            code = main([str(arg) for arg in args])
        except SystemExit as leaving:  # arguments that make no sense
            code = leaving.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def fail(obtree):
    """Run a command that must fail with one line and exit code 2; returns the line."""

    def run(*args):
        code, out, err = obtree(*args)
        assert code == 2
        assert out == ""
        assert err.startswith("obtree: error: ")
        assert err.count("\n") == 1
        return err

    return run
