"""Teams of threads: every item once, and none after the end was asked for."""

import threading

import numpy as np
import pytest

from obtree.testing.probe_team import Observer, choose_threads, run_items


@pytest.mark.parametrize("n_threads", [1, 2, 3, 16])
@pytest.mark.parametrize("n_items", [0, 1, 2, 7, 1000])
def test_every_item_is_done_once(n_items, n_threads):
    n_done, member = run_items(n_items, n_threads)
    np.testing.assert_array_equal(n_done, 1)
    # Fewer threads than items: numbers of scratch never exceed either.
    assert ((member >= 0) & (member < max(min(n_threads, n_items), 1))).all()


def test_the_caller_does_everything_when_no_thread_can_be_started():
    with Observer(max_helpers=0) as observer:
        n_done, member = run_items(100, 8)
    assert observer.n_items == 100
    np.testing.assert_array_equal(n_done, 1)
    np.testing.assert_array_equal(member, 0)


def test_no_item_begins_after_the_flag():
    n_done, _ = run_items(100, 1, stop_at=17)
    np.testing.assert_array_equal(n_done, np.arange(100) <= 17)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_flag_among_threads(n_threads):
    n_done, _ = run_items(100, n_threads, stop_at=0)
    assert n_done[0] == 1
    assert set(n_done) <= {0, 1}


def test_a_signal_ends_the_work_at_the_next_look():
    with Observer(interrupt_at=17) as observer:
        with pytest.raises(KeyboardInterrupt):
            run_items(100, 1)
        assert observer.n_items == 18


@pytest.mark.parametrize("n_threads", [2, 5])
def test_a_signal_ends_the_work_of_all_members(n_threads):
    n_before = threading.active_count()
    with Observer(interrupt_at=17, slow_down=0.01) as observer:
        with pytest.raises(KeyboardInterrupt):
            run_items(1000, n_threads)
        assert 18 <= observer.n_items < 1000
        n_after = observer.n_items
        # The next one is not affected, and nobody goes on with the last one.
        n_done, _ = run_items(5, n_threads)
        np.testing.assert_array_equal(n_done, 1)
        assert observer.n_items == n_after + 5
    assert threading.active_count() == n_before


def test_other_threads_leave_signals_to_the_main_thread():
    """Only its flag ends work elsewhere; Python runs signal handlers in the main thread."""
    outcome = []
    worker = threading.Thread(target=lambda: outcome.append(run_items(50, 2)[0].sum()))

    def wait():
        worker.start()
        for _ in range(2000):
            worker.join(0.01)

    with Observer(interrupt_at=3) as observer:
        with pytest.raises(KeyboardInterrupt):
            wait()
        worker.join()
        assert observer.n_items == 50
    assert outcome == [50]


def test_threads_by_work():
    assert choose_threads(0, 8) == 1
    assert choose_threads(3.9e6, 8) == 1
    assert choose_threads(4e6, 8) == 2
    assert choose_threads(1e18, 8) == 8
    assert choose_threads(1e18, 1) == 1
