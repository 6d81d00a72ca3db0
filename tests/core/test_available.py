"""How much memory there is left."""

import os

import pytest

from obtree.core import available

MEMINFO = "MemTotal:       2000 kB\nMemFree:         300 kB\nMemAvailable:   1000 kB\n"


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Write files of a system that knows nothing else."""
    monkeypatch.setattr(available, "PROC", tmp_path / "proc")
    monkeypatch.setattr(available, "CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(available, "_ask_limit", lambda: None)

    def write(path, text):
        path = tmp_path / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return write


def test_the_machine_tells_what_is_available(system):
    system("proc/meminfo", MEMINFO)
    assert available.find_available_memory() == 1000 * 1024


@pytest.mark.parametrize(
    ("line", "folder", "limit", "usage", "cache"),
    [
        ("0::/jobs/one", "", "memory.max", "memory.current", "inactive_file"),
        (
            "4:cpu,memory:/jobs/one",
            "memory/",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ],
)
def test_a_control_group_may_leave_less(system, line, folder, limit, usage, cache):
    system("proc/meminfo", MEMINFO)
    system("proc/self/cgroup", f"7:pids:/other\n{line}\n")
    group = f"cgroup/{folder}jobs"
    system(f"{group}/one/{limit}", "500000\n")
    system(f"{group}/one/{usage}", "450000\n")
    system(f"{group}/one/memory.stat", f"anon 1\n{cache} 30000\n")
    assert available.find_available_memory() == 80_000
    # The group around it has a limit too, and others use most of it.
    system(f"{group}/{limit}", "900000\n")
    system(f"{group}/{usage}", "890000\n")
    assert available.find_available_memory() == 10_000
    system(f"{group}/{usage}", "950000\n")
    assert available.find_available_memory() == 0


def test_a_control_group_without_a_limit_leaves_all(system):
    system("proc/meminfo", MEMINFO)
    system("proc/self/cgroup", "0::/\n")
    system("cgroup/memory.max", "max\n")
    system("cgroup/memory.current", "450000\n")
    assert available.find_available_memory() == 1000 * 1024


@pytest.mark.skipif(not hasattr(os, "sysconf"), reason="no sysconf here")
def test_pages_are_counted_where_there_is_no_list(system, monkeypatch):
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 25}

    def count(name):
        if name not in pages:
            raise ValueError(name)
        return pages[name]

    monkeypatch.setattr(os, "sysconf", count)
    assert available.find_available_memory() == 25 * 4096
    pages["SC_AVPHYS_PAGES"] = 10
    assert available.find_available_memory() == 10 * 4096
    pages.clear()
    assert available.find_available_memory() is None


def test_the_limit_of_the_process_counts(system, monkeypatch):
    system("proc/meminfo", MEMINFO)
    monkeypatch.setattr(available, "_ask_limit", lambda: 77)
    assert available.find_available_memory() == 77


def test_this_machine_has_some_memory_left():
    found = available.find_available_memory()
    assert found is None or 2**20 < found < 2**50
