"""What the caller sees of a running job: a progress bar, and an end on Ctrl-C."""

from tqdm.auto import tqdm


class Watch:
    """Shows a job's progress and passes on an interruption.

    Parameters
    ----------
    job : object
        Has ``n_done``, a count that rises, and ``stop()``.
    total : int
        What ``n_done`` reaches in the end.
    desc : str
        What is counted.
    verbose : int
        0 for silence.
    """

    def __init__(self, job, total, desc, verbose):
        self._job = job
        self._bar = tqdm(total=total, desc=desc, unit="tree") if verbose else None

    def poll(self):
        """Bring the bar up to date."""
        if self._bar is not None:
            self._bar.update(self._job.n_done - self._bar.n)

    def stop(self):
        """Tell the job to end soon."""
        self._job.stop()

    def close(self):
        """Leave the bar on the screen as it stands."""
        if self._bar is not None:
            self.poll()
            self._bar.close()
