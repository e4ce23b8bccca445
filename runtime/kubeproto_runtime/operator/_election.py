"""What an operator needs from an election."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kubeproto.control import election as elections


class Election(Protocol):
    """Lets one of several processes work; `LeaderElector` is one on a Lease."""

    @property
    def name(self) -> str:
        """What it is about, for people and metrics."""
        ...

    @property
    def leadership_status(self) -> elections.LeadershipStatus:
        """Whether this process leads, who does, and whether the election works."""
        ...

    @property
    def holds(self) -> bool:
        """Whether no other process can lead at this moment: somewhat longer than this one does.

        Until then, work that is ending may still write.
        """
        ...

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait until this process leads, run `work`, and release the lease when that returns.

        When it no longer leads, `work` is cancelled before another process can begin; it may be run again.
        """
        ...
