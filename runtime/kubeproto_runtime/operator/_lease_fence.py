"""`LeaseFence`: refuses the writes of an operator that no longer holds its lease.

Three mechanisms end a term. Each of them covers cases that the others miss:

1. **Cancellation of the work.** `LeaderElector` cancels it when the renewal deadline passes, or when another
   process has the lease. This ends nearly every run. But a cancellation is only delivered when a task waits:
   code in a `finally` or in a shielded scope continues, a thread is not cancelled, and a run that computes
   for seconds writes before it is cancelled.
2. **`may_begin` of the workers.** No run begins while this process does not lead. Cancellation does not
   ensure that: the event loop may be blocked beyond the deadline and then take a key before the timer of
   the election fires, and a worker that is started in a cancelled task group runs (on asyncio until its end
   while only shielded tasks are left in the group, on trio until its first checkpoint). The fence alone
   would let such a run act on other systems than the API server.
3. **The fence.** No write is sent when another process may hold the lease, by the clock of the election and
   not by a timer. A process that was stopped (SIGSTOP, a paused virtual machine) continues in the middle of a
   run and sends before any timer fires, and a write can wait for its rate, a token or a connection for longer
   than the lease lasts. So a client checks when it sends, and the transport checks again (`RawRequest.check`)
   when the first byte is about to leave.

The fence is the most lenient of the three: cancelled work may write until the lease has expired.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..calls._outgoing import LeaseLost, current_fence

if TYPE_CHECKING:
    from collections.abc import Generator

    from kubeproto import RawRequest

    from ._election import Election


class LeaseFence:
    """Refuses the writes of the tasks of an operator when its election no longer holds the lease."""

    def __init__(self, election: Election) -> None:
        self._election = election

    @contextmanager
    def enclose(self) -> Generator[None]:
        """Fence this task, and every task and thread of `anyio.to_thread` that it starts."""
        token = current_fence.set(self)
        try:
            yield
        finally:
            current_fence.reset(token)

    def check(self, request: RawRequest) -> None:
        """Raise `LeaseLost` unless the lease is held."""
        if not self._election.holds:
            raise LeaseLost(
                f"{request.label} was not sent: this process no longer holds the lease {self._election.name},"
                " and another process may be working on the same objects"
            )
