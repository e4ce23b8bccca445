"""`Keyring`: drives the credentials machine, for tasks on an event loop and for threads alike.

What takes time is not done here. `obtain` and `renew` are generators that yield errands: a task of the
machine, to be told by what came of it, or a signal to be waited for. So there is one way to drive the
machine, and two ways to run errands: `run_errands` for an event loop, `run_errands_blocking` for threads.

Whoever asks first performs the task, and others wait for it. An errand that is given up (its generator is
closed, because whoever ran it was cancelled) is abandoned, and one of those who wait takes over.
"""

from __future__ import annotations

import logging
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeAlias, TypeVar

from kubeproto.config import ConfigError, Credentials
from kubeproto.config import credentials as c

from ._plugins import terminal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from kubeproto.config import Identity


class Signal(Protocol):
    """An event that is set once: anyio's, or that of threads."""

    def set(self) -> object:
        """Let all who wait go on."""
        ...

    def wait(self) -> Any:
        """Wait until it is set."""
        ...


S = TypeVar("S", bound=Signal)
T = TypeVar("T")

# What an errand is, and how it is run: a task gives its event, waiting gives nothing.
Errands: TypeAlias = "Generator[c.Task | S, c.Event | None, T]"

_log: Final = logging.getLogger("kubeproto.credentials")


class Keyring(Generic[S]):
    """The credentials of one user. `clock` gives Unix time, `keep` puts renewed tokens where they belong."""

    def __init__(
        self,
        identity: Identity,
        signal: Callable[[], S],
        *,
        clock: Callable[[], float] = time.time,
        keep: Callable[[c.Keep], None] | None = None,
    ) -> None:
        self._state = c.begin(identity, clock(), terminal=terminal())
        self._signal = signal
        self._changed = signal()
        self._clock = clock
        self._keep = keep
        self._lock = Lock()  # a step takes microseconds, so tasks of an event loop may hold it too
        self._warned = ""

    def obtain(self) -> Errands[S, Credentials]:
        """Credentials for a request, or the `CredentialsError` that says why there are none."""
        while True:
            performed, answer, changed = yield from self._tell(c.Wanted())
            match answer:
                case _ if performed:
                    pass  # what the machine said before is old by now
                case c.Use(credentials):
                    return credentials
                case c.Refuse():
                    raise answer.error
                case _:
                    yield changed

    def renew(self, refused: Credentials) -> Errands[S, Credentials | None]:
        """Other credentials than those that a 401 was the answer to; None if there are no others."""
        yield from self._tell(c.Unauthorized(refused.generation))
        credentials = yield from self.obtain()
        return credentials if credentials.generation != refused.generation else None

    def _tell(self, event: c.Event) -> Errands[S, tuple[bool, c.Action | None, S]]:
        """Step and perform. Gives whether there was a task, the answer, and what the next step sets."""
        actions, changed = self._step(event)
        answer: c.Action | None = None
        performed = False
        for action in actions:
            match action:
                case c.ReadFiles() | c.RunPlugin() | c.Discover() | c.Redeem():
                    performed = True
                    yield from self._perform(action)
                case c.Keep():
                    self._put_away(action)
                case c.Warn(why):
                    self._warn(why)
                case c.CloseConnections():
                    pass  # whoever lends connections looks at the certificate that they show
                case c.Use() | c.Wait() | c.Refuse():
                    answer = action
        return performed, answer, changed

    def _perform(self, task: c.Task) -> Errands[S, None]:
        came: c.Event = c.Abandoned()
        try:
            came = (yield task) or came
        finally:
            if isinstance(came, c.Abandoned):
                self._step(came)
        yield from self._tell(came)

    def _step(self, event: c.Event) -> tuple[tuple[c.Action, ...], S]:
        with self._lock:
            state, actions = c.step(self._state, event, self._clock())
            if state is not self._state:
                self._state = state
                self._changed.set()
                self._changed = self._signal()
            return actions, self._changed

    def _put_away(self, tokens: c.Keep) -> None:
        if self._keep is None:
            return
        try:
            self._keep(tokens)
        except ConfigError as error:
            self._warn(f"the renewed login will be lost when this program ends: {error}")

    def _warn(self, why: str) -> None:
        """Say it once in a row: a token that is wrong is refused with every request."""
        if why != self._warned:
            self._warned = why
            _log.warning("%s", why)


async def run_errands(errands: Errands[S, T], run: Callable[[c.Task | S], Awaitable[c.Event | None]]) -> T:
    """Run errands on an event loop, to the end or until this is cancelled."""
    try:
        errand = next(errands)
        while True:
            errand = errands.send(await run(errand))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        errands.close()


def run_errands_blocking(errands: Errands[S, T], run: Callable[[c.Task | S], c.Event | None]) -> T:
    """Run errands in a thread."""
    try:
        errand = next(errands)
        while True:
            errand = errands.send(run(errand))
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        errands.close()
