"""The life of custom resource definitions: created, established, changed, deleted."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from kubeproto.crd import DefinedKind, read_definition

from .._rejections import Rejection
from .._state import ServerState
from ..kinds._served_kinds import Served
from ..storage._storage import ResourceStorage, Stored, StoredEvent
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._server_writes import edit

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
# How long a server took from the POST to Established, and from there to storage that can be used.
ESTABLISHED_AFTER: Final = 0.1
READY_AFTER: Final = 0.05


class Definitions:
    """Serves what definitions describe."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._establish: dict[str, float] = {}
        self._known: dict[str, DefinedKind] = {}
        self._refused: dict[str, DefinedKind] = {}  # whose names are taken
        self.hurried = False  # established at once, storage ready: for clusters that begin with definitions

    def follows(self, resource: str) -> bool:
        """Whether changes of a resource concern it."""
        return resource == DEFINITIONS

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note the change of a definition."""
        if storage.name != DEFINITIONS:
            return
        stored = event.stored
        if event.change == "DELETED":
            self._forget(stored.name)
            return
        if b'"deletionTimestamp":' in stored.data:
            self.state.closing.add(stored.name)
            return
        if stored.name not in self._known:
            if self._refused.get(stored.name) == read_definition(stored.data):
                return
            self._establish.setdefault(stored.name, self.state.clock.time + ESTABLISHED_AFTER)
            return
        new = read_definition(stored.data)
        if new != self._known[stored.name]:
            # Open watches have the old schema, so all of them end.
            self._known[stored.name] = new
            self.state.kinds.define(new, ready_at=0.0)
            self.state.end_watches(self.state.storage.resource(stored.name))

    @property
    def due(self) -> float | None:
        """When the next definition is established."""
        return min(self._establish.values(), default=None)

    def work(self) -> bool:
        """Establish what is due; delete the objects of what is being deleted."""
        before = self.state.storage.version
        now = self.state.clock.time
        for name in list(self._establish):
            if self.hurried or self._establish[name] <= now:
                del self._establish[name]
                self._serve(name)
        for name in sorted(self.state.closing):
            self._close(name)
        return self.state.storage.version != before

    def adopt(self, other: Definitions) -> None:
        """Take over what the controller of a forked cluster knows."""
        self._known, self._establish = dict(other._known), dict(other._establish)
        self._refused = dict(other._refused)
        for kind in self._known.values():
            found = other.state.kinds.of_storage(kind.name)
            self.state.kinds.define(kind, ready_at=found.ready_at if found else 0.0)

    def resume(self, stored: Stored) -> None:
        """Continue with a definition that was stored before: serve it at once if it was served then."""
        obj: dict[str, Any] = msgspec.json.decode(stored.data)
        conditions: list[dict[str, Any]] = obj.get("status", {}).get("conditions") or []
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            self._known[stored.name] = kind = read_definition(stored.data)
            self.state.kinds.define(kind, ready_at=0.0)
        if obj["metadata"].get("deletionTimestamp"):
            self.state.closing.add(stored.name)
        elif stored.name not in self._known:
            self._establish[stored.name] = self.state.clock.time + ESTABLISHED_AFTER

    def _serve(self, name: str) -> None:
        definitions = self.state.kinds.of_storage(DEFINITIONS)
        assert definitions is not None  # a built-in kind is always served
        stored = definitions.storage.objects.get(name)
        if stored is None:
            return
        kind = read_definition(stored.data)
        if taken := self._taken(definitions.storage, name, msgspec.json.decode(stored.data)["spec"]):
            self._refused[name] = kind
            edit(self.state, definitions, stored, lambda obj: self._not_accepted(obj, taken))
            return
        self._refused.pop(name, None)
        self._known[name] = kind
        ready = 0.0 if self.hurried else self.state.clock.time + READY_AFTER
        self.state.kinds.define(kind, ready_at=ready)
        edit(self.state, definitions, stored, self._established)

    def _taken(self, storage: ResourceStorage, name: str, spec: dict[str, Any]) -> dict[str, str]:
        """Return which names of a definition other kinds of its group have, by the field that holds them."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for stored in storage.objects.values():
            if stored.name in self._known and stored.name != name:
                other: dict[str, Any] = msgspec.json.decode(stored.data)["spec"]
                if other["group"] == spec["group"]:
                    names: dict[str, Any] = other["names"]
                    resources |= {names["plural"], names["singular"], *names.get("shortNames", ())}
                    kinds |= {names["kind"], names["listKind"]}
        mine: dict[str, Any] = spec["names"]
        taken = {field: mine[field] for field in ("plural", "singular") if mine[field] in resources}
        for short in mine.get("shortNames", ()):
            if short in resources:
                taken["shortNames"] = short
        return taken | {field: mine[field] for field in ("kind", "listKind") if mine[field] in kinds}

    def _not_accepted(self, obj: dict[str, Any], taken: dict[str, str]) -> None:
        field, text = list(taken.items())[-1]
        stamp = self.state.clock.stamp()
        status = obj.setdefault("status", {})
        accepted = {name: value for name, value in obj["spec"]["names"].items() if name not in taken}
        status["acceptedNames"] = {"plural": "", "kind": ""} | accepted
        status["conditions"] = [
            {
                "type": "NamesAccepted", "status": "False", "lastTransitionTime": stamp,
                "reason": f"{field[0].upper()}{field[1:]}Conflict", "message": f'"{text}" is already in use',
            },
            {
                "type": "Established", "status": "False", "lastTransitionTime": stamp,
                "reason": "NotAccepted", "message": "not all names are accepted",
            },
        ]  # fmt: skip

    def _established(self, obj: dict[str, Any]) -> None:
        stamp = self.state.clock.stamp()
        status = obj.setdefault("status", {})
        status["acceptedNames"] = dict(obj["spec"]["names"])
        status["conditions"] = [
            {
                "type": "NamesAccepted", "status": "True", "lastTransitionTime": stamp,
                "reason": "NoConflicts", "message": "no conflicts found",
            },
            {
                "type": "Established", "status": "True", "lastTransitionTime": stamp,
                "reason": "InitialNamesAccepted", "message": "the initial names have been accepted",
            },
        ]  # fmt: skip
        finalizers = obj["metadata"].setdefault("finalizers", [])
        if CLEANUP not in finalizers:
            finalizers.append(CLEANUP)

    def _close(self, name: str) -> None:
        """Delete the objects of a definition that is being deleted, then the definition."""
        definitions, served = self.state.kinds.of_storage(DEFINITIONS), self.state.kinds.of_storage(name)
        assert definitions is not None  # a built-in kind is always served
        if served is not None:
            for stored in list(served.storage.objects.values()):
                if b'"deletionTimestamp":' not in stored.data:
                    self._delete(served, stored)
            if served.storage.objects:
                return
        stored_definition: Stored | None = definitions.storage.objects.get(name)
        if stored_definition is None:
            self.state.closing.discard(name)
        elif CLEANUP in (msgspec.json.decode(stored_definition.data)["metadata"].get("finalizers") or []):
            edit(self.state, definitions, stored_definition, _without_cleanup)

    def _delete(self, served: Served, stored: Stored) -> None:
        with suppress(Rejection):  # it may have been deleted meanwhile
            delete(self.state, served, stored.key, stored.name, DeleteOptions())

    def _forget(self, name: str) -> None:
        self._establish.pop(name, None)
        self._known.pop(name, None)
        self._refused.pop(name, None)
        # Others may have waited for the names that are free now.
        self._establish |= dict.fromkeys(self._refused, self.state.clock.time + ESTABLISHED_AFTER)
        self.state.closing.discard(name)
        self.state.kinds.forget(name)
        self.state.end_watches(self.state.storage.resource(name))


def _without_cleanup(obj: dict[str, Any]) -> None:
    left = [one for one in obj["metadata"]["finalizers"] if one != CLEANUP]
    if left:
        obj["metadata"]["finalizers"] = left
    else:
        del obj["metadata"]["finalizers"]
