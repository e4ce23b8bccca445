"""Each attribute of a module in a page exists, also in code that is not executed.

A `case kp.Failed(...)` after the matching case is never evaluated, and remained in the README after the class
was renamed.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages_shown import name_of, pages, snippets

PAGES = [page for page in pages() if any(snippet.language == "python" for snippet in snippets(page))]


def unknown_names(program: str) -> Iterator[str]:
    """Yield the attributes that the imported modules do not have."""
    tree = ast.parse(program)
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname: alias.name for alias in node.names if alias.asname}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in modules:
                if not hasattr(importlib.import_module(modules[name]), attribute):
                    yield f"{name}.{attribute}"
            case _:
                pass


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_each_name_of_a_module_exists(page: Path) -> None:
    program = "\n\n".join(snippet.text for snippet in snippets(page) if snippet.language == "python")
    assert list(unknown_names(program)) == []


def test_an_unknown_name_is_detected() -> None:
    program = (
        "import kubeproto as kp\nmatch 1:\n    case 1:\n        pass\n    case kp.Failed():\n        pass\n"
    )
    assert list(unknown_names(program)) == ["kp.Failed"]
