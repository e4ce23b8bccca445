"""Stages: timed transitions of objects of any kind, which a test defines. (The idea is kwok's.)"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import Struct

from kubeproto.objects import KubeObject, apply_merge_patch, is_object

from .._rejections import Rejection
from .._state import ObjectAddress, ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._server_writes import edit

Json = dict[str, Any]


class Stage(Struct, frozen=True, kw_only=True):
    """A transition of matching objects: after a delay, an object is patched or deleted.

    `kind` is a class, or a string such as ``v1/Pod``. `when` is a part of the object, in which None means
    that a value must be absent; or a predicate of the object. `patch` is a merge patch, or a function that
    returns a merge patch for the object. The object must match continuously for `after` seconds::

        sim.Stage(kind="example.com/v1/Book", when={"status": {"phase": None}}, after=3,
                  patch={"status": {"phase": "Printed"}})
    """

    kind: type[KubeObject] | str
    when: dict[str, Any] | Callable[[Json], bool] = msgspec.field(default_factory=dict[str, Any])
    after: float = 0.0
    patch: Mapping[str, Any] | Callable[[Json], Mapping[str, Any]] | None = None
    delete: bool = False

    def matches(self, obj: Json) -> bool:
        """Return whether an object is at the start of this stage."""
        return bool(self.when(obj)) if callable(self.when) else _contains(obj, self.when)


class _Scheduled(Struct, frozen=True):
    """The stage of an object, by its index, and the time at which it ends."""

    uid: str
    stage_index: int
    time: float


class Stages:
    """All stages of a cluster. If several match an object, the first applies."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._stages: list[tuple[str, Stage]] = []  # with the name of the resource
        self._dirty: dict[ObjectAddress, None] = {}
        self._scheduled: dict[ObjectAddress, _Scheduled] = {}
        self._timers: list[tuple[float, ObjectAddress]] = []  # a heap; stale entries are skipped

    def add(self, served: ServedKind, stage: Stage) -> None:
        """Add a stage; it applies to existing objects too."""
        self._stages.append((served.storage.name, stage))
        self._dirty |= dict.fromkeys((served.storage.name, key) for key in served.storage.objects)

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Mark a changed object."""
        if any(name == storage.name for name, _ in self._stages):
            self._dirty[storage.name, event.stored.key] = None

    def work(self) -> bool:
        """Perform the stages that end now; return whether anything was written."""
        version = self.state.storage.version
        dirty, self._dirty = self._dirty, {}
        for address in dirty:
            self._schedule(address)
        while (next_due := self.next_due) is not None and next_due <= self.state.clock.time:
            address = heapq.heappop(self._timers)[1]
            self._perform(address, self._scheduled.pop(address))
        return self.state.storage.version != version

    @property
    def next_due(self) -> float | None:
        """The time at which the next stage ends."""
        while self._timers:
            time, address = self._timers[0]
            scheduled = self._scheduled.get(address)
            if scheduled is not None and scheduled.time == time:
                return time
            heapq.heappop(self._timers)
        return None

    def fork(self, state: ServerState) -> Stages:
        """Return a copy for a forked cluster."""
        clone = Stages(state)
        clone._stages = list(self._stages)
        clone._dirty, clone._scheduled = dict(self._dirty), dict(self._scheduled)
        clone._timers = list(self._timers)
        state.extensions.append(clone)
        return clone

    def resume(self) -> None:
        """Discard all timers after a restart: every stored object is added again."""
        self._dirty, self._scheduled, self._timers = {}, {}, []

    def _schedule(self, address: ObjectAddress) -> None:
        previous = self._scheduled.pop(address, None)
        target = self.state.find(address)
        if target is None:
            return
        served, stored = target
        obj = served.read(stored.data)
        for stage_index, (name, stage) in enumerate(self._stages):
            if name == address[0] and stage.matches(obj):
                if previous is not None and (previous.uid, previous.stage_index) == (stored.uid, stage_index):
                    scheduled = previous  # its delay continues
                else:
                    scheduled = _Scheduled(stored.uid, stage_index, self.state.clock.time + stage.after)
                self._scheduled[address] = scheduled
                heapq.heappush(self._timers, (scheduled.time, address))
                return

    def _perform(self, address: ObjectAddress, scheduled: _Scheduled) -> None:
        target = self.state.find(address)
        if target is None:
            return
        served, stored = target
        stage = self._stages[scheduled.stage_index][1]
        if stage.patch is not None:
            obj = served.read(stored.data)
            patch = stage.patch(obj) if callable(stage.patch) else stage.patch
            changed = apply_merge_patch(obj, dict(patch))
            if is_object(changed) and changed != obj:
                stored_form: Json = msgspec.json.decode(served.encode_stored(changed))
                edit(self.state, served, stored, lambda obj: _replace(obj, stored_form))
        if stage.delete:
            with suppress(Rejection):  # the object may have been deleted already
                delete(self.state, served, stored.key, stored.name, DeleteOptions())


def _replace(obj: Json, content: Json) -> None:
    obj.clear()
    obj.update(content)


def _contains(value: object, pattern: object) -> bool:
    if not is_object(pattern):
        return bool(value == pattern)
    members = value if is_object(value) else {}
    return all(_contains(members.get(name), expected) for name, expected in pattern.items())
