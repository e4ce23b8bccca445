"""`ClusterDriver`: drives the clock of a cluster by real time, and responds to requests.

A cluster acts only when it is called or its clock advances. The driver advances the clock when something is
due, and runs the cluster's controllers after changes. It waits a hundredth of a second after each run, so a
burst of writes costs the controllers one run.
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

    from kubeproto.wire import RawRequest
    from kubeproto_sim import Cluster, Conversation, Faults, User, WebhookCall, WebhookReply

    from ._journal import Journal

_log: Final = logging.getLogger("kubeproto.serve")

_MIN_INTERVAL: Final = 0.01  # seconds between two runs of the controllers
_MAX_SLEEP: Final = 3600.0
_INTERNAL: Final = msgspec.json.encode({
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "Internal error occurred: the simulated API server failed on this request; its log says where",
    "reason": "InternalError", "code": code_of("InternalError"),
}) + b"\n"  # fmt: skip


# The limit of repetitions of a request for webhooks. Each mutating webhook needs one, and each change by
# another client between two attempts needs another.
_MAX_ATTEMPTS: Final = 100


def _internal_error() -> ServerResponse:
    headers = (("Content-Type", "application/json"), ("Content-Length", str(len(_INTERNAL))))
    return ServerResponse(500, headers, _INTERNAL)


class ClusterDriver:
    """Drives one cluster while `run` runs."""

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

    async def respond(self, request: RawRequest, user: User | None = None) -> ServerResponse:
        """Respond to a request, and call the webhooks that it needs.

        Without `user`, its headers determine the user.
        """
        replies: dict[str, WebhookReply] = {}
        for _ in range(_MAX_ATTEMPTS):
            try:
                return self._attempt(request, user, replies)
            except PendingCalls as pending:
                async with anyio.create_task_group() as tasks:
                    for call in pending.calls:
                        tasks.start_soon(self._call, call, replies)
        _log.error(
            "%d attempts of a request (%s) were not enough to call all its webhooks",
            _MAX_ATTEMPTS,
            request.method,
        )
        return _internal_error()

    async def _call(self, call: WebhookCall, replies: dict[str, WebhookReply]) -> None:
        replies[call.key] = await self._webhooks.call(call)

    async def _call_for_watches(self, call: WebhookCall) -> None:
        self.cluster.take_reply(call, await self._webhooks.call(call))

    def _attempt(
        self, request: RawRequest, user: User | None, replies: Mapping[str, WebhookReply]
    ) -> ServerResponse:
        """Respond to a request, or raise `PendingCalls`.

        An error inside the cluster becomes a 500 and a line in the log. Changes are in the journal before the
        response is returned.
        """
        try:
            # Without this, the clock would show the time of the last event, which may be minutes ago.
            self.cluster.show_time(self._now())
            return self._respond(request, user, replies)
        except (TransportError, PendingCalls):
            raise  # an injected fault breaks the connection, or webhooks have to be called first
        except Exception:
            path = request.target.partition("?")[0]
            _log.exception("the simulated API server failed on %s %s", request.method, path)
            return _internal_error()
        finally:
            if self._journal is not None:
                self._journal.commit()

    def feed(self, conversation: Conversation, message: bytes) -> None:
        """Pass a message of a client to a pod; an error of its handler closes the conversation."""
        try:
            self.cluster.show_time(self._now())
            conversation.feed(message)
        except Exception:
            _log.exception("a handler of the simulated cluster failed on a message")
            conversation.close()
        finally:
            self.wake()  # a command may have a new wake-up time

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Advance the clock until cancelled; started when the cluster has reached real time."""
        cluster = self.cluster
        # Objects have the time of this computer, so that clients can compare it with their clocks.
        self._offset = max(cluster.now, self._wall()) - anyio.current_time()
        previous_on_due = cluster.on_due
        cluster.on_due = self.wake
        # In a single step: event by event, nodes would renew their leases every ten seconds, for months.
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
                    next_time = cluster.next_due
                    wait = _MAX_SLEEP if next_time is None else max(next_time - self._now(), 0.0)
                    with anyio.move_on_after(wait):
                        await self._woken.wait()
                    await anyio.sleep(_MIN_INTERVAL)
        finally:
            cluster.on_due = previous_on_due

    def _now(self) -> float:
        return anyio.current_time() + (self._offset or 0.0)

    def wake(self) -> None:
        """Wake `run`, because something may be due earlier than before."""
        self._woken.set()

    def _advance(self) -> None:
        try:
            self.cluster.advance_to(self._now())
        except Exception:
            _log.exception("a controller of the simulated cluster failed")
        finally:
            if self._journal is not None:
                self._journal.commit()
