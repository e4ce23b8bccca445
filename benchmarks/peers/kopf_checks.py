"""kopf: an operator with its handlers, its finalizer, its status, its children and its events."""

import asyncio
import json
import os
import urllib.error
import urllib.request
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from benchmarks.peers._checks import PATIENCE, run_checks, until

# kopf exists only in this peer's environment, so type checkers cannot see it.
kopf: Final[Any] = import_module("kopf")
GROUP: Final = "kopf.example.com"
DOCUMENTS: Final = f"/apis/{GROUP}/v1/namespaces/default/documents"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
SERVER: Final = json.loads(Path(os.environ["KUBECONFIG"]).read_text())["clusters"][0]["cluster"]["server"]


def send_request(method: str, target: str, body: Any = None, content_type: str = "application/json") -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVER + target, data, {"Content-Type": content_type}, method=method)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def get_or_none(target: str) -> Any:
    try:
        return send_request("GET", target)
    except urllib.error.HTTPError:
        return None


class Running:
    """An operator in a thread."""

    def __init__(self) -> None:
        self.registry = kopf.OperatorRegistry()
        self.handled: list[str] = []
        self._stop = Event()
        kopf.on.startup(registry=self.registry)(self._configure)
        kopf.on.login(registry=self.registry)(self._login)
        kopf.on.create(GROUP, "v1", "documents", id="created", registry=self.registry)(self._created)
        kopf.on.update(GROUP, "v1", "documents", registry=self.registry)(self._updated)
        kopf.on.delete(GROUP, "v1", "documents", registry=self.registry)(self._deleted)
        self._thread = Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()

    def _configure(self, settings: Any, **_: Any) -> None:
        settings.posting.enabled = True
        settings.persistence.finalizer = f"{GROUP}/hold"

    async def _login(self, **_: Any) -> Any:
        return kopf.ConnectionInfo(server=SERVER)

    def _created(self, spec: Any, name: str, body: Any, **_: Any) -> Any:
        child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-page"}}
        kopf.adopt(child, owner=body)
        send_request("POST", CONFIG_MAPS, child)
        kopf.event(body, type="Normal", reason="Read", message="somebody has read it")
        return {"words": len(spec["title"].split())}

    def _updated(self, **_: Any) -> None:
        self.handled.append("updated")

    def _deleted(self, **_: Any) -> None:
        self.handled.append("deleted")

    async def _run(self) -> None:
        await kopf.operator(
            registry=self.registry, namespaces=["default"], standalone=True, stop_flag=self._stop
        )

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)


def check_operator() -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version: dict[str, Any] = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": schema,
        "subresources": {"status": {}},
    }
    names = {"plural": "documents", "singular": "document", "kind": "Document"}
    send_request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"documents.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    })  # fmt: skip
    until("documents to be served", lambda: get_or_none(DOCUMENTS))
    running = Running()
    try:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Document", "metadata": {"name": "moby"}}
        send_request("POST", DOCUMENTS, body | {"spec": {"title": "call me Ishmael"}})
        moby = f"{DOCUMENTS}/moby"
        until(
            "the status",
            lambda: get_or_none(moby)["status"].get("created") if "status" in get_or_none(moby) else None,
        )
        assert get_or_none(moby)["metadata"]["finalizers"] == [f"{GROUP}/hold"]
        assert get_or_none(f"{CONFIG_MAPS}/moby-page")["metadata"]["ownerReferences"][0]["name"] == "moby"
        send_request("PATCH", moby, {"spec": {"title": "x"}}, "application/merge-patch+json")
        until("the update", lambda: "updated" in running.handled)
        events = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Dmoby,reason%3DRead"
        until("the event", lambda: send_request("GET", events)["items"])
        send_request("DELETE", moby)
        until("the end of the object", lambda: get_or_none(moby) is None)
        assert running.handled[-1] == "deleted"
        until("the end of what it owned", lambda: get_or_none(f"{CONFIG_MAPS}/moby-page") is None)
    finally:
        running.stop()


if __name__ == "__main__":
    run_checks({"operator": check_operator})
