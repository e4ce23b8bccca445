"""`BlockingAuthorizedTransport`: a transport with credentials, for threads; see `AuthorizedTransport`."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Self, TypeAlias

from kubeproto import BlockingIncomingResponse, BlockingTransport, KubeprotoError, RawRequest
from kubeproto.config import credentials as c

from ..calls._effects import drive_blocking
from ..credentials._authorized_transport import MAX_PROVIDER_RESPONSE, check_open
from ..credentials._credential_source import CloseExchange, CredentialSource, OpenExchange
from ..credentials._files import read_files
from ..credentials._identity_transports import IdentityTransport, IdentityTransports
from ..credentials._plugins import run_plugin_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kubeproto.config import Config, Connection, Credentials

    from ..credentials._credential_source import TaskEffects

BlockingOpener: TypeAlias = "Callable[[Connection], AbstractContextManager[BlockingTransport]]"

_OpenTransport: TypeAlias = (
    "IdentityTransport[tuple[BlockingTransport, AbstractContextManager[BlockingTransport]]]"
)


class BlockingAuthorizedTransport:
    """Sends requests with the credentials of a `Config`, over transports that `opener` creates.

    After a 401 the credentials are renewed, and the request is sent once more; a stream is repeated only if
    the 401 is the response to its request. A request with its own Authorization header is sent unchanged.
    Threads may share this transport if they may share those of `opener`.
    """

    def __init__(
        self,
        config: Config,
        opener: BlockingOpener,
        *,
        clock: Callable[[], float] = time.time,
        save_tokens: Callable[[c.SaveTokens], None] | None = None,
    ) -> None:
        self._config = config
        self._opener = opener
        self._credentials = CredentialSource(
            config.identity, Event, self._spawn, clock=clock, save_tokens=save_tokens
        )
        self._transports: IdentityTransports[
            tuple[BlockingTransport, AbstractContextManager[BlockingTransport]]
        ] = IdentityTransports()
        self._opening = Lock()
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._config.connection!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; responses that are still arriving break, and nothing is sent any more."""
        self._closed = True
        with self._opening:
            _close(self._transports.clear())

    @contextmanager
    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingIncomingResponse]:
        """Send a request, and wait for the head of its response.

        Raise `CredentialsError` if there are no credentials.
        """
        check_open(self._closed)
        with ExitStack() as stack:

            def perform(effect: OpenExchange | CloseExchange | c.Task | Event) -> object:
                match effect:
                    case OpenExchange(credentials):
                        return stack.enter_context(self._exchange(request, credentials, timeout, idle))
                    case CloseExchange():
                        stack.close()
                    case effect:
                        return self._perform(effect)
                return None

            yield drive_blocking(self._credentials.open(request, _refuses), perform)

    @contextmanager
    def _exchange(
        self, request: RawRequest, credentials: Credentials, timeout: float | None, idle: float | None
    ) -> Generator[BlockingIncomingResponse]:
        opened = self._transports.acquire(credentials.pair) or self._open(credentials)
        transport, _ = opened.transport
        try:
            with transport.send(credentials.sign(request), timeout=timeout, idle=idle) as incoming:
                yield incoming
        finally:
            _close(self._transports.release(opened))

    def _open(self, credentials: Credentials) -> _OpenTransport:
        with self._opening:  # ten concurrent requests need one transport
            check_open(self._closed)
            if opened := self._transports.acquire(credentials.pair):
                return opened
            context = self._opener(self._config.connection_for(credentials))
            opened = IdentityTransport((context.__enter__(), context), credentials.pair)
            old = self._transports.add(opened)
        _close(old)
        return opened

    def _spawn(self, renewal: TaskEffects[Event, None]) -> None:
        """Renew in a daemon thread, which does not keep the program from ending."""
        Thread(
            target=drive_blocking, args=(renewal, self._perform), name="kubeproto-renewal", daemon=True
        ).start()

    def _perform(self, effect: c.Task | Event) -> c.Event | None:
        match effect:
            case c.ReadFiles(paths):
                return c.FilesRead(read_files(paths))
            case c.RunPlugin():
                return run_plugin_blocking(effect)
            case c.Discover() | c.Redeem():
                return self._send_to_provider(effect)
            case _:
                effect.wait()
                check_open(self._closed)  # otherwise the waiting requests would begin another renewal
                return None

    def _send_to_provider(self, request: c.ProviderRequest) -> c.Event:
        """Send a request to an identity provider, over a transport for this request only."""
        try:
            with (
                self._opener(request.connection) as transport,
                transport.send(request.request, timeout=request.timeout) as incoming,
            ):
                body = bytearray()
                for chunk in incoming:
                    body += chunk
                    if len(body) > MAX_PROVIDER_RESPONSE:
                        return c.Failed(f"the response is longer than {MAX_PROVIDER_RESPONSE} bytes")
                return c.Responded(incoming.status, incoming.headers, bytes(body))
        except KubeprotoError as error:
            return c.Failed(" ".join(str(error).split()))


def _close(transports: list[_OpenTransport]) -> None:
    for opened in transports:
        _, context = opened.transport
        context.__exit__(None, None, None)


def _refuses(incoming: BlockingIncomingResponse) -> bool:
    return incoming.status == 401
