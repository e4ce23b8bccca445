"""`serve`: a simulated cluster on a port, for the duration of a block of code."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSAttribute, TLSStream

from kubeproto import KubeprotoError, TransportError
from kubeproto_h11 import Response, ServerConnection, serve_requests

from ._cluster_driver import ClusterDriver
from ._journal import Journal
from ._request_handler import RequestHandler, Service
from ._server_security import Security, certified_user, kubeconfig
from ._socket_channel import Limits, SocketChannel, pause_reading
from ._webhook_caller import WebhookCaller

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Mapping

    from anyio.abc import ByteStream, SocketStream

    from kubeproto import RawRequest
    from kubeproto_sim import Cluster, Faults, User

    from ._request_reports import RequestLog

_log: Final = logging.getLogger("kubeproto.serve")

# The seconds in which responses can end when the server stops.
_SHUTDOWN_SECONDS: Final = 1.0
_BUSY: Final = Response(
    503, (("Content-Type", "text/plain; charset=utf-8"), ("Retry-After", "1"), ("Connection", "close")),
    b"too many open connections\n",
)  # fmt: skip


class ServingUrl(str):
    """The URL of a running server; `kubeconfig` is the text of a kubeconfig for it."""

    __slots__ = ("kubeconfig",)

    kubeconfig: str


@asynccontextmanager
async def serve(
    cluster: Cluster,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    faults: Faults | None = None,
    security: Security | None = None,
    state: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
    log: RequestLog | None = None,
    webhooks: Mapping[str, str] | None = None,
) -> AsyncGenerator[ServingUrl]:
    """Serve a simulated cluster over HTTP; the value is its URL.

    ::

        cluster = sim.Cluster(crds=[Book])
        async with serve(cluster) as url:
            ...                              # kubectl --server, or a program in any language

    Runs on asyncio and trio. Port 0 is any free port. `faults` are injected between clients and the cluster.
    `state` is a folder in which the objects of the cluster survive the process; its content replaces the
    objects of the cluster. `webhooks` are the addresses of Services by ``namespace/name``, at which their
    webhooks are called, such as ``{"default/hooks": "127.0.0.1:9443"}``. While the cluster is served, its
    clock follows real time, and code on the same event loop can read and change the cluster.
    """
    security = security or Security()
    journal = None if state is None else Journal(state, cluster)
    try:
        async with _served(
            cluster, host, port, faults, security, journal, limits or Limits(), log, webhooks
        ) as url:
            yield url
    finally:
        if journal is not None:
            journal.close()


@asynccontextmanager
async def _served(
    cluster: Cluster, host: str, port: int, faults: Faults | None, security: Security,
    journal: Journal | None, limits: Limits, log: RequestLog | None, webhooks: Mapping[str, str] | None,
) -> AsyncGenerator[ServingUrl]:  # fmt: skip
    driver = ClusterDriver(cluster, faults=faults, journal=journal, webhooks=WebhookCaller(webhooks))
    service = Service(driver, security=security, limits=limits, log=log)
    connections = _Connections(service)
    listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    try:
        async with listener, anyio.create_task_group() as tasks:
            await tasks.start(driver.run)
            tasks.start_soon(service.watchdog.run)
            tasks.start_soon(listener.serve, connections.handle)
            bound_port: int = listener.extra(SocketAttribute.local_port)
            yield _url(host, bound_port, security)
            service.close_streams()
            with anyio.move_on_after(_SHUTDOWN_SECONDS):
                while service.busy:
                    await anyio.sleep(0.005)
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        error, *others = group.exceptions
        if others:
            raise
    else:
        return
    raise error  # outside of the handler, so that the group is not its context


def _url(host: str, port: int, security: Security) -> ServingUrl:
    url_host = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    url_host = f"[{url_host}]" if ":" in url_host else url_host
    url = ServingUrl(f"{'https' if security.context else 'http'}://{url_host}:{port}")
    url.kubeconfig = kubeconfig(str(url), security)
    return url


class _Connections:
    """Serves the connections of a server, each in a separate task."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._security = service.security
        self._limits = service.limits

    async def handle(self, stream: SocketStream) -> None:
        """Serve one connection to its end, and log its errors."""
        metrics = self._service.metrics
        metrics.connections += 1
        pause_reading(stream)
        try:
            async with stream:
                await self._serve_connection(stream, busy=metrics.connections > self._limits.connections)
        except (KubeprotoError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            _log.debug("a connection ended: %s", error)
        except Exception:
            _log.exception("a connection failed")
        finally:
            metrics.connections -= 1

    async def _serve_connection(self, raw: SocketStream, *, busy: bool) -> None:
        stream: ByteStream = raw
        certificate_user: User | None = None
        if self._security.context is not None:
            try:
                with anyio.fail_after(self._limits.stalled):
                    stream = await TLSStream.wrap(
                        raw, server_side=True, ssl_context=self._security.context, standard_compatible=False
                    )
            except (TimeoutError, anyio.EndOfStream):
                raise TransportError("the client did not finish the TLS handshake") from None
            certificate_user = certified_user(stream.extra(TLSAttribute.peer_certificate, None))
        channel = SocketChannel(stream, self._limits)
        handler = RequestHandler(self._service, channel, certificate_user=certificate_user)
        connection = ServerConnection(max_head=self._limits.head, max_body=self._limits.body)
        channels = self._service.watchdog.channels
        channels.add(channel)
        try:
            with channel.scope:
                await serve_requests(channel, connection, _refuse if busy else handler)
        finally:
            channels.discard(channel)


async def _refuse(_: RawRequest) -> Response:
    return _BUSY
