"""Calling a function in a thread of its own."""

import threading

import pytest

from obtree.core.threads import call_detached


class Recorder:
    """Counts what it is told; may interrupt the wait."""

    def __init__(self, interrupt=False):
        self.n_polls = 0
        self.stopped = threading.Event()
        self._interrupt = interrupt

    def poll(self):
        self.n_polls += 1
        if self._interrupt:
            raise KeyboardInterrupt

    def stop(self):
        self.stopped.set()


def test_result_comes_from_another_thread():
    caller = threading.get_ident()
    assert call_detached(lambda a, b: (a + b, threading.get_ident() != caller), 1, 2) == (3, True)


def test_same_thread_on_request():
    assert call_detached(threading.get_ident, detach=False) == threading.get_ident()


@pytest.mark.parametrize("detach", [True, False])
def test_errors_come_back(detach):
    def fail():
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        call_detached(fail, detach=detach)


def test_interrupting_the_wait_stops_the_work_and_waits_for_its_end():
    watch = Recorder(interrupt=True)
    ended = []

    def work():
        ended.append(watch.stopped.wait(20))

    with pytest.raises(KeyboardInterrupt):
        call_detached(work, watch=watch)
    assert ended == [True]


@pytest.mark.parametrize("begins", [True, False])
def test_interrupting_the_start(monkeypatch, begins):
    """Whether or not the thread has begun by then, it does not go on."""
    watch = Recorder()
    ended = []
    start = threading.Thread.start

    def interrupt(thread):
        if begins:
            start(thread)
            for _ in range(2000):
                if running.wait(0.01):
                    break
        raise KeyboardInterrupt

    running = threading.Event()

    def work():
        running.set()
        ended.append(watch.stopped.wait(20))

    monkeypatch.setattr(threading.Thread, "start", interrupt)
    with pytest.raises(KeyboardInterrupt):
        call_detached(work, watch=watch)
    assert ended == [True] * begins
    assert not [thread for thread in threading.enumerate() if thread.name == "obtree-worker"]


def test_watch_is_polled():
    watch = Recorder()
    call_detached(threading.Event().wait, 0.3, watch=watch)
    assert watch.n_polls > 0
    assert not watch.stopped.is_set()
