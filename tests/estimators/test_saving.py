"""Saving: the old file or the new one, never half of one, and no rubbish beside it."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from obtree import ObliqueTreeClassifier, load_model, save_model

SAVE = """
import sys
import numpy as np
from obtree import ObliqueTreeClassifier, save_model
from obtree.estimators import archive

X = np.random.default_rng(1).normal(size=(200, 3))
model = ObliqueTreeClassifier(random_state=1).fit(X, X[:, 1] > X[:, 2])
write_member = archive._write_member
written = []

def write_and_wait(file, name, data):
    write_member(file, name, data)
    written.append(name)
    if len(written) == int(sys.argv[2]):
        file.fp.flush()
        print("writing", flush=True)
        sys.stdin.read()

archive._write_member = write_and_wait
save_model(model, sys.argv[1])
"""


@pytest.fixture
def model():
    X = np.random.default_rng(0).normal(size=(100, 3))
    return ObliqueTreeClassifier(random_state=0).fit(X, X[:, 0] > 0)


@pytest.fixture
def saved(tmp_path, model):
    path = tmp_path / "model"
    save_model(model, path)
    return path


def list_names(folder):
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize("n_members", [1, 5])
def test_killed_while_saving(saved, n_members):
    before = saved.read_bytes()
    child = subprocess.Popen(
        [sys.executable, "-c", SAVE, str(saved), str(n_members)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "writing\n"
    (partial,) = set(list_names(saved.parent)) - {saved.name}
    assert (saved.parent / partial).stat().st_size > 0
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert saved.read_bytes() == before
    assert load_model(saved).tree_.node_count == 3
    with pytest.raises(ValueError, match="not a readable model"):
        load_model(saved.parent / partial)


def test_a_file_is_on_the_disk_before_it_takes_the_name(saved, model, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(handle):
        events.append(("fsync", os.fstat(handle).st_ino, os.fstat(handle).st_size))
        fsync(handle)

    def note_replace(source, target):
        found = os.stat(source)
        events.append(("replace", found.st_ino, found.st_size))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    save_model(model, saved)
    assert [name for name, _, _ in events[:2]] == ["fsync", "replace"]
    # All of it, and nothing written afterwards.
    assert events[0][1:] == events[1][1:]
    assert events[0][2] == saved.stat().st_size
    if os.name == "posix":
        assert events[2][:2] == ("fsync", saved.parent.stat().st_ino)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_errors_leave_the_old_file_and_nothing_else(saved, model, monkeypatch, step):
    before = saved.read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        save_model(model, saved)
    assert saved.read_bytes() == before
    assert list_names(saved.parent) == [saved.name]


def test_a_folder_is_refused_before_anything_is_written(tmp_path, model, monkeypatch):
    monkeypatch.setattr("obtree.estimators.archive._write_member", None)
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="folder"):
        save_model(model, tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        save_model(model, tmp_path / "none" / "model")
    assert list_names(tmp_path) == ["folder"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_not_a_file_is_not_replaced(tmp_path, model):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ValueError, match="pipe is not a regular file"):
        save_model(model, path)
    with pytest.raises(ValueError, match="pipe is not a regular file"):
        load_model(path)
    assert path.is_fifo()


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_a_link_stays_a_link(tmp_path, model):
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "model"
    link = tmp_path / "link"
    link.symlink_to(target)
    save_model(model, link)
    assert link.is_symlink()
    before = target.read_bytes()
    save_model(model, os.fsencode(link))
    assert link.is_symlink()
    assert target.read_bytes() == before
    assert list_names(tmp_path / "far") == ["model"]


@pytest.mark.skipif(os.name != "posix", reason="there are no modes elsewhere")
def test_modes_follow_the_umask(tmp_path, model):
    before = os.umask(0o027)
    try:
        save_model(model, tmp_path / "model")
    finally:
        os.umask(before)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o640
    (tmp_path / "model").chmod(0o600)
    save_model(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o600


def test_messages_name_the_file_and_not_the_partial_one(tmp_path, model, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("obtree.core.files.open", refuse, raising=False)
    with pytest.raises(PermissionError) as caught:
        save_model(model, tmp_path / "model")
    assert caught.value.filename == os.path.realpath(tmp_path / "model")
    assert ".part" not in str(caught.value)
