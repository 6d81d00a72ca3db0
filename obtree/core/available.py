"""How much memory this process may still take.

The least of what the machine, the control group of a container and the limit of the process
leave. Where none of them can be asked, nobody knows.
"""

import ctypes
import os
from pathlib import Path

#: Where Linux tells about memory, processes and control groups.
PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")


def find_available_memory():
    """Bytes of memory that can be taken without swapping or being stopped.

    Returns
    -------
    n_bytes : int or None
        None when the system does not tell.
    """
    known = (_ask_machine(), _ask_control_groups(), _ask_limit())
    return min((n_bytes for n_bytes in known if n_bytes is not None), default=None)


def _ask_machine():
    """Memory of the machine that is free or can be freed at once."""
    for line in _read(PROC / "meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    if hasattr(ctypes, "windll"):
        return _ask_windows()
    try:
        page = os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    # Where free pages are not counted (macOS), all of the memory is the best that is known.
    for name in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            n_pages = os.sysconf(name)
        except (OSError, ValueError):
            continue
        if n_pages > 0:
            return n_pages * page
    return None


def _ask_windows():
    class Status(ctypes.Structure):
        _fields_ = [
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *(
                (name, ctypes.c_ulonglong)
                for name in (
                    "physical",
                    "available",
                    "page_file",
                    "available_page_file",
                    "virtual",
                    "available_virtual",
                    "extended",
                )
            ),
        ]

    status = Status()
    status.length = ctypes.sizeof(Status)
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return int(min(status.available, status.available_virtual))


def _ask_control_groups():
    """What the limits of the process's groups, and of those around them, leave."""
    left = []
    for line in _read(PROC / "self" / "cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            names = ("memory.max", "memory.current", "inactive_file")
            top = CGROUP
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            top = CGROUP / "memory"
        else:
            continue
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            left.append(_ask_group(folder, *names))
            if folder == top:
                break
    return min((n_bytes for n_bytes in left if n_bytes is not None), default=None)


def _ask_group(folder, limit, usage, cache):
    """What the limit of one control group leaves; None when it has none."""
    limit, usage = _read(folder / limit).strip(), _read(folder / usage).strip()
    if not limit.isdigit() or not usage.isdigit():
        return None
    # Pages of files that were read count as used, and are given up when memory is needed.
    cached = 0
    for line in _read(folder / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == cache and value.isdigit():
            cached = int(value)
    return max(int(limit) - int(usage) + cached, 0)


def _ask_limit():
    """What the limit of the process's address space leaves; None when it has none."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _read(PROC / "self" / "statm").split()
    if limit == resource.RLIM_INFINITY or not used:
        return None
    return max(limit - int(used[0]) * resource.getpagesize(), 0)


def _read(path):
    """The text of a small file, empty when it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
