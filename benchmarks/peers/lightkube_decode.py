"""lightkube decodes a watch: the lines go through its own `WatchDriver`, as in its client's `watch`."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from benchmarks._data import books, pods, watch_lines
from benchmarks.peers._serve import serve


def prepare(options: Any) -> Callable[[], int]:
    """Decode the stream of `options` (kind, objects, seed): pods typed, books as lightkube's generic kind.

    The stream has no bookmarks: lightkube asks for none, and its Pod refuses those that servers send.
    """
    # lightkube lives in this peer's environment alone: no checker and no import at the top can see it.
    client = import_module("lightkube.core.generic_client")
    if options["kind"] == "pods":
        resource = import_module("lightkube.resources.core_v1").Pod
        stream = watch_lines(pods(options["objects"], options["seed"]), bookmarks=0)
    else:
        create = import_module("lightkube.generic_resource").create_namespaced_resource
        resource = create("example.technosophos.com", "v1", "Book", "books")
        stream = watch_lines(books(options["objects"], options["seed"]), bookmarks=0)
    request = client.BasicRequest(method="GET", url="", response_type=resource)
    decode = client.WatchDriver(request, None).process_one_line
    lines = stream.decode().splitlines()  # httpx gives lightkube lines of text; cutting them is not counted

    def run() -> int:
        events = 0
        for line in lines:
            decode(line)
            events += 1
        return events

    return run


if __name__ == "__main__":
    serve(prepare)
