"""A client that sends requests to a simulated cluster directly and decodes the responses."""

from __future__ import annotations

import json
from typing import Any, Final

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.wire import RawRequest

MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
CONFIGMAPS: Final = "/api/v1/namespaces/default/configmaps"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOOKS: Final = "/apis/example.io/v1/namespaces/default/books"


class BookSpec(kp.Fields):
    title: str
    pages: int = 1
    authors: list[str] = []


class BookStatus(kp.Fields):
    readers: int | None = None


class Book(kp.Object[BookSpec, BookStatus], group="example.io", version="v1", plural="books"):
    """A custom resource with a status of its own."""


def definition(**changes: Any) -> dict[str, Any]:
    """Return a small definition, optionally with other members of its spec."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object"}},
    }
    spec = {
        "group": "a.b",
        "scope": "Namespaced",
        "names": {"plural": "as", "kind": "A"},
        "versions": [version],
    }
    return {"metadata": {"name": "as.a.b"}, "spec": spec | changes}


class RawClient:
    """Send requests to a cluster, and store the last response."""

    def __init__(self, cluster: sim.Cluster | None = None) -> None:
        self.cluster = cluster or sim.Cluster(crds=[Book])
        self.response = sim.ServerResponse(0, (), b"")

    def send(
        self, method: str, target: str, body: Any = None, media: str = "application/json", **headers: str
    ) -> sim.ServerResponse:
        """Return the response to a request. A body of bytes is sent unchanged."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        header_values = {"User-Agent": "tests/1.0", "Accept": "application/json", "Content-Type": media}
        header_values |= {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = self.cluster.respond(RawRequest(method, target, tuple(header_values.items()), data))
        return self.response

    def fetch(
        self, method: str, target: str, body: Any = None, media: str = "application/json", **headers: str
    ) -> Any:
        """Return the decoded body of the response, whatever its status."""
        answer = self.send(method, target, body, media, **headers)
        assert isinstance(answer.body, bytes)
        return json.loads(answer.body)

    def expect_refusal(
        self, method: str, target: str, body: Any = None, media: str = "application/json"
    ) -> Any:
        """Return the Status of a refusal, and check that nothing changed."""
        version = self.cluster.version
        status = self.fetch(method, target, body, media)
        assert self.response.status >= 400, status
        assert self.cluster.version == version
        return status

    def watch(self, target: str, **headers: str) -> sim.Stream:
        """Return an open watch."""
        answer = self.send("GET", f"{target}{'&' if '?' in target else '?'}watch=true", **headers)
        assert not isinstance(answer.body, bytes), answer.body
        return answer.body

    def config(self, name: str, data: dict[str, str] | None = None, **metadata: Any) -> Any:
        """Create a ConfigMap."""
        return self.create(CONFIGMAPS, {"metadata": {"name": name, **metadata}, "data": data or {"a": "1"}})

    def book(self, name: str, **spec: Any) -> Any:
        """Create a book."""
        spec = {"title": "Moby-Dick"} | spec
        return self.create(
            BOOKS,
            {"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": name}, "spec": spec},
        )

    def pod(self, name: str, node: str = "", labels: dict[str, str] | None = None) -> Any:
        """Create a pod."""
        spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
        meta = {"name": name} | ({"labels": labels} if labels else {})
        return self.create(
            "/api/v1/namespaces/default/pods",
            {"metadata": meta, "spec": spec | ({"nodeName": node} if node else {})},
        )

    def create(self, target: str, body: Any) -> Any:
        """Return the object that a POST created."""
        created = self.fetch("POST", target, body)
        assert self.response.status == 201, created
        return created

    @property
    def status(self) -> int:
        """The status code of the last response."""
        return self.response.status


def events(data: bytes) -> list[tuple[str, Any]]:
    """Return events as type and object."""
    decoded = [json.loads(line) for line in data.splitlines()]
    return [(event["type"], event["object"]) for event in decoded]


def event_names(data: bytes) -> list[tuple[str, str]]:
    """Return events as type and name, bookmarks as type and version."""
    return [
        (change, obj["metadata"].get("name", obj["metadata"].get("resourceVersion", "")))
        if change != "ERROR"
        else (change, str(obj["code"]))
        for change, obj in events(data)
    ]


def names(object_list: Any) -> list[str]:
    """Return the names in a list."""
    return [item["metadata"]["name"] for item in object_list["items"]]
