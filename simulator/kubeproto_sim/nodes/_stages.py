"""Stages: transitions of any kind of object that a test describes, as values. (The idea is kwok's.)"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from kubeproto.objects import KubeObject, apply_merge_patch

from .._rejections import Rejection
from .._state import ServerState
from ..kinds._kinds import Served
from ..storage._json_values import is_map
from ..storage._storage import ResourceStorage, Stored, StoredEvent
from ..writing._deletes import DeleteOptions, delete
from ..writing._edits import edit

Json = dict[str, Any]
Place: TypeAlias = tuple[str, str]
"""The name of a resource, and the key of one of its objects."""


class Stage(Struct, frozen=True, kw_only=True):
    """What happens to an object by itself: when it matches, after a delay, it is patched or deleted.

    `kind` is a class, or a string such as ``v1/Pod``. `when` is a part of the object, in which None means
    that a value must be absent; or a function of the whole object. `patch` is a merge patch, or a function of
    the object that returns one. The object must match continuously until `after` seconds have passed::

        sim.Stage(kind="example.com/v1/Book", when={"status": {"phase": None}}, after=3,
                  patch={"status": {"phase": "Printed"}})
    """

    kind: type[KubeObject] | str
    when: dict[str, Any] | Callable[[Json], bool] = msgspec.field(default_factory=dict[str, Any])
    after: float = 0.0
    patch: Mapping[str, Any] | Callable[[Json], Mapping[str, Any]] | None = None
    delete: bool = False

    def matches(self, obj: Json) -> bool:
        """Whether an object is where this stage begins."""
        return bool(self.when(obj)) if callable(self.when) else _contains(obj, self.when)


class _Scheduled(Struct, frozen=True):
    """The stage that an object is in, and when it ends."""

    uid: str
    stage: int
    at: float


class Stages:
    """All stages of a cluster. If several match an object, the first counts."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._stages: list[tuple[str, Stage]] = []  # with the name of the resource
        self._dirty: dict[Place, None] = {}
        self._scheduled: dict[Place, _Scheduled] = {}
        self._due: list[tuple[float, Place]] = []  # with stale entries, which are skipped when they come up

    def add(self, served: Served, stage: Stage) -> None:
        """Add a stage; it applies to the objects that are there already."""
        self._stages.append((served.storage.name, stage))
        self._dirty |= dict.fromkeys((served.storage.name, key) for key in served.storage.objects)

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note a change."""
        if any(name == storage.name for name, _ in self._stages):
            self._dirty[storage.name, event.stored.key] = None

    def work(self) -> bool:
        """Do what is due; return whether anything was written."""
        before = self.state.storage.version
        dirty, self._dirty = self._dirty, {}
        for place in dirty:
            self._schedule(place)
        while (due := self.due) is not None and due <= self.state.clock.time:
            place = heapq.heappop(self._due)[1]
            self._pass(place, self._scheduled.pop(place))
        return self.state.storage.version != before

    @property
    def due(self) -> float | None:
        """When the next stage ends."""
        while self._due:
            at, place = self._due[0]
            scheduled = self._scheduled.get(place)
            if scheduled is not None and scheduled.at == at:
                return at
            heapq.heappop(self._due)
        return None

    def fork(self, state: ServerState) -> Stages:
        """Return the same stages for a forked cluster."""
        twin = Stages(state)
        twin._stages = list(self._stages)
        twin._dirty, twin._scheduled = dict(self._dirty), dict(self._scheduled)
        twin._due = list(self._due)
        state.extensions.append(twin)
        return twin

    def resume(self) -> None:
        """Start again from what is stored, after a restart."""
        self._dirty, self._scheduled, self._due = {}, {}, []

    def _find(self, place: Place) -> tuple[Served, Stored] | None:
        served = self.state.kinds.of_storage(place[0])
        stored = served.storage.objects.get(place[1]) if served else None
        return (served, stored) if served and stored else None

    def _schedule(self, place: Place) -> None:
        before = self._scheduled.pop(place, None)
        found = self._find(place)
        if found is None:
            return
        served, stored = found
        obj = served.read(stored.data)
        for number, (name, stage) in enumerate(self._stages):
            if name == place[0] and stage.matches(obj):
                if before is not None and (before.uid, before.stage) == (stored.uid, number):
                    scheduled = before  # its time continues to run
                else:
                    scheduled = _Scheduled(stored.uid, number, self.state.clock.time + stage.after)
                self._scheduled[place] = scheduled
                heapq.heappush(self._due, (scheduled.at, place))
                return

    def _pass(self, place: Place, scheduled: _Scheduled) -> None:
        found = self._find(place)
        if found is None:
            return
        served, stored = found
        stage = self._stages[scheduled.stage][1]
        if stage.patch is not None:
            obj = served.read(stored.data)
            patch = stage.patch(obj) if callable(stage.patch) else stage.patch
            changed = apply_merge_patch(obj, dict(patch))
            if is_map(changed) and changed != obj:
                kept: Json = msgspec.json.decode(served.kept(changed))
                edit(self.state, served, stored, lambda obj: _replace(obj, kept))
        if stage.delete:
            with suppress(Rejection):  # it may have been deleted already
                delete(self.state, served, stored.key, stored.name, DeleteOptions())


def _replace(obj: Json, by: Json) -> None:
    obj.clear()
    obj.update(by)


def _contains(value: object, part: object) -> bool:
    if not is_map(part):
        return bool(value == part)
    held = value if is_map(value) else {}
    return all(_contains(held.get(name), wanted) for name, wanted in part.items())
