"""Run every benchmark once, in this process: ``python try_all.py [name ...]``.

asv starts a process for each combination of parameters, which takes a few seconds each. This takes
seconds in all and tells whether the benchmarks work, not how fast they are: setups run and every
``time_`` and ``track_`` function is called once. With names, only benchmarks that contain one of
them. Exits with status 1 when something failed.
"""

import importlib
import inspect
import itertools
import sys
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ("kernels", "trees", "forests", "predict", "optimisers", "tasks")


def list_calls():
    """Yield class, method name and parameters of each benchmark."""
    for name in MODULES:
        module = importlib.import_module(f"benchmarks.{name}")
        for kind in vars(module).values():
            if not inspect.isclass(kind) or inspect.isabstract(kind):
                continue
            if kind.__module__ != module.__name__:
                continue
            methods = [each for each in dir(kind) if each.startswith(("time_", "track_"))]
            params = getattr(kind, "params", ())
            for method, values in itertools.product(methods, itertools.product(*params)):
                yield kind, method, values


def main():
    """Call everything and print a summary."""
    # The sources of the package lie beside this folder; what is measured is the installed one.
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE.parent]
    sys.path.insert(0, str(HERE))
    started = time.perf_counter()
    n_run = n_skipped = n_failed = 0
    for kind, method, values in list_calls():
        module = kind.__module__.removeprefix("benchmarks.")
        name = f"{module}.{kind.__name__}.{method}{values!r}"
        if sys.argv[1:] and not any(part in name for part in sys.argv[1:]):
            continue
        benchmark = kind()
        try:
            benchmark.setup(*values)
            getattr(benchmark, method)(*values)
            n_run += 1
        except NotImplementedError:  # asv's way to skip
            n_skipped += 1
        except Exception:
            n_failed += 1
            print(f"{name} failed:\n{traceback.format_exc()}", file=sys.stderr)
    seconds = time.perf_counter() - started
    print(f"{n_run} benchmarks ran in {seconds:.0f} s, {n_skipped} skipped, {n_failed} failed")
    return 1 if n_failed or not n_run else 0


if __name__ == "__main__":
    sys.exit(main())
