"""What is installed, and that the tests see it and not the sources."""

import re
import subprocess
import sys
from importlib.metadata import files, version
from pathlib import Path

import pytest

import obtree

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "obtree"
PUBLIC_PXD = [
    "obtree/__init__.pxd",
    "obtree/core/__init__.pxd",
    "obtree/core/abi.pxd",
    "obtree/core/memory.pxd",
    "obtree/core/parametrised.pxd",
    "obtree/core/random.pxd",
    "obtree/core/sort.pxd",
    "obtree/core/types.pxd",
    "obtree/criterion/__init__.pxd",
    "obtree/criterion/base.pxd",
    "obtree/criterion/class_sums.pxd",
    "obtree/criterion/classes.pxd",
    "obtree/criterion/moments.pxd",
    "obtree/criterion/moments_sweep.pxd",
    "obtree/criterion/sweep.pxd",
    "obtree/data/__init__.pxd",
    "obtree/data/dataset.pxd",
    "obtree/data/fit.pxd",
    "obtree/data/hyperplane.pxd",
    "obtree/data/missing.pxd",
    "obtree/data/partition.pxd",
    "obtree/data/project.pxd",
    "obtree/data/read.pxd",
    "obtree/data/scale.pxd",
    "obtree/data/targets.pxd",
    "obtree/data/term_share.pxd",
    "obtree/forest/__init__.pxd",
    "obtree/forest/leaf_fitter.pxd",
    "obtree/optim/__init__.pxd",
    "obtree/optim/base.pxd",
    "obtree/splitter/__init__.pxd",
    "obtree/splitter/axis.pxd",
    "obtree/splitter/base.pxd",
    "obtree/splitter/candidates.pxd",
    "obtree/splitter/direction.pxd",
    "obtree/splitter/random_oblique.pxd",
    "obtree/splitter/relevance.pxd",
    "obtree/splitter/sweep.pxd",
    "obtree/splitter/varying.pxd",
    "obtree/tree/__init__.pxd",
    "obtree/tree/leaf_models.pxd",
]


@pytest.fixture(scope="module")
def installed():
    """Names of the installed files of the package."""
    names = [str(path).replace("\\", "/") for path in files("obtree") or []]
    names = [name for name in names if name.startswith("obtree/") and "__pycache__" not in name]
    if not any(name.endswith(".pxd") for name in names):
        pytest.skip("an editable install lists no files")
    return names


def test_public_declarations_are_installed(installed):
    assert sorted(name for name in installed if name.endswith(".pxd")) == PUBLIC_PXD


def test_public_declarations_need_nothing_that_is_not_installed(installed):
    # Another package can only cimport what it finds.
    folder = Path(obtree.__file__).parent.parent
    for name in PUBLIC_PXD:
        text = (folder / name).read_text(encoding="utf-8")
        for module in re.findall(r"^(?:from|cimport)\s+(obtree[\w.]*)", text, re.MULTILINE):
            assert module.replace(".", "/") + ".pxd" in installed, f"{name} cimports {module}"


@pytest.mark.skipif(not SOURCE.exists(), reason="no sources here")
def test_every_source_is_installed(installed):
    extensions = {
        re.sub(r"\.[^/]*$", "", name) for name in installed if name.endswith((".so", ".pyd"))
    }
    for path in sorted(SOURCE.rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if "__pycache__" in name:
            continue
        if path.suffix in (".py", ".pyi", ".typed"):
            assert name in installed
        elif path.suffix == ".pyx" and not is_probe(name):
            assert name.removesuffix(".pyx") in extensions


def is_probe(name):
    """Tell whether a file is a wrapper of compiled functions."""
    return name.startswith("obtree/testing/probe")


@pytest.mark.skipif(not SOURCE.exists(), reason="no sources here")
def test_probes_are_installed_together_or_not_at_all(installed):
    sources = [path.relative_to(ROOT).as_posix() for path in SOURCE.rglob("probe*.pyx")]
    probes = {name.partition(".")[0] for name in installed if is_probe(name)}
    assert probes in (set(), {name.removesuffix(".pyx") for name in sources if is_probe(name)})


def test_nothing_else_is_installed(installed):
    suffixes = {Path(name).suffix for name in installed}
    assert suffixes <= {".py", ".pxd", ".pyi", ".typed", ".so", ".pyd"}
    assert not [name for name in installed if "/tests/" in name]


@pytest.mark.skipif("_obtree_editable_loader" in sys.modules, reason="an editable install")
def test_the_installed_package_is_tested():
    assert Path(obtree.__file__).parent != SOURCE


@pytest.mark.skipif(not SOURCE.exists(), reason="no sources here")
@pytest.mark.parametrize("command", [["-m", "pytest"], ["-P", "-m", "pytest"]])
def test_pytest_in_the_root_tests_the_installed_package(command):
    test = f"{Path(__file__).relative_to(ROOT)}::test_the_installed_package_is_tested"
    result = subprocess.run(
        [sys.executable, *command, "-q", "-p", "no:cacheprovider", test],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(not SOURCE.exists(), reason="no sources here")
def test_python_in_the_root_uses_the_installed_package():
    code = "import obtree.core.dispatch as d; print(d.__file__)"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert not Path(result.stdout.strip()).is_relative_to(SOURCE)


@pytest.mark.skipif(not SOURCE.exists(), reason="no sources here")
def test_sources_alone_say_what_to_do():
    # Without site-packages there is no installed package.
    result = subprocess.run(
        [sys.executable, "-S", "-c", "import obtree"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode != 0
    assert "has to be compiled: run `pip install .`" in result.stderr


def test_one_version():
    assert obtree.__version__ == version("obtree")
    if SOURCE.exists():
        project = re.search(
            r"^\s*version: '([^']+)'", (ROOT / "meson.build").read_text(), re.MULTILINE
        )
        assert project[1] == obtree.__version__
        assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()


def test_public_names():
    for name in obtree.__all__:
        assert getattr(obtree, name) is not None


@pytest.mark.parametrize("folder", ["bench", "cli", "explain", "plot", "testing"])
def test_importing_the_package_does_not_import_what_models_never_need(folder):
    code = (
        f"import obtree, sys; sys.exit(any(m.startswith('obtree.{folder}') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


def test_public_checks_need_no_doors():
    # A wheel has none.
    code = (
        "import sys, obtree\n"
        "sys.modules.update({f'obtree.testing.{name}': None for name in sys.argv[1:]})\n"
        "from obtree.testing import check_criterion, check_splitter\n"
    )
    names = [path.stem for path in SOURCE.glob("testing/probe*.pyx")]
    command = [sys.executable, "-P", "-c", code, *names]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize("name", ["explain", "plot"])
def test_parts_are_imported_when_asked_for(name):
    """`import obtree` is enough, and loads none of them."""
    if name == "plot":
        pytest.importorskip("matplotlib")
    code = (
        "import sys, obtree; "
        f"assert 'obtree.{name}' not in sys.modules and 'matplotlib' not in sys.modules; "
        f"assert obtree.{name} is sys.modules['obtree.{name}']"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


def test_other_names_do_not_exist():
    assert not hasattr(obtree, "plots")
    with pytest.raises(ImportError, match="cannot import name 'ObliqueForest' from 'obtree'"):
        exec("from obtree import ObliqueForest")
