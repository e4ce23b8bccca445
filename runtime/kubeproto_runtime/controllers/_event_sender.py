"""`Events`: records the Events of a controller, and sends them in the background.

`kubeproto.control.Recorder` decides which reports are merged into a single Event, and which exceed the limit.
This module sends its requests. No reconcile waits for an Event or fails because of an Event.
"""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING, Any, Final

import anyio

from kubeproto import KubeObject, ObjectRef
from kubeproto.control import CreateEvent, PatchEvent, Recorder
from kubeproto.wire import NO_RETRIES, Broken

from ..calls._outcome_errors import OUTCOMES, outcome_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kubeproto.kinds.core_v1 import ObjectReference
    from kubeproto.wire import Outcome

    from ..client._client import Client

# The time limit of a request. The recorder retries by itself.
_TIMEOUT: Final = 10.0
# The last events usually contain the reason why the program ends, so a few seconds are spent sending them.
_GRACE: Final = 2.0

_log: Final = logging.getLogger("kubeproto.events")


class Events:
    """Records Events under the names of a controller and of its instance, usually the name of a pod.

    `record` may be called at any time; the Events are sent while `run` runs.
    """

    def __init__(self, client: Client, *, controller: str, instance: str) -> None:
        from kubeproto.kinds.events_v1 import Event

        self._client = client
        self._kind = Event
        self.recorder = Recorder(Event, controller=controller, instance=instance)
        self._wake = anyio.Event()
        self._stopping = False

    def __repr__(self) -> str:
        return f"<events, {self.recorder.sent} sent, {self.recorder.suppressed} suppressed>"

    def record(
        self,
        regarding: KubeObject | ObjectReference | ObjectRef[Any],
        reason: str,
        note: str = "",
        *,
        action: str = "",
        warning: bool = False,
        related: KubeObject | ObjectReference | ObjectRef[Any] | None = None,
    ) -> bool:
        """Record an Event, which is sent soon. Return False if it exceeds the limit or is invalid.

        `regarding` is an object, or a reference such as ``ctx.ref``. ``kubectl describe`` shows the Event
        only if its uid is known, which an object contains.

        `reason` is a word like Created. `action` names the action of the controller; its default is the
        reason. An Event that servers would refuse is logged and dropped.
        """
        try:
            allowed = self.recorder.record(
                _to_reference(regarding),
                reason=reason,
                action=action or reason,
                note=note,
                warning=warning,
                related=None if related is None else _to_reference(related),
                now=anyio.current_time(),
                wall_time=self._client.wall_clock(),
            )
        except ValueError:
            _log.exception("an event was dropped, because servers would refuse it")
            return False
        self._wake.set()
        return allowed

    async def run(self) -> None:
        """Send the recorded Events until cancelled, or until `stop` was called and all of them are sent."""
        while True:
            self._wake = anyio.Event()
            await self._send_ready()
            send_at = self.recorder.next_at(anyio.current_time())
            if send_at is None and self._stopping:
                return
            with anyio.move_on_at(inf if send_at is None else send_at):
                await self._wake.wait()

    def stop(self) -> None:
        """Stop `run` after the recorded Events have been sent."""
        self._stopping = True
        self._wake.set()

    async def _send_ready(self) -> None:
        """Send the requests that are not delayed."""
        while (request := self.recorder.next_request(anyio.current_time())) is not None:
            failure: Outcome | None = Broken("the task was cancelled")
            try:
                failure = await self._send(request)
            finally:
                self.recorder.finish(request, failure, anyio.current_time())

    async def _send(self, request: CreateEvent | PatchEvent) -> Outcome | None:
        api = self._client.requests(self._kind, namespace=request.namespace)
        match request:
            case CreateEvent(event=event):
                http_request = api.create(event)
            case PatchEvent(name=name, patch=patch):
                http_request = api.merge_patch(name, patch)
        try:
            await self._client.call(http_request, timeout=_TIMEOUT, retries=NO_RETRIES)
        except OUTCOMES as error:
            _log.debug("an event was not sent: %s", error)
            return outcome_of(error)
        return None


def _to_reference(ref: KubeObject | ObjectReference | ObjectRef[Any]) -> KubeObject | ObjectReference:
    if not isinstance(ref, ObjectRef):
        return ref
    from kubeproto.kinds.core_v1 import ObjectReference

    return ObjectReference(
        api_version="" if ref.group else "v1", kind=ref.kind, namespace=ref.namespace, name=ref.name
    )


@asynccontextmanager
async def recording(client: Client, *, controller: str, instance: str) -> AsyncGenerator[Events]:
    """Return Events that are sent in the background until the block exits, and up to two seconds longer."""
    events = Events(client, controller=controller, instance=instance)
    error: Exception | None = None
    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope(shield=True)
        tasks.start_soon(_run_in, scope, events)
        try:
            yield events
        except Exception as raised:  # raised again outside of the task group, which would wrap it in a group
            error = raised
        finally:
            events.stop()
            scope.deadline = anyio.current_time() + _GRACE
    if error is not None:
        raise error


async def _run_in(scope: anyio.CancelScope, events: Events) -> None:
    with scope:
        await events.run()
