"""`__all__` of a package is sorted and complete."""

from __future__ import annotations

import ast
import importlib
import inspect
import pydoc
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parent.parent


def public_modules() -> Iterator[tuple[str, Path]]:
    """Yield every public module: no part of its name begins with an underscore."""
    for home in (
        ROOT / "kubeproto",
        *ROOT.glob("transports/*"),
        *ROOT.glob("runtime/*"),
        *ROOT.glob("simulator/*"),
    ):
        for path in sorted(home.rglob("*.py")):
            parts = path.relative_to(home.parent).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if not any(part.startswith("_") for part in parts):
                yield ".".join(parts), path


MODULES: Final = dict(public_modules())


def offered(source: str, *, package: bool = True) -> set[str]:
    """Return the public names that a module defines, and those that a package imports from its own project.

    A module imports names to use them, and exports its definitions. Type variables are private. A package
    that imports on demand also exports its imports for type checkers.
    """
    names: set[str] = set()
    body = ast.parse(source).body
    for node in [*body, *(homes(source)[1] if "__getattr__" in source else ())]:
        match node:
            case ast.ImportFrom(level=level, module=module) if package and (
                level or (module or "").startswith("kubeproto")
            ):
                # `import Name as Name` is for the other packages of this repository, without a promise.
                names |= {alias.asname or alias.name for alias in node.names if alias.asname != alias.name}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec"))):
                pass
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case _:
                pass
    return {name for name in names if not name.startswith("_")}


def homes(source: str) -> tuple[dict[str, str], list[ast.stmt]]:
    """Return the table of a package that imports on demand, and its imports for type checkers.

    The runtime has its own table (`_HOMES`); the packages of the core pass theirs to `_deferred`.
    """
    table: dict[str, str] = {}
    imports: list[ast.stmt] = []
    tree = ast.parse(source)
    for node in tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id="_HOMES"), value=ast.Dict() as value):
                table = ast.literal_eval(value)
            case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
                imports = body
            case _:
                pass
    for call in ast.walk(tree):
        match call:
            case ast.Call(func=ast.Attribute(attr="attributes"), args=[_, table_of_names]):
                table = {name: f".{home}" for name, home in ast.literal_eval(table_of_names).items()}
            case _:
                pass
    return table, imports


def rank(name: str) -> tuple[int, str]:
    """Return the sorting key of ruff: constants, classes, functions, each by name."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2, name)


def test_the_public_modules_include_the_core() -> None:
    assert {"kubeproto", "kubeproto.objects", "kubeproto.wire"} <= MODULES.keys()


@pytest.mark.parametrize("name", MODULES)
def test_all_is_sorted_and_complete(name: str) -> None:
    module = importlib.import_module(name)
    listed: list[str] = getattr(module, "__all__", [])
    assert listed == sorted(set(listed), key=rank)
    assert [entry for entry in listed if not hasattr(module, entry)] == []
    path = MODULES[name]
    assert offered(path.read_text(), package=path.name == "__init__.py") - set(listed) == set()


def test_deferred_imports_equal_the_imports_of_type_checkers() -> None:
    packages: set[str] = set()
    for name, path in MODULES.items():
        table, imports = homes(path.read_text())
        if table:
            packages.add(name)
            imported = {
                alias.name: f".{alias.name}" if not node.module else "." * node.level + node.module
                for node in imports
                if isinstance(node, ast.ImportFrom)
                for alias in node.names
            }
            assert table == imported, name
    assert packages == {"kubeproto", "kubeproto.objects", "kubeproto.watching", "kubeproto_runtime"}


def test_a_leaked_name_is_detected() -> None:
    assert offered(
        "from ._x import Leak, _hidden\nimport typing\nfrom typing import Any\nLIMIT: int = 3"
    ) == {
        "Leak",
        "LIMIT",
    }


# Machines re-export the parts of their events and actions, which are used qualified.
EMBEDDED: Final = {
    "kubeproto.config.credentials",
    "kubeproto.control.election",
    "kubeproto.watching.resync",
    "kubeproto_h11.pool",
}


def test_a_name_has_a_single_home_besides_the_top_level() -> None:
    homes: dict[tuple[str, int], list[str]] = {}
    for module in MODULES.keys() - EMBEDDED:
        if "." in module and not module.startswith("kubeproto.kinds."):
            exporter = importlib.import_module(module)
            for name in getattr(exporter, "__all__", ()):
                homes.setdefault((name, id(getattr(exporter, name))), []).append(module)
    assert {name: modules for (name, _), modules in homes.items() if len(modules) > 1} == {}


GENERATED: Final = pytest.mark.thorough("a hundred classes of one form")
LONG: Final = 20  # names of a module; generated classes have one form, so the first few suffice


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=GENERATED) if ".kinds." in name else name for name in MODULES]
)
def test_help_and_signatures_work_on_all_public_names(name: str) -> None:
    module = importlib.import_module(name)
    offered: list[str] = getattr(module, "__all__", [])
    documented = [getattr(module, entry) for entry in offered[:LONG]] if ".kinds." in name else [module]
    assert all(pydoc.render_doc(obj) for obj in documented)
    for entry in offered:
        value = getattr(module, entry)
        if isinstance(value, type) or inspect.isroutine(value):  # an alias of a type has no signature
            try:
                inspect.signature(value)
            except ValueError:  # exceptions with BaseException's __init__ have none either
                assert isinstance(value, type)
