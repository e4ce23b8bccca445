"""`Events`: sends what a controller reports about objects, in the background.

`kubeproto.control.Recorder` decides what becomes one Event and what exceeds the limit; here its requests are
sent. Nothing waits for an Event, and none fails a reconcile.
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

from ..calls._outcomes import OUTCOMES, outcome_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kubeproto.kinds.core_v1 import ObjectReference
    from kubeproto.wire import Outcome

    from ..client._client import Client

# For one request; the recorder retries by itself.
_TIMEOUT: Final = 10.0
# The last events usually tell why the program ends, and should not delay that for long.
_GRACE: Final = 2.0

_log: Final = logging.getLogger("kubeproto.events")


class Events:
    """What one controller reports, under its name and that of the instance (usually the name of a pod).

    `record` may be called at any time; its Events are sent while `run` runs.
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
        """Note that something has happened: it will be sent soon, unless it exceeds the limit.

        `regarding` is an object, or a reference such as ``ctx.ref``; with the object, which has a uid,
        ``kubectl describe`` shows it as well.

        `reason` is a word like Created, `action` what was done; without one, it is the reason. An Event that
        no server would accept is logged and dropped.
        """
        try:
            allowed = self.recorder.record(
                _reference(regarding),
                reason=reason,
                action=action or reason,
                note=note,
                warning=warning,
                related=None if related is None else _reference(related),
                now=anyio.current_time(),
                wall_time=self._client.wall_clock(),
            )
        except ValueError:
            _log.exception("an event that no server would accept")
            return False
        self._wake.set()
        return allowed

    async def run(self) -> None:
        """Send what is recorded, until `stop` is called and nothing is left to send, or until cancelled."""
        while True:
            self._wake = anyio.Event()
            await self._send_reports()
            at = self.recorder.next_at(anyio.current_time())
            if at is None and self._stopping:
                return
            with anyio.move_on_at(inf if at is None else at):
                await self._wake.wait()

    def stop(self) -> None:
        """Make `run` end."""
        self._stopping = True
        self._wake.set()

    async def _send_reports(self) -> None:
        """Send what can be sent at this moment."""
        while (request := self.recorder.next_request(anyio.current_time())) is not None:
            failure: Outcome | None = Broken("nothing waits for it any more")
            try:
                failure = await self._send(request)
            finally:
                self.recorder.finish(request, failure, anyio.current_time())

    async def _send(self, request: CreateEvent | PatchEvent) -> Outcome | None:
        api = self._client.requests(self._kind, namespace=request.namespace)
        match request:
            case CreateEvent(event=event):
                sent = api.create(event)
            case PatchEvent(name=name, patch=patch):
                sent = api.merge_patch(name, patch)
        try:
            await self._client.call(sent, timeout=_TIMEOUT, retries=NO_RETRIES)
        except OUTCOMES as error:
            _log.debug("an event was not sent: %s", error)
            return outcome_of(error)
        return None


def _reference(thing: KubeObject | ObjectReference | ObjectRef[Any]) -> KubeObject | ObjectReference:
    if not isinstance(thing, ObjectRef):
        return thing
    from kubeproto.kinds.core_v1 import ObjectReference

    return ObjectReference(
        api_version="" if thing.group else "v1", kind=thing.kind, namespace=thing.namespace, name=thing.name
    )


@asynccontextmanager
async def recording(client: Client, *, controller: str, instance: str) -> AsyncGenerator[Events]:
    """Return Events that are sent in the background until the block is left, and up to two seconds longer."""
    events = Events(client, controller=controller, instance=instance)
    error: Exception | None = None
    async with anyio.create_task_group() as tasks:
        scope = anyio.CancelScope(shield=True)
        tasks.start_soon(_run_in, scope, events)
        try:
            yield events
        except Exception as raised:  # it propagates without the group around it
            error = raised
        finally:
            events.stop()
            scope.deadline = anyio.current_time() + _GRACE
    if error is not None:
        raise error


async def _run_in(scope: anyio.CancelScope, events: Events) -> None:
    with scope:
        await events.run()
