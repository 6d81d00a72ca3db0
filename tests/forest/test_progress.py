"""The progress bar and the watch over a job."""

import numpy as np

from obtree.builder.rule import GrowthRule
from obtree.data.dataset import Dataset
from obtree.forest.grow import grow_trees
from obtree.forest.progress import Watch
from obtree.splitter import AxisSplitter
from obtree.testing.growth import bind_criterion


class Job:
    """Counts, and remembers being stopped."""

    n_done = 0
    stopped = False

    def stop(self):
        self.stopped = True


def grow(verbose):
    X = np.arange(20, dtype=np.float32)[:, None]
    bound = bind_criterion("gini", np.arange(20) % 2)
    return grow_trees(
        Dataset(X),
        bound.targets,
        bound.criterion,
        AxisSplitter(),
        GrowthRule(),
        seeds=np.arange(7, dtype=np.uint32),
        verbose=verbose,
        desc="planting",
    )


def test_silent_by_default(capfd):
    grow(verbose=0)
    assert capfd.readouterr() == ("", "")


def test_bar_shows_label_count_and_time(capfd):
    grow(verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    assert "planting" in err
    assert "7/7" in err
    assert "00:00<" in err


def test_watch_follows_the_count_and_passes_stop_on(capfd):
    job = Job()
    watch = Watch(job, 10, "planting", 1)
    job.n_done = 4
    watch.poll()
    watch.stop()
    assert job.stopped
    watch.close()
    assert "4/10" in capfd.readouterr().err
