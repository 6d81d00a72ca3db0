"""Choice of the instruction set that the innermost loops use.

The best one this machine can run is taken on import. The environment variable
``OBTREE_TARGET`` names another (``plain`` always exists). Models do not depend on
the choice, bit for bit; only the time to make them does.
"""

import os

cdef extern from "simd/kernels.h":
    const Kernels* obtree_active_kernels() noexcept nogil
    int obtree_select_kernels(const char* name) noexcept nogil
    const char* obtree_target_name(int k) noexcept nogil


cdef const Kernels* kernels() noexcept nogil:
    return obtree_active_kernels()


def available_targets():
    """Names of the instruction sets usable here, best first."""
    cdef int k = 0
    names = []
    while obtree_target_name(k) != NULL:
        names.append((<bytes>obtree_target_name(k)).decode())
        k += 1
    return names


def active_target():
    """Name of the instruction set in use."""
    return (<bytes>obtree_active_kernels().name).decode()


def _select(name):
    if not obtree_select_kernels(name.encode()):
        raise ImportError(
            f"OBTREE_TARGET={name!r} cannot run here; "
            f"expected one of {', '.join(available_targets())}"
        )


_select(os.environ.get("OBTREE_TARGET") or available_targets()[0])
