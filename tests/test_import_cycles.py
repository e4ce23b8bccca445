"""No imports are cyclic, imports for type checkers included.

import-linter checks imports at run time. A module that is imported for its types is needed to understand the
other one too, and a cycle of modules can only be read as a whole.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(
    path.parent.name
    for home in (ROOT, ROOT / "transports", ROOT / "runtime", ROOT / "simulator")
    for path in home.glob("kubeproto*/__init__.py")
)


def circles(imports: Mapping[str, Iterable[str]]) -> list[list[str]]:
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


def test_no_imports_go_in_a_circle_for_types_either(monkeypatch: pytest.MonkeyPatch) -> None:
    roots = [str(ROOT / root) for root in ("", "runtime", "simulator", "transports")]
    monkeypatch.setattr(sys, "path", [*roots, *sys.path])
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in graph.modules}
    assert len(imports) > 400
    assert circles(imports) == []


def test_a_circle_is_found_whole() -> None:
    imports = {"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": [], "e": ["e", "a"]}
    assert circles(imports) == [["b", "c"]]
