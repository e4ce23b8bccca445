"""pykube-ng: an object holds its dict; nothing is typed or checked."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "certifi==2026.10.18",
#     "charset-normalizer==3.5.2",
#     "idna==3.20",
#     "pykube-ng==23.6.0",
#     "PyYAML==6.0.3",
#     "requests==2.34.2",
#     "urllib3==2.8.0",
# ]
# ///

import json
from collections.abc import Callable
from typing import Any

from benchmarks.peers._serve import BUILT_IN, each_of, part, serve, watch_of


def resource(kind: str) -> Any:
    """Return the class of a kind."""
    objects = part("pykube.objects")
    if kind in BUILT_IN:
        return getattr(objects, BUILT_IN[kind])
    names = {"version": "example.technosophos.com/v1", "endpoint": "books", "kind": "Book"}
    return type("Book", (objects.NamespacedAPIObject,), names)


def client() -> Any:
    """Return a client of the server that KUBECONFIG names."""
    module = part("pykube")
    return module.HTTPClient(module.KubeConfig.from_env())


def decode(options: Any) -> Callable[[], int]:
    """Read lines as its `object_stream` does: `json.loads`, and an object of its class."""
    kind, lines = resource(options["kind"]), watch_of(options).splitlines()

    def run() -> int:
        events = 0
        for line in lines:
            kind(None, json.loads(line.decode("utf-8"))["object"])
            events += 1
        return events

    return run


def live(options: Any) -> Callable[[], int]:
    """Watch through its client, once from the beginning to the end."""
    api, kind = client(), resource(options["kind"])

    def run() -> int:
        return sum(1 for _ in kind.objects(api).filter(namespace="default").watch())

    return run


def verbs(options: Any) -> Callable[[], int]:
    """Get or create ConfigMaps, one after the other."""
    api, kind = client(), part("pykube.objects").ConfigMap

    def get(name: str) -> None:
        kind.objects(api).filter(namespace="default").get_by_name(name)

    def create(name: str) -> None:
        text = {"text": options["text"]}
        kind(api, {"metadata": {"name": name, "namespace": "default"}, "data": text}).create()

    return each_of(options, {"get": get, "create": create})


if __name__ == "__main__":
    serve({"decode": decode, "live": live, "verbs": verbs})
