"""Access to the real server with the project's own requests and decoders, over a blocking transport."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import kubeproto as kp
from kubeproto.config import Connection
from kubeproto.crd import CustomResourceDefinition, read_definition
from kubeproto.kinds.core_v1 import Namespace
from kubeproto.requests import Discovery, DiscoveryProgress, Reply, Request, StreamRequest
from kubeproto.wire import BlockingTransport
from kubeproto_httpx import BlockingHttpxTransport

E = TypeVar("E")
T = TypeVar("T")

DEFINITIONS: Final = kp.Api(CustomResourceDefinition)
NAMESPACES: Final = kp.Api(Namespace)
PATIENCE: Final = 60.0  # seconds until a missing response is a failure


class Asker:
    """Access of a test to a server; `pause` waits between two polls."""

    def __init__(
        self, transport: BlockingTransport, *, pause: Callable[[float], object] = time.sleep
    ) -> None:
        self._transport = transport
        self._pause = pause

    def ask(self, request: Request[T]) -> T:
        """Return the value of the response."""
        return self.reply(request).value

    def reply(self, request: Request[T]) -> Reply[T]:
        """Return the response with its warnings."""
        with self._transport.send(request, timeout=PATIENCE) as incoming:
            return request.parse(incoming.status, incoming.headers, b"".join(incoming))

    def discover(self) -> Discovery:
        """Return every group and kind of the server."""
        progress = DiscoveryProgress()
        while (discovery := progress.result) is None:
            for request in progress.requests:
                with self._transport.send(request, timeout=PATIENCE) as incoming:
                    body = b"".join(incoming)
                progress = progress.receive(request, incoming.status, incoming.headers, body)
        return discovery

    @contextmanager
    def watch(self, request: StreamRequest[E]) -> Generator[Iterator[E]]:
        """Yield the events of a watch until it ends or is closed."""
        with self._transport.send(request, idle=PATIENCE) as incoming:
            decoder = request.open(incoming.status, incoming.headers)

            def events() -> Iterator[E]:
                for chunk in incoming:
                    yield from decoder.feed(chunk)
                yield from decoder.finish()

            yield events()

    def namespace(self, prefix: str) -> str:
        """Create a new namespace, and return its name."""
        return self.ask(
            NAMESPACES.create(Namespace(metadata=kp.ObjectMeta(generate_name=f"{prefix}-")))
        ).metadata.name

    def define(self, definition: CustomResourceDefinition) -> dict[str, Any]:
        """Create a definition, wait until its kind is served, and return the stored spec."""
        self.ask(DEFINITIONS.create(definition))
        return self.await_served(definition)

    def await_served(self, definition: CustomResourceDefinition) -> dict[str, Any]:
        """Wait until the kind of a definition is served, and return the stored spec."""
        name = definition.metadata.name
        with self.watch(DEFINITIONS.watch(field_selector=f"metadata.name={name}")) as events:
            resource = next(
                event.object
                for event in events
                if isinstance(event, kp.Added | kp.Modified) and _served(event.object)
            )
        self._await_storage(resource)
        return resource.spec

    def _await_storage(self, definition: CustomResourceDefinition) -> None:
        resource = read_definition(definition.to_json()).preferred.resource
        while True:
            try:
                self.ask(kp.Api(kp.Dynamic, resource=resource).list(limit=1))
            except (kp.NotFound, kp.TooManyRequests):
                self._pause(0.05)
            else:
                return

    def defines(self, definition: CustomResourceDefinition) -> bool:
        """Return whether a definition of this name exists."""
        return bool(
            self.ask(DEFINITIONS.list(field_selector=f"metadata.name={definition.metadata.name}")).items
        )

    def undefine(self, definition: CustomResourceDefinition) -> None:
        """Delete a definition with all its objects, and wait until it is deleted."""
        name = definition.metadata.name
        version = self.ask(DEFINITIONS.list(field_selector=f"metadata.name={name}")).version
        self.ask(DEFINITIONS.delete(name))
        request = DEFINITIONS.watch(field_selector=f"metadata.name={name}", resource_version=version)
        with self.watch(request) as events:
            next(event for event in events if isinstance(event, kp.Deleted))


def _served(definition: CustomResourceDefinition) -> bool:
    """Return whether the server has accepted the names and serves the kind; raise on a structural error."""
    status: dict[str, Any] = definition.status or {}
    listed: list[dict[str, Any]] = status.get("conditions") or []
    conditions = {condition["type"]: condition for condition in listed}
    assert "NonStructuralSchema" not in conditions, conditions["NonStructuralSchema"]
    if "NamesAccepted" in conditions:
        assert conditions["NamesAccepted"]["status"] == "True", conditions["NamesAccepted"]
    return bool(conditions.get("Established", {}).get("status") == "True")


@contextmanager
def asking(connection: Connection) -> Generator[Asker]:
    """Yield access to a server over connections that are closed at the end."""
    with BlockingHttpxTransport(connection) as transport:
        yield Asker(transport)
