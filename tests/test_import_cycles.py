"""No imports are cyclic, including imports for type checkers.

import-linter checks the imports at run time. A reader of a module also needs the modules that it imports for
type checkers, and the modules of a cycle can only be read together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE_ROOTS = [ROOT / folder for folder in ("", "transports", "runtime", "simulator")]


def find_cycles(imports: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of modules that import each other, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    cycles: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for imported in imports[module]:
            if imported not in order:
                visit(imported)
            if imported in stack:
                low[module] = min(low[module], low[imported])
        if low[module] == order[module]:
            start = stack.index(module)
            group, stack[start:] = stack[start:], []
            if len(group) > 1:
                cycles.append(sorted(group))

    for module in imports:
        if module not in order:
            visit(module)
    return cycles


def modules_in(package: Path) -> set[str]:
    """Return the names of the modules whose files are in a package."""
    modules = {path.relative_to(package.parent).with_suffix("") for path in package.rglob("*.py")}
    return {".".join(module.parts).removesuffix(".__init__") for module in modules}


def test_no_imports_are_cyclic_including_imports_for_types(monkeypatch: pytest.MonkeyPatch) -> None:
    packages = [path.parent for root in SOURCE_ROOTS for path in root.glob("kubeproto*/__init__.py")]
    monkeypatch.setattr(sys, "path", [*map(str, SOURCE_ROOTS), *sys.path])
    graph = grimp.build_graph(
        *(package.name for package in packages), exclude_type_checking_imports=False, cache_dir=None
    )
    imports = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    # Without this, an empty graph would have no cycles.
    assert {"kubeproto", "kubeproto_runtime", "kubeproto_sim", "kubeproto_h11"} <= {p.name for p in packages}
    assert set().union(*map(modules_in, packages)) == imports.keys()
    assert all(any(imports[module] for module in modules_in(package)) for package in packages)
    assert find_cycles(imports) == []


def test_all_modules_of_a_cycle_are_reported() -> None:
    imports = {"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": [], "e": ["e", "a"]}
    assert find_cycles(imports) == [["b", "c"]]
