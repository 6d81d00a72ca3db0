"""The package under test, how much Hypothesis tries, and where its examples come from.

The tests run against the installed package. ``python -m pytest`` started in the root of
the repository puts that folder on the path, where the uncompiled sources would hide it.

OBTREE_HYPOTHESIS chooses a profile: ``dev`` (default) runs the same few examples every
time, ``ci`` other ones in each run, ``nightly`` many. The seed of a run is printed;
``pytest --hypothesis-seed=N`` repeats it.

Tests of compiled functions need a build with ``-Dprobes=true``. Without it they end in errors.
"""

import importlib.util
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
sys.path[:] = [entry for entry in sys.path if Path(entry or os.curdir).resolve() != ROOT]

# Growing a tree may take long on a busy machine, and no test here is about time.
_COMMON = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
settings.register_profile("dev", max_examples=25, derandomize=True, **_COMMON)
settings.register_profile("ci", max_examples=50, **_COMMON)
settings.register_profile("nightly", max_examples=1000, **_COMMON)
PROFILE = os.environ.get("OBTREE_HYPOTHESIS") or "dev"
settings.load_profile(PROFILE)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Choose a seed when the profile wants one and the user gave none."""
    if PROFILE != "dev" and config.getoption("--hypothesis-seed", None) is None:
        config.option.hypothesis_seed = str(random.SystemRandom().randrange(2**32))


def pytest_report_header(config):
    """Show what is needed to repeat the run."""
    seed = config.getoption("--hypothesis-seed", None)
    return f"obtree: OBTREE_HYPOTHESIS={PROFILE}, --hypothesis-seed={seed}"


def pytest_terminal_summary(terminalreporter):
    """Say why a test found no wrapper of a compiled function."""
    if terminalreporter.stats.get("error") and not importlib.util.find_spec("obtree.testing.probe"):
        terminalreporter.section("obtree was built without the probes that its tests need", sep="!")
        terminalreporter.line("install it with -Csetup-args=-Dprobes=true")
