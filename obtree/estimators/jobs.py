"""How many threads ``n_jobs`` stands for."""

from joblib import cpu_count, effective_n_jobs

from obtree.core.params import Integer, refuse_param

#: Threads that are started when asked for; from here on the machine has a say.
ALWAYS_ALLOWED = 64


def count_threads(n_jobs):
    """Check ``n_jobs`` and return the number of threads it means.

    Parameters
    ----------
    n_jobs : int or None
        As in scikit-learn: None means 1 unless joblib was told otherwise, -1 all cores, -2
        all but one, and so on.

    Returns
    -------
    n_threads : int
        At least 1, and at most 64 or four times the cores there are: far more threads are
        of no use, and the system ends a process that cannot start those it wants.
    """
    if n_jobs is not None:
        is_integer = Integer(1).has_type(n_jobs)
        if not is_integer or n_jobs == 0:
            expected = "None or an integer other than 0, such as 2, or -1 for all cores"
            refuse_param("n_jobs", n_jobs, expected=expected, wrong_type=not is_integer)
        n_jobs = int(n_jobs)
    n_threads = effective_n_jobs(n_jobs)
    if n_threads <= ALWAYS_ALLOWED:
        return n_threads
    return min(n_threads, max(ALWAYS_ALLOWED, 4 * cpu_count()))
