"""`CredentialSource`: drives the credentials machine, for tasks on an event loop and for threads alike.

It does nothing that takes time: `obtain`, `renew` and a renewal are generators of effects (`_effects`). An
effect is a task of the machine, whose outcome is sent back, or a signal to wait for.

A renewal runs beside the requests: `spawn` drives it in a separate task or thread. So a request that is
cancelled does not end the renewal that it began, and requests use credentials that are still valid meanwhile.
The machine is notified of every end of a renewal: an exception is a failure, a cancellation abandons it, and
in both cases the waiting requests continue.
"""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from kubeproto import Unauthorized
from kubeproto.config import ConfigError, Credentials, credentials as c
from kubeproto.wire import header

from ._plugins import has_terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from kubeproto import RawRequest
    from kubeproto.config import Identity


class ChangeSignal(Protocol):
    """An event that is set once: an anyio or a threading Event."""

    def set(self) -> object:
        """Wake all tasks that wait."""
        ...

    def wait(self) -> Any:
        """Wait until it is set."""
        ...


S = TypeVar("S", bound=ChangeSignal)
T = TypeVar("T")

Opened = TypeVar("Opened")

TaskEffects: TypeAlias = "Generator[c.Task | S, Any, T]"
Opening: TypeAlias = "Generator[c.Task | S | OpenExchange | CloseExchange, Any, T]"

_log: Final = logging.getLogger("kubeproto.credentials")


class OpenExchange(Struct, frozen=True):
    """Open the exchange with these credentials; the effect returns the opened exchange."""

    credentials: Credentials


class CloseExchange(Struct, frozen=True):
    """Close the opened exchange."""


class CredentialSource(Generic[S]):
    """The credentials of a user. `clock` returns Unix time, `save_tokens` stores renewed tokens."""

    def __init__(
        self,
        identity: Identity,
        signal: Callable[[], S],
        spawn: Callable[[TaskEffects[S, None]], object],
        *,
        clock: Callable[[], float] = time.time,
        save_tokens: Callable[[c.SaveTokens], None] | None = None,
    ) -> None:
        self._state = c.begin(identity, clock(), has_terminal=has_terminal())
        self._signal = signal
        self._spawn = spawn
        self._changed = signal()
        self._clock = clock
        self._save_tokens = save_tokens
        self._lock = Lock()  # a step takes microseconds, so tasks of an event loop may hold it too
        self._warned = ""

    def obtain(self) -> TaskEffects[S, Credentials]:
        """Return credentials for a request. Raise `CredentialsError` if there are none."""
        while True:
            outcome, changed = yield from self._advance(c.CredentialsRequested())
            match outcome:
                case c.UseCredentials(credentials):
                    return credentials
                case c.RefuseRequest():
                    raise outcome.error
                case _:
                    yield changed

    def renew(self, refused: Credentials) -> TaskEffects[S, Credentials | None]:
        """Return credentials other than those that got a 401; None if there are no others."""
        yield from self._advance(c.CredentialsRejected(refused.generation))
        credentials = yield from self.obtain()
        return credentials if credentials.generation != refused.generation else None

    def open(self, request: RawRequest, refuses: Callable[[Opened], bool]) -> Opening[S, Opened]:
        """Open an exchange with credentials, and after a 401 once more with renewed credentials.

        `refuses` returns whether the opened exchange is a 401; an upgrade raises `Unauthorized` instead. A
        request with its own Authorization header is sent unchanged.
        """
        credentials = yield from self.obtain()
        uses_own_credentials = not header(request.headers, "authorization")
        try:
            opened: Opened = yield OpenExchange(credentials)
        except Unauthorized:
            renewed = (yield from self.renew(credentials)) if uses_own_credentials else None
            if renewed is None:
                raise
        else:
            renewed = (
                (yield from self.renew(credentials)) if uses_own_credentials and refuses(opened) else None
            )
            if renewed is None:
                return opened
        yield CloseExchange()
        opened = yield OpenExchange(renewed)
        return opened

    def _advance(self, event: c.Event) -> TaskEffects[S, tuple[c.Action | None, S]]:
        """Step the machine, and begin a renewal if it is due.

        Return the action, and the signal that the next step sets.
        """
        actions, changed = self._step(event)
        outcome: c.Action | None = None
        for action in actions:
            match action:
                case c.ReadFiles():  # it takes no time, and this request needs the content
                    yield from self._run_tasks(action)
                    return (yield from self._advance(c.CredentialsRequested()))
                case c.RunPlugin() | c.Discover() | c.Redeem():
                    self._spawn(self._run_tasks(action))
                case c.Warn(reason):
                    self._warn(reason)
                case c.CloseConnections() | c.SaveTokens():
                    pass
                case c.UseCredentials() | c.Wait() | c.RefuseRequest():
                    outcome = action
        return outcome, changed

    def _run_tasks(self, task: c.Task) -> TaskEffects[S, None]:
        """Perform a task and all tasks that follow from it."""
        planned: c.Task | None = task
        try:
            while planned is not None:
                planned = yield from self._perform_task(planned)
        except GeneratorExit:
            self._step(c.Cancelled())
            raise

    def _perform_task(self, task: c.Task) -> TaskEffects[S, c.Task | None]:
        """Perform one task and pass its outcome to the machine; return the next task, if there is one."""
        try:
            actions, _ = self._step((yield task) or c.Failed("it was cancelled"))
        except Exception as error:  # otherwise the machine would wait forever, and every request with it
            _log.debug("a renewal of credentials failed", exc_info=True)
            actions, _ = self._step(c.Failed(f"it ended with {type(error).__name__}"))
        following: c.Task | None = None
        for action in actions:
            match action:
                case c.ReadFiles() | c.RunPlugin() | c.Discover() | c.Redeem():
                    following = action
                case c.SaveTokens():
                    self._write_tokens(action)
                case c.Warn(reason):
                    self._warn(reason)
                case _:
                    pass  # the pool checks the client certificate of its connections
        return following

    def _step(self, event: c.Event) -> tuple[tuple[c.Action, ...], S]:
        with self._lock:
            state, actions = c.step(self._state, event, self._clock())
            if state is not self._state:
                self._state = state
                self._changed.set()
                self._changed = self._signal()
            return actions, self._changed

    def _write_tokens(self, tokens: c.SaveTokens) -> None:
        if self._save_tokens is None:
            return
        try:
            self._save_tokens(tokens)
        except ConfigError as error:
            self._warn(f"the renewed login will be lost when this program ends: {error}")

    def _warn(self, reason: str) -> None:
        """Log a repeated failure once: each request with a wrong token is refused."""
        if reason != self._warned:
            self._warned = reason
            _log.warning("%s", reason)
