"""Times of fits and predictions."""

import time

from obtree.bench.measure import Seconds, time_call


def test_both_clocks_are_read_around_a_call(monkeypatch):
    seen = []

    def make_clock(name, times):
        def read():
            seen.append(name)
            return next(times)

        return read

    monkeypatch.setattr(time, "process_time", make_clock("processor", iter([1.0, 3.0])))
    monkeypatch.setattr(time, "perf_counter", make_clock("wall", iter([10.0, 15.0])))
    assert time_call(lambda: seen.append("call")) == Seconds(processor=2.0, wall=5.0)
    assert seen == ["processor", "wall", "call", "processor", "wall"]
