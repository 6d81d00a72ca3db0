#!/usr/bin/env python
"""Read what other packages compile against: ``python tools/read_abi.py [--write]``.

Every installed ``.pxd`` is reduced to what ends up in a compiled module: the fields of structs
and classes in their order, the virtual methods in theirs, signatures, values of enums. Prints
the changes since the description stored in ``tests/abi/interface.json``; ``--write`` replaces
the description.

A change that is not an addition needs a higher ``ABI_VERSION`` (``obtree/core/types.pxd``):
modules compiled before it would crash.
"""

import argparse
import json
import re
import sys
from pathlib import Path

STORED = Path(__file__).resolve().parents[1] / "tests" / "abi" / "interface.json"
HEAD = re.compile(r"(?:cdef|ctypedef)\s+(?:enum|struct|union|class|fused)\b")


def clean_lines(text):
    """Yield the lines of a .pxd without comments, docstrings and line breaks in brackets."""
    text = re.sub(r'"""(?:[^\\]|\\.)*?"""', "", text, flags=re.DOTALL)
    held = ""
    for line in text.splitlines():
        line = re.sub(r"#.*", "", line).rstrip()
        held = f"{held} {line.strip()}" if held else line
        if held.count("(") > held.count(")"):
            continue
        if held.strip():
            yield held
        held = ""


def read_declarations(text):
    """What one .pxd declares: a dictionary of name to a list of its parts, in order.

    The bodies of inline functions are left out, and so is what is only cimported.
    """
    found = {}
    block = None
    for line in clean_lines(text):
        inner = line[0] in " \t"
        words = re.sub(r"\s+", " ", line.strip())
        if not inner:
            block = None
            if words.startswith(("from ", "cimport ", "import ", "cdef extern", "@")):
                continue
            if HEAD.match(words):
                block = words.removesuffix(":")
                name = re.sub(r"\(.*", "", block)
                block = [block] if block != name else []
                if name not in ("cdef enum", "ctypedef enum"):
                    found[name] = block
            elif words.startswith(("cdef inline", "cdef ", "cpdef ", "ctypedef ")):
                signature = words.removesuffix(":")
                name = re.search(r"(\w+)\s*\(", signature) or re.search(r"(\w+)$", signature)
                found[name[1]] = [signature]
        elif block is not None:
            block.append(words)
            if not any(block is parts for parts in found.values()):
                # An enum without a name goes by its first member.
                found[f"enum of {words.split('=')[0].strip()}"] = block
    return found


def read_interface(folder):
    """Declarations of all .pxd files of an installed package.

    Parameters
    ----------
    folder : path-like
        What contains the folder ``obtree``.

    Returns
    -------
    dict
        ``abi_version`` and, by module, what `read_declarations` finds.
    """
    folder = Path(folder)
    modules = {}
    for path in sorted((folder / "obtree").rglob("*.pxd")):
        declared = read_declarations(path.read_text(encoding="utf-8"))
        if declared:
            modules[path.relative_to(folder).as_posix()] = declared
    version = next(
        int(part.split("=")[1])
        for parts in modules["obtree/core/types.pxd"].values()
        for part in parts
        if part.startswith("ABI_VERSION")
    )
    return {"abi_version": version, "modules": modules}


def find_changes(old, new):
    """Changes that a module compiled before them would not survive; additions are none."""
    changes = []
    for module, declared in old["modules"].items():
        now = new["modules"].get(module)
        if now is None:
            changes.append(f"{module} is gone")
            continue
        for name, parts in declared.items():
            if name not in now:
                changes.append(f"{module}: {name} is gone")
            elif now[name] != parts:
                was = [part for part in parts if part not in now[name]]
                come = [part for part in now[name] if part not in parts]
                what = f"{was} became {come}" if was or come else "the order changed"
                changes.append(f"{module}: {name}: {what}")
    return [change for change in changes if "ABI_VERSION" not in change]


def judge(old, new):
    """What to say about a description and the interface as it is; None when all is well."""
    changes = find_changes(old, new)
    if changes and new["abi_version"] == old["abi_version"]:
        return (
            "the compiled interface changed:\n  " + "\n  ".join(changes) + "\nModules compiled "
            f"before this would crash. Raise ABI_VERSION ({old['abi_version']}) in "
            "obtree/core/types.pxd, install, and run `python tools/read_abi.py --write`."
        )
    if new["abi_version"] < old["abi_version"]:
        return f"ABI_VERSION went from {old['abi_version']} down to {new['abi_version']}"
    if new != old:
        return (
            "tests/abi/interface.json does not describe the interface as it is; run `python "
            "tools/read_abi.py --write` and commit what it writes"
        )
    return None


def main():
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the stored description")
    args = parser.parse_args()
    from obtree.core.abi import get_include

    new = read_interface(get_include())
    if args.write:
        if STORED.exists():
            old = json.loads(STORED.read_text(encoding="utf-8"))
            if find_changes(old, new) and new["abi_version"] == old["abi_version"]:
                print(judge(old, new))
                return 1
        STORED.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
        return 0
    problem = judge(json.loads(STORED.read_text(encoding="utf-8")), new)
    print(problem or "interface: as described")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
