"""The effects of the logic of a client, and the two drivers that perform them.

The decisions of a client (retries, pages, conflicts, waiting, applying, credentials) are generators, which
both clients share. They do no I/O: they yield an effect, and receive its outcome or its error. `drive` awaits
each effect on an event loop, `drive_blocking` performs it in the calling thread::

    def entry(client, api, name) -> Effects[K]:
        reply = yield from call(client, api.get(name))     # yields Admit, SendRequest, SleepUntil
        ...

A cancelled generator is closed at its current effect, so that its `finally` runs immediately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from kubeproto import Headers, RawRequest
from kubeproto.watching import resync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

T = TypeVar("T")
Y = TypeVar("Y")

Effects: TypeAlias = "Generator[Effect, Any, T]"


class SendRequest(Struct, frozen=True):
    """Send a request, and read its complete response; the outcome is a `CompleteResponse`."""

    request: RawRequest
    timeout: float | None
    idle: float | None


class CompleteResponse(Struct, frozen=True):
    """A response with its complete body."""

    status: int
    headers: Headers
    body: bytes
    truncation: str = ""
    """The reason why an error was not read completely; empty if it was."""


class Admit(Struct, frozen=True):
    """Wait until the rate of the client permits another request."""

    deadline: float


class SleepUntil(Struct, frozen=True):
    """Wait until a time on the clock of the client."""

    deadline: float


class Follow(Struct, frozen=True, kw_only=True):
    """Follow objects until the observer has finished, or until a time."""

    requests: Any  # an `Api`, which a Struct could not name: it resolves its annotations
    observer: Any  # an `Observer`
    settings: resync.Settings
    version: str
    selection: dict[str, Any]
    until: float


Effect: TypeAlias = SendRequest | Admit | SleepUntil | Follow


async def drive(effects: Generator[Y, Any, T], perform: Callable[[Y], Awaitable[Any]]) -> T:
    """Perform effects on an event loop, until the generator ends or the task is cancelled."""
    try:
        effect = next(effects)
        while True:
            try:
                outcome = await perform(effect)
            except Exception as error:
                effect = effects.throw(error)
            else:
                effect = effects.send(outcome)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        effects.close()


def drive_blocking(effects: Generator[Y, Any, T], perform: Callable[[Y], Any]) -> T:
    """Perform effects in this thread."""
    try:
        effect = next(effects)
        while True:
            try:
                outcome = perform(effect)
            except Exception as error:
                effect = effects.throw(error)
            else:
                effect = effects.send(outcome)
    except StopIteration as end:
        result: T = end.value
        return result
    finally:
        effects.close()
