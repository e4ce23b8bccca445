"""`RequestHandler`: authenticates requests, and responds to them."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from kubeproto.wire import RawRequest, code_of
from kubeproto_h11 import Response, accept_upgrade
from kubeproto_sim import Conversation, User

from ._open_streams import OpenStream, send_over_websocket
from ._request_reports import METRICS, RequestMetrics
from ._socket_channel import Watchdog

if TYPE_CHECKING:
    from kubeproto_sim import ServerResponse

    from ._cluster_driver import ClusterDriver
    from ._request_reports import RequestLog
    from ._server_security import Security
    from ._socket_channel import Limits, SocketChannel

_TEXT: Final = ("Content-Type", "text/plain; charset=utf-8")
_JSON: Final = ("Content-Type", "application/json")
# Users with a token of the port, or with the certificate made for it, are administrators of the cluster.
_ADMINISTRATORS: Final = ("system:masters",)
_UNAUTHORIZED: Final = msgspec.json.encode({
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
    "reason": "Unauthorized", "code": code_of("Unauthorized"),
}) + b"\n"  # fmt: skip


class Service:
    """The parts that all connections of a server share."""

    def __init__(
        self, driver: ClusterDriver, *, security: Security, limits: Limits, log: RequestLog | None
    ) -> None:
        self.driver = driver
        self.security = security
        self.log = log
        self.limits = limits
        self.metrics = RequestMetrics(driver.cluster)
        self.watchdog = Watchdog(limits)
        self.streams: set[OpenStream] = set()
        self.closing = False

    @property
    def busy(self) -> bool:
        """Whether a request is being handled."""
        return any(not channel.waiting for channel in self.watchdog.channels)

    def close_streams(self) -> None:
        """End the open streams in the regular way of HTTP."""
        self.closing = True
        for stream in list(self.streams):
            stream.close()


class RequestHandler:
    """The handler of a connection, whose client may have the certificate of a user."""

    def __init__(
        self, service: Service, channel: SocketChannel, *, certificate_user: User | None = None
    ) -> None:
        self._service = service
        self._channel = channel
        self._certificate_user = certificate_user

    async def __call__(self, request: RawRequest) -> Response:
        service = self._service
        start = time.perf_counter()
        response = await self._respond(request)
        seconds = time.perf_counter() - start
        service.metrics.count(request.method, response.status, seconds)
        if service.log is not None:
            service.log.write(request, response, seconds)
        return response

    async def _respond(self, request: RawRequest) -> Response:
        user = self._certificate_user or self._bearer_user(request)
        if user is None and self._service.security.requires_credentials and self._cluster_allows_all:
            return Response(401, (_JSON,), _UNAUTHORIZED)
        if request.target.partition("?")[0] == "/metrics":
            return Response(200, (METRICS,), self._service.metrics.exposition())
        response = await self._service.driver.respond(request, user)
        if response.delay:
            await anyio.sleep(response.delay)
        return self._response(response, request)

    @property
    def _cluster_allows_all(self) -> bool:
        """Whether the cluster allows every request, so that the port refuses requests without credentials."""
        return self._service.driver.cluster.authorization == "AlwaysAllow"

    def _bearer_user(self, request: RawRequest) -> User | None:
        """Return the user whose token the request carries: a token of this port, or of the cluster."""
        for name, value in request.headers:
            if name.lower() == "authorization":
                scheme, _, token = value.partition(" ")
                if scheme.lower() != "bearer":
                    return None
                if (username := self._service.security.tokens.get(token.strip())) is not None:
                    return User(username, groups=_ADMINISTRATORS)
                return self._service.driver.cluster.user_of(token.strip())
        return None

    def _response(self, response: ServerResponse, request: RawRequest) -> Response:
        if isinstance(response.body, bytes):
            return Response(response.status, response.headers, response.body)
        if isinstance(response.body, Conversation):
            return self._conversation(response, response.body, request)
        stream = OpenStream(response.body, self._channel, self._service)
        if (accepted := accept_upgrade(request.headers)) is not None:
            return Response(101, accepted, switch=partial(send_over_websocket, stream, self._channel))
        return Response(response.status, response.headers, stream=stream.send_all)

    def _conversation(self, response: ServerResponse, body: Conversation, request: RawRequest) -> Response:
        accepted = accept_upgrade(request.headers)
        if accepted is None:
            body.close()
            return Response(400, (_TEXT,), b"unable to upgrade: this is not a handshake of a WebSocket\n")
        from ._conversations import OpenConversation  # imported here because it needs wsproto

        opened = OpenConversation(body, self._channel, self._service, self._service.driver)
        return Response(101, (*accepted, *response.headers), switch=opened.converse)
