"""`WebhookServer`: serves webhooks over TLS, with the HTTP/1.1 implementation of the health pages."""

from __future__ import annotations

import logging
import re
import ssl
from bisect import bisect_left
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final

import anyio
from anyio.streams.tls import TLSStream

from kubeproto import RemoteProtocolError
from kubeproto_h11 import Response, ServerConnection, serve_requests

from ..tasks._listener import accept
from ._asgi import MAX_REVIEW
from ._certificate_files import CertificateFiles
from ._webhooks import WebhookApplication, Webhooks

if TYPE_CHECKING:
    from typing import Any

    from anyio.abc import ByteStream, SocketStream, TaskStatus

    from kubeproto import RawRequest

    from ._certificate_files import CertificateSource

# Seconds. An API server completes a handshake much earlier, or never.
_MAX_HANDSHAKE: Final = 10.0
# API servers reuse their connections, and clients in Go close them after 90 idle seconds.
_MAX_IDLE: Final = 120.0
_MAX_SENDING: Final = 10.0
# Kubernetes' limit for the timeout of a webhook, and the default for requests without a timeout.
_MAX_TIMEOUT: Final = 30.0
_TIMEOUT: Final = re.compile(r"[?&]timeout=(\d{1,2})s(?:&|$)")

_TOO_SLOW: Final = Response(504, (), b"the handlers took too long\n")

_log: Final = logging.getLogger("kubeproto.webhooks")


# The buckets of the Go client of Prometheus, which the webhooks of controller-runtime use.
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# Counters exist before the first call: a rate over a new counter would miss it.
_EXPECTED_CODES: Final[tuple[str, ...]] = ("200", "500")


class WebhookStats:
    """The number, the status codes and the durations of the calls of a webhook."""

    __slots__ = ("codes", "counts", "in_flight", "seconds")
    bounds: ClassVar[tuple[float, ...]] = _BOUNDS

    def __init__(self) -> None:
        self.codes: dict[str, int] = dict.fromkeys(_EXPECTED_CODES, 0)
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.seconds = 0.0
        self.in_flight = 0

    def begin(self) -> None:
        """Count the start of a call."""
        self.in_flight += 1

    def end(self, code: int, seconds: float) -> None:
        """Count the response to a call."""
        self.in_flight -= 1
        self.codes[str(code)] = self.codes.get(str(code), 0) + 1
        self.counts[bisect_left(_BOUNDS, seconds)] += 1
        self.seconds += seconds


class WebhookServer:
    """Serves webhooks over TLS until cancelled: by itself, or as a part of an `Operator`.

    Every process of a Deployment serves them, whether it leads or not. With port 0 the system chooses a port,
    and the attribute `port` is its number. The server responds to all received requests before it ends.
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
        """The number of reads of the certificate's files, and of failed reads; None without files."""
        files = self.certificates
        return (files.reads, files.failed_reads) if isinstance(files, CertificateFiles) else None

    async def run(self, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen once there is a certificate, and report the port. Raise an error for unusable files."""
        try:
            async with anyio.create_task_group() as tasks:
                await tasks.start(self._run_certificates)
                await self._listen(task_status)
        except BaseExceptionGroup as group:
            error, *others = group.exceptions
            if others:
                raise
        else:
            return
        raise error

    async def _run_certificates(self, *, task_status: TaskStatus[None]) -> None:
        await self.certificates.run(task_status=task_status)

    async def _listen(self, task_status: TaskStatus[int]) -> None:
        listener = await anyio.create_tcp_listener(local_host=self.host, local_port=self.port)
        async with listener, anyio.create_task_group() as tasks:
            self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
            self.listens = True
            _log.info("serving %s on port %d", ", ".join(sorted(self.webhooks.paths)), self.port)
            task_status.started(self.port)
            try:
                for socket_listener in listener.listeners:
                    tasks.start_soon(accept, socket_listener, self._handle, "webhook", _log)
                await anyio.sleep_forever()
            finally:
                self.listens = False

    async def _handle(self, stream: SocketStream) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, RemoteProtocolError):
            async with stream:
                try:
                    with anyio.fail_after(_MAX_HANDSHAKE):
                        secured = await TLSStream.wrap(
                            stream,
                            server_side=True,
                            ssl_context=self.certificates.context(),
                            standard_compatible=False,
                        )
                except (ssl.SSLError, anyio.EndOfStream, TimeoutError) as error:
                    # Probes that only connect are frequent.
                    _log.debug("a TLS handshake failed: %s", error)
                    return
                connection = ServerConnection(max_body=MAX_REVIEW)
                await serve_requests(_Channel(secured), connection, self.respond)

    async def respond(self, request: RawRequest) -> Response:
        """Return the response to a request, and count it."""
        # Only the paths of webhooks are counted: otherwise a port scan would create labels.
        stats = self.stats.get(request.target.partition("?")[0])
        if stats is None:
            return await self._respond(request)
        start, code = anyio.current_time(), 500
        stats.begin()
        try:
            response = await self._respond(request)
            code = response.status
        finally:
            stats.end(code, anyio.current_time() - start)
        return response

    async def _respond(self, request: RawRequest) -> Response:
        match = _TIMEOUT.search(request.target)
        timeout = min(float(match[1]), _MAX_TIMEOUT) if match else _MAX_TIMEOUT
        start = anyio.current_time()
        # Shielded, because the write of another client waits for the response while this program ends.
        with anyio.move_on_after(timeout, shield=True):
            status, headers, body = await self.webhooks.respond(request.method, request.target, request.body)
            seconds = anyio.current_time() - start
            if seconds < timeout:
                return Response(status, headers, body)
            # A scope cannot cancel a handler that waits for nothing. The event loop did nothing else:
            # a lease may have expired.
            _log.error(
                "%s: a handler blocked the event loop for %.3g s, longer than the timeout of the webhook:"
                " let anyio.to_thread.run_sync do what blocks",
                request.label, seconds,
            )  # fmt: skip
            return _TOO_SLOW
        _log.warning("%s: the handlers exceeded the timeout of the webhook", request.label)
        return _TOO_SLOW


class _Channel:
    """A TLS connection with time limits for reads and writes."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        # A client may close the connection mid-request: then the response cannot be sent.
        with anyio.move_on_after(_MAX_SENDING, shield=True), suppress(anyio.EndOfStream):
            await self._stream.send(data)
            return
        raise anyio.BrokenResourceError

    async def receive(self) -> bytes:
        try:
            with anyio.move_on_after(_MAX_IDLE):
                return await self._stream.receive()
        except anyio.EndOfStream:
            pass
        return b""
