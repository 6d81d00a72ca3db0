"""The program that damages model files at random: it finds nothing, and could."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")

TOOLS = Path(__file__).resolve().parents[2] / "tools"
SCRIPT = TOOLS / "fuzz_models.py"


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import fuzz_models

    return fuzz_models


@pytest.fixture
def folder(program, tmp_path):
    """Models of two kinds to damage, as the program expects them."""
    from fuzzing.seeds import list_models

    from obtree import save_model

    (tmp_path / "models").mkdir()
    (tmp_path / "progress").write_bytes(bytes(8))
    for name, model in list_models():
        if name in ("axis", "names"):
            save_model(model, tmp_path / "models" / name)
    return tmp_path


def test_nothing_but_refusals_and_predictions():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--mutations", "400", "--seed", "11"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^400 mutations of \d+ models", done.stdout, re.MULTILINE)
    assert "; 0 failures" in done.stdout
    head, *table = done.stdout.splitlines()
    assert head.split()[-2:] == ["predicted", "refused"]
    rows = {line[:24].strip(): line.split() for line in table if line[:24].strip()}
    # Both outcomes are common, so that the checks are reached and passed.
    assert int(rows["edit state"][-1]) > 50
    assert int(rows["edit state"][-2]) > 10
    assert int(rows["edit items"][-2]) > 3
    assert "bomb" in rows


def work(program, folder, capsys, *args):
    status = program.work(program.parse_arguments([*args, "--worker", str(folder)]))
    return status, capsys.readouterr().out


def test_other_exceptions_are_found(program, folder, capsys, monkeypatch):
    def fail(state):
        raise KeyError("left")

    args = ("--mutations", "100", "--max-failures", "3")
    assert work(program, folder, capsys, *args)[0] == 0
    monkeypatch.setattr(program, "tree_from_state", fail)
    status, out = work(program, folder, capsys, *args)
    assert status == 1
    assert out.count("KeyError: 'left'") == 3
    assert "too many failures; stopped" in out


def test_memory_without_limit_is_found(program, folder, capsys, monkeypatch):
    kept = []

    def hoard(path, max_bytes):
        # So much that what the process has from earlier tests, and no use for, is not enough.
        kept.append(bytearray(b"x" * (16 * max_bytes)))
        raise ValueError("refused")

    args = ("--mutations", "40", "--max-bytes", str(2**20))
    gauge = program.MemoryGauge()
    if gauge.measure() is None:
        pytest.skip("this system does not tell how much memory is used")
    load, fuzzer = program.load_model, program.Fuzzer

    def prepare(*given):
        made = fuzzer(*given)
        monkeypatch.setattr(program, "load_model", hoard)
        return made

    assert work(program, folder, capsys, *args)[0] == 0
    monkeypatch.setattr(program, "Fuzzer", prepare)
    status, out = work(program, folder, capsys, *args)
    assert load is not program.load_model
    assert len(kept) > 10
    assert status == 1
    assert "; 0 failures" in out


def test_crashes_are_found(program, folder, capfd, monkeypatch):
    args = program.parse_arguments(["--mutations", "5"])
    monkeypatch.setattr(program.sys, "argv", ["-c", "import os; os.abort()"])
    assert program.supervise(args, folder) == 1
    assert "mutation -1 ended the process with status" in capfd.readouterr().out


def test_endless_mutations_are_found(program, folder, capfd, monkeypatch):
    args = program.parse_arguments(["--timeout", "0.5"])
    monkeypatch.setattr(program.sys, "argv", ["-c", "import sys; sys.stdin.read()"])
    monkeypatch.setattr(program.subprocess, "Popen", keep_open(program.subprocess.Popen))
    assert program.supervise(args, folder) == 1
    assert "mutation -1 took longer than 0.5 s" in capfd.readouterr().out


def keep_open(start):
    """A way to start processes that wait for input that never comes."""

    def popen(command, **options):
        return start(command, stdin=subprocess.PIPE, **options)

    return popen


def test_one_mutation_can_be_repeated(tmp_path):
    kept = tmp_path / "kept"
    command = [sys.executable, str(SCRIPT), "--only", "1", "--keep", str(kept)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.startswith("mutation 1: ")
