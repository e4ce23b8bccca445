"""The writer of objects: it creates and replaces them, with all checks, quotas and admission."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.crd import Violation
from kubeproto.objects import copy_json

from .._rejections import conflict, exists, invalid, not_found, unexplained
from ..kinds._kind_defaults import admit, drop_disabled_fields, fill_in
from ..kinds._typed_codec import TypeMismatch
from ..reading._list_requests import read_version
from ..storage._storage import StoredRecord, make_record
from ._admission_plugins import complete, is_completed, validate
from ._metadata_rules import new_finalizers
from ._object_checks import check_object
from ._object_warnings import object_warnings
from ._pod_writes import copy_topology
from ._preserved_fields import STATUS, count_generation, preserve_fields
from ._quota_charges import Charges, charge, check_quotas
from ._service_allocation import allocate
from ._write_errors import immutable_violations, invalid_version_number, name_mismatch, uid_mismatch
from ._write_requests import WriteRequest

# The maximum size of an object in the storage of a real server.
_MAX_OBJECT: Final = 1_572_864
_VERSION: Final = b'"resourceVersion":"%d"'
_SERVER_SET_FIELDS: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
    "resourceVersion",
)  # fmt: skip
# A kubelet registers its node with a status.
_CREATED_WITH_STATUS: Final = ("nodes",)
_decode: Final = msgspec.json.Decoder().decode


class WriteResult(Struct, frozen=True):
    """The outcome of a write: the stored object, and whether it was created."""

    data: bytes
    created: bool = False


class Writer(WriteRequest):
    """Creates or replaces the object of a request."""

    def create(
        self, obj: dict[str, Any], duplicate_faults: list[str], *, by_update: bool = False
    ) -> WriteResult:
        """Store a new object; an object that is created `by_update` may have a version."""
        served, state = self.served, self.state
        sent_name, sent_version = self._prepare_new(obj, duplicate_faults)
        meta = obj["metadata"]
        self.check_admission(meta.get("name", ""))
        fill_in(served, obj)
        sent_status: dict[str, Any] = {}
        if served.has_status:
            self.tracker.detect_loss({}, obj)
            sent_status = obj.pop("status", None) or {}
        has_plugin = is_completed(served)
        if has_plugin or self.gate.mutates:
            # No manager owns the fields that plugins and webhooks add, so ownership is recorded beforehand.
            self.tracker.created(obj)
        if has_plugin:
            complete(state, served, obj)
        if self.gate.mutates:
            obj = self._mutated_new(obj, is_name_generated=bool(meta.get("name")) and not sent_name)
            meta = obj["metadata"]
        self.gate.check(obj, None)
        check_object(self, obj, None, [])
        if not (has_plugin or self.gate.mutates):
            self.tracker.created(obj)
        version = state.storage.version + 1
        self._fill_in_metadata(obj, sent_version if self.dry_run else str(version))
        if served.full_name in _CREATED_WITH_STATUS:
            obj["status"] |= sent_status
        if by_update and sent_version and read_version(sent_version) is None:
            raise invalid_version_number(sent_version)
        if sent_version not in ("", "0") and not (by_update or self.dry_run):
            raise unexplained("resourceVersion should not be set on objects to be created")
        self.warnings += object_warnings(served, obj, None)
        validate(state, served, obj, None)
        self.gate.validate(obj, None)
        data = self._encode(obj)
        charges = check_quotas(self.state, served, obj, None, namespace=self.route.namespace)
        key = served.key(self.route.namespace, meta["name"])
        if (old := served.storage.objects.get(key)) is not None:
            raise exists(served.plural, served.group, meta["name"], deleting=_is_deleting(old))
        if self.dry_run:
            return WriteResult(data, created=True)
        served.prepare([data])
        state.commit(served.storage, make_record(key, obj, version, data))
        charge(state, charges)
        return WriteResult(data, created=True)

    def _prepare_new(self, obj: dict[str, Any], duplicate_faults: list[str]) -> tuple[str, str]:
        """Bring a new object into its stored form; return the sent name and version."""
        self.check_type(obj)
        meta = self.metadata(obj)
        self.tidy(obj, duplicate_faults)
        self.check_namespace(meta)
        sent_version = meta.get("resourceVersion", "")
        for field in _SERVER_SET_FIELDS:
            meta.pop(field, None)
        sent_name = meta.get("name", "")
        name = self.choose_name(meta)
        if name and self.route.name and name != self.route.name:
            raise name_mismatch(name, self.route.name)
        return sent_name, sent_version

    def _fill_in_metadata(self, obj: dict[str, Any], version: str) -> None:
        """Set the uid, the time, allocated values, the version and the generation of a new object."""
        meta = obj["metadata"]
        meta["uid"] = self.state.rng.uid()
        meta["creationTimestamp"] = self.state.clock.stamp()
        admit(self.served, obj, self.gate.user_info)
        if self.served.full_name == "pods" and (node := obj["spec"].get("nodeName")):
            copy_topology(self.state, obj, node)
        allocate(self.served, obj, dry_run=self.dry_run)
        if version:
            meta["resourceVersion"] = version
        if self.served.counts_generation:
            meta["generation"] = 1

    def replace(self, obj: dict[str, Any], duplicate_faults: list[str]) -> WriteResult:
        """Replace the stored object; raise `Rejection` if the write is refused."""
        served, route = self.served, self.route
        self.check_type(obj)
        meta = self.metadata(obj)
        self.tidy(obj, duplicate_faults)
        self.check_place(meta)
        old = served.storage.objects.get(self.key)
        if old is None:
            if served.created_by_update and not route.subresource:
                if uid := meta.get("uid"):
                    raise conflict(
                        served.plural, served.group, route.name, uid_mismatch(served, self.key, uid, "")
                    )
                return self.create(obj, [], by_update=True)
            raise not_found(served.plural, served.group, route.name)
        uid = meta.get("uid", "")
        if uid and uid != old.uid:
            message = uid_mismatch(served, self.key, uid, old.uid, dry_run=self.dry_run)
            raise conflict(served.plural, served.group, route.name, message)
        return self.store(old, obj)

    def store(self, old: StoredRecord, obj: dict[str, Any]) -> WriteResult:
        """Store a new state of an object, if it has changed; immutable fields are preserved or rejected."""
        served = self.served
        previous = served.read(old.data)
        self._check_version(old, obj["metadata"])
        immutable = immutable_violations(previous["metadata"], obj["metadata"])
        self.tracker.detect_loss(previous, obj)
        if self.gate.mutates:
            obj = self._mutated(previous, obj)
        obj = preserve_fields(served, self.route.subresource, previous, obj, self.state.clock.stamp())
        self.gate.check(obj, previous)
        meta = obj["metadata"]
        check_object(self, obj, previous, immutable + new_finalizers(previous["metadata"], meta))
        if served.counts_generation and self.route.subresource not in STATUS:
            count_generation(served, previous, obj)
        if not self.gate.mutates:
            self.tracker.updated(previous, obj)
        drop_disabled_fields(served, obj)
        meta["resourceVersion"] = str(old.version)
        if not self.route.subresource:
            self.warnings += object_warnings(served, obj, previous)
        validate(self.state, served, obj, previous)
        self.gate.validate(obj, previous)
        data = self._encode(obj)
        charges: Charges = []
        if not self.route.subresource and self.state.quotas:
            charges = check_quotas(self.state, served, obj, previous, namespace=self.route.namespace)
        # Conversion webhooks are called before the commit: the request is repeated when their result arrives.
        served.prepare([data])
        if data == old.data or self.dry_run:
            return WriteResult(data)
        if self._completes_deletion(meta):
            self._remove(old, obj)
            return WriteResult(data)
        result = WriteResult(self._commit(old, obj, data))
        charge(self.state, charges)
        return result

    def _mutated_new(self, obj: dict[str, Any], *, is_name_generated: bool) -> dict[str, Any]:
        """Return a new object after the mutating webhooks, from which a generated name is hidden."""
        name = obj["metadata"].pop("name", "") if is_name_generated else ""
        obj = self.gate.mutate(obj, None, self._normalized)
        meta = self.metadata(obj)
        if is_name_generated:
            meta.setdefault("name", name)
        self.check_namespace(meta)
        return obj

    def _mutated(self, previous: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
        """Return a new state after the mutating webhooks; no manager owns fields that they add."""
        stamp = self.state.clock.stamp()
        tracked = preserve_fields(self.served, self.route.subresource, previous, copy_json(obj), stamp)
        self.tracker.updated(previous, tracked)
        if (entries := tracked["metadata"].get("managedFields")) is not None:
            obj["metadata"]["managedFields"] = entries
        return self.gate.mutate(obj, previous, self._normalized)

    def _normalized(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return the stored form of an object that a webhook has changed.

        Raise `TypeMismatch` for wrong types.
        """
        served = self.served
        obj.setdefault("metadata", {})
        served.codec.tidy(obj)
        fill_in(served, obj)
        return obj

    def _check_version(self, old: StoredRecord, meta: dict[str, Any]) -> None:
        served = self.served
        text: str = meta.get("resourceVersion", "")
        if text in ("", "0"):
            if served.requires_version:
                fault = Violation(
                    "FieldValueInvalid", "metadata.resourceVersion", 0, "must be specified for an update"
                )
                raise invalid(served.plural, served.group, old.name, [fault])
            return
        version = read_version(text)
        if version is None:
            raise invalid_version_number(text)
        if version != old.version:
            raise conflict(served.plural, served.group, old.name)

    def _completes_deletion(self, meta: dict[str, Any]) -> bool:
        """Return whether this write removes the last finalizer that a deletion waits for."""
        if not meta.get("deletionTimestamp") or meta.get("finalizers"):
            return False
        if self.served.full_name == "namespaces":
            return False
        return not meta.get("deletionGracePeriodSeconds")

    def _encode(self, obj: dict[str, Any]) -> bytes:
        try:
            data = self.served.encode_stored(obj)
        except TypeMismatch as error:
            raise self.misfit(error) from None
        if len(data) > _MAX_OBJECT:
            raise unexplained("etcdserver: request is too large")
        return data

    def _commit(self, old: StoredRecord, obj: dict[str, Any], data: bytes) -> bytes:
        """Store a new state that was written at the old version."""
        served, version = self.served, self.state.storage.version + 1
        obj["metadata"]["resourceVersion"] = str(version)
        if served.custom:
            data = served.encode_stored(obj)
        else:
            # Only identifiers precede the version of a built-in object, so the first match is the version.
            data = data.replace(_VERSION % old.version, _VERSION % version, 1)
        self.state.commit(served.storage, make_record(old.key, obj, version, data))
        return data

    def _remove(self, old: StoredRecord, obj: dict[str, Any]) -> None:
        version = self.state.storage.version + 1
        removed = dict(obj)
        removed["metadata"] = {**obj["metadata"], "resourceVersion": str(version)}
        self.state.remove(
            self.served.storage, make_record(old.key, removed, version, self.served.encode_stored(removed))
        )


def _is_deleting(old: StoredRecord) -> bool:
    # The bytes are searched first because an object rarely has the field, and decoding costs more.
    return b'"deletionTimestamp":' in old.data and "deletionTimestamp" in _decode(old.data)["metadata"]
