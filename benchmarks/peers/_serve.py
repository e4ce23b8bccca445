"""The process of a peer: read the options, then run a round for each line.

The options name the work (`{"work": "decode", …}`); a peer offers functions that make a run from the options.
A run counts its events, or returns its duration in seconds.
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
BUILT_IN = {"pods": "Pod", "configmaps": "ConfigMap"}  # kinds for which clients have classes
WALL_CLOCK_WORKS = frozenset(("live", "verbs"))  # for a server, so that the wall clock counts


def serve(works: Mapping[str, Callable[[Any], Run]]) -> None:
    """Reply on stdout until stdin ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # the output of libraries must not look like a reply

    def answer(value: object) -> None:
        print(json.dumps(value), file=answers, flush=True)

    try:
        options = json.loads(sys.stdin.readline())
        if "kubeconfig" in options:
            os.environ["KUBECONFIG"] = options["kubeconfig"]
        round_ = _rounds(works[options["work"]](options), waits=options["work"] in WALL_CLOCK_WORKS)
        answer({"ready": True})
        for _ in sys.stdin:
            answer(round_())
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        raise


def _rounds(run: Run, *, waits: bool) -> Callable[[], dict[str, Any]]:
    met = run()
    if isinstance(met, dict):  # it measures itself, so each run is a round
        first = [met]
        return lambda: first.pop() if first else _reply(run)
    stopwatch = Stopwatch(run, clock=time.perf_counter if waits else time.process_time)

    def round_() -> dict[str, Any]:
        seconds = stopwatch()
        user, system = stopwatch.cpu_times
        return {"seconds": seconds, "user": user, "system": system, "events": met}

    return round_


def _reply(run: Run) -> dict[str, Any]:
    reply = run()
    assert isinstance(reply, dict)
    return reply


def part(name: str) -> Any:
    """Import a module of a peer, which exists only in the environment of that peer."""
    return import_module(name)


def watch_of(options: Any) -> bytes:
    """Return a watch without bookmarks, from the options `kind`, `objects`, `seed` and `managed`."""
    managed = options.get("managed", True)
    objects = objects_of(options["kind"], options["objects"], options["seed"], managed=managed)
    return watch_lines(objects, bookmarks=0)


def each_of(options: Any, verbs: Mapping[str, Callable[[str], None]]) -> Callable[[], int]:
    """Return a run of `count` calls of the verb in the options, with existing or new names."""
    verb, fresh = verbs[options["verb"]], count()

    def run() -> int:
        for name in _names(options, fresh):
            verb(name)
        return int(options["count"])

    return run


def each_of_async(options: Any, start: Callable[[], Awaitable[Any]]) -> Callable[[], int]:
    """Return the same for an asynchronous client, which `start` opens."""
    runner, fresh = asyncio.Runner(), count()

    async def open_client() -> Any:
        return await start()

    async def make_calls(verb: Callable[[str], Awaitable[None]]) -> None:
        for name in _names(options, fresh):
            await verb(name)

    verb = getattr(runner.run(open_client()), options["verb"])

    def run() -> int:
        runner.run(make_calls(verb))
        return int(options["count"])

    return run


def _names(options: Any, fresh: "count[int]") -> list[str]:
    if options["verb"] == "get":
        return [f"there-{index % options['there']}" for index in range(options["count"])]
    return [f"{options['prefix']}-{next(fresh)}" for _ in range(options["count"])]
