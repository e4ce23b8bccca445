"""Creating and replacing objects: what the server sets, keeps, refuses, and when nothing changes."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.crd import Violation

from .._rejections import conflict, exists, invalid, not_found, unexplained
from ..kinds._defaults import admit, fill_in
from ..kinds._typed import Misfit
from ..reading._list_requests import read_version
from ..storage._json_values import copied
from ..storage._storage import Stored, make_stored
from ._allocation import allocate
from ._checks import check_object
from ._keeping import count_generation, kept
from ._mistakes import immutable, no_version, other_name, other_uid
from ._quotas import Charges, charge, check_quotas
from ._rules import new_finalizers
from ._topology import copy_topology
from ._write_requests import WriteRequest

# What the storage of a real server accepts for one object, and its message about more.
_LARGEST: Final = 1_572_864
_VERSION: Final = b'"resourceVersion":"%d"'
_DROPPED: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
    "resourceVersion",
)  # fmt: skip
_decode: Final = msgspec.json.Decoder().decode


class Written(Struct, frozen=True):
    """The outcome of a write: the object as it is stored, and whether it was created."""

    data: bytes
    created: bool = False


class Writer(WriteRequest):
    """Creates or replaces the object of one request."""

    def create(self, obj: dict[str, Any], twice: list[str], *, replacing: bool = False) -> Written:
        """Store a new object; with a PUT that creates it, it may have a version."""
        served, state = self.served, self.state
        asked_name, asked_version = self._take_new(obj, twice)
        meta = obj["metadata"]
        self.check_admission(meta.get("name", ""))
        fill_in(served, obj)
        if served.has_status:
            self.tracker.look_at({}, obj)
            obj.pop("status", None)
        if self.gate.mutates:
            obj = self._mutated_new(obj, drawn=bool(meta.get("name")) and not asked_name)
            meta = obj["metadata"]
        self.gate.check(obj, None)
        check_object(self, obj, None, [])
        if not self.gate.mutates:
            self.tracker.created(obj)
        version = state.storage.version + 1
        self._fill_in_metadata(obj, asked_version if self.dry_run else str(version))
        if replacing and asked_version and read_version(asked_version) is None:
            raise no_version(asked_version)
        if asked_version not in ("", "0") and not (replacing or self.dry_run):
            raise unexplained("resourceVersion should not be set on objects to be created")
        self.gate.validate(obj, None)
        data = self._written(obj)
        charges = check_quotas(self.state, served, obj, None, namespace=self.route.namespace)
        key = served.key(self.route.namespace, meta["name"])
        if (old := served.storage.objects.get(key)) is not None:
            raise exists(served.plural, served.group, meta["name"], deleting=_is_deleting(old))
        if self.dry_run:
            return Written(data, created=True)
        served.prepare([data])
        state.commit(served.storage, make_stored(key, obj, version, data))
        charge(state, charges)
        return Written(data, created=True)

    def _take_new(self, obj: dict[str, Any], twice: list[str]) -> tuple[str, str]:
        """Bring a new object into the form that is stored; return the name and version it was sent with."""
        self.check_type(obj)
        meta = self.metadata(obj)
        self.tidy(obj, twice)
        self.check_namespace(meta)
        asked_version = meta.get("resourceVersion", "")
        for field in _DROPPED:
            meta.pop(field, None)
        asked_name = meta.get("name", "")
        name = self.choose_name(meta)
        if name and self.route.name and name != self.route.name:
            raise other_name(name, self.route.name)
        return asked_name, asked_version

    def _fill_in_metadata(self, obj: dict[str, Any], version: str) -> None:
        """Set what the server sets on a new object: uid, time, allocated values, version, generation."""
        meta = obj["metadata"]
        meta["uid"] = self.state.rng.uid()
        meta["creationTimestamp"] = self.state.clock.stamp()
        admit(self.served, obj)
        if self.served.full_name == "pods" and (node := obj["spec"].get("nodeName")):
            copy_topology(self.state, obj, node)
        allocate(self.served, obj, dry_run=self.dry_run)
        if version:
            meta["resourceVersion"] = version
        if self.served.counts_generation:
            meta["generation"] = 1

    def replace(self, obj: dict[str, Any], twice: list[str]) -> Written:
        """Replace the object that is stored."""
        served, route = self.served, self.route
        self.check_type(obj)
        meta = self.metadata(obj)
        self.tidy(obj, twice)
        self.check_place(meta)
        old = served.storage.objects.get(self.key)
        if old is None:
            if served.made_by_update and not route.subresource:
                if uid := meta.get("uid"):
                    raise conflict(
                        served.plural, served.group, route.name, other_uid(served, self.key, uid, "")
                    )
                return self.create(obj, [], replacing=True)
            raise not_found(served.plural, served.group, route.name)
        uid = meta.get("uid", "")
        if uid and uid != old.uid:
            why = other_uid(served, self.key, uid, old.uid, dry_run=self.dry_run)
            raise conflict(served.plural, served.group, route.name, why)
        return self.store(old, obj)

    def store(self, old: Stored, obj: dict[str, Any]) -> Written:
        """Store a new state of an object, unless nothing changed; what a client may not change stays."""
        served = self.served
        before = served.read(old.data)
        self._check_version(old, obj["metadata"])
        fixed = immutable(before["metadata"], obj["metadata"])
        self.tracker.look_at(before, obj)
        if self.gate.mutates:
            obj = self._mutated(before, obj)
        obj = kept(served, self.route.subresource, before, obj)
        self.gate.check(obj, before)
        meta = obj["metadata"]
        check_object(self, obj, before, fixed + new_finalizers(before["metadata"], meta))
        if served.counts_generation and self.route.subresource != "status":
            count_generation(served, before, obj)
        if not self.gate.mutates:
            self.tracker.updated(before, obj)
        meta["resourceVersion"] = str(old.version)
        self.gate.validate(obj, before)
        data = self._written(obj)
        charges: Charges = []
        if not self.route.subresource and self.state.quotas:
            charges = check_quotas(self.state, served, obj, before, namespace=self.route.namespace)
        # Calls about the response are made now: nothing may have changed if the request has to be repeated.
        served.prepare([data])
        if data == old.data or self.dry_run:
            return Written(data)
        if self._finished(meta):
            self._remove(old, obj)
            return Written(data)
        written = Written(self._commit(old, obj, data))
        charge(self.state, charges)
        return written

    def _mutated_new(self, obj: dict[str, Any], *, drawn: bool) -> dict[str, Any]:
        """Return a new object as mutating webhooks change it.

        Nobody owns what they add, so ownership is recorded before. A generated name is not visible to them.
        """
        self.tracker.created(obj)
        name = obj["metadata"].pop("name", "") if drawn else ""
        obj = self.gate.mutate(obj, None, self._tidied)
        meta = self.metadata(obj)
        if drawn:
            meta.setdefault("name", name)
        self.check_namespace(meta)
        return obj

    def _mutated(self, before: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
        """Return a new state as mutating webhooks change it; nobody owns what they add."""
        tracked = kept(self.served, self.route.subresource, before, copied(obj))
        self.tracker.updated(before, tracked)
        if (entries := tracked["metadata"].get("managedFields")) is not None:
            obj["metadata"]["managedFields"] = entries
        return self.gate.mutate(obj, before, self._tidied)

    def _tidied(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object that a webhook has changed in the form that is stored; or `Misfit`."""
        served = self.served
        obj.setdefault("metadata", {})
        served.codec.tidy(obj)
        fill_in(served, obj)
        return obj

    def _check_version(self, old: Stored, meta: dict[str, Any]) -> None:
        served = self.served
        text: str = meta.get("resourceVersion", "")
        if text in ("", "0"):
            if served.replaced_at_a_version:
                fault = Violation(
                    "FieldValueInvalid", "metadata.resourceVersion", 0, "must be specified for an update"
                )
                raise invalid(served.plural, served.group, old.name, [fault])
            return
        version = read_version(text)
        if version is None:
            raise no_version(text)
        if version != old.version:
            raise conflict(served.plural, served.group, old.name)

    def _finished(self, meta: dict[str, Any]) -> bool:
        """Whether this write removes the last finalizer that a deletion waits for."""
        if not meta.get("deletionTimestamp") or meta.get("finalizers"):
            return False
        if self.served.full_name == "namespaces":
            return False
        return not meta.get("deletionGracePeriodSeconds")

    def _written(self, obj: dict[str, Any]) -> bytes:
        try:
            data = self.served.kept(obj)
        except Misfit as error:
            raise self.misfit(error) from None
        if len(data) > _LARGEST:
            raise unexplained("etcdserver: request is too large")
        return data

    def _commit(self, old: Stored, obj: dict[str, Any], data: bytes) -> bytes:
        """Store a new state that was written at the old version."""
        served, version = self.served, self.state.storage.version + 1
        obj["metadata"]["resourceVersion"] = str(version)
        if served.custom:
            data = served.kept(obj)
        else:
            # What precedes the version of a built-in object contains no quotes of its own.
            data = data.replace(_VERSION % old.version, _VERSION % version, 1)
        self.state.commit(served.storage, make_stored(old.key, obj, version, data))
        return data

    def _remove(self, old: Stored, obj: dict[str, Any]) -> None:
        version = self.state.storage.version + 1
        last = dict(obj)
        last["metadata"] = {**obj["metadata"], "resourceVersion": str(version)}
        self.state.remove(self.served.storage, make_stored(old.key, last, version, self.served.kept(last)))


def _is_deleting(old: Stored) -> bool:
    # The bytes are searched first because an object rarely has the field, and decoding costs more.
    return b'"deletionTimestamp":' in old.data and "deletionTimestamp" in _decode(old.data)["metadata"]
