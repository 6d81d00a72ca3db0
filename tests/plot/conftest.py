"""Pictures without a screen, none of which outlives its test."""

import matplotlib
import pytest

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")
