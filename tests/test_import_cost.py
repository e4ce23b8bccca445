"""What `import kubeproto` leaves until it is needed."""

from __future__ import annotations

import subprocess
import sys

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
