"""`PortForwarder`: local ports whose connections lead to a pod, or to its replacement.

Each connection has its own WebSocket: a slow or broken connection does not delay the others. If the pod
cannot be reached, another pod is chosen, so that a rollout breaks only the open connections.

The protocol of these WebSockets has no half-close: the pod does not learn that a client has closed its
sending direction. The client still receives the pod's bytes, until the pod closes the connection or has been
silent for `LINGER` seconds.
"""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct

from kubeproto import (
    ApiError,
    Dynamic,
    Forbidden,
    InvalidRequest,
    KubeprotoError,
    TransportError,
    Unauthorized,
)

from ..tasks._background import Background, spawn
from ._local_sockets import LocalConnection, LocalListener
from ._pod_choice import PODS, NoRunningPod, PodChoice, choose_pods, find_ready_pod
from ._port_pairs import PortPair, parse_port, pod_port

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from kubeproto.streams import PortStream

    from ..client._client import Client
    from ._port_pairs import PortLike

    Json = dict[str, Any]

_log: Final = logging.getLogger("kubeproto.forwarding")

LINGER: Final = 30.0
_CHUNK_SIZE: Final = 65536
_INITIAL_PAUSE: Final = 0.25
_MAX_PAUSE: Final = 2.0


class ForwardedPort(Struct, frozen=True):
    """A local address, and the port of the pod to which its connections are forwarded."""

    host: str
    local: int
    remote: str


class ForwardingError(KubeprotoError):
    """A connection to the local `port` could not be forwarded to the pod, or was lost."""

    def __init__(self, description: str, port: ForwardedPort, reason: str) -> None:
        address = f"{port.host}:{port.local}"
        super().__init__(f"{description}: the connection to {address} for port {port.remote}: {reason}")
        self.port = port


def forward_ports(
    client: Client,
    target: str,
    ports: Sequence[PortLike],
    *,
    namespace: str = "",
    selector: str = "",
    host: str = "127.0.0.1",
    within: float = 60.0,
    on_error: Callable[[ForwardingError], object] | None = None,
) -> PortForwarder:
    """Listen on local ports that lead to a pod: ``web-0``, ``deploy/shop`` or ``svc/shop``.

    ::

        async with forward_ports(client, "svc/shop", ["8080:80", ":443"]) as forwarded:
            print(forwarded.ports[1].local)

    A port is ``80``, ``8080:80``, ``:80`` for a free local port, or a name; for a Service it is a port of the
    Service. A connection waits up to `within` seconds for a reachable pod. The failure of a connection does
    not affect the others: `on_error` is called with its `ForwardingError`; without `on_error` it is logged.
    """
    pairs = [parse_port(port) for port in ports]
    if not pairs:
        raise InvalidRequest("at least one port to forward is required")
    return PortForwarder(client, target, selector, namespace, pairs, host, within, on_error)


