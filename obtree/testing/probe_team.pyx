"""Wrappers of teams of threads: what they do, and interruptions at a given item."""

import threading
import time

import numpy as np

from libc.signal cimport SIGINT, raise_
from libc.stdint cimport int64_t

from obtree.core cimport team
from obtree.core.types cimport idx_t

cdef idx_t n_begun
cdef idx_t signal_at
cdef double pause
cdef object counting = threading.Lock()


cdef void note_item() noexcept nogil:
    """Count the item; send the signal if it is the one, and take time from then on."""
    global n_begun
    cdef idx_t here
    with gil:
        # Items begin on several threads, and the one that is meant must not be missed.
        with counting:
            n_begun += 1
            here = n_begun
        if signal_at < 0 or here <= signal_at:
            return
        if here == signal_at + 1:
            raise_(SIGINT)
        if pause > 0.0:
            time.sleep(pause)


class Observer:
    """Counts the items that begin within a ``with`` statement, in whatever team.

    Parameters
    ----------
    interrupt_at : int, default=-1
        Which of them, counted from 0, sends the process the signal of Ctrl-C; -1: none does.
    slow_down : float, default=0.0
        Seconds that this item, and each one after it, takes longer: those who wait elsewhere have
        time to notice the signal.
    max_helpers : int, optional
        How many threads can be started.
    """

    def __init__(self, interrupt_at=-1, slow_down=0.0, max_helpers=1 << 30):
        self._settings = interrupt_at, slow_down
        self._max_helpers = max_helpers

    def __enter__(self):
        global n_begun, signal_at, pause
        n_begun = 0
        signal_at, pause = self._settings
        team.observe_items(note_item, 0.0, self._max_helpers)
        return self

    def __exit__(self, *error):
        team.observe_items(NULL, 0.1, 1 << 30)

    @property
    def n_items(self):
        """Items that have begun."""
        return n_begun


cdef struct Log:
    int64_t* n_done
    int64_t* member
    idx_t stop_at
    volatile int stop


cdef void log_item(void* context, idx_t item, idx_t member, void* _) noexcept nogil:
    cdef Log* log = <Log*>context
    log.n_done[item] += 1
    log.member[item] = member
    if item == log.stop_at:
        log.stop = 1


def run_items(idx_t n_items, idx_t n_threads, idx_t stop_at=-1):
    """Do items that do nothing.

    Parameters
    ----------
    n_items, n_threads : int
    stop_at : int, default=-1
        The item that sets the stop flag.

    Returns
    -------
    n_done, member : ndarray of shape (n_items,)
        How often each item was done, and by whom (-1: nobody).
    """
    cdef int64_t[::1] n_done = np.zeros(max(n_items, 1), dtype=np.int64)
    cdef int64_t[::1] member = np.full(max(n_items, 1), -1, dtype=np.int64)
    cdef Log log
    log.n_done = &n_done[0]
    log.member = &member[0]
    log.stop_at = stop_at
    log.stop = 0
    with nogil:
        team.run_items(log_item, &log, n_items, n_threads, &log.stop)
    return np.asarray(n_done)[:n_items], np.asarray(member)[:n_items]


def choose_threads(double work, idx_t n_threads):
    """How many threads some nanoseconds of work are worth."""
    return team.choose_threads(work, n_threads)
