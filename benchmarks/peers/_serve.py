"""A peer's end of the line: read what to do, then run a round each time one is asked for."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks._stopwatch import Stopwatch


def serve(
    prepare: Callable[[Any], Callable[[], int]], clock: Callable[[], float] = time.process_time
) -> None:
    """Answer on stdout until stdin ends. `prepare` makes a run of the options; a run counts its events."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints must not look like an answer

    def answer(value: object) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        run = prepare(json.loads(sys.stdin.readline()))
        stopwatch, events = Stopwatch(run, clock=clock), run()
        answer({"ready": True})
        for _ in sys.stdin:
            answer({"seconds": stopwatch(), "events": events})
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        raise
