"""lightkube, on msgspec as well: pods and ConfigMaps as its classes, books as its generic kind.

A stream has no bookmarks: lightkube requests none, and its Pod refuses those of servers.
"""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "anyio==4.16.0",
#     "h11==0.16.0",
#     "h2==4.4.1",
#     "hpack==4.2.0",
#     "httpcore2==2.16.2",
#     "httpx2==2.16.2",
#     "hyperframe==6.1.0",
#     "idna==3.20",
#     "lightkube==1.0.1",
#     "lightkube-models==1.37.0.8",
#     "msgspec==0.22.0",
#     "PyYAML==6.0.3",
#     "truststore==0.10.5",
#     "typing_extensions==4.16.0",
#     "wsproto==1.3.2",
# ]
# ///

from collections.abc import Callable
from itertools import islice
from typing import Any

from benchmarks.peers._serve import BUILT_IN, each_of, part, serve, watch_of


def resource(kind: str) -> Any:
    """Return the class of a kind."""
    if kind in BUILT_IN:
        return getattr(part("lightkube.resources.core_v1"), BUILT_IN[kind])
    create = part("lightkube.generic_resource").create_namespaced_resource
    return create("example.technosophos.com", "v1", "Book", "books")


def client() -> Any:
    """Return a client of the server that KUBECONFIG names."""
    return part("lightkube").Client()


def decode(options: Any) -> Callable[[], int]:
    """Put lines through its own `WatchDriver`, as its client's `watch` does."""
    module = part("lightkube.core.generic_client")
    request = module.BasicRequest(method="GET", url="", response_type=resource(options["kind"]))
    read = module.WatchDriver(request, None).process_one_line
    lines = watch_of(options).decode().splitlines()  # httpx passes lines of text; cutting them costs nothing

    def run() -> int:
        events = 0
        for line in lines:
            read(line)
            events += 1
        return events

    return run


def live(options: Any) -> Callable[[], int]:
    """Watch through its client, and stop it at the last event, since it would reconnect."""
    api, kind = client(), resource(options["kind"])

    def run() -> int:
        return sum(1 for _ in islice(api.watch(kind, namespace="*"), options["events"]))

    return run


def verbs(options: Any) -> Callable[[], int]:
    """Get or create ConfigMaps, one after the other."""
    core, meta = part("lightkube.resources.core_v1"), part("lightkube.models.meta_v1")
    api = client()

    def get(name: str) -> None:
        api.get(core.ConfigMap, name)

    def create(name: str) -> None:
        api.create(core.ConfigMap(metadata=meta.ObjectMeta(name=name), data={"text": options["text"]}))

    return each_of(options, {"get": get, "create": create})


if __name__ == "__main__":
    serve({"decode": decode, "live": live, "verbs": verbs})
