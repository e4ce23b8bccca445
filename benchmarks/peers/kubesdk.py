"""kubesdk: dataclasses over aiohttp; nested parts are typed when they are read."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "aiohappyeyeballs==2.7.1",
#     "aiohttp==3.14.5",
#     "aiosignal==1.4.0",
#     "attrs==26.1.0",
#     "frozenlist==1.8.0",
#     "idna==3.20",
#     "kube-models==0.6.0",
#     "kubesdk==0.3.4",
#     "multidict==7.2.1",
#     "propcache==0.5.4",
#     "PyYAML==6.0.3",
#     "typing_extensions==4.16.0",
#     "yarl==1.25.1",
# ]
# ///

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from benchmarks.peers._serve import BUILT_IN, each_of_async, part, serve, watch_of

MODELS = "kube_models.api_v1.io.k8s.api.core.v1"


def decode(options: Any) -> Callable[[], int]:
    """Read lines as kubesdk's `watch_k8s_resources` does: `json.loads`, and `from_dict`, lazily."""
    resource = getattr(part(MODELS), BUILT_IN[options["kind"]])
    event = part("kubesdk.client").K8sResourceEvent[resource]
    lines = watch_of(options).decode().splitlines()

    def run() -> int:
        events = 0
        for line in lines:
            event.from_dict(json.loads(line), lazy=True)
            events += 1
        return events

    return run


def verbs(options: Any) -> Callable[[], int]:
    """Get or create ConfigMaps, one after the other, on the same event loop."""
    kubesdk, models = part("kubesdk"), part(MODELS)
    meta = part("kube_models.api_v1.io.k8s.apimachinery.pkg.apis.meta.v1")

    async def start() -> SimpleNamespace:
        await kubesdk.login()

        async def get(name: str) -> None:
            await kubesdk.get_k8s_resource(models.ConfigMap, name, "default")

        async def create(name: str) -> None:
            metadata = meta.ObjectMeta(name=name, namespace="default")
            await kubesdk.create_k8s_resource(
                models.ConfigMap(metadata=metadata, data={"text": options["text"]})
            )

        return SimpleNamespace(get=get, create=create)

    return each_of_async(options, start)


if __name__ == "__main__":
    serve({"decode": decode, "verbs": verbs})
