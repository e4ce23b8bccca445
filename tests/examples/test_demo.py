"""`make demo` prints its steps after performing them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "examples" / "echo" / "demo.py"


def test_the_demo_survives_a_lost_connection_and_a_410() -> None:
    completed = subprocess.run(
        [sys.executable, "-W", "error", str(DEMO)], capture_output=True, text=True, check=True
    )
    output = completed.stdout
    for sentence in (
        "canyon added, 2 replicas",
        "held by its finalizer",
        "the connection was reset",
        "canyon modified, 5 replicas",
        "410 Expired",
        "canyon modified, 3 replicas",
        "is being deleted",
    ):
        assert sentence in output, sentence
    assert output.splitlines()[-1].endswith("nothing is left")
    assert "\033" not in output  # no colours in a pipe
    assert completed.stderr == ""
