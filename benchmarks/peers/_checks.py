"""A peer's checks of an API server: each prints a line of JSON, with its name and, if it failed, why.

The programs in Go and Rust beside this print the same lines. The server is the one that KUBECONFIG names.
"""

import json
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Final

PATIENCE: Final = 60.0


def run_checks(checks: Mapping[str, Callable[[], None]]) -> None:
    """Run all checks, one after the other, whatever becomes of them."""
    for name, check in checks.items():
        error = ""
        try:
            check()
        except Exception as failure:
            frame = traceback.extract_tb(failure.__traceback__)[1]
            error = f"line {frame.lineno}: {type(failure).__name__}: {failure}"[:2000]
        print(json.dumps({"check": name, "error": error}), flush=True)


def until(expectation: str, holds: Callable[[], object]) -> None:
    """Wait until something holds, or fail."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain: {expectation}")
        time.sleep(0.02)
