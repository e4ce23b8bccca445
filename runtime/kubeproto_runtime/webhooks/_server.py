"""`WebhookServer`: webhooks on a port over TLS, on the HTTP/1.1 machine that serves health and metrics."""

from __future__ import annotations

import logging
import re
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from anyio.streams.tls import TLSStream

from kubeproto import RemoteProtocolError
from kubeproto_h11 import Response, ServerConnection, serve_requests

from ..tasks._accepting import accept
from ._asgi import MOST
from ._call_stats import WebhookStats
from ._certificate_files import CertificateFiles
from ._webhooks import WebhookApplication, Webhooks

if TYPE_CHECKING:
    from typing import Any

    from anyio.abc import ByteStream, SocketStream, TaskStatus

    from kubeproto import Head

    from ._certificate_files import CertificateSource

# Seconds. A server that calls webhooks has finished its handshake long before, or will not.
_HANDSHAKE: Final = 10.0
# A server keeps its connections for the next call; Go's clients close them after 90 s without one.
_IDLE: Final = 120.0
_SENDING: Final = 10.0
# The longest timeout that a webhook may have, and the default if the server does not send one.
_LONGEST: Final = 30.0
_TIMEOUT: Final = re.compile(r"[?&]timeout=(\d{1,2})s(?:&|$)")

_log: Final = logging.getLogger("kubeproto.webhooks")


class WebhookServer:
    """Serves webhooks over TLS until cancelled: by itself, or given to an `Operator`.

    Every process of a deployment serves them, whether it leads or not. `port` 0 takes any free port, which
    `port` is then. A request that has come is answered before the server ends.
    """

    def __init__(
        self,
        webhooks: Webhooks[Any] | WebhookApplication,
        certificates: CertificateSource,
        *,
        port: int = 9443,
        host: str | None = None,
    ) -> None:
        self.webhooks = webhooks if isinstance(webhooks, WebhookApplication) else WebhookApplication(webhooks)
        self.certificates = certificates
        self.port = port
        self.host = host
        self.listens = False
        self.stats: dict[str, WebhookStats] = {path: WebhookStats() for path in self.webhooks.paths}

    @property
    def certificate_reads(self) -> tuple[int, int] | None:
        """How often the certificate's files were read, and how many of these failed; None without files."""
        files = self.certificates
        return (files.reads, files.failed_reads) if isinstance(files, CertificateFiles) else None

    async def run(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen once there is a certificate, and say at which port; unusable files are an error."""
        try:
            async with anyio.create_task_group() as keeping:
                await keeping.start(self._keep)
                await self._listen(task_status)
        except BaseExceptionGroup as group:
            error, *others = group.exceptions
            if others:
                raise
        else:
            return
        raise error

    async def _keep(self, *, task_status: TaskStatus[None]) -> None:
        await self.certificates.run(task_status=task_status)

    async def _listen(self, task_status: TaskStatus[int]) -> None:
        listener = await anyio.create_tcp_listener(local_host=self.host, local_port=self.port)
        async with listener, anyio.create_task_group() as tasks:
            self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
            self.listens = True
            _log.info("serving %s on port %d", ", ".join(sorted(self.webhooks.paths)), self.port)
            task_status.started(self.port)
            try:
                for one in listener.listeners:
                    tasks.start_soon(accept, one, self._handle, "webhook", _log)
                await anyio.sleep_forever()
            finally:
                self.listens = False

    async def _handle(self, stream: SocketStream) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, RemoteProtocolError):
            async with stream:
                try:
                    with anyio.fail_after(_HANDSHAKE):
                        secured = await TLSStream.wrap(
                            stream,
                            server_side=True,
                            ssl_context=self.certificates.context(),
                            standard_compatible=False,
                        )
                except (ssl.SSLError, anyio.EndOfStream, TimeoutError) as error:
                    _log.debug(
                        "a TLS handshake failed: %s", error
                    )  # a probe that looks whether a port is open
                    return
                connection = ServerConnection(max_body=MOST)
                await serve_requests(_Channel(secured), connection, self.respond)

    async def respond(self, request: Head) -> Response:
        """Return the response to a request, and count it."""
        # Other paths are not counted: a port scan would create labels.
        stats = self.stats.get(request.target.partition("?")[0])
        if stats is None:
            return await self._answer(request)
        begun, code = anyio.current_time(), 500
        stats.begin()
        try:
            response = await self._answer(request)
            code = response.status
        finally:
            stats.end(code, anyio.current_time() - begun)
        return response

    async def _answer(self, request: Head) -> Response:
        said = _TIMEOUT.search(request.target)
        # Shielded: the object of a client of the cluster depends on it, also while this program ends.
        with anyio.move_on_after(min(float(said[1]), _LONGEST) if said else _LONGEST, shield=True):
            status, headers, body = await self.webhooks.respond(request.method, request.target, request.body)
            return Response(status, headers, body)
        _log.warning("%s: no handler answered in the time that the server gave", request.label)
        return Response(504, (), b"the handlers took too long\n")


class _Channel:
    """The bytes of one connection, with a limit on each wait."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        # A client may leave within its request, and is refused then.
        with anyio.move_on_after(_SENDING, shield=True), suppress(anyio.EndOfStream):
            await self._stream.send(data)
            return
        raise anyio.BrokenResourceError

    async def receive(self) -> bytes:
        try:
            with anyio.move_on_after(_IDLE):
                return await self._stream.receive()
        except anyio.EndOfStream:
            pass
        return b""
