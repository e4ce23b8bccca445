"""`ClusterDriver`: keeps a cluster on real time, and responds to requests whatever fails inside.

The cluster is a machine: it acts when it is called, and when its clock is moved. The driver moves the clock
when something is due, and lets the cluster's controllers work after changes, at most a few times in a
hundredth of a second: a burst of writes costs them one run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from kubeproto import TransportError
from kubeproto.wire import code_of
from kubeproto_sim import PendingCalls, ServerResponse

from ._webhook_caller import WebhookCaller

if TYPE_CHECKING:
    from anyio.abc import TaskStatus

    from kubeproto.wire import Head
    from kubeproto_sim import Cluster, Conversation, Faults, User, WebhookCall, WebhookReply

    from ._journal import Journal

_log: Final = logging.getLogger("kubeproto.serve")

_PAUSE: Final = 0.01  # seconds between two looks at what is due
_LONGEST: Final = 3600.0
_INTERNAL: Final = msgspec.json.encode({
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "Internal error occurred: the simulated API server failed on this request; its log says where",
    "reason": "InternalError", "code": code_of("InternalError"),
}) + b"\n"  # fmt: skip


# How often one request may be repeated for webhooks: each mutating one is a round, and so is a change
# between.
_ROUNDS: Final = 100


def _internal_error() -> ServerResponse:
    headers = (("Content-Type", "application/json"), ("Content-Length", str(len(_INTERNAL))))
    return ServerResponse(500, headers, _INTERNAL)


class ClusterDriver:
    """Drives one cluster for as long as `run` runs."""

    def __init__(
        self, cluster: Cluster, *, faults: Faults | None = None, journal: Journal | None = None,
        wall: Callable[[], float] = time.time, webhooks: WebhookCaller | None = None,
    ) -> None:  # fmt: skip
        self.cluster = cluster
        self._respond = cluster.respond if faults is None else faults.respond
        self._journal = journal
        self._webhooks = webhooks or WebhookCaller()
        self._wall = wall
        self._woken = anyio.Event()
        self._offset: float | None = None

    async def respond(self, head: Head, user: User | None = None) -> ServerResponse:
        """Respond to a request of a user, or of the one in its headers; call the webhooks that it needs."""
        replies: dict[str, WebhookReply] = {}
        for _ in range(_ROUNDS):
            try:
                return self._attempt(head, user, replies)
            except PendingCalls as pending:
                async with anyio.create_task_group() as tasks:
                    for call in pending.calls:
                        tasks.start_soon(self._call, call, replies)
        _log.error("webhooks were called %d times for %s, and more were to come", _ROUNDS, head.method)
        return _internal_error()

    async def _call(self, call: WebhookCall, replies: dict[str, WebhookReply]) -> None:
        replies[call.key] = await self._webhooks.call(call)

    async def _call_for_watches(self, call: WebhookCall) -> None:
        self.cluster.take_reply(call, await self._webhooks.call(call))

    def _attempt(self, head: Head, user: User | None, replies: Mapping[str, WebhookReply]) -> ServerResponse:
        """Respond to a request, or raise `PendingCalls`.

        An error inside the machine is a 500 and a line in the log.
        What a write has changed is in the journal before its response is returned.
        """
        try:
            # Nothing may have been due for minutes, and the clock would still show the time of the last
            # event.
            self.cluster.show_time(self._now())
            return self._respond(head, user, replies)
        except (TransportError, PendingCalls):
            raise  # a requested fault: the connection breaks; or webhooks have to be called first
        except Exception:
            path = head.target.partition("?")[0]
            _log.exception("the simulated API server failed on %s %s", head.method, path)
            return _internal_error()
        finally:
            if self._journal is not None:
                self._journal.commit()

    def feed(self, conversation: Conversation, message: bytes) -> None:
        """Hand a message of a client to a pod; an error of its handler ends the conversation."""
        try:
            self.cluster.show_time(self._now())
            conversation.feed(message)
        except Exception:
            _log.exception("a handler of the simulated cluster failed on a message")
            conversation.close()
        finally:
            self.wake()  # a command may be waiting for a time now

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Move the clock until cancelled; started once the cluster is on time."""
        cluster = self.cluster
        # Objects carry the time of this machine, so that its clients can compare them with their own clock.
        self._offset = max(cluster.now, self._wall()) - anyio.current_time()
        before = cluster.on_due
        cluster.on_due = self.wake
        # In one step, and not event by event: nodes may have renewed a lease every ten seconds, for months.
        cluster.show_time(self._now())
        self._advance()
        task_status.started()
        try:
            async with anyio.create_task_group() as calls:
                while True:
                    self._woken = anyio.Event()
                    self._advance()
                    for call in cluster.background_calls():
                        calls.start_soon(self._call_for_watches, call)
                    due = cluster.due
                    wait = _LONGEST if due is None else max(due - self._now(), 0.0)
                    with anyio.move_on_after(wait):
                        await self._woken.wait()
                    await anyio.sleep(_PAUSE)
        finally:
            cluster.on_due = before

    def _now(self) -> float:
        return anyio.current_time() + (self._offset or 0.0)

    def wake(self) -> None:
        """Check at once what is due: something may be due earlier than before."""
        self._woken.set()

    def _advance(self) -> None:
        try:
            self.cluster.advance_to(self._now())
        except Exception:
            _log.exception("a controller of the simulated cluster failed")
        finally:
            if self._journal is not None:
                self._journal.commit()
