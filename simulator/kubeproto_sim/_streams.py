"""The interface of the body of an open response: a watch, or a watch with a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable


class Stream(Protocol):
    """Bytes that arrive as time passes. `wake` is called when there may be some."""

    wake: Callable[[], None] | None

    @property
    def ended(self) -> bool:
        """Whether no more bytes will come, beyond what `take` still returns."""
        ...

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        ...

    def close(self) -> None:
        """Close the stream: the client has stopped reading."""
        ...


@runtime_checkable
class Conversation(Stream, Protocol):
    """The messages of a request that was upgraded, in both directions. `take` returns one at a time."""

    protocol: str

    def feed(self, message: bytes) -> None:
        """Take a message of the client."""
        ...
