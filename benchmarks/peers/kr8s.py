"""kr8s: objects are dicts with attributes; nothing is typed or checked."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "anyio==4.16.0",
#     "cachetools==8.0.1",
#     "certifi==2026.10.18",
#     "cffi==2.1.1",
#     "cryptography==50.0.2",
#     "exceptiongroup==1.3.1",
#     "h11==0.16.0",
#     "httpcore==1.0.9",
#     "httpx==0.28.1",
#     "httpx-ws==0.9.0",
#     "idna==3.20",
#     "kr8s==0.20.15",
#     "packaging==26.3",
#     "pycparser==3.12",
#     "python-box==8.0.0",
#     "python-jsonpath==2.2.2",
#     "PyYAML==6.0.3",
#     "typing_extensions==4.16.0",
#     "wsproto==1.3.2",
# ]
# ///

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from benchmarks.peers._serve import BUILT_IN, each_of_async, part, serve, watch_of


def decode(options: Any) -> Callable[[], int]:
    """Read lines as its `watch` does: `json.loads`, and an object of its class around the dict."""
    objects = part("kr8s.objects")
    if options["kind"] in BUILT_IN:
        kind: Any = getattr(objects, BUILT_IN[options["kind"]])
    else:
        kind = objects.new_class("Book", "example.technosophos.com/v1", namespaced=True)
    lines = watch_of(options).decode().splitlines()
    api = object()  # which it would request from the server

    def run() -> int:
        events = 0
        for line in lines:
            kind(json.loads(line)["object"], api=api)
            events += 1
        return events

    return run


def verbs(options: Any) -> Callable[[], int]:
    """Get or create ConfigMaps, one after the other, on the same event loop.

    Its blocking calls go through a thread and cost ten times as much.
    """

    async def start() -> SimpleNamespace:
        api = await part("kr8s.asyncio").api()
        kind = part("kr8s.asyncio.objects").ConfigMap

        async def get(name: str) -> None:
            await kind.get(name, namespace="default", api=api)

        async def create(name: str) -> None:
            text = {"text": options["text"]}
            config_map = await kind(
                {"metadata": {"name": name, "namespace": "default"}, "data": text}, api=api
            )
            await config_map.create()

        return SimpleNamespace(get=get, create=create)

    return each_of_async(options, start)


if __name__ == "__main__":
    serve({"decode": decode, "verbs": verbs})
