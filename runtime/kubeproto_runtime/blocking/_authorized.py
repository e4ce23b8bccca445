"""`BlockingAuthorized`: the transport with credentials, for threads; it performs what `Authorized` does."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Self, TypeAlias

from kubeproto import BlockingIncoming, BlockingTransport, KubeprotoError, RawRequest
from kubeproto.config import credentials as c

from ..calls._effects import drive_blocking
from ..credentials._authorized import MAX_PROVIDER_RESPONSE, check_open
from ..credentials._credential_source import CredentialSource, Leave, Open
from ..credentials._files import read_all
from ..credentials._identity_transports import IdentityTransport, IdentityTransports
from ..credentials._plugins import run_plugin_blocking

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kubeproto.config import Config, Connection, Credentials

    from ..credentials._credential_source import TaskEffects

BlockingOpener: TypeAlias = "Callable[[Connection], AbstractContextManager[BlockingTransport]]"

_Line: TypeAlias = "IdentityTransport[tuple[BlockingTransport, AbstractContextManager[BlockingTransport]]]"


class BlockingAuthorized:
    """Carries requests with the credentials of a `Config`, over transports that `opener` makes for it.

    A 401 renews them once, and the request is sent once more, a stream at its opening. A request that has
    an Authorization of its own is left alone. Threads may share it, if they may share such a transport.
    """

    def __init__(
        self,
        config: Config,
        opener: BlockingOpener,
        *,
        clock: Callable[[], float] = time.time,
        keep: Callable[[c.SaveTokens], None] | None = None,
    ) -> None:
        self._config = config
        self._opener = opener
        self._keys = CredentialSource(config.identity, Event, self._spawn, clock=clock, keep=keep)
        self._lines: IdentityTransports[
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
            _close(self._lines.clear())

    @contextmanager
    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[BlockingIncoming]:
        """Send a request and wait for the head of its response; without credentials a `CredentialsError`."""
        check_open(self._closed)
        with ExitStack() as stack:

            def do(effect: Open | Leave | c.Task | Event) -> object:
                match effect:
                    case Open(credentials):
                        return stack.enter_context(self._exchange(request, credentials, timeout, idle))
                    case Leave():
                        stack.close()
                    case effect:
                        return self._do(effect)
                return None

            yield drive_blocking(self._keys.open(request, _refuses), do)

    @contextmanager
    def _exchange(
        self, request: RawRequest, credentials: Credentials, timeout: float | None, idle: float | None
    ) -> Generator[BlockingIncoming]:
        line = self._lines.take(credentials.pair) or self._open(credentials)
        transport, _ = line.transport
        try:
            with transport.send(credentials.sign(request), timeout=timeout, idle=idle) as incoming:
                yield incoming
        finally:
            _close(self._lines.release(line))

    def _open(self, credentials: Credentials) -> _Line:
        with self._opening:  # ten concurrent requests need one transport
            check_open(self._closed)
            if line := self._lines.take(credentials.pair):
                return line
            context = self._opener(self._config.connection_for(credentials))
            line = IdentityTransport((context.__enter__(), context), credentials.pair)
            old = self._lines.add(line)
        _close(old)
        return line

    def _spawn(self, renewal: TaskEffects[Event, None]) -> None:
        """Renew in a daemon thread, which does not keep the program from ending."""
        Thread(target=drive_blocking, args=(renewal, self._do), name="kubeproto-renewal", daemon=True).start()

    def _do(self, effect: c.Task | Event) -> c.Event | None:
        match effect:
            case c.ReadFiles(paths):
                return c.FilesRead(read_all(paths))
            case c.RunPlugin():
                return run_plugin_blocking(effect)
            case c.Discover() | c.Redeem():
                return self._ask(effect)
            case _:
                effect.wait()
                check_open(self._closed)  # otherwise the waiting requests would begin another renewal
                return None

    def _ask(self, ask: c.ProviderRequest) -> c.Event:
        """Ask an identity provider, over a transport for this one request."""
        try:
            with (
                self._opener(ask.connection) as transport,
                transport.send(ask.request, timeout=ask.timeout) as incoming,
            ):
                body = bytearray()
                for piece in incoming:
                    body += piece
                    if len(body) > MAX_PROVIDER_RESPONSE:
                        return c.Failed(f"the response is longer than {MAX_PROVIDER_RESPONSE} bytes")
                return c.Responded(incoming.status, incoming.headers, bytes(body))
        except KubeprotoError as error:
            return c.Failed(" ".join(str(error).split()))


def _close(lines: list[_Line]) -> None:
    for line in lines:
        _, context = line.transport
        context.__exit__(None, None, None)


def _refuses(incoming: BlockingIncoming) -> bool:
    return incoming.status == 401
