#!/usr/bin/env python
"""Check what a Linux wheel holds and needs: ``python tools/check_wheel.py WHEEL``.

Prints the oldest systems it runs on, by ``auditwheel``, and ends with status 1 if the wheel

* needs a library other than those of every Linux and of OpenMP,
* needs an instruction set that not every machine of its kind has,
* holds anything but the package: wrappers of compiled functions for the tests, or other files,
* lacks its type hints or its declarations for Cython.
"""

import json
import subprocess
import sys
import zipfile
from pathlib import PurePosixPath

LIBRARIES = {"libgomp.so.1"}
SUFFIXES = {".py", ".pyi", ".pxd", ".so", ".typed"}
NEEDED = ("obtree/py.typed", "obtree/splitter/base.pyi", "obtree/splitter/base.pxd")


def check_files(names):
    """Yield what is wrong with the files of the wheel."""
    for name in names:
        path = PurePosixPath(name)
        if path.parts[0].endswith(".dist-info"):
            continue
        if path.parts[0] != "obtree" or path.suffix not in SUFFIXES:
            yield f"holds {name}, which is no part of the package"
        if path.name.startswith("probe"):
            yield f"holds {name}, which only tests need"
    for name in NEEDED:
        if name not in names:
            yield f"lacks {name}"


def check_needs(found):
    """Yield what is wrong with what the wheel needs, as ``auditwheel`` tells it."""
    for name in sorted(found["external_libs"].keys() - LIBRARIES):
        yield f"needs {name}; expected none but {', '.join(sorted(LIBRARIES))}"
    if found["unsupported_isa"]:
        yield "needs instructions that not every machine has"


def main():
    """Check one wheel and say what is wrong."""
    wheel = sys.argv[1]
    command = ["auditwheel", "show", "--json", wheel]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(shown.stdout)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        size = sum(entry.compress_size for entry in archive.infolist())
    problems = [*check_files(names), *check_needs(found)]
    libraries = ", ".join(found["external_libs"]) or "none"
    print(
        f"{wheel}: {len(names)} files, {size / 1e6:.1f} MB, libraries beyond the system's: "
        f"{libraries}, repaired it would be {found['sym_tag']}"
    )
    for problem in problems:
        print(f"{wheel} {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
