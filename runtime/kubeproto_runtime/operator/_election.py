"""`Election`: the interface of an operator to a leader election."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from kubeproto.control import election as elections


class Election(Protocol):
    """Allows only one of several processes to work; `LeaderElector` is an election on a Lease."""

    @property
    def name(self) -> str:
        """The name for logs and metrics."""
        ...

    @property
    def leadership_status(self) -> elections.LeadershipStatus:
        """Whether this process leads, the leader, and whether the election works."""
        ...

    @property
    def holds(self) -> bool:
        """Whether no other process can lead at this moment. If False, `LeaseFence` refuses writes.

        This is True for some time after this process leads: cancelled work may write while it cleans up.
        """
        ...

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Wait until this process leads, run `work`, and release the lease when `work` returns.

        When the process no longer leads, `work` is cancelled before another process can begin. It is called
        again when the process leads again.
        """
        ...
