"""The pages of the reference: a page for each public module, with the public names of the module.

A name that several modules export is documented in the first of them; the others link there.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, Final, get_args

PACKAGES: Final = (
    "kubeproto",
    "kubeproto_runtime",
    "kubeproto_asyncio",
    "kubeproto_trio",
    "kubeproto_httpx",
    "kubeproto_h11",
    "kubeproto_serve",
    "kubeproto_cli",
)
KINDS: Final = "kubeproto.kinds"


def write(folder: Path) -> None:
    """Write a page for each module."""
    documented: dict[str, str] = {}
    modules = list(_modules())
    pages = folder / "api"
    pages.mkdir(parents=True, exist_ok=True)
    for module in modules:
        _write_if_changed(pages / f"{module.__name__}.rst", "\n".join(_page(module, documented)))
    _write_if_changed(pages / f"{KINDS}.rst", "\n".join(_kinds()))


def _write_if_changed(path: Path, text: str) -> None:
    # An unchanged page keeps its modification time, so that Sphinx need not read it again.
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def _modules() -> Iterator[ModuleType]:
    """Yield the public modules, those of the first level first."""
    first = [importlib.import_module(name) for name in PACKAGES]
    yield from first
    for package in first:
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            hidden = any(part.startswith("_") for part in info.name.split("."))
            if not hidden and not info.name.startswith(KINDS):
                yield importlib.import_module(info.name)


def _page(module: ModuleType, documented: dict[str, str]) -> Iterator[str]:
    name = module.__name__
    yield from (name, "=" * len(name), "", f".. py:module:: {name}", "", inspect.getdoc(module) or "", "")
    elsewhere: list[str] = []
    for public in getattr(module, "__all__", ()):
        value: Any = getattr(module, public)
        if inspect.ismodule(value):
            elsewhere.append(f":py:mod:`{public} <{value.__name__}>`")
            continue
        if module_name := documented.get(_identity(public, value)):
            elsewhere.append(f":py:obj:`{public} <{module_name}.{public}>`")
            continue
        documented[_identity(public, value)] = name
        yield from _directive(f"{name}.{public}", value)
    if elsewhere:
        yield from ("", f"Also exported here: {', '.join(elsewhere)}.", "")


def _identity(name: str, value: Any) -> str:
    return f"{name} {id(value)}"


def _directive(name: str, value: Any) -> tuple[str, ...]:
    if inspect.isclass(value):
        return f".. {'autoexception' if issubclass(value, BaseException) else 'autoclass'}:: {name}", ""
    if inspect.isroutine(value):
        return f".. autofunction:: {name}", ""
    # A value has only the docstring of its class.
    return f".. py:data:: {name}", f"   :value: {_format_value(value)}", ""


def _format_value(value: Any) -> str:
    members = get_args(value) if isinstance(value, UnionType) else ()
    text = " | ".join(getattr(member, "__name__", str(member)) for member in members) or repr(value)
    return text if len(text) < 80 else f"{text[:80]}…"


def _kinds() -> Iterator[str]:
    package = importlib.import_module(KINDS)
    yield from (KINDS, "=" * len(KINDS), "", f".. py:module:: {KINDS}", "", inspect.getdoc(package) or "", "")
    for name in getattr(package, "__all__", ()):
        yield from _directive(f"{KINDS}.{name}", getattr(package, name))
    yield from (".. list-table::", "   :header-rows: 1", "", "   * - module", "     - kinds")
    for info in pkgutil.iter_modules(package.__path__, f"{KINDS}."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        kinds = [name for name, value in vars(module).items() if _is_kind(name, value, info.name)]
        if kinds:
            yield from (f"   * - `{info.name}`", f"     - {', '.join(kinds)}")


def _is_kind(name: str, value: Any, module: str) -> bool:
    return inspect.isclass(value) and value.__module__ == module and hasattr(value, "resource")
