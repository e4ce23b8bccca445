"""What `import kubeproto` leaves until it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kubeproto
import kubeproto.objects
import kubeproto.watching

# What the standard library and msgspec make for themselves has been made before.
_SCRIPT = """
import inspect, re
import msgspec

def made(*args, **options):
    raise AssertionError(f"made at import: {args}")

re.compile = msgspec.json.Decoder = made
import kubeproto
"""


def test_an_import_compiles_no_pattern_and_makes_no_decoder() -> None:
    done = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# What only programs need that write patches, read manifests or print tables; and the machines of caches.
_LEFT = ("objects._json_patch", "objects._json_paths", "objects._manifests", "objects._quantity",
         "objects._table", "watching.pager", "watching.resync")  # fmt: skip


def test_an_import_leaves_out_what_a_list_and_a_watch_do_not_need() -> None:
    script = f"import sys, kubeproto; print([name for name in {_LEFT} if 'kubeproto.' + name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_is_left_out_is_there_when_it_is_asked_for() -> None:
    for package in (kubeproto, kubeproto.objects, kubeproto.watching):
        assert set(package.__all__) <= set(dir(package))
    assert kubeproto.Quantity is kubeproto.objects.Quantity
    assert kubeproto.watching.resync.__name__ == "kubeproto.watching.resync"
    for package in (kubeproto, kubeproto.objects):
        with pytest.raises(
            AttributeError, match=f"^module '{package.__name__}' has no attribute 'Quantities'$"
        ):
            _ = package.Quantities  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType, reportUnknownMemberType]
