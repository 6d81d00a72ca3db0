#!/usr/bin/env bash
# Build without OpenMP and test that two "threads" still give the same trees.
#
#     tools/check_serial.sh [arguments for pip install]
#
# Takes a minute or two, so it is a step of its own and not a test. What is checked does not
# depend on optimisation, and without it the compiler takes half the time. The package goes
# to a temporary folder; what is installed stays as it is.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python -m pip install --quiet --no-deps --target "$work/site" \
    -Csetup-args=-Dprobes=true -Csetup-args=-Dopenmp=disabled -Csetup-args=-Doptimization=0 "$@" "$root"

cd "$work"
export PYTHONPATH="$work/site"
python -P - <<'PYTHON'
import sys
from pathlib import Path

import obtree

site = Path(sys.path[1] if sys.path[0] == "" else sys.path[0])
assert Path(obtree.__file__).is_relative_to(site), obtree.__file__
for library in site.rglob("obtree/**/*.so"):
    content = library.read_bytes()
    assert b"libgomp" not in content and b"libomp" not in content, library
PYTHON
python -P -m pytest -q -p no:cacheprovider --rootdir "$root" -c "$root/pyproject.toml" \
    "$root/tests/forest" "$root/tests/data/test_dataset.py" \
    "$root/tests/properties/test_trees.py::test_threads_change_nothing"
