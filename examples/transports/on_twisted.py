"""A transport on Twisted's Agent: a connection for each request."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, cast

from shelf import list_then_watch
from twisted.internet import defer, error, protocol, task
from twisted.web import client, http_headers

import kubeproto as kp

http: Any = client  # whose types are incomplete


class Response(protocol.Protocol):
    """The head of a response, and its body as it arrives."""

    def __init__(self, response: Any, reactor: Any, idle: float | None) -> None:
        self.status = int(response.code)
        raw = response.headers.getAllRawHeaders()
        self.headers = tuple((name.decode(), value.decode()) for name, values in raw for value in values)
        self._arrived: defer.DeferredQueue[Any] = defer.DeferredQueue()
        self._reactor, self._idle = reactor, idle
        response.deliverBody(self)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - Twisted's name
        """Receive the next piece."""
        self._arrived.put(data)

    def connectionLost(self, reason: Any = protocol.connectionDone) -> None:  # noqa: N802
        """Receive the end of the body, or an error."""
        self._arrived.put(reason.value)

    def close_connection(self) -> None:
        """Close the connection if it is still open."""
        if (transport := cast("Any", self).transport) is not None:
            transport.loseConnection()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not isinstance(chunk := await self._next(), Exception):
            yield chunk
        if not isinstance(chunk, client.ResponseDone):
            raise chunk

    def _next(self) -> Any:
        next_piece = self._arrived.get()
        return next_piece if self._idle is None else next_piece.addTimeout(self._idle, self._reactor)


class TwistedTransport:
    """A `kubeproto.Transport` to a single server. `timeout` limits the wait for the head."""

    def __init__(self, reactor: Any, server: str) -> None:
        self._reactor, self._agent, self._server = reactor, http.Agent(reactor), server

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[kp.IncomingResponse]:
        """Send a request and wait for the head of its response."""
        headers = http_headers.Headers()
        for name, value in request.headers:
            headers.addRawHeader(name, value)
        body = http.FileBodyProducer(BytesIO(request.body)) if request.body else None
        url = (self._server + request.target).encode()
        try:
            deferred = self._agent.request(request.method.encode(), url, headers, body)
            if bounds := [bound for bound in (timeout, idle) if bound is not None]:
                deferred.addTimeout(min(bounds), self._reactor)
            response = await deferred
            answer = Response(response, self._reactor, idle)
            try:
                yield answer
            finally:
                answer.close_connection()
        except (defer.TimeoutError, error.TimeoutError) as failure:
            raise kp.DeadlineExceeded(str(request)) from failure
        except error.ConnectError as failure:
            raise kp.ConnectError(str(failure)) from failure
        except (error.ConnectionClosed, client.ResponseFailed) as failure:
            raise kp.TransportError(str(failure)) from failure


def main(reactor: Any, host: str, port: str) -> Any:
    """List and watch on this server."""
    return defer.Deferred.fromCoroutine(list_then_watch(TwistedTransport(reactor, f"http://{host}:{port}")))


if __name__ == "__main__":
    task.react(main, sys.argv[1:])
