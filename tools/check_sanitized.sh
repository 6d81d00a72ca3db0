#!/usr/bin/env bash
# Build with AddressSanitizer and UndefinedBehaviorSanitizer, and run tests that way.
#
#     tools/check_sanitized.sh [arguments for pytest]
#
# Without arguments the tests of the compiled layers run, two at a time; `tests` runs all of
# them. A read or write outside of a block, a use of freed memory, an overflow of a signed
# number, a shift or a cast without meaning: each ends with status 1 and the place it was seen
# at. GCC or Clang on Linux. The package goes to an environment of its own in a temporary folder,
# or in that named by OBTREE_SANITIZED, which is then kept and used again; it borrows all other
# packages, and what is installed stays as it is.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
place=${OBTREE_SANITIZED:-$work}
layers=(core data criterion splitter tree builder optim forest)

if [ ! -d "$place/venv" ]; then
    python -m venv --without-pip "$place/venv"
    # Line numbers are enough to read a report; full debugging data double the time.
    python -m pip --python "$place/venv/bin/python" install --quiet --no-deps -Csetup-args=-Dprobes=true \
        -Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
        -Csetup-args=-Doptimization=1 \
        -Csetup-args="-Dc_args=-g1 -fno-omit-frame-pointer" "$root"
    python - "$place/venv/bin/python" <<'PYTHON'
import subprocess
import sys
import sysconfig
from pathlib import Path

show = "import sysconfig; print(sysconfig.get_path('purelib'))"
folder = subprocess.run([sys.argv[1], "-c", show], capture_output=True, check=True, text=True)
borrowed = Path(folder.stdout.strip()) / "borrowed.pth"
borrowed.write_text(sysconfig.get_path("purelib") + "\n")
PYTHON
fi

compiler=${CC:-cc}
compiler=${compiler##* }
libraries=""
for name in libasan.so libubsan.so; do
    path=$("$compiler" -print-file-name=$name)
    [ -e "$path" ] || { echo "$compiler has no $name" >&2; exit 2; }
    libraries+="${libraries:+:}$(readlink -f "$path")"
done

[ $# -gt 0 ] || set -- -n 2 "${layers[@]/#/$root/tests/}"
cd "$work"
mkdir "$work/reports"
# The interpreter itself frees little before it ends, so that leaks cannot be told; and it
# asks for more memory than there is where a test wants a MemoryError. Freed blocks are watched for a
# while: few, since some tests measure memory.
status=0
LD_PRELOAD="$libraries" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=8:log_path="$work/reports/asan" \
    UBSAN_OPTIONS=print_stacktrace=1:log_path="$work/reports/ubsan" \
    "$place/venv/bin/python" -P -m pytest -q -p no:cacheprovider --rootdir "$root" -c "$root/pyproject.toml" "$@" ||
    status=$?
for report in "$work"/reports/*; do
    [ -e "$report" ] || continue
    cat "$report"
    status=1
done
exit $status
