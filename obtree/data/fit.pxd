# What a fit works on, lent to `prepare`: what is computed there is computed once, before any
# worker exists, and read by all of them.

from obtree.core.types cimport w_t
from obtree.data.dataset cimport DataView
from obtree.data.targets cimport TargetView


cdef struct FitView:
    const DataView* data
    const TargetView* targets
    # By row of X, before any bootstrap; rows of weight zero are to count for nothing. NULL:
    # every row weighs 1.
    const w_t* weight
    const volatile int* stop  # becomes non-zero when the user interrupts: return soon
    int n_threads             # that may be used


cdef inline FitView lend_fit(const DataView* data, const TargetView* targets, const w_t* weight,
                             const volatile int* stop, int n_threads) noexcept nogil:
    cdef FitView fit
    fit.data = data
    fit.targets = targets
    fit.weight = weight
    fit.stop = stop
    fit.n_threads = n_threads
    return fit
