"""A plain client: requests by method and target, responses as decoded JSON, and watches.

It waits only for the events of a watch, so that a test is the same on a virtual clock and on a real clock.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from conformance.servers import Server
from kubeproto.requests import Reply, Request
from kubeproto.wire import Headers, RawRequest, header, inflate, warnings

T = TypeVar("T")

JSON: Final = "application/json"
MERGE: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
APPLY: Final = "application/apply-patch+yaml"
TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE: Final = 60.0  # seconds until a test fails; a correct server never takes so long
POLL_INTERVAL: Final = 0.05  # seconds between two polls of state that no watch reports
_numbers = itertools.count(1)


class FullResponse:
    """A complete response."""

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the server."""
        return warnings(self.headers)

    def header(self, name: str) -> str:
        """Return the first header of a name."""
        return header(self.headers, name) or ""


class Stream:
    """An open watch: its events as the server sends them."""

    def __init__(self, status: int, headers: Headers, pieces: Iterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        self._pieces = pieces
        self._buffer = b""
        self._lines: list[bytes] = []

    def next(self) -> Any:
        """Return the next event, or None at the end."""
        while not self._lines:
            chunk = next(self._pieces, None)
            if chunk is None:
                assert not self._buffer
                return None
            *lines, self._buffer = (self._buffer + chunk).split(b"\n")
            self._lines += lines
        return json.loads(self._lines.pop(0))

    def take(self, count: int) -> list[tuple[str, Any]]:
        """Return this number of events, as type and object."""
        events = [self.next() for _ in range(count)]
        return [(event["type"], event["object"]) for event in events]

    def take_names(self, count: int) -> list[tuple[str, str]]:
        """Return this number of events, as type and name."""
        return [(change, obj["metadata"].get("name", "")) for change, obj in self.take(count)]

    def take_all(self) -> list[tuple[str, Any]]:
        """Return all events until the end, as type and object."""
        return [(event["type"], event["object"]) for event in iter(self.next, None)]


class Client:
    """A client of a server with its own namespace."""

    def __init__(self, server: Server, namespace: str = "") -> None:
        self.server = server
        self.namespace = namespace
        self.home = f"/api/v1/namespaces/{namespace}"
        self.configmaps = f"{self.home}/configmaps"

    def send(
        self, method: str, target: str, body: Any = None, media: str = JSON, **headers: str
    ) -> FullResponse:
        """Return the response to a request. A body of bytes is sent unchanged."""
        with self.server.transport.send(
            _raw_request(method, target, body, media, headers), timeout=PATIENCE
        ) as response:
            data = b"".join(response)
            return FullResponse(response.status, response.headers, inflate(response.headers, data))

    def fetch(self, method: str, target: str, body: Any = None, media: str = JSON, **headers: str) -> Any:
        """Return the decoded body of a success."""
        answer = self.send(method, target, body, media, **headers)
        assert answer.status < 300, answer.body
        return answer.json

    def get(self, target: str, **headers: str) -> Any:
        """Return the object or list at a target."""
        return self.fetch("GET", target, **headers)

    def create(self, target: str, body: Any) -> Any:
        """Return the object that a POST created."""
        answer = self.send("POST", target, body)
        assert answer.status == 201, answer.body
        return answer.json

    def merge(self, target: str, change: Any) -> Any:
        """Return the object after a merge patch."""
        return self.fetch("PATCH", target, change, MERGE)

    def apply(self, target: str, body: Any, manager: str, *, force: bool = False) -> Any:
        """Return the object after an apply."""
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        return self.fetch("PATCH", target + query, body, APPLY)

    def expect_refusal(
        self, method: str, target: str, body: Any = None, media: str = JSON, **headers: str
    ) -> Any:
        """Return the Status of a refusal, whose code is that of the response."""
        answer = self.send(method, target, body, media, **headers)
        assert answer.status >= 400, answer.body
        status = answer.json
        assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status)
        return status

    def call(self, request: Request[T]) -> Reply[T]:
        """Return the core's reply to its own request, or raise the `ApiError` of the response."""
        with self.server.transport.send(request, timeout=PATIENCE) as response:
            return request.parse(response.status, response.headers, b"".join(response))

    @contextmanager
    def watch(self, target: str, **headers: str) -> Generator[Stream]:
        """Yield an open watch."""
        target = f"{target}{'&' if '?' in target else '?'}watch=true"
        with self.server.transport.send(
            _raw_request("GET", target, None, JSON, headers), idle=PATIENCE
        ) as response:
            yield Stream(response.status, response.headers, iter(response))

    def wait_for(self, target: str, name: str, holds: Callable[[Any], object]) -> Any:
        """Return an object as soon as `holds` is true for it, or None if it is deleted before that."""
        with self.watch(f"{target}?fieldSelector=metadata.name%3D{name}") as stream:
            for change, obj in iter(lambda: stream.take(1)[0], None):
                if change == "DELETED":
                    return None
                if holds(obj):
                    return obj
        raise AssertionError("the watch ended before the event")

    def _serves(self, kinds: str) -> bool:
        return self.send("GET", kinds).status not in (404, 429, 503)

    def poll_until(self, holds: Callable[[], T]) -> T:
        """Poll until the value is true, and return it.

        Discovery, the handlers of custom resources and admission follow writes by their own watches, so that
        they may not know a write yet when its response, or even its watch event, has arrived.
        """
        for _ in range(round(PATIENCE / POLL_INTERVAL)):
            if value := holds():
                return value
            self.server.wait(POLL_INTERVAL)
        raise AssertionError("the server does not reach the expected state")

    def wait_until_deleted(self, target: str, name: str) -> None:
        """Wait until an object is deleted."""
        listed = self.get(f"{target}?fieldSelector=metadata.name%3D{name}")
        if listed["items"]:
            query = f"fieldSelector=metadata.name%3D{name}&resourceVersion={version_of(listed)}"
            with self.watch(f"{target}?{query}") as stream:
                while stream.take(1)[0][0] != "DELETED":
                    pass

    def config(self, name: str, data: dict[str, str] | None = None, **metadata: Any) -> Any:
        """Create a ConfigMap."""
        return self.create(
            self.configmaps, {"metadata": {"name": name, **metadata}, "data": data or {"a": "1"}}
        )

    def pod(self, name: str, **metadata: Any) -> Any:
        """Create a pod that is on no node."""
        spec = {"containers": [{"name": "c", "image": "i"}]}
        return self.create(f"{self.home}/pods", {"metadata": {"name": name, **metadata}, "spec": spec})

    def define(self, definition: Any) -> None:
        """Apply a definition, and wait until its kind is served."""
        name = definition["metadata"]["name"]
        self.apply(f"{DEFINITIONS}/{name}", definition, "suite", force=True)
        self.wait_for(DEFINITIONS, name, established)
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                kinds = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
                self.poll_until(partial(self._serves, kinds))


