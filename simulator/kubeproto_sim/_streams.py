"""`Stream` and `Conversation`: the interfaces of response bodies that stay open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable


class Stream(Protocol):
    """Bytes that arrive as time passes. `wake` is called when bytes may have arrived."""

    wake: Callable[[], None] | None

    @property
    def ended(self) -> bool:
        """Whether no more bytes will arrive; `take` may still return some."""
        ...

    def take(self) -> bytes:
        """Return the bytes since the last call."""
        ...

    def close(self) -> None:
        """Close the stream: the client has stopped reading."""
        ...


@runtime_checkable
class Conversation(Stream, Protocol):
    """The messages of an upgraded request, in both directions. `take` returns one message."""

    protocol: str

    def feed(self, message: bytes) -> None:
        """Receive a message of the client."""
        ...
