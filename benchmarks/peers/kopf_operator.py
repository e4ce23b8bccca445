"""kopf runs an operator that does nothing: the handler that is called for each event, which patches nothing.

What is measured is the same as in `benchmarks._controller_program`: from the first byte of the first event to
the handling of the last object.
"""

import asyncio
import json
import logging
import sys
import time
import urllib.request
from importlib import import_module
from typing import Any


def main() -> None:
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints must not look like an answer

    def answer(value: object) -> None:
        print(json.dumps(value), file=answers, flush=True)

    options = json.loads(sys.stdin.readline())
    try:
        # kopf lives in this peer's environment alone: no checker and no import at the top can see it.
        kopf: Any = import_module("kopf")
        logging.getLogger().setLevel(logging.ERROR)
        answer({"ready": True})
        for _ in sys.stdin:
            answer(asyncio.run(once(kopf, options["url"], options["count"])))
    except Exception as error:
        answer({"error": f"{type(error).__name__}: {error}"})
        raise


async def once(kopf: Any, url: str, count: int) -> dict[str, float]:
    """One life of an operator."""
    registry, stop = kopf.OperatorRegistry(), asyncio.Event()
    seen: set[str] = set()
    ended = 0.0

    async def login(**_: Any) -> Any:
        return kopf.ConnectionInfo(server=url)

    async def handle(name: str, **_: Any) -> None:
        nonlocal ended
        seen.add(name)
        if len(seen) == count:
            ended = time.monotonic()
            stop.set()

    kopf.on.login(registry=registry)(login)
    kopf.on.event("example.technosophos.com", "v1", "books", registry=registry)(handle)
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    await kopf.operator(
        registry=registry, settings=settings, clusterwide=True, standalone=True, stop_flag=stop
    )
    with urllib.request.urlopen(f"{url}/began") as said:
        began: float = json.load(said)["began"]
    return {"seconds": ended - began, "events": len(seen)}


if __name__ == "__main__":
    main()