def established(definition: Any) -> bool:
    """Return whether a definition has the conditions that its kind is served under its requested names."""
    conditions: list[dict[str, Any]] = definition.get("status", {}).get("conditions") or []
    true = {condition["type"] for condition in conditions if condition["status"] == "True"}
    return true >= {"Established", "NamesAccepted"}


def fresh_namespace(server: Server) -> Client:
    """Return a client with a new namespace, which contains only the objects of controllers."""
    client = Client(server, f"suite-{next(_numbers)}")
    client.create("/api/v1/namespaces", {"metadata": {"name": client.namespace}})
    return client


def version_of(obj: Any) -> str:
    """Return the version of an object or a list."""
    version: str = obj["metadata"]["resourceVersion"]
    return version


def names(listed: Any) -> list[str]:
    """Return the names in a list, without those that a controller adds to every namespace."""
    item_names = [item["metadata"]["name"] for item in listed["items"]]
    return [name for name in item_names if name != "kube-root-ca.crt"]


def causes(status: Any) -> list[tuple[str, str]]:
    """Return the causes of a Status, as field and reason."""
    return [(cause.get("field", ""), cause.get("reason", "")) for cause in status["details"]["causes"]]


def _raw_request(method: str, target: str, body: Any, media: str, headers: dict[str, str]) -> RawRequest:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    header_values = {"User-Agent": "suite/1.0", "Accept": JSON} | ({"Content-Type": media} if data else {})
    header_values |= {name.replace("_", "-"): value for name, value in headers.items()}
    return RawRequest(method, target, tuple(header_values.items()), data)
