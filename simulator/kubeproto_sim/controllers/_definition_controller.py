"""CustomResourceDefinitions: they are established, changed and deleted, with the kinds that they define."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec

from kubeproto.crd import DefinedKind, read_definition

from .._rejections import Rejection
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._storage import ResourceStorage, StoredEvent, StoredRecord
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._server_writes import edit, remove_finalizer

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
# The seconds from the POST to Established (11 to 42 ms on a real server), and from there to a ready storage.
ESTABLISH_SECONDS: Final = 0.02
STORAGE_SECONDS: Final = 0.03


class DefinitionController:
    """Serves the kinds of established definitions."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._establish_times: dict[str, float] = {}
        self._served: dict[str, DefinedKind] = {}
        self._conflicting: dict[str, DefinedKind] = {}  # their names belong to other kinds
        self.is_immediate = False  # for clusters that begin with definitions: no delays

    def follows(self, resource: str) -> bool:
        """Return whether the controller needs the changes of a resource."""
        return resource == DEFINITIONS

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Handle a change of a definition."""
        if storage.name != DEFINITIONS:
            return
        stored = event.stored
        if event.change == "DELETED":
            self._forget(stored.name)
            return
        if b'"deletionTimestamp":' in stored.data:
            self.state.closing.add(stored.name)
            return
        if stored.name not in self._served:
            if self._conflicting.get(stored.name) == read_definition(stored.data):
                return
            self._establish_times.setdefault(stored.name, self.state.clock.time + ESTABLISH_SECONDS)
            return
        new = read_definition(stored.data)
        if new != self._served[stored.name]:
            # Open watches use the old schema, so all of them end.
            self._served[stored.name] = new
            self.state.kinds.define(new, ready_at=0.0)
            self.state.end_watches(self.state.storage.resource(stored.name))

    @property
    def next_due(self) -> float | None:
        """The time at which the next definition is established."""
        return min(self._establish_times.values(), default=None)

    def work(self) -> bool:
        """Establish due definitions, and delete the objects of deleted ones; return whether any changed."""
        version = self.state.storage.version
        now = self.state.clock.time
        for name in list(self._establish_times):
            if self.is_immediate or self._establish_times[name] <= now:
                del self._establish_times[name]
                self._serve(name)
        for name in sorted(self.state.closing):
            self._close(name)
        return self.state.storage.version != version

    def adopt(self, other: DefinitionController) -> None:
        """Copy the state of the cluster from which this cluster was forked."""
        self._served, self._establish_times = dict(other._served), dict(other._establish_times)
        self._conflicting = dict(other._conflicting)
        for kind in self._served.values():
            served = other.state.kinds.of_storage(kind.name)
            self.state.kinds.define(kind, ready_at=served.ready_at if served else 0.0)

    def resume(self, stored: StoredRecord) -> None:
        """Continue with a stored definition after a restart: serve it at once if it was established."""
        obj: dict[str, Any] = msgspec.json.decode(stored.data)
        conditions: list[dict[str, Any]] = obj.get("status", {}).get("conditions") or []
        if any(
            condition["type"] == "Established" and condition["status"] == "True" for condition in conditions
        ):
            self._served[stored.name] = kind = read_definition(stored.data)
            self.state.kinds.define(kind, ready_at=0.0)
        if obj["metadata"].get("deletionTimestamp"):
            self.state.closing.add(stored.name)
        elif stored.name not in self._served:
            self._establish_times[stored.name] = self.state.clock.time + ESTABLISH_SECONDS

    def _serve(self, name: str) -> None:
        definitions = self.state.kinds.of_storage(DEFINITIONS)
        assert definitions is not None  # a built-in kind is always served
        stored = definitions.storage.objects.get(name)
        if stored is None:
            return
        kind = read_definition(stored.data)
        if conflicts := self._name_conflicts(
            definitions.storage, name, msgspec.json.decode(stored.data)["spec"]
        ):
            self._conflicting[name] = kind
            edit(self.state, definitions, stored, lambda obj: self._set_not_accepted(obj, conflicts))
            return
        self._conflicting.pop(name, None)
        self._served[name] = kind
        ready_at = 0.0 if self.is_immediate else self.state.clock.time + STORAGE_SECONDS
        self.state.kinds.define(kind, ready_at=ready_at)
        edit(self.state, definitions, stored, self._set_established)

    def _name_conflicts(self, storage: ResourceStorage, name: str, spec: dict[str, Any]) -> dict[str, str]:
        """Return the names of a definition that other kinds of its group have, by field."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for stored in storage.objects.values():
            if stored.name in self._served and stored.name != name:
                other: dict[str, Any] = msgspec.json.decode(stored.data)["spec"]
                if other["group"] == spec["group"]:
                    names: dict[str, Any] = other["names"]
                    resources |= {names["plural"], names["singular"], *names.get("shortNames", ())}
                    kinds |= {names["kind"], names["listKind"]}
        own_names: dict[str, Any] = spec["names"]
        conflicts = {
            field: own_names[field] for field in ("plural", "singular") if own_names[field] in resources
        }
        for short in own_names.get("shortNames", ()):
            if short in resources:
                conflicts["shortNames"] = short
        return conflicts | {
            field: own_names[field] for field in ("kind", "listKind") if own_names[field] in kinds
        }

    def _set_not_accepted(self, obj: dict[str, Any], conflicts: dict[str, str]) -> None:
        field, text = list(conflicts.items())[-1]
        stamp = self.state.clock.stamp()
        status = obj.setdefault("status", {})
        accepted = {name: value for name, value in obj["spec"]["names"].items() if name not in conflicts}
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

    def _set_established(self, obj: dict[str, Any]) -> None:
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
        stored_definition: StoredRecord | None = definitions.storage.objects.get(name)
        if stored_definition is None:
            self.state.closing.discard(name)
        elif CLEANUP in (msgspec.json.decode(stored_definition.data)["metadata"].get("finalizers") or []):
            edit(self.state, definitions, stored_definition, partial(remove_finalizer, finalizer=CLEANUP))

    def _delete(self, served: ServedKind, stored: StoredRecord) -> None:
        with suppress(Rejection):  # it may have been deleted in the meantime
            delete(self.state, served, stored.key, stored.name, DeleteOptions())

    def _forget(self, name: str) -> None:
        self._establish_times.pop(name, None)
        self._served.pop(name, None)
        self._conflicting.pop(name, None)
        # Conflicting definitions may accept the names that are free now.
        self._establish_times |= dict.fromkeys(self._conflicting, self.state.clock.time + ESTABLISH_SECONDS)
        self.state.closing.discard(name)
        self.state.kinds.forget(name)
        self.state.end_watches(self.state.storage.resource(name))
