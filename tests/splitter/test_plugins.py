"""Splitters of other packages: listed, loaded late, and harmless when broken."""

import subprocess
import sys
import warnings

import pytest

from obtree import ObliqueTreeClassifier
from obtree.splitter import available, resolve_splitter
from obtree.splitter.plugins import PluginError
from obtree.splitter.registry import find_splitter, name_splitter

GOOD = """
from obtree.splitter import PythonSplitter

class Middle(PythonSplitter):
    '''Cuts the first feature at its mean.

    More words.
    '''

    def split(self, X, y, sample_weight, rng):
        return [1.0] + [0.0] * (X.shape[1] - 1), X[:, 0].mean()

class Silent(PythonSplitter):
    pass

number = 3
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """A function that puts a package with entry points on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(package, source, **names):
        (tmp_path / f"{package}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        entries = "".join(f"{name} = {package}:{attr}\n" for name, attr in names.items())
        (info / "entry_points.txt").write_text(f"[obtree.splitters]\n{entries}")
        monkeypatch.delitem(sys.modules, package, raising=False)
        return tmp_path

    yield put
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def test_names_and_lines(install):
    install("plug_good", GOOD, middle="Middle", silent="Silent")
    listed = available()
    assert listed["middle"] == "Cuts the first feature at its mean."
    assert listed["silent"]
    assert next(iter(listed)) == "axis"
    cls = find_splitter("middle")
    assert name_splitter(cls) == "middle"
    assert type(resolve_splitter("middle")) is cls
    tree = ObliqueTreeClassifier(splitter="middle").fit([[0.0], [1.0]], [0, 1])
    assert tree.get_depth() == 1


def test_nothing_is_loaded_before_it_is_needed(install):
    install("plug_lazy", GOOD, lazy="Middle")
    install("plug_other", GOOD, other="Middle")
    ObliqueTreeClassifier(splitter="axis").fit([[0.0], [1.0]], [0, 1])
    assert "plug_lazy" not in sys.modules
    resolve_splitter("lazy")
    assert "plug_lazy" in sys.modules
    assert "plug_other" not in sys.modules
    with pytest.raises(ValueError, match=r"unknown splitter 'lasy'.*Did you mean 'lazy'\?"):
        resolve_splitter("lasy")
    assert "plug_other" not in sys.modules


@pytest.mark.parametrize(
    ("source", "attr", "reason"),
    [
        ("import no_such_module", "X", "cannot be imported: ModuleNotFoundError: No module"),
        ("1 / 0", "X", "cannot be imported: ZeroDivisionError: division by zero"),
        ("x = (", "X", "cannot be imported: SyntaxError"),
        (GOOD, "Absent", "cannot be imported: AttributeError"),
        (GOOD, "number", "is 3; expected a subclass of obtree.splitter.base.Splitter"),
    ],
)
def test_broken_packages(install, source, attr, reason):
    install("plug_bad", source, bad=attr)
    install("plug_fine", GOOD, fine="Middle")
    label = rf"splitter 'bad' of plug_bad 1.2 \(plug_bad:{attr}\) {reason}"
    with pytest.warns(UserWarning, match=label):
        listed = available()
    assert "bad" not in listed
    assert "fine" in listed
    with pytest.raises(PluginError, match=label):
        ObliqueTreeClassifier(splitter="bad").fit([[0.0], [1.0]], [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        resolve_splitter("fine")


def test_names_that_are_taken(install):
    install("plug_a", GOOD, axis="Middle", both="Middle")
    install("plug_b", GOOD, both="Middle")
    with pytest.warns(UserWarning, match="splitter") as caught:
        listed = available()
    texts = [str(warning.message) for warning in caught]
    assert texts[0] == "splitter 'axis' of plug_a 1.2 is left out: obtree has one of that name"
    assert "'both' is ambiguous: plug_a 1.2 and plug_b 1.2" in texts[1]
    assert listed["axis"] == "Exact best split of one feature."
    assert "both" not in listed
    with pytest.raises(ImportError, match="uninstall one of them, or pass an object"):
        resolve_splitter("both")


def test_a_broken_package_does_not_break_the_import(install):
    folder = install("plug_bad", "1 / 0", bad="X")
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import obtree; print('fine')"
    result = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    assert (result.stdout.strip(), result.stderr) == ("fine", "")
