"""kubernetes_asyncio, the official client's models over aiohttp: pods, ConfigMaps typed, books as dicts."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "aiohappyeyeballs==2.7.1",
#     "aiohttp==3.14.5",
#     "aiosignal==1.4.0",
#     "attrs==26.1.0",
#     "certifi==2026.10.18",
#     "frozenlist==1.8.0",
#     "idna==3.20",
#     "kubernetes_asyncio==36.1.0",
#     "multidict==7.2.1",
#     "propcache==0.5.4",
#     "python-dateutil==4.0.0",
#     "PyYAML==6.0.3",
#     "six==1.17.0",
#     "typing_extensions==4.16.0",
#     "tzdata==2026.6",
#     "urllib3==2.8.0",
#     "yarl==1.25.1",
# ]
# ///

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from benchmarks.peers._serve import BUILT_IN, each_of_async, part, serve, watch_of


def decode(options: Any) -> Callable[[], int]:
    """Put lines through `Watch.unmarshal_event`, as its `stream` does."""
    runner = asyncio.Runner()
    kind = f"V1{BUILT_IN[options['kind']]}" if options["kind"] in BUILT_IN else "object"
    lines = watch_of(options).splitlines()

    async def make() -> Any:  # its ApiClient wants a running loop
        return part("kubernetes_asyncio.watch").Watch()

    watch = runner.run(make())

    def run() -> int:
        events = 0
        for line in lines:
            watch.unmarshal_event(line.decode(), kind)
            events += 1
        return events

    return run


def verbs(options: Any) -> Callable[[], int]:
    """Get or create ConfigMaps, one after the other, on the same event loop."""
    client, config = part("kubernetes_asyncio.client"), part("kubernetes_asyncio.config")

    async def start() -> SimpleNamespace:
        await config.load_kube_config()
        api = client.CoreV1Api(client.ApiClient())

        async def get(name: str) -> None:
            await api.read_namespaced_config_map(name, "default")

        async def create(name: str) -> None:
            config_map = client.V1ConfigMap(
                metadata=client.V1ObjectMeta(name=name), data={"text": options["text"]}
            )
            await api.create_namespaced_config_map("default", config_map)

        return SimpleNamespace(get=get, create=create)

    return each_of_async(options, start)


if __name__ == "__main__":
    serve({"decode": decode, "verbs": verbs})
