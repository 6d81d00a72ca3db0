"""Starting workers, one process per library, and asking them."""

import contextlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import obtree.bench

HERE = Path(__file__).resolve().parent

# Libraries that need an environment of their own, and what is installed there.
GUESTS = {
    "intelex": ["scikit-learn-intelex", "scikit-learn"],
    "treeple": ["treeple", "scikit-learn<1.7"],
    "ydf": ["ydf", "scikit-learn"],
}


class WorkerError(Exception):
    """A worker could not do what it was asked."""


class WorkerProcess:
    """A process running ``worker.py`` for one library; a context manager.

    Parameters
    ----------
    library : str
        Name the worker knows. "obtree plain" is obtree held to plain C; a library of
        `GUESTS` runs in a virtual environment of its own.
    """

    def __init__(self, library):
        self.library = library
        environment = dict(os.environ)
        name = library
        if library == "obtree plain":
            name = "obtree"
            environment["OBTREE_TARGET"] = "plain"
        python = make_python(library) if library in GUESTS else sys.executable
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), name, str(Path(obtree.bench.__file__).parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, do, **request):
        """Send one request and wait for the answer.

        Parameters
        ----------
        do : str
            Method of ``worker.Bench``.
        **request
            Its arguments.

        Returns
        -------
        answer : dict
        """
        try:
            self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise WorkerError(f"{self.library}: the worker ended; see its message above")
        answer = json.loads(line)
        if "failed" in answer:
            raise WorkerError(f"{self.library}: {answer['failed']}")
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(BrokenPipeError):  # it may have ended by itself
            self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:  # it is busy, and nobody waits for the answer
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def make_python(library):
    """Return a Python that has a library, made on first use.

    It lives in the user's cache folder, since the library needs versions of its own.

    Parameters
    ----------
    library : str
        Key of `GUESTS`.

    Returns
    -------
    python : str
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "obtree-benchmarks" / library
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = folder / "ready"
    if not ready.exists():
        print(f"installing {library} into {folder}", file=sys.stderr)
        venv.create(folder, with_pip=True, clear=True)
        command = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*command, *GUESTS[library]], check=True)
        ready.touch()
    return str(python)
