"""Builds packages outside obtree, against the installed one, once for all tests.

`guided` is the package of the tutorial, installed by pip into a folder of its own. `variants`
are modules that break something. Processes of pytest-xdist share both: the first that comes
builds, the others wait.
"""

import contextlib
import importlib
import os
import re
import shutil
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

from obtree.core.abi import ABI_VERSION, get_include

HERE = Path(__file__).parent
TOOLS = ("cython", "meson", "meson-python", "ninja", "pip")


def find_tools():
    """Folders of the programs that the build needs; skips when a package is missing."""
    folders = [str(Path(sys.executable).parent)]
    for name in TOOLS:
        try:
            found = files(name) or []
        except PackageNotFoundError:
            pytest.skip(f"building a package needs {name}; install obtree[test]")
        folders += [
            str(Path(path.locate()).resolve().parent)
            for path in found
            if path.stem in ("cython", "meson", "ninja") and path.suffix in ("", ".exe")
        ]
    if not (Path(get_include()) / "obtree" / "splitter" / "base.pxd").exists():
        pytest.skip("an editable install has no .pxd files to build against")
    return list(dict.fromkeys(folders))


def run(*command, cwd):
    """Run a program with the tools on its path; its output explains a failure."""
    path = os.pathsep.join([*find_tools(), os.environ.get("PATH", "")])
    env = os.environ | {"PATH": path, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    env.pop("PYTHONPATH", None)
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout[-6000:]}\n{result.stderr[-6000:]}"


@contextlib.contextmanager
def built_once(tmp_path_factory, worker_id, name):
    """Yield (folder, whether to build in it); other processes wait until that is done."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / name
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + 300
        while not (folder / "done").exists():
            assert not (folder / "failed").exists(), "another process failed to build it"
            assert time.monotonic() < deadline, f"{folder} was never finished"
            time.sleep(0.1)
        yield folder, False
        return
    try:
        yield folder, True
        (folder / "done").touch()
    except BaseException:
        (folder / "failed").touch()
        raise


@pytest.fixture(scope="session")
def worker_name(request):
    """The process of pytest-xdist, "master" without it."""
    return getattr(request.config, "workerinput", {}).get("workerid", "master")


@pytest.fixture(scope="session")
def guided_folder(tmp_path_factory, worker_name):
    """A folder into which the package of the tutorial is installed."""
    find_tools()
    with built_once(tmp_path_factory, worker_name, "guided") as (folder, to_build):
        if to_build:
            shutil.copytree(HERE / "example", folder / "source")
            run(
                sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-deps",
                "--target", folder / "site", folder / "source",
                cwd=folder,
            )  # fmt: skip
    return folder / "site"


@pytest.fixture(scope="session")
def variants_folder(tmp_path_factory, worker_name):
    """A folder with compiled modules that break something."""
    tools = find_tools()
    with built_once(tmp_path_factory, worker_name, "variants") as (folder, to_build):
        if to_build:
            write_variants(folder / "source", folder / "newer")
            meson = shutil.which("meson", path=os.pathsep.join(tools))
            run(meson, "setup", folder / "build", folder / "source", cwd=folder)
            run(meson, "compile", "-C", folder / "build", cwd=folder)
    return folder / "build"


def write_variants(source, newer):
    """Write the sources of the variants, some made from the installed files."""
    shutil.copytree(HERE / "variants", source)
    text = (HERE / "example" / "obtree_guided" / "guided.pyx").read_text(encoding="utf-8")
    forgetful = re.sub(r"    cdef int node_split\(.*?return FOUND\n", "", text, flags=re.DOTALL)
    assert forgetful != text
    (source / "forgetful.pyx").write_text(forgetful, encoding="utf-8")
    lines = [f"cimport {module}" for module in list_declarations()]
    (source / "everything.pyx").write_text("\n".join(lines) + "\n", encoding="utf-8")
    checked = HERE / "example" / "obtree_guided" / "checked.pyx"
    shutil.copy(checked, source / "newer.pyx")
    for path in Path(get_include(), "obtree").rglob("*.pxd"):
        target = newer / path.relative_to(get_include())
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        if path.name == "types.pxd":
            text, n_changed = re.subn(
                rf"(ABI_VERSION = ){ABI_VERSION}\b", rf"\g<1>{ABI_VERSION + 1}", text
            )
            assert n_changed == 1
        target.write_text(text, encoding="utf-8")
    build = (source / "meson.build").read_text(encoding="utf-8")
    build = build.replace("@installed@", Path(get_include()).as_posix())
    build = build.replace("@newer@", newer.as_posix())
    (source / "meson.build").write_text(build, encoding="utf-8")


def list_declarations():
    """Names of the modules whose declarations are installed."""
    root = Path(get_include())
    paths = [path for path in sorted((root / "obtree").rglob("*.pxd")) if path.stem != "__init__"]
    return [".".join(path.relative_to(root).with_suffix("").parts) for path in paths]


@pytest.fixture
def guided(guided_folder, monkeypatch):
    """The package of the tutorial, on the path."""
    monkeypatch.syspath_prepend(str(guided_folder))
    return importlib.import_module("obtree_guided")


@pytest.fixture
def variant(variants_folder, monkeypatch):
    """A function that imports one of the variants."""
    monkeypatch.syspath_prepend(str(variants_folder))
    return importlib.import_module
