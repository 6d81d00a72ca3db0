# Short items of work for several threads, and how many threads some work is worth.

from obtree.core.types cimport idx_t

# Does one item. `member` numbers the thread, from 0 to n_threads - 1, and so its scratch; `team`
# is for `should_stop`. Which thread does an item, and when, must change nothing.
ctypedef void (*work_t)(void* context, idx_t item, idx_t member, void* team) noexcept nogil

# Items 0..n_items-1, one after the other, on up to n_threads threads, of which the caller is one.
# Ends early, items not begun being left out, when `stop` (NULL: there is none) becomes non-zero;
# and, in Python's main thread, on Ctrl-C or whatever signal handler raises, which it then raises.
cdef int run_items(work_t work, void* context, idx_t n_items, idx_t n_threads,
                   const volatile int* stop) except -1 nogil

# Within a long item: whether to return soon. To be asked every 100 ms or so, and cheap enough
# for every 100 microseconds.
cdef bint should_stop(void* team, idx_t member) noexcept nogil

# The same for a loop that holds the GIL: raises what a signal handler raises. Main thread only;
# elsewhere it does nothing.
cdef int check_signals() except -1

# Say that an item begins, for `observe_items`; who distributes items by `prange` calls it.
cdef void note_item() noexcept nogil

# Tests: call `begins` (NULL: nothing) as each item begins, look for signals so often, and start
# no more helpers than this.
cdef void observe_items(void (*begins)() noexcept nogil, double look_seconds,
                        idx_t max_helpers) noexcept

cdef enum:
    # Nanoseconds of work from which a thread is worth starting. It costs about 20,000; but on a
    # busy machine it may be made to wait, in the middle of an item, for several milliseconds,
    # and the caller with it.
    THREAD_WORK = 2000000
    # The same where threads have to wait for each other again and again, as between the levels
    # of one tree.
    SYNCHRONISED_WORK = 5000000
    # The same for a region of OpenMP, whose threads all have to begin and spin for the last one.
    REGION_WORK = 20000000


cdef inline idx_t choose_threads(double work, idx_t n_threads,
                                 double least=THREAD_WORK) noexcept nogil:
    """How many of n_threads to use for some nanoseconds of work: `least` for each, at least 1."""
    return max(<idx_t>1, min(n_threads, <idx_t>min(work / least, 65536.0)))
