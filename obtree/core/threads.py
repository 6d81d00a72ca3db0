"""Running a long job beside the caller's thread.

``prange`` never runs on the caller's own thread. OpenMP runtimes keep their pool of workers
with the thread that opened the region; after a ``fork`` the child inherits the thread but not
the workers, and its next region would wait for them for ever. A fresh thread has a fresh pool.
Meanwhile the caller is free to notice Ctrl-C and to draw a progress bar. What takes a second or
two and has no bar need not be detached: ``team.pyx`` notices Ctrl-C by itself.
"""

import threading


def call_detached(function, *args, detach=True, watch=None):
    """Call a function in a thread of its own and wait for it.

    Parameters
    ----------
    function : callable
        Does its work without the GIL.
    *args
        Arguments of the function.
    detach : bool, default=True
        When False the function runs in the caller's thread.
    watch : object, optional
        Told what happens while the caller waits: ``watch.poll()`` is called several
        times a second, and ``watch.stop()`` when the wait is interrupted, after which
        the function is expected to return soon.

    Returns
    -------
    object
        What the function returned. What it raised is raised here.
    """
    if not detach:
        return function(*args)
    outcome = []
    # An event and not Thread.join: an interrupted join takes the thread for finished.
    finished = threading.Event()
    # An interruption may come before the thread has begun: it then has nothing to do any more.
    gate = threading.Lock()
    begun, abandoned = [], []

    def run():
        with gate:
            if abandoned:
                return
            begun.append(True)
        try:
            outcome.append((function(*args), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            finished.set()

    worker = threading.Thread(target=run, name="obtree-worker", daemon=True)
    try:
        worker.start()
        while not finished.wait(0.05):
            if watch is not None:
                watch.poll()
    except BaseException:
        with gate:
            abandoned.append(True)
        if watch is not None:
            watch.stop()
        if begun:
            finished.wait()
            worker.join()
        raise
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
