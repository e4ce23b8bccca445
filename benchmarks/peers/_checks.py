"""A peer's checks of an API server; each prints a line of JSON with its name and the reason of a failure.

The programs in Go and Rust print the same lines. The server is that of KUBECONFIG.
"""

import json
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Final

PATIENCE: Final = 60.0


def run_checks(checks: Mapping[str, Callable[[], None]]) -> None:
    """Run all checks one after the other, in spite of failures."""
    for name, check in checks.items():
        error = ""
        try:
            check()
        except Exception as failure:
            frame = traceback.extract_tb(failure.__traceback__)[1]
            error = f"line {frame.lineno}: {type(failure).__name__}: {failure}"[:2000]
        print(json.dumps({"check": name, "error": error}), flush=True)


def until(expectation: str, holds: Callable[[], object]) -> None:
    """Wait until a condition holds, or fail."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain: {expectation}")
        time.sleep(0.02)
