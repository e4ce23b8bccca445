"""`import kubeproto`, and a script that only uses `connect`, defer work and imports until they are needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kubeproto
import kubeproto.objects
import kubeproto.watching
import kubeproto_runtime

# The standard library and msgspec are imported first.
_SCRIPT = """
import inspect, re
import msgspec

def made(*args, **options):
    raise AssertionError(f"made at import: {args}")

re.compile = msgspec.json.Decoder = made
import kubeproto
"""


def test_an_import_compiles_no_pattern_and_creates_no_decoder() -> None:
    completed = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")


# Modules for programs that write patches, read manifests or print tables; and the machines of caches.
_LEFT = ("objects._json_patch", "objects._json_paths", "objects._manifest_parsing", "objects._quantity",
         "objects._table", "watching.pager", "watching.resync")  # fmt: skip


def test_an_import_omits_modules_that_lists_and_watches_do_not_need() -> None:
    script = f"import sys, kubeproto; print([name for name in {_LEFT} if 'kubeproto.' + name in sys.modules])"
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_deferred_names_are_available() -> None:
    for package in (kubeproto, kubeproto.objects, kubeproto.watching):
        assert set(package.__all__) <= set(dir(package))
    assert kubeproto.Quantity is kubeproto.objects.Quantity
    assert kubeproto.watching.resync.__name__ == "kubeproto.watching.resync"
    for package in (kubeproto, kubeproto.objects):
        with pytest.raises(
            AttributeError, match=f"^module '{package.__name__}' has no attribute 'Quantities'$"
        ):
            _ = package.Quantities  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]


# Modules that a script with one request does not need, more than half of the runtime.
_UNUSED = """
anyio.from_thread importlib.metadata kubeproto.control kubeproto_runtime.blocking kubeproto_runtime.caches
kubeproto_runtime.controllers kubeproto_runtime.operator kubeproto_runtime.reconciling kubeproto_runtime.sets
kubeproto_runtime.webhooks tempfile
"""
_CONNECTING = """
import asyncio, sys
from kubeproto.config import Config, Connection
from kubeproto_runtime import connect

async def main():
    async with connect(config=Config(connection=Connection(server="http://127.0.0.1:1"))):
        print(*sys.modules)

asyncio.run(main())
"""


def _printed(script: str) -> list[str]:
    completed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (completed.returncode, completed.stderr) == (0, "")
    return completed.stdout.split()


def test_connecting_imports_neither_controllers_nor_a_parser_of_mail() -> None:
    assert set(_UNUSED.split()) & set(_printed(_CONNECTING)) == set()


def test_the_runtime_imports_a_name_when_it_is_first_used() -> None:
    [modules, name] = _printed(
        "import sys, kubeproto_runtime as r; print(sum(m.startswith('kubeproto') for m in sys.modules));"
        "print(r.Controller.__name__)"
    )
    assert (modules, name) == ("1", "Controller")


def test_an_unknown_name_of_the_runtime_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'kubeproto_runtime' has no attribute 'Controler'$"):
        _ = kubeproto_runtime.Controler  # type: ignore[attr-defined] # pyright: ignore
    assert set(kubeproto_runtime.__all__) <= set(dir(kubeproto_runtime))
