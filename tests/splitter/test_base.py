"""What every splitter object can do, and how names become objects."""

import copy
import pickle

import pytest
from sklearn.base import clone

from obtree.splitter import (
    AxisRandomSplitter,
    AxisSplitter,
    Splitter,
    available,
    resolve_splitter,
)
from obtree.splitter.base import ABI_VERSION

SPLITTERS = [type(resolve_splitter(name)) for name in available()]


class Dialled(AxisSplitter):
    """A splitter with parameters, in plain Python."""

    def __init__(self, width=1, *, depth=2):
        if width < 0:
            raise ValueError(f"width must be at least 0, got {width}")
        self.width = width
        self.depth = depth


def test_names():
    assert resolve_splitter("axis") == AxisSplitter()
    assert resolve_splitter("axis_random") == AxisRandomSplitter()
    assert resolve_splitter(AxisSplitter) == AxisSplitter()
    splitter = AxisSplitter()
    assert resolve_splitter(splitter) is splitter


def test_unknown_name_lists_the_known_ones_and_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"'axis', 'axis_random'.*Did you mean 'axis'\?"):
        resolve_splitter("axsi")


@pytest.mark.parametrize("wrong", [None, 3, int, object()])
def test_wrong_types(wrong):
    with pytest.raises(TypeError, match=r"splitter=.* is not valid; expected a name, a Spl"):
        resolve_splitter(wrong)


def test_available_has_one_line_each():
    assert list(available())[:2] == ["axis", "axis_random"]
    assert all(text and "\n" not in text for text in available().values())


@pytest.mark.parametrize("cls", SPLITTERS)
def test_copies_are_equal(cls):
    splitter = cls()
    for duplicate in (
        splitter.clone(),
        clone(splitter),
        copy.deepcopy(splitter),
        pickle.loads(pickle.dumps(splitter)),
    ):
        assert duplicate == splitter
        assert hash(duplicate) == hash(splitter)
        assert repr(duplicate) == repr(splitter)
    assert AxisSplitter() != AxisRandomSplitter()


def test_parameters():
    splitter = Dialled(3)
    assert splitter.get_params() == {"width": 3, "depth": 2}
    assert repr(splitter) == "Dialled(depth=2, width=3)"
    assert splitter.set_params(depth=5) is splitter
    assert splitter == Dialled(3, depth=5)
    assert splitter != Dialled(3)
    assert clone(splitter) == splitter
    assert copy.deepcopy(splitter).get_params() == {"width": 3, "depth": 5}


def test_unknown_and_wrong_parameters():
    with pytest.raises(ValueError, match=r"Dialled has no parameter 'hight'; expected one of"):
        Dialled().set_params(hight=1)
    with pytest.raises(ValueError, match="width must be at least 0, got -1"):
        Dialled().set_params(width=-1)


def test_base_class_has_no_parameters_and_a_version():
    assert Splitter().get_params() == {}
    assert ABI_VERSION >= 1
    assert not Splitter.supports_monotonic
    assert {cls for cls in SPLITTERS if cls.supports_monotonic} == {
        AxisSplitter,
        AxisRandomSplitter,
    }
