"""README, guides and examples show each name of the first level, except errors."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from needed_names import needed_names, public_names
from test_one_name import modules
from test_public_names import ROOT

import kubeproto as kp
import kubeproto_runtime

SHOWN: Final = "\n".join(
    path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.py"))
    if path.name != "vocabulary.md"
)
CODE: Final = "\n".join(re.findall(r"^```python\n.*?^```|`[^`\n]+`", SHOWN, re.DOTALL | re.MULTILINE)) + SHOWN


def is_shown(name: str) -> bool:
    """Return whether users see the name as code: qualified, imported, or between backticks."""
    return bool(
        re.search(rf"\b(?:kp|kubeproto|kubeproto_runtime)\.{name}\b", CODE)
        or re.search(
            rf"^\s*from kubeproto(?:_runtime)? import (\([^)]*|[^\n]*)\b{name}\b", CODE, re.MULTILINE
        )
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


# Packages below the first level from which pages and examples import, with their topics.
TOPICS: Final = {
    "kubeproto.config": "the configuration, for programs that bring their own client",
    "kubeproto.crd": "definitions, their checks, and reviews",
    "kubeproto.kinds": "the built-in kinds, a module for each group",
    "kubeproto_sim": "the simulated server",
    "kubeproto.watching.resync": "a machine, which is used qualified",
    "kubeproto.wire": "what a transport is made of",
    "kubeproto.yaml": "YAML by the rules of kubectl",
    "kubeproto_asyncio": "a transport",
    "kubeproto_h11": "what a transport is made of",
    "kubeproto_httpx": "a transport",
    "kubeproto_runtime.diagnosis": "what `kubeproto doctor` does",
    "kubeproto_runtime.logs": "logs for people and for machines",
    "kubeproto_runtime.pods": "logs, copies and ports of pods",
    "kubeproto_runtime.sets": "sets of objects",
    "kubeproto_runtime.testing": "tests of a program",
    "kubeproto_runtime.webhooks": "webhooks",
    "kubeproto_serve": "the simulated server on a port",
    "kubeproto_trio": "a transport",
}

# The parts of a controller are for programs without the runtime; pages show these two.
PARTS: Final = {("kubeproto.control", "Store"), ("kubeproto.control", "Change")}

# Errors that stay in the package of the functions that raise them.
BESIDE: Final = {
    "kubeproto.crd",
    "kubeproto_h11",
    "kubeproto_runtime.pods",
    "kubeproto_runtime.sets",
    "kubeproto_serve",
}

# Errors that are caught by a base class.
CAUGHT_AS: Final = {
    "NaiveTime": kp.LocalProtocolError,
    "TooDeep": kp.InvalidObject,
    "WrongResult": kubeproto_runtime.Terminal,
}


# A block, or a file of a page with its options.
_BLOCK: Final = r"^```(?:python|\{code-block\} python\n(?::[^\n]*\n)*)\n(.*?)^```"


def snippets() -> Iterator[tuple[Path, str]]:
    """Yield the Python of README, pages and examples."""
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for block in re.findall(_BLOCK, path.read_text(), re.DOTALL | re.MULTILINE):
            yield path, block
    yield from ((path, path.read_text()) for path in (ROOT / "examples").rglob("*.py"))


def imported(source: str) -> Iterator[tuple[str, str]]:
    """Yield the imported names of the project with their modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kubeproto"):
            yield from (((node.module or ""), alias.name) for alias in node.names)


def topic(module: str, name: str) -> str | None:
    full = f"{module}.{name}."
    return next((topic for topic in TOPICS if full.startswith(f"{topic}.")), None)


def test_pages_and_examples_import_from_the_first_level_or_from_the_package_of_a_topic() -> None:
    imports = {(module, name, path) for path, block in snippets() for module, name in imported(block)}
    assert len(imports) > 100
    deep_imports = {
        entry for entry in imports if entry[0] not in ("kubeproto", "kubeproto_runtime") or topic(*entry[:2])
    }
    assert {entry for entry in deep_imports if topic(*entry[:2]) is None and entry[:2] not in PARTS} == set()
    assert PARTS - {entry[:2] for entry in deep_imports} == set()
    # Only prose mentions two transports and the reading of a configuration.
    prose = {"kubeproto.config", "kubeproto_asyncio", "kubeproto_h11", "kubeproto_httpx", "kubeproto_trio"}
    assert TOPICS.keys() - {topic(*entry[:2]) for entry in deep_imports} - prose == set()


def errors(base: type[Exception]) -> Iterator[type[Exception]]:
    for error in base.__subclasses__():
        yield error
        yield from errors(error)


def test_each_error_is_on_the_first_level_or_in_the_package_that_raises_it() -> None:
    for module in modules():
        if not module.endswith("__main__"):
            importlib.import_module(module)
    project_errors = {
        error for error in errors(kp.KubeprotoError) if error.__module__.startswith("kubeproto")
    }
    assert len(project_errors) > 40
    first = {getattr(level, name) for level in (kp, kubeproto_runtime) for name in level.__all__}
    beside = {
        getattr(importlib.import_module(module), name)
        for module in BESIDE
        for name in importlib.import_module(module).__all__
    }
    unneeded = project_errors - first - beside
    assert {error.__name__ for error in unneeded} == CAUGHT_AS.keys()
    assert all(issubclass(error, CAUGHT_AS[error.__name__]) for error in unneeded)


def test_a_page_an_example_or_a_signature_needs_each_public_name() -> None:
    assert public_names().keys() - needed_names() == set()


def test_a_name_outside_of_all_pages_is_detected() -> None:
    assert not is_shown("NoSuchName")
    assert is_shown("Controller")
