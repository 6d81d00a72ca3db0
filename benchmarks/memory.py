"""Peak memory of a call, seen from inside the process."""

import gc
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def measure_peak(call):
    """Run a function and tell how far resident memory rose meanwhile.

    On Linux the kernel's high-water mark is reset first. Elsewhere the mark of the
    whole life of the process is used, which hides what the call takes below an earlier
    peak; call this in a fresh process.

    Parameters
    ----------
    call : callable
        Function without arguments.

    Returns
    -------
    n_bytes : int
        Peak during the call minus resident memory before it.
    """
    gc.collect()
    if CLEAR.exists():
        CLEAR.write_text("5")
        before = _read_status("VmRSS")
        call()
        return _read_status("VmHWM") - before
    before = _read_usage()
    call()
    return _read_usage() - before


def _read_status(field):
    """Return a figure of the kernel's, in bytes."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


def _read_usage():
    """Return the largest resident size so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
