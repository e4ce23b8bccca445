"""kopf: a handler for each event that patches nothing, its cheapest form."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "aiohappyeyeballs==2.7.1",
#     "aiohttp==3.14.5",
#     "aiosignal==1.4.0",
#     "attrs==26.1.0",
#     "click==8.5.1",
#     "frozenlist==1.8.0",
#     "idna==3.20",
#     "iso8601==2.1.0",
#     "jsonpatch==1.47",
#     "jsonpointer==3.12",
#     "kopf==1.45.2",
#     "multidict==7.2.1",
#     "propcache==0.5.4",
#     "python-json-logger==4.2.0",
#     "PyYAML==6.0.3",
#     "typing_extensions==4.16.0",
#     "yarl==1.25.1",
# ]
# ///

import asyncio
import gc
import json
import logging
import resource
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers._serve import part, serve


def controller(options: Any) -> Callable[[], dict[str, Any]]:
    """Run an operator for `count` objects, measuring the same as `benchmarks._controller_program`."""
    kopf = part("kopf")
    logging.getLogger().setLevel(logging.ERROR)
    return lambda: asyncio.run(once(kopf, options["work"], options["url"], options["count"]))


async def once(kopf: Any, work: str, url: str, count: int) -> dict[str, Any]:
    """Run an operator once."""
    registry, stop = kopf.OperatorRegistry(), asyncio.Event()
    names: set[str] = set()
    waits: list[float] = []
    usage_before = resource.getrusage(resource.RUSAGE_SELF)
    finished_at = rss = 0.0

    async def login(**_: Any) -> Any:
        return kopf.ConnectionInfo(server=url)

    async def handle(name: str, spec: Any, **_: Any) -> None:
        nonlocal finished_at, rss
        now = time.monotonic()
        if name in names:
            return
        names.add(name)
        if "sent" in spec:
            waits.append((now - spec["sent"]) * 1000)
        if len(names) == count:
            finished_at = now
            if work == "rss":
                await asyncio.sleep(1)
                gc.collect()
                rss = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
            stop.set()

    kopf.on.login(registry=registry)(login)
    kopf.on.event("example.technosophos.com", "v1", "books", registry=registry)(handle)
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    await kopf.operator(
        registry=registry, settings=settings, clusterwide=True, standalone=True, stop_flag=stop
    )
    usage_after = resource.getrusage(resource.RUSAGE_SELF)
    reply = {
        "events": len(names), "waits": waits, "rss": rss,
        "user": usage_after.ru_utime - usage_before.ru_utime,
        "system": usage_after.ru_stime - usage_before.ru_stime,
    }  # fmt: skip
    with urllib.request.urlopen(f"{url}/began") as response:
        return {**reply, "seconds": finished_at - json.load(response)["began"]}


if __name__ == "__main__":
    serve({"throughput": controller, "latency": controller, "rss": controller})
