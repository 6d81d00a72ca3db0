"""Hints: everything public has them, and stubs say what the compiled classes are."""

import ast
import importlib
import inspect
import typing
from pathlib import Path

import pytest

import obtree.splitter
from obtree.splitter import Splitter

FOLDER = Path(obtree.__file__).parent
STUBS = sorted(path.relative_to(FOLDER).with_suffix("") for path in FOLDER.rglob("*.pyi"))
MODULES = [
    "obtree",
    "obtree.explain",
    *("obtree.export", "obtree.onnx", "obtree.plot", "obtree.splitter", "obtree.testing"),
]


def list_functions(name):
    """Public functions of a module, and public methods of its classes, written in Python here."""
    module = importlib.import_module(name)
    for member in map(vars(module).get, module.__all__):
        if inspect.isfunction(member):
            yield member
        if not inspect.isclass(member):
            continue
        for base in member.__mro__:
            if not base.__module__.startswith("obtree"):
                continue
            for attribute, value in vars(base).items():
                if attribute == "__init__" or not attribute.startswith("_"):
                    function = getattr(value, "fget", None) or getattr(value, "__func__", value)
                    if inspect.isfunction(function) and not function.__name__.startswith("_r"):
                        yield function


def parse_stub(name):
    """The statements of a stub."""
    return ast.parse((FOLDER / name.with_suffix(".pyi")).read_text(encoding="utf-8")).body


@pytest.mark.parametrize("module", MODULES)
def test_every_public_function_has_hints(module):
    for extra, needed in (("obtree.plot", "matplotlib"), ("obtree.onnx", "skl2onnx")):
        if module == extra:
            pytest.importorskip(needed)
    functions = list(list_functions(module))
    for function in functions:
        parameters = inspect.signature(function).parameters
        hints = typing.get_type_hints(function)
        wanted = {name for name in parameters if name not in ("self", "cls")} | {"return"}
        assert hints.keys() >= wanted, f"{function.__module__}.{function.__qualname__}"
    assert functions or module == "obtree.splitter"


@pytest.mark.parametrize("name", STUBS, ids=str)
def test_stubs_name_what_there_is(name):
    module = importlib.import_module(".".join(("obtree", *name.parts)))
    for statement in parse_stub(name):
        if isinstance(statement, ast.ClassDef):
            cls = getattr(module, statement.name)
            assert [base.__name__ for base in cls.__bases__ if base is not object] == [
                base.id for base in statement.bases
            ]
            for member in statement.body:
                attribute = getattr(member, "name", None) or ast.unparse(member).partition(":")[0]
                assert attribute == "..." or hasattr(cls, attribute), f"{cls.__name__}.{attribute}"
        elif isinstance(statement, ast.FunctionDef):
            assert callable(getattr(module, statement.name))


@pytest.mark.parametrize("name", STUBS, ids=str)
def test_stubs_know_the_parameters_of_splitters(name):
    module = importlib.import_module(".".join(("obtree", *name.parts)))
    for statement in parse_stub(name):
        if not isinstance(statement, ast.ClassDef):
            continue
        cls = getattr(module, statement.name)
        written = [m for m in statement.body if getattr(m, "name", None) == "__init__"]
        if not issubclass(cls, Splitter) or not cls.parameter_names:
            continue
        given = written[0].args
        names = [argument.arg for argument in given.args[1:] + given.kwonlyargs]
        assert sorted(names) == sorted(cls.parameter_names)
        defaults = [ast.literal_eval(value) for value in given.defaults + given.kw_defaults]
        required = names[: len(names) - len(defaults)]
        made = cls(**dict.fromkeys(required, Splitter()))
        assert dict(zip(names[len(required) :], defaults, strict=True)) == {
            name: value for name, value in made.get_params().items() if name not in required
        }


def test_public_splitters_have_stubs():
    classes = [value for value in vars(obtree.splitter).values() if inspect.isclass(value)]
    for cls in classes:
        stub = Path(*cls.__module__.split(".")[1:])
        assert stub in STUBS
        assert cls.__name__ in [getattr(s, "name", None) for s in parse_stub(stub)]
