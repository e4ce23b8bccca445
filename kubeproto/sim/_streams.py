"""What a body that goes on can do, be it a watch or a watch with something wrong on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Stream(Protocol):
    """Bytes that come as time passes. `wake` is called when something may have come."""

    wake: Callable[[], None] | None

    @property
    def ended(self) -> bool:
        """Whether nothing will come any more, beyond what `take` still gives."""
        ...

    def take(self) -> bytes:
        """What has come since the last time."""
        ...

    def close(self) -> None:
        """Nobody listens any more."""
        ...
