#!/usr/bin/env bash
# Build with AddressSanitizer and UndefinedBehaviorSanitizer, and run tests that way.
#
#     tools/check_sanitized.sh [arguments for pytest]
#
# Without arguments the tests of the compiled layers run, two at a time; `tests` runs all of
# them. A read or write outside of a block, a use of freed memory, an overflow of a signed
# number, a shift or a cast without meaning: each ends with status 1 and the place it was seen
# at. GCC or Clang on Linux. The package goes to a temporary folder, or to that named by
# OBTREE_SANITIZED, which is then kept and used again; what is installed stays as it is.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
site=${OBTREE_SANITIZED:-$work}/site
layers=(core data criterion splitter tree builder optim forest)

if [ ! -d "$site/obtree" ]; then
    # Line numbers are enough to read a report; full debugging data double the time.
    python -m pip install --quiet --no-deps --target "$site" \
        -Csetup-args=-Db_sanitize=address,undefined -Csetup-args=-Db_lundef=false \
        -Csetup-args=-Doptimization=1 \
        -Csetup-args="-Dc_args=-g1 -fno-omit-frame-pointer" "$root"
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
export PYTHONPATH="$site"
mkdir "$work/reports"
# The interpreter itself frees little before it ends, so that leaks cannot be told; and it
# asks for more memory than there is where a test wants a MemoryError.
status=0
LD_PRELOAD="$libraries" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path="$work/reports/asan" \
    UBSAN_OPTIONS=print_stacktrace=1:log_path="$work/reports/ubsan" \
    python -P -m pytest -q -p no:cacheprovider --rootdir "$root" -c "$root/pyproject.toml" "$@" ||
    status=$?
for report in "$work"/reports/*; do
    [ -e "$report" ] || continue
    cat "$report"
    status=1
done
exit $status
