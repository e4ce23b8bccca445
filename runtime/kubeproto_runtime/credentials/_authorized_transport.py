"""`AuthorizedTransport`: a transport with credentials, over transports without.

It performs the actions of the credentials machine. A request waits for credentials without a limit, because a
plugin may wait for a person and has its own deadline; `timeout` limits each exchange with the server.
"""

from __future__ import annotations

import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, Self, TypeAlias
from urllib.parse import urlsplit

import anyio

from kubeproto import (
    IncomingResponse,
    KubeprotoError,
    LocalProtocolError,
    RawRequest,
    Transport,
)
from kubeproto.config import credentials as c
from kubeproto.wire import UpgradeRequest

from ..calls._effects import drive
from ..tasks._background import Background, spawn
from ..tasks._event_loop import event_loop
from ._credential_source import CloseExchange, CredentialSource, OpenExchange, T, TaskEffects
from ._files import read_files
from ._identity_transports import IdentityTransport, IdentityTransports
from ._plugins import run_plugin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from kubeproto.config import Config, Connection, Credentials
    from kubeproto.wire import WebSocket

    _Upgrade: TypeAlias = Callable[..., AbstractAsyncContextManager[WebSocket]]

Opener: TypeAlias = "Callable[[Connection], AbstractAsyncContextManager[Transport]]"

# The response of an identity provider: two addresses or three tokens.
MAX_PROVIDER_RESPONSE: Final = 1024 * 1024

_OpenTransport: TypeAlias = "IdentityTransport[tuple[Transport, AbstractAsyncContextManager[Transport]]]"


