"""How much memory a process holds, at most, since a moment."""

import contextlib
import os
import sys

try:
    import resource
except ImportError:  # Windows
    resource = None


class MemoryGauge:
    """Measures from the moment it is made.

    Linux tells the highest number of resident bytes and lets it be forgotten; elsewhere it is the
    highest of the whole life of the process, so that growth below an earlier peak is not seen.
    """

    def __init__(self):
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")
        self.start = _read_status("VmRSS:") or _read_peak()

    def measure(self):
        """Return the bytes by which memory grew at most, None where nobody tells."""
        if self.start is None:
            return None
        return (_read_status("VmHWM:") or _read_peak()) - self.start


def _read_status(name):
    """Return a number of bytes that Linux tells, None elsewhere."""
    with contextlib.suppress(OSError), open(f"/proc/{os.getpid()}/status") as stream:
        for line in stream:
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return None


def _read_peak():
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
