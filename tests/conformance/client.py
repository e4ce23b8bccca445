"""A client as plain as can be: requests by method and target, answers as decoded JSON, watches by hand.

It waits for nothing but what a watch says, so that a test reads the same on a clock that is turned and on
one that runs.
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
PATIENCE: Final = 60.0  # seconds until a test gives up; never waited for where the server is well
LOOK: Final = 0.05  # seconds between two looks at what no watch tells of
_numbers = itertools.count(1)


class Answer:
    """A response that has come in whole."""

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
        """What the server warns of."""
        return warnings(self.headers)

    def header(self, name: str) -> str:
        """The first header of a name."""
        return header(self.headers, name) or ""


class Stream:
    """An open watch: its events as the server sends them."""

    def __init__(self, status: int, headers: Headers, pieces: Iterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        self._pieces = pieces
        self._rest = b""
        self._lines: list[bytes] = []

    def next(self) -> Any:
        """The next event; None at the end."""
        while not self._lines:
            chunk = next(self._pieces, None)
            if chunk is None:
                assert not self._rest
                return None
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines += lines
        return json.loads(self._lines.pop(0))

    def take(self, count: int) -> list[tuple[str, Any]]:
        """So many events, as type and object."""
        events = [self.next() for _ in range(count)]
        return [(event["type"], event["object"]) for event in events]

    def told(self, count: int) -> list[tuple[str, str]]:
        """So many events, as type and name."""
        return [(change, obj["metadata"].get("name", "")) for change, obj in self.take(count)]

    def rest(self) -> list[tuple[str, Any]]:
        """All events until the end."""
        return [(event["type"], event["object"]) for event in iter(self.next, None)]


class Client:
    """Talks to a server, in a namespace of its own."""

    def __init__(self, server: Server, namespace: str = "") -> None:
        self.server = server
        self.namespace = namespace
        self.home = f"/api/v1/namespaces/{namespace}"
        self.configmaps = f"{self.home}/configmaps"

    def send(self, method: str, target: str, body: Any = None, media: str = JSON, **headers: str) -> Answer:
        """The response to a request; a body that is bytes goes out as it is."""
        with self.server.transport.send(
            _raw_request(method, target, body, media, headers), timeout=PATIENCE
        ) as response:
            data = b"".join(response)
            return Answer(response.status, response.headers, inflate(response.headers, data))

    def ask(self, method: str, target: str, body: Any = None, media: str = JSON, **headers: str) -> Any:
        """The decoded body of a success."""
        answer = self.send(method, target, body, media, **headers)
        assert answer.status < 300, answer.body
        return answer.json

    def get(self, target: str, **headers: str) -> Any:
        """What is there."""
        return self.ask("GET", target, **headers)

    def create(self, target: str, body: Any) -> Any:
        """What a POST made."""
        answer = self.send("POST", target, body)
        assert answer.status == 201, answer.body
        return answer.json

    def merge(self, target: str, change: Any) -> Any:
        """The object after a merge patch."""
        return self.ask("PATCH", target, change, MERGE)

    def apply(self, target: str, body: Any, manager: str, *, force: bool = False) -> Any:
        """The object after it was applied."""
        query = f"?fieldManager={manager}" + ("&force=true" if force else "")
        return self.ask("PATCH", target + query, body, APPLY)

    def refused(self, method: str, target: str, body: Any = None, media: str = JSON, **headers: str) -> Any:
        """The Status of a refusal, whose code is that of the answer."""
        answer = self.send(method, target, body, media, **headers)
        assert answer.status >= 400, answer.body
        status = answer.json
        assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status)
        return status

    def call(self, request: Request[T]) -> Reply[T]:
        """What the core reads in the response to a request of its own; or the `ApiError` that it is."""
        with self.server.transport.send(request, timeout=PATIENCE) as response:
            return request.parse(response.status, response.headers, b"".join(response))

    @contextmanager
    def watch(self, target: str, **headers: str) -> Generator[Stream]:
        """An open watch."""
        target = f"{target}{'&' if '?' in target else '?'}watch=true"
        with self.server.transport.send(
            _raw_request("GET", target, None, JSON, headers), idle=PATIENCE
        ) as response:
            yield Stream(response.status, response.headers, iter(response))

    def until(self, target: str, name: str, holds: Callable[[Any], object]) -> Any:
        """An object once something holds of it; None if it goes before that."""
        with self.watch(f"{target}?fieldSelector=metadata.name%3D{name}") as stream:
            for change, obj in iter(lambda: stream.take(1)[0], None):
                if change == "DELETED":
                    return None
                if holds(obj):
                    return obj
        raise AssertionError("a watch does not run out of events")

    def _serves(self, kinds: str) -> bool:
        return self.send("GET", kinds).status not in (404, 429, 503)

    def eventually(self, holds: Callable[[], T]) -> T:
        """Look until something holds, and return it: for what each part of a server learns in its own time.

        Discovery, the handlers of custom resources and admission follow what is written by watches of their
        own, so that a write that is answered, or even told by a watch, is not known to all of them yet.
        """
        for _ in range(round(PATIENCE / LOOK)):
            if value := holds():
                return value
            self.server.wait(LOOK)
        raise AssertionError("the server does not come to it")

    def gone(self, target: str, name: str) -> None:
        """Wait until an object is not there any more."""
        listed = self.get(f"{target}?fieldSelector=metadata.name%3D{name}")
        if listed["items"]:
            query = f"fieldSelector=metadata.name%3D{name}&resourceVersion={version_of(listed)}"
            with self.watch(f"{target}?{query}") as stream:
                while stream.take(1)[0][0] != "DELETED":
                    pass

    def config(self, name: str, data: dict[str, str] | None = None, **metadata: Any) -> Any:
        """A ConfigMap that was made."""
        return self.create(
            self.configmaps, {"metadata": {"name": name, **metadata}, "data": data or {"a": "1"}}
        )

    def pod(self, name: str, **metadata: Any) -> Any:
        """A pod that was made, and that no node has taken."""
        spec = {"containers": [{"name": "c", "image": "i"}]}
        return self.create(f"{self.home}/pods", {"metadata": {"name": name, **metadata}, "spec": spec})

    def define(self, definition: Any) -> None:
        """Apply a definition, and wait until its kind is served."""
        name = definition["metadata"]["name"]
        self.apply(f"{DEFINITIONS}/{name}", definition, "suite", force=True)
        self.until(DEFINITIONS, name, established)
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                kinds = f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
                self.eventually(partial(self._serves, kinds))


def established(definition: Any) -> bool:
    """Whether a definition says that its kind is served, under the names that it asked for."""
    conditions: list[dict[str, Any]] = definition.get("status", {}).get("conditions") or []
    true = {condition["type"] for condition in conditions if condition["status"] == "True"}
    return true >= {"Established", "NamesAccepted"}


def fresh_namespace(server: Server) -> Client:
    """A client in a new namespace, which has what controllers put there."""
    client = Client(server, f"suite-{next(_numbers)}")
    client.create("/api/v1/namespaces", {"metadata": {"name": client.namespace}})
    return client


def version_of(obj: Any) -> str:
    """The version of an object or a list."""
    version: str = obj["metadata"]["resourceVersion"]
    return version


def names(listed: Any) -> list[str]:
    """The names in a list, but for what a controller puts into every namespace."""
    item_names = [item["metadata"]["name"] for item in listed["items"]]
    return [name for name in item_names if name != "kube-root-ca.crt"]


def causes(status: Any) -> list[tuple[str, str]]:
    """The causes in a Status, as field and reason."""
    return [(cause.get("field", ""), cause.get("reason", "")) for cause in status["details"]["causes"]]


def _raw_request(method: str, target: str, body: Any, media: str, headers: dict[str, str]) -> RawRequest:
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    header_values = {"User-Agent": "suite/1.0", "Accept": JSON} | ({"Content-Type": media} if data else {})
    header_values |= {name.replace("_", "-"): value for name, value in headers.items()}
    return RawRequest(method, target, tuple(header_values.items()), data)
