"""A peer's end of the line: read what to do, then run a round each time one is asked for.

The options name the work (`{"work": "decode", …}`); a peer offers what it can do as functions that make a
run of the options. A run counts its events, or tells its seconds itself.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from itertools import count
from typing import Any

from benchmarks._data import objects_of, watch_lines
from benchmarks._stopwatch import Stopwatch

Run = Callable[[], "int | dict[str, Any]"]
BUILT_IN = {"pods": "Pod", "configmaps": "ConfigMap"}  # what clients have classes for
WAITING = frozenset(("live", "verbs"))  # for a server: their time is that of the clock on the wall


def serve(works: Mapping[str, Callable[[Any], Run]]) -> None:
    """Answer on stdout until stdin ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints must not look like an answer

    def answer(value: object) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        options = json.loads(sys.stdin.readline())
        if "kubeconfig" in options:
            os.environ["KUBECONFIG"] = options["kubeconfig"]
        round_ = _rounds(works[options["work"]](options), waits=options["work"] in WAITING)
        answer({"ready": True})
        for _ in sys.stdin:
            answer(round_())
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        raise


def _rounds(run: Run, *, waits: bool) -> Callable[[], dict[str, Any]]:
    met = run()
    if isinstance(met, dict):  # it has its own beginning and end, so each run is a round
        first = [met]
        return lambda: first.pop() if first else _reply(run)
    stopwatch = Stopwatch(run, clock=time.perf_counter if waits else time.process_time)

    def round_() -> dict[str, Any]:
        seconds = stopwatch()
        user, system = stopwatch.spent
        return {"seconds": seconds, "user": user, "system": system, "events": met}

    return round_


def _reply(run: Run) -> dict[str, Any]:
    reply = run()
    assert isinstance(reply, dict)
    return reply


def part(name: str) -> Any:
    """Import a module of a peer.

    It lives in the environment of that peer alone, so no checker and no import at the top can see it.
    """
    return import_module(name)


def watch_of(options: Any) -> bytes:
    """Return the stream of a watch without bookmarks: `kind`, `objects`, `seed` and `managed` say which."""
    managed = options.get("managed", True)
    objects = objects_of(options["kind"], options["objects"], options["seed"], managed=managed)
    return watch_lines(objects, bookmarks=0)


def each_of(options: Any, verbs: Mapping[str, Callable[[str], None]]) -> Callable[[], int]:
    """Make a run of `count` calls of the verb that is asked for: names that exist, or such as are new."""
    verb, fresh = verbs[options["verb"]], count()

    def run() -> int:
        for name in _names(options, fresh):
            verb(name)
        return int(options["count"])

    return run


def each_of_async(options: Any, start: Callable[[], Awaitable[Any]]) -> Callable[[], int]:
    """Make the same of a client that awaits: `start` gives what has a method for each verb."""
    runner, fresh = asyncio.Runner(), count()

    async def open_client() -> Any:
        return await start()

    async def calls(verb: Callable[[str], Awaitable[None]]) -> None:
        for name in _names(options, fresh):
            await verb(name)

    verb = getattr(runner.run(open_client()), options["verb"])

    def run() -> int:
        runner.run(calls(verb))
        return int(options["count"])

    return run


def _names(options: Any, fresh: "count[int]") -> list[str]:
    if options["verb"] == "get":
        return [f"there-{index % options['there']}" for index in range(options["count"])]
    return [f"{options['prefix']}-{next(fresh)}" for _ in range(options["count"])]
