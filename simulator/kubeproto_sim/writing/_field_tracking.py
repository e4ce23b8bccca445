"""Field ownership: managedFields record every write, and apply respects them."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

import msgspec

from kubeproto.objects import copy_json, is_object

from .._rejections import Rejection, conflict, failure, not_found
from .._state import ServerState
from ..apply._apply_refusals import ApplyRejection, Conflicts
from ..apply._merge_schemas import MergeSchema, merge_schema_of_kind, merge_schema_of_openapi
from ..apply._ownership_updates import update, update_by_scale
from ..apply._server_side_apply import apply, check_applied
from ..apply._strategic_merge import strategic_merge
from ..apply._type_checks import misfits
from ..apply.fieldsets import field_step
from ..kinds._kind_registry import KindRegistry
from ..kinds._served_kinds import SchemaCodec, ServedKind
from ..reading._routes import Route
from ..storage._storage import StoredRecord
from ._certificate_requests import CERTIFICATE_REQUESTS
from ._object_shapes import difference, shape_of
from ._preserved_fields import STATUS

Entries = list[dict[str, Any]]
_OF_STATUS: Final = ("apiVersion", "kind", "metadata", "status")
_IDENTITY: Final = ("name", "namespace", "uid")
# Cached shapes of a kind: a program that writes more different shapes gains nothing from the cache.
_MAX_SHAPES: Final = 1024


W = TypeVar("W")
W_co = TypeVar("W_co", covariant=True)


class ObjectWriter(Protocol[W_co]):
    """Writes the object of a request; `W_co` is the type of its result."""

    @property
    def route(self) -> Route:
        """The object in the URL."""
        ...

    def check_place(self, meta: dict[str, Any]) -> None:
        """Raise a `Rejection` for an object that does not match the URL."""
        ...

    def tidy(self, obj: dict[str, Any], duplicate_faults: list[str]) -> None:
        """Bring an object into the stored form of its kind."""
        ...

    def create(self, obj: dict[str, Any], duplicate_faults: list[str]) -> W_co:
        """Create the object."""
        ...

    def store(self, old: StoredRecord, obj: dict[str, Any]) -> W_co:
        """Replace an object."""
        ...


class Tracker:
    """Updates managedFields for the writer of a request."""

    def __init__(self, state: ServerState, served: ServedKind, manager: str, subresource: str) -> None:
        self.state = state
        self.served = served
        self.manager = manager
        self.subresource = subresource
        self.scaled: tuple[str, ...] | None = (
            None  # the path of the replicas, if this is a write of the Scale
        )
        self._applied: list[dict[str, Any]] | None = None
        self._ownership_lost = False

    def detect_loss(self, previous: dict[str, Any], obj: dict[str, Any]) -> None:
        """Detect lost managedFields: the part that this subresource ignores has changed and is malformed.

        A server drops that part before it validates the object, but cannot track the object with it.
        """
        if not self.served.custom or not self.served.has_status:
            return
        if self.subresource == "":
            is_changed = "status" in obj and obj["status"] != previous.get("status")
        else:
            is_changed = any(obj[name] != previous.get(name) for name in obj if name not in _OF_STATUS)
        self._ownership_lost = is_changed and bool(misfits(obj, merge_schema_for(self.served)))

    def created(self, obj: dict[str, Any]) -> None:
        """Record a new object, whose writer owns all fields."""
        self._set_managed_fields(None, obj)

    def updated(self, previous: dict[str, Any], obj: dict[str, Any]) -> None:
        """Record an update, whose writer owns the changed fields."""
        self._set_managed_fields(previous, obj)

    def merged(self, current: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
        """Return the object after a strategic merge patch."""
        try:
            return strategic_merge(current, change, merge_schema_for(self.served))
        except ApplyRejection as error:
            raise _refusal(error) from None

    def applied(
        self,
        writer: ObjectWriter[W],
        old: StoredRecord | None,
        applied: dict[str, Any],
        duplicate_faults: list[str],
        *,
        force: bool,
    ) -> W:
        """Apply an object: create it, or merge it with the fields of the other managers."""
        served = self.served
        version = ""
        if is_object(meta := applied.get("metadata")) and isinstance(meta.get("resourceVersion"), str):
            version = meta.pop("resourceVersion")
        live: dict[str, Any] | None = (
            None if old is None else msgspec.json.decode(served.encode_response(old.data))
        )
        if live is None and self.subresource:
            raise not_found(served.plural, served.group, writer.route.name)
        result = self._merged(live, applied, force=force)
        meta = result["metadata"]
        if old is not None:
            meta.setdefault("name", writer.route.name)
        if old is None and (uid := meta.get("uid")):
            message = (
                f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            )
            raise conflict(served.plural, served.group, meta["name"], message)
        writer.check_place(meta)
        if old is None:
            return writer.create(result, duplicate_faults)
        if version:
            meta["resourceVersion"] = version
        result["apiVersion"] = served.api_version
        writer.tidy(result, duplicate_faults)
        return writer.store(old, result)

    def _merged(self, live: dict[str, Any] | None, applied: dict[str, Any], *, force: bool) -> dict[str, Any]:
        """Return the object after an apply, and store the new owners of its fields."""
        served, merge_schema = self.served, merge_schema_for(self.served)
        try:
            check_applied(applied, merge_schema, served.api_version, served.kind)
            outcome = apply(
                live, self._written_part(applied), manager=self.manager, schema=merge_schema,
                api_version=served.api_version, kind=served.kind, now=self.state.clock.stamp(),
                force=force, subresource=self.subresource, apart=self._ignored_fields(live),
                versions=KindVersions(self.state.kinds, served),
            )  # fmt: skip
        except ApplyRejection as error:
            raise _refusal(error) from None
        if isinstance(outcome, Conflicts):
            causes = [msgspec.to_builtins(cause) for cause in outcome.causes]
            raise Rejection(failure(409, outcome.message, {"causes": causes}))
        self._applied = outcome.managed_fields
        return outcome.object

    def _ignored_fields(self, live: dict[str, Any] | None) -> tuple[str, ...]:
        """Return the fields of an object that this subresource ignores."""
        if not self.served.has_status:
            return ()
        if self.subresource not in STATUS:
            return ("status",)
        own_fields = ("status",) if self.served.custom else ("metadata", "status")
        return tuple(name for name in live or () if name not in own_fields)

    def _written_part(self, applied: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a body that this subresource writes."""
        if not self.served.has_status:
            return applied
        if self.subresource in STATUS:
            part: dict[str, Any] = {name: applied[name] for name in _OF_STATUS if name in applied}
            if self.served.custom and is_object(meta := part.get("metadata")):
                part["metadata"] = {name: value for name, value in meta.items() if name in _IDENTITY}
            return part
        return {name: value for name, value in applied.items() if name != "status"}

    def _set_managed_fields(self, previous: dict[str, Any] | None, obj: dict[str, Any]) -> None:
        if not self.state.tracks or self.served.full_name == CERTIFICATE_REQUESTS:
            return  # a real server records no managers of these requests
        entries = self._applied
        if self._ownership_lost:
            entries = []
        elif entries is None:
            entries = self._entries_after(previous, obj)
        if entries:
            obj["metadata"]["managedFields"] = entries
        else:
            obj["metadata"].pop("managedFields", None)

    def _entries_after(self, previous: dict[str, Any] | None, obj: dict[str, Any]) -> Entries:
        """Return managedFields after this write, without a comparison of fields if only values changed."""
        if self.scaled is not None and previous is not None:
            return self._scaled(previous, obj, self.scaled)
        now = self.state.clock.stamp()
        if previous is None:
            if "managedFields" in obj["metadata"]:
                return self._updated(previous, obj, now)
            key = (self.manager, self.subresource, shape_of(obj))
            entries_of_shape = self.served.cached_managed_fields.get(key)
            if entries_of_shape is None:
                entries_of_shape = self._updated(previous, obj, now)
                if len(self.served.cached_managed_fields) < _MAX_SHAPES:
                    self.served.cached_managed_fields[key] = entries_of_shape
            return [entry | {"time": now} for entry in entries_of_shape]
        entries: Entries = previous["metadata"].get("managedFields", [])
        if len(entries) == 1 and obj["metadata"].get("managedFields", entries) == entries:
            [entry] = entries
            if (
                entry["manager"] == self.manager
                and entry["operation"] == "Update"
                and entry["apiVersion"] == self.served.api_version
                and entry.get("subresource", "") == self.subresource
            ):
                match difference(previous, obj):
                    case "none":
                        return entries
                    case "values":
                        return [entry | {"time": now}]
                    case _:
                        pass
        return self._updated(previous, obj, now)

    def _updated(self, previous: dict[str, Any] | None, obj: dict[str, Any], now: str) -> Entries:
        return update(
            previous, obj, manager=self.manager, schema=merge_schema_for(self.served),
            api_version=self.served.api_version, now=now, subresource=self.subresource,
            versions=KindVersions(self.state.kinds, self.served),
        )  # fmt: skip

    def _scaled(self, previous: dict[str, Any], obj: dict[str, Any], path: tuple[str, ...]) -> Entries:
        return update_by_scale(
            previous, replicas=tuple(map(field_step, path)), manager=self.manager,
            api_version=self.served.api_version, old_value=_value_at(previous, path),
            new_value=_value_at(obj, path),
        )  # fmt: skip