class AuthorizedTransport:
    """Sends requests with the credentials of a `Config`, over transports that `opener` creates.

    After a 401 the credentials are renewed, and the request is sent once more; a stream is repeated only if
    the 401 is the response to its request. A request with its own Authorization header is sent unchanged. The
    task of one request enters the context of a transport and another task exits it, so the context must not
    contain a task group.
    """

    def __init__(
        self,
        config: Config,
        opener: Opener,
        *,
        clock: Callable[[], float] = time.time,
        save_tokens: Callable[[c.SaveTokens], None] | None = None,
    ) -> None:
        self._config = config
        self._opener = opener
        self._credentials = CredentialSource(
            config.identity, anyio.Event, self._spawn, clock=clock, save_tokens=save_tokens
        )
        self._transports: IdentityTransports[tuple[Transport, AbstractAsyncContextManager[Transport]]] = (
            IdentityTransports()
        )
        self._opening = anyio.Lock()
        self._renewal: Background | None = None
        self._closed = False
        self._loop = ""  # the event loop that the first request ran on: locks and sockets belong to it

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._config.connection!r})"

    @property
    def host(self) -> str:
        """The server's host and port, as metrics name it."""
        return urlsplit(self._config.connection.server).netloc.rpartition("@")[2]

    async def __aenter__(self) -> Self:
        self._check_loop()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; responses that are still arriving break, and nothing is sent any more."""
        self._closed = True
        if self._renewal is not None:
            await self._renewal.stop()
        with anyio.CancelScope(shield=True):
            async with self._opening:
                await _close(self._transports.clear())

    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[IncomingResponse]:
        """Send a request, and wait for the head of its response.

        Raise `CredentialsError` if there are no credentials.
        """

        def exchange(credentials: Credentials) -> AbstractAsyncContextManager[IncomingResponse]:
            return self._exchange(request, credentials, timeout, idle)

        return self._opened(request, exchange, lambda incoming: incoming.status == 401)

    def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[WebSocket]:
        """Turn a request into a WebSocket. Raise `LocalProtocolError` if the transports have none."""

        def upgraded(credentials: Credentials) -> AbstractAsyncContextManager[WebSocket]:
            return self._upgraded(request, credentials, timeout, idle)

        return self._opened(request, upgraded, lambda _: False)  # a refusal is raised

    @asynccontextmanager
    async def _opened(
        self,
        request: RawRequest,
        exchange: Callable[[Credentials], AbstractAsyncContextManager[T]],
        refuses: Callable[[T], bool],
    ) -> AsyncGenerator[T]:
        """Perform the effects of opening an exchange, and close the last opened exchange."""
        check_open(self._closed)
        self._check_loop()
        async with AsyncExitStack() as stack:

            async def perform(effect: OpenExchange | CloseExchange | c.Task | anyio.Event) -> object:
                match effect:
                    case OpenExchange(credentials):
                        return await stack.enter_async_context(exchange(credentials))
                    case CloseExchange():
                        await stack.aclose()
                    case effect:
                        return await self._perform(effect)
                return None

            yield await drive(self._credentials.open(request, refuses), perform)

    def _check_loop(self) -> None:
        running = event_loop()
        self._loop = self._loop or running
        if running != self._loop:
            raise LocalProtocolError(
                f"this client belongs to {self._loop}, and {running} runs here: call connect() in the"
                " event loop that uses the client"
            )

    @asynccontextmanager
    async def _upgraded(
        self, request: UpgradeRequest, credentials: Credentials, timeout: float | None, idle: float | None
    ) -> AsyncGenerator[WebSocket]:
        opened = self._transports.acquire(credentials.pair) or await self._open(credentials)
        transport, _ = opened.transport
        try:
            upgrade: _Upgrade | None = getattr(transport, "upgrade", None)
            if upgrade is None:
                raise LocalProtocolError(
                    f"{transport!r} has no WebSockets, which {request.verb} needs: use another transport"
                )
            async with upgrade(credentials.sign(request), timeout=timeout, idle=idle) as socket:
                yield socket
        finally:
            await _close(self._transports.release(opened))

    @asynccontextmanager
    async def _exchange(
        self, request: RawRequest, credentials: Credentials, timeout: float | None, idle: float | None
    ) -> AsyncGenerator[IncomingResponse]:
        opened = self._transports.acquire(credentials.pair) or await self._open(credentials)
        transport, _ = opened.transport
        try:
            async with transport.send(credentials.sign(request), timeout=timeout, idle=idle) as incoming:
                yield incoming
        finally:
            await _close(self._transports.release(opened))

    async def _open(self, credentials: Credentials) -> _OpenTransport:
        async with self._opening:  # ten concurrent requests need one transport
            check_open(self._closed)
            if opened := self._transports.acquire(credentials.pair):
                return opened
            context = self._opener(self._config.connection_for(credentials))
            opened = IdentityTransport((await context.__aenter__(), context), credentials.pair)
            old = self._transports.add(opened)
        await _close(old)
        return opened

    def _spawn(self, renewal: TaskEffects[anyio.Event, None]) -> None:
        """Renew in a separate task. The previous renewal has ended, or is about to end."""
        self._renewal = spawn(lambda: drive(renewal, self._perform))

    async def _perform(self, effect: c.Task | anyio.Event) -> c.Event | None:
        match effect:
            case c.ReadFiles(paths):
                return c.FilesRead(read_files(paths))
            case c.RunPlugin():
                return await run_plugin(effect)
            case c.Discover() | c.Redeem():
                return await self._send_to_provider(effect)
            case _:
                await effect.wait()
                check_open(self._closed)  # otherwise the waiting requests would begin another renewal
                return None

    async def _send_to_provider(self, request: c.ProviderRequest) -> c.Event:
        """Send a request to an identity provider, over a transport for this request only."""
        try:
            async with (
                self._opener(request.connection) as transport,
                transport.send(request.request, timeout=request.timeout) as incoming,
            ):
                body = bytearray()
                async for chunk in incoming:
                    body += chunk
                    if len(body) > MAX_PROVIDER_RESPONSE:
                        return c.Failed(f"the response is longer than {MAX_PROVIDER_RESPONSE} bytes")
                return c.Responded(incoming.status, incoming.headers, bytes(body))
        except KubeprotoError as error:
            return c.Failed(" ".join(str(error).split()))


def check_open(closed: bool) -> None:
    """Raise `LocalProtocolError` if the transport is closed."""
    if closed:
        raise LocalProtocolError("this client is closed: the context of connect() has exited")


async def _close(transports: list[_OpenTransport]) -> None:
    for opened in transports:
        with anyio.CancelScope(shield=True):
            _, context = opened.transport
            await context.__aexit__(None, None, None)
