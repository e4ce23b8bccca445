"""orjson: not a client, but the fastest way in Python from JSON to dicts."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "orjson==3.13.0",
# ]
# ///

from collections.abc import Callable
from typing import Any

from benchmarks.peers._serve import part, serve, watch_of


def decode(options: Any) -> Callable[[], int]:
    """Make a dict of each line."""
    loads, lines = part("orjson").loads, watch_of(options).splitlines()

    def run() -> int:
        events = 0
        for line in lines:
            loads(line)
            events += 1
        return events

    return run


if __name__ == "__main__":
    serve({"decode": decode})
