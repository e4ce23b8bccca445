"""The first level is what users meet: README, guides and examples show each name, or it is an error."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any, Final

import pytest

import kubeproto
import kubeproto_runtime
from kubeproto_runtime import calls

ROOT: Final = Path(__file__).resolve().parent.parent
SHOWN: Final = "\n".join(
    path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py"))
    if path.name != "vocabulary.md"
)
CODE: Final = "\n".join(re.findall(r"^```python\n.*?^```|`[^`\n]+`", SHOWN, re.DOTALL | re.MULTILINE)) + SHOWN


def is_shown(name: str) -> bool:
    """Whether users see the name as code: qualified, imported, or between backticks."""
    return bool(
        re.search(rf"\b(?:kp|kubeproto|kubeproto_runtime)\.{name}\b", CODE)
        or re.search(rf"^\s*from kubeproto(?:_runtime)? import [^\n]*\b{name}\b", CODE, re.MULTILINE)
        or re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`", CODE)
    )


@pytest.mark.parametrize("package", ["kubeproto", "kubeproto_runtime"])
def test_each_name_of_the_first_level_is_shown_to_users_or_is_an_error(package: str) -> None:
    module = importlib.import_module(package)
    values: dict[str, Any] = {name: getattr(module, name) for name in module.__all__}
    errors = {
        name for name, value in values.items() if isinstance(value, type) and issubclass(value, Exception)
    }
    assert {name for name in values.keys() - errors if not is_shown(name)} == set()


def test_each_error_that_calls_raise_is_on_the_first_level() -> None:
    tree = "".join((ROOT / "kubeproto" / name).read_text() for name in ("_errors.py", "_api_errors.py"))
    assert set(re.findall(r"^class (\w+)\(", tree, re.MULTILINE)) - set(kubeproto.__all__) == set()
    raised = {name for name, value in vars(calls).items() if isinstance(value, type)}
    errors = {name for name in raised if issubclass(getattr(calls, name), Exception)}
    assert len(errors) >= 3
    assert errors - set(kubeproto_runtime.__all__) == set()


def test_a_name_that_nobody_shows_is_found() -> None:
    assert not is_shown("NoSuchName")
    assert is_shown("Controller")
