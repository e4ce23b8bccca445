"""lightkube watches: its own client over httpx, from a socket to its objects."""

import time
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import Any

from benchmarks.peers._serve import serve


def prepare(options: Any) -> Callable[[], int]:
    """Watch the server of `options` (kind, events, url) once a run; pods typed, books as its generic kind.

    Its certificate is not checked, which costs lightkube nothing.
    """
    # lightkube lives in this peer's environment alone: no checker and no import at the top can see it.
    config = import_module("lightkube.config.kubeconfig")
    models = import_module("lightkube.config.models")
    if options["kind"] == "pods":
        resource = import_module("lightkube.resources.core_v1").Pod
    else:
        create = import_module("lightkube.generic_resource").create_namespaced_resource
        resource = create("example.technosophos.com", "v1", "Book", "books")
    cluster = models.Cluster(server=options["url"], insecure=True)
    made = import_module("lightkube").Client(
        config=config.KubeConfig.from_one(cluster=cluster, user=models.User())
    )

    def run() -> int:
        # It would watch on after the end, so it is stopped at the last event.
        events = 0
        for _ in islice(made.watch(resource, namespace="*"), options["events"]):
            events += 1
        return events

    return run


if __name__ == "__main__":
    serve(prepare, time.perf_counter)