class KindVersions:
    """The versions of a kind, for managers that own fields of another version."""

    def __init__(self, kinds: KindRegistry, served: ServedKind) -> None:
        self._kinds = kinds
        self._served = served

    def in_version(self, obj: dict[str, Any], api_version: str) -> tuple[dict[str, Any], MergeSchema] | None:
        """Return an object in another version and the schema of that; None if there is no such version."""
        served = self._served
        if obj["apiVersion"] == api_version:
            return obj, self._merge_schema(api_version)
        if not served.custom:
            other = self._kinds.of_kind(api_version, served.kind)
            current = self._kinds.of_kind(obj["apiVersion"], served.kind)
            if other is None or current is None or other.storage is not served.storage:
                return None
            return other.read(current.encode_stored(obj)), merge_schema_for(other)
        codec = served.codecs.get(api_version)
        if codec is None:
            return None
        converted = served.converted(copy_json(obj), api_version)
        codec.conform(converted)
        return converted, self._merge_schema(api_version)

    def _merge_schema(self, api_version: str) -> MergeSchema:
        served = self._served
        if api_version == served.api_version:
            return merge_schema_for(served)
        if (codec := served.codecs.get(api_version)) is None:
            other = self._kinds.of_kind(api_version, served.kind)
            return merge_schema_for(other or served)
        if codec.merge_schema is None:
            codec.merge_schema = merge_schema_of_openapi(codec.schema)
        return codec.merge_schema


def merge_schema_for(served: ServedKind) -> MergeSchema:
    """Return the merge schema of a kind."""
    merge_schema: MergeSchema | None = served.merge_schema
    if merge_schema is None:
        if isinstance(served.codec, SchemaCodec):
            merge_schema = merge_schema_of_openapi(served.codec.schema)
        else:
            merge_schema = merge_schema_of_kind(
                served.resource.gvk, without=served.codec.release.missing_fields
            )
        served.merge_schema = merge_schema
    return merge_schema


def _value_at(obj: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        obj = obj.get(name) if is_object(obj) else None
    return obj


def _refusal(error: ApplyRejection) -> Rejection:
    return Rejection(failure(error.code, error.message, reason=error.reason))
