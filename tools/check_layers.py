#!/usr/bin/env python
"""Check who imports whom: ``python tools/check_layers.py [root]``.

Reads every ``import`` and ``cimport`` statement below ``obtree/`` and refuses

* an import of a layer that does not stand below the importing one (`ALLOWED`),
* any import of ``obtree.testing`` from outside it,
* relative imports and cimports,
* private names and modules of other packages,
* a ``.pxi`` file that is not a part of exactly one module,
* a ``prange`` without ``num_threads``, and a difference between the files that use
  ``prange`` and those that ``meson.build`` links with OpenMP.

Prints one line for each violation and exits with status 1 if there is any.
"""

import ast
import re
import sys
from pathlib import Path

PACKAGE = "obtree"

#: What each layer may import: layers, or single modules of a layer.
ALLOWED = {
    "core": set(),
    "data": {"core"},
    "linear": {"core", "data"},
    "criterion": {"core", "data", "linear"},
    "splitter": {"core", "data", "linear", "criterion"},
    "tree": {"core", "data.hyperplane", "data.offset", "linear.loss"},
    "builder": {"core", "data", "linear", "criterion", "splitter", "tree"},
    "optim": {"core", "data", "linear", "criterion", "tree"},
}
ALLOWED["forest"] = {*ALLOWED, "builder", "optim"}
ALLOWED["estimators"] = {*ALLOWED}
BASE = {*ALLOWED}
ALLOWED["export"] = {*BASE}
ALLOWED["plot"] = {*BASE}
ALLOWED["onnx"] = {*BASE}
ALLOWED["bench"] = {*ALLOWED}
ALLOWED["cli"] = {*ALLOWED, ""}
ALLOWED["testing"] = {*ALLOWED}
ALLOWED[""] = {*ALLOWED} - {"testing"}  # modules of the package itself
ALLOWED["explain"] = {*BASE}  # last: nothing above imports it

STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<module>[\w.]+)[ \t]+c?import[ \t]+"
    r"(?P<names>\([^)]*\)|[^\n#]*)|c?import[ \t]+(?P<modules>[\w., \t]+))",
    re.MULTILINE,
)
INCLUDE = re.compile(r'^include "([^"]*)"', re.MULTILINE)
STRINGS = re.compile(r'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'', re.DOTALL)


def read_cython(text):
    """Yield (module, names) of each import statement of a Cython file."""
    for match in STATEMENT.finditer(STRINGS.sub('""', text)):
        if match["module"] is None:
            for part in match["modules"].split(","):
                yield part.split(" as ")[0].strip(), []
            continue
        names = re.sub(r"#[^\n]*", "", match["names"].strip("()"))
        yield (
            match["module"],
            [name.split(" as ")[0].strip() for name in names.split(",") if name.strip()],
        )


def read_python(text):
    """Yield (module, names) of each import statement of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), [alias.name for alias in node.names]


def find_layer(module):
    """Name of the layer that a module of the package belongs to; '' for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ALLOWED else ""


def is_private(name):
    """Tell whether a dotted name has a private part."""
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def check_import(layer, module, names):
    """Return what is wrong with one import statement, or None."""
    if module.startswith("."):
        return f"relative import of {module!r}"
    if module.split(".")[0] != PACKAGE:
        for name in [module, *names]:
            if is_private(name):
                return f"private name {name!r} of another package ({module})"
        return None
    # `from obtree.data cimport hyperplane` names a module as well.
    targets = [f"{module}.{name}" for name in names] or [module]
    for target in targets:
        other = find_layer(target)
        within = ".".join(target.split(".")[1:])
        allowed = ALLOWED[layer]
        if other == layer or other in allowed:
            continue
        if any(within == entry or within.startswith(entry + ".") for entry in allowed if entry):
            continue
        return f"{layer or PACKAGE} may not import {target}"
    return None


def find_calls(text, name):
    """Yield the text between the brackets of each call of `name`."""
    for match in re.finditer(rf"\b{name}\(", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text[match.end() : end - 1]


def find_openmp_modules(text):
    """Names of the extension modules that a meson.build links with OpenMP."""
    lists = {
        match[1]: re.findall(r"'(\w+)'", match[2])
        for match in re.finditer(r"^(\w+) = \[([^\]]*)\]", text, re.MULTILINE)
    }
    found = set()
    loop = re.compile(
        r"^foreach \w+ : (\w+|\[[^\]]*\])\n(.*?)^endforeach", re.DOTALL | re.MULTILINE
    )
    for match in loop.finditer(text):
        if "openmp_dep" in match[2]:
            found |= set(lists.get(match[1]) or re.findall(r"'(\w+)'", match[1]))
    for call in find_calls(loop.sub("", text), r"extension_module"):
        if "openmp_dep" in call:
            found.add(re.search(r"'(\w+)'", call)[1])
    return found


def check_openmp(folder):
    """Yield what is wrong with the parallel loops of one layer."""
    users = set()
    for path in sorted(folder.glob("*.p[yx][xdi]")):
        text = STRINGS.sub('""', path.read_text(encoding="utf-8"))
        calls = list(find_calls(text, "prange"))
        if calls:
            users.add(path.stem)
        if any("num_threads" not in call for call in calls):
            yield f"{path}: prange without num_threads"
    build = folder / "meson.build"
    linked = find_openmp_modules(build.read_text(encoding="utf-8")) if build.exists() else set()
    for name in sorted(users - linked):
        yield f"{folder / name}.pyx: uses prange but is not linked with OpenMP"
    for name in sorted(linked - users):
        yield f"{folder / name}.pyx: is linked with OpenMP but uses no prange"


def check_parts(folder):
    """Yield the ``.pxi`` files of one layer that are not a part of exactly one module."""
    modules = [path.read_text(encoding="utf-8") for path in folder.glob("*.pyx")]
    included = [name for text in modules for name in INCLUDE.findall(text)]
    for path in sorted(folder.glob("*.pxi")):
        if included.count(path.name) != 1:
            yield f"{path}: is included {included.count(path.name)} times, not once"


def check_tree(root):
    """Yield every violation below `root`."""
    package = Path(root) / PACKAGE
    for path in sorted(package.rglob("*")):
        if path.suffix not in (".py", ".pyx", ".pxd", ".pxi"):
            continue
        parts = path.relative_to(package).parts
        layer = parts[0] if len(parts) > 1 else ""
        if layer not in ALLOWED:
            yield f"{path}: {layer!r} is not a known layer"
            continue
        read = read_python if path.suffix == ".py" else read_cython
        for module, names in read(path.read_text(encoding="utf-8")):
            problem = check_import(layer, module, names)
            if problem:
                yield f"{path}: {problem}"
    for folder in sorted(path for path in package.iterdir() if path.is_dir()):
        yield from check_openmp(folder)
        yield from check_parts(folder)


def main():
    """Check the repository and say what is wrong."""
    root = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[1]
    problems = list(check_tree(root))
    print("\n".join(problems) if problems else "layers: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