class PortForwarder:
    """Local ports that lead to a pod, inside of ``async with``; `ports` are their addresses."""

    def __init__(
        self,
        client: Client,
        target: str,
        selector: str,
        namespace: str,
        pairs: Sequence[PortPair],
        host: str,
        within: float,
        on_error: Callable[[ForwardingError], object] | None,
    ) -> None:
        self.ports: tuple[ForwardedPort, ...] = ()
        self._client = client
        self._target = target, selector, namespace
        self._pairs = pairs
        self._host = host
        self._timeout = within
        self._on_error = on_error
        self._choice = PodChoice(namespace=namespace, description=target)
        self._pod: Json | None = None
        self._listeners: list[LocalListener] = []
        self._tasks: list[Background] = []

    async def __aenter__(self) -> Self:
        self._choice = await choose_pods(self._client, *self._target)
        pod = await self._find_pod(anyio.current_time() + self._timeout)
        for pair in self._pairs:
            pod_port(self._choice.owner, pod, pair.remote)  # raises now if the port does not exist
        try:
            for pair in self._pairs:
                self._listen(pair)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._close()

    @property
    def pod(self) -> str:
        """The name of the current pod; empty while there is none."""
        return "" if self._pod is None else str(self._pod["metadata"]["name"])

    def _listen(self, pair: PortPair) -> None:
        listener = LocalListener(self._host, pair.local)
        self._listeners.append(listener)
        port = ForwardedPort(self._host, listener.port, pair.remote)
        self.ports += (port,)
        self._tasks.append(spawn(lambda: listener.serve(lambda local: self._forward(local, port))))

    async def _close(self) -> None:
        for task in self._tasks:
            await task.stop()
        for listener in self._listeners:
            listener.close()

    # One connection

    async def _forward(self, local: LocalConnection, port: ForwardedPort) -> None:
        try:
            async with local, AsyncExitStack() as stack:
                remote = await self._connect(stack, port)
                await _Relay(local, remote).run()
        except (KubeprotoError, OSError) as error:
            self._pod = None if isinstance(error, TransportError) else self._pod
            self._report(ForwardingError(self._choice.description, port, str(error)))

    async def _connect(self, stack: AsyncExitStack, port: ForwardedPort) -> PortStream:
        """Connect to the current pod, or to its replacement."""
        deadline, pause = anyio.current_time() + self._timeout, _INITIAL_PAUSE
        while True:
            pod = await self._find_pod(deadline)
            number = pod_port(self._choice.owner, pod, port.remote)
            api = self._client.api(Dynamic, namespace=self._choice.namespace, resource=PODS)
            try:
                forwarding = await stack.enter_async_context(
                    api.port_forward(pod["metadata"]["name"], [number])
                )
            except (ApiError, TransportError) as error:
                self._pod = None
                if isinstance(error, Forbidden | Unauthorized) or anyio.current_time() + pause >= deadline:
                    raise
                await anyio.sleep(pause)
                pause = min(_MAX_PAUSE, pause * 2)
            else:
                return forwarding[number]

    async def _find_pod(self, deadline: float) -> Json:
        """Return the current pod. If there is none, choose a pod."""
        pause = _INITIAL_PAUSE
        while self._pod is None:
            try:
                self._pod = await find_ready_pod(self._client, self._choice)
            except NoRunningPod:
                if anyio.current_time() + pause >= deadline:
                    raise
                await anyio.sleep(pause)
                pause = min(_MAX_PAUSE, pause * 2)
        return self._pod

    def _report(self, error: ForwardingError) -> None:
        if self._on_error is None:
            _log.warning("%s", error)
        else:
            self._on_error(error)


class _Relay:
    """Relays bytes between a local connection and a port of a pod, until one side closes."""

    def __init__(self, local: LocalConnection, remote: PortStream) -> None:
        self._local = local
        self._remote = remote
        self._failure: KubeprotoError | None = None
        self._last_received = 0.0  # time of the last bytes from the pod

    async def run(self) -> None:
        """Relay until the pod or the client has closed the connection."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._send, tasks.cancel_scope)
            await self._receive()
            tasks.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure

    async def _send(self, scope: anyio.CancelScope) -> None:
        """Send the client's bytes to the pod."""
        try:
            while data := await self._local.receive(_CHUNK_SIZE):
                await self._remote.send(data)
            self._last_received = anyio.current_time()
            while (silence := anyio.current_time() - self._last_received) < LINGER:
                await anyio.sleep(LINGER - silence)
        except KubeprotoError as error:
            self._failure = self._failure or error
        except OSError:
            pass  # the client has gone
        scope.cancel()

    async def _receive(self) -> None:
        """Send the pod's bytes to the client."""
        try:
            while data := await self._remote.receive():
                self._last_received = anyio.current_time()
                await self._local.send(data)
            self._local.end()
        except KubeprotoError as error:
            self._failure = self._failure or error
        except OSError:
            pass  # the client has gone
