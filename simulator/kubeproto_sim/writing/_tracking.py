"""Field ownership: every write is recorded in managedFields, and apply follows them."""

from __future__ import annotations

from typing import Any, Final, Protocol, TypeVar

import msgspec

from .._rejections import Rejection, conflict, failure, not_found
from .._state import ServerState
from ..apply._apply_refusals import ApplyRefused
from ..apply._merge_schemas import Facts, facts_of_kind, facts_of_schema
from ..apply._ownership_updates import update_by_scale
from ..apply._server_side_apply import Conflicts, apply, check_applied, update
from ..apply._strategic_merge import strategic_merge
from ..apply._type_checks import misfits
from ..apply.fieldsets import field_step
from ..kinds._kinds import Kinds, SchemaCodec, Served
from ..reading._routes import Route
from ..storage._json_values import copied, is_map
from ..storage._storage import Stored
from ._shapes import difference, shape_of

Entries = list[dict[str, Any]]
_OF_STATUS: Final = ("apiVersion", "kind", "metadata", "status")
_IDENTITY: Final = ("name", "namespace", "uid")
# Shapes that are remembered for one kind; a program that makes more gains nothing from them.
_MOST_SHAPES: Final = 1024


W = TypeVar("W")
W_co = TypeVar("W_co", covariant=True)


class ObjectWriter(Protocol[W_co]):
    """A write of the object of one request; a `W_co` is its outcome."""

    @property
    def route(self) -> Route:
        """Which object is written."""
        ...

    def check_place(self, meta: dict[str, Any]) -> None:
        """Refuse an object that does not match the URL."""
        ...

    def tidy(self, obj: dict[str, Any], twice: list[str]) -> None:
        """Bring an object into the form of its kind."""
        ...

    def create(self, obj: dict[str, Any], twice: list[str]) -> W_co:
        """Create the object."""
        ...

    def store(self, old: Stored, obj: dict[str, Any]) -> W_co:
        """Store an object in place of another one."""
        ...


class Tracker:
    """Keeps managedFields for one writer of one request."""

    def __init__(self, state: ServerState, served: Served, manager: str, subresource: str) -> None:
        self.state = state
        self.served = served
        self.manager = manager
        self.subresource = subresource
        self.scaled: tuple[str, ...] | None = None  # where the replicas are, if this write is of the Scale
        self._applied: list[dict[str, Any]] | None = None
        self._lost = False

    def look_at(self, before: dict[str, Any], obj: dict[str, Any]) -> None:
        """Note whether managedFields are lost: a part that this subresource ignores is malformed.

        A server drops that part before it validates the object; its tracking gives up on the whole object.
        """
        if not self.served.custom or not self.served.has_status:
            return
        if self.subresource == "":
            came = "status" in obj and obj["status"] != before.get("status")
        else:
            came = any(obj[name] != before.get(name) for name in obj if name not in _OF_STATUS)
        self._lost = came and bool(misfits(obj, facts_for(self.served)))

    def created(self, obj: dict[str, Any]) -> None:
        """Give all fields of a new object to its writer."""
        self._keep(None, obj)

    def updated(self, before: dict[str, Any], obj: dict[str, Any]) -> None:
        """Give the fields that changed to the writer."""
        self._keep(before, obj)

    def merged(self, current: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
        """Return the object after a strategic merge patch."""
        try:
            return strategic_merge(current, change, facts_for(self.served))
        except ApplyRefused as refused:
            raise _refusal(refused) from None

    def applied(
        self,
        writer: ObjectWriter[W],
        old: Stored | None,
        applied: dict[str, Any],
        twice: list[str],
        *,
        force: bool,
    ) -> W:
        """Apply: create the object, or change it to what its managers agree on."""
        served = self.served
        version = ""
        if is_map(meta := applied.get("metadata")) and isinstance(meta.get("resourceVersion"), str):
            version = meta.pop("resourceVersion")
        live: dict[str, Any] | None = None if old is None else msgspec.json.decode(served.shown(old.data))
        if live is None and self.subresource:
            raise not_found(served.plural, served.group, writer.route.name)
        result = self._merged(live, applied, force=force)
        meta = result["metadata"]
        if old is not None:
            meta.setdefault("name", writer.route.name)
        if old is None and (uid := meta.get("uid")):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise conflict(served.plural, served.group, meta["name"], why)
        writer.check_place(meta)
        if old is None:
            return writer.create(result, twice)
        if version:
            meta["resourceVersion"] = version
        result["apiVersion"] = served.api_version
        writer.tidy(result, twice)
        return writer.store(old, result)

    def _merged(self, live: dict[str, Any] | None, applied: dict[str, Any], *, force: bool) -> dict[str, Any]:
        """Return the object as it is after an apply, and keep who owns its fields then."""
        served, facts = self.served, facts_for(self.served)
        try:
            check_applied(applied, facts, served.api_version, served.kind)
            outcome = apply(
                live, self._part(applied), manager=self.manager, facts=facts,
                api_version=served.api_version, kind=served.kind, now=self.state.clock.stamp(),
                force=force, subresource=self.subresource, apart=self._apart(live),
                versions=KindVersions(self.state.kinds, served),
            )  # fmt: skip
        except ApplyRefused as refused:
            raise _refusal(refused) from None
        if isinstance(outcome, Conflicts):
            causes = [msgspec.to_builtins(cause) for cause in outcome.causes]
            raise Rejection(failure(409, outcome.message, {"causes": causes}))
        self._applied = outcome.managed_fields
        return outcome.object

    def _apart(self, live: dict[str, Any] | None) -> tuple[str, ...]:
        """Return the fields of an object that this subresource ignores."""
        if not self.served.has_status:
            return ()
        if self.subresource != "status":
            return ("status",)
        mine = ("status",) if self.served.custom else ("metadata", "status")
        return tuple(name for name in live or () if name not in mine)

    def _part(self, applied: dict[str, Any]) -> dict[str, Any]:
        """Return the part of a body that this subresource writes."""
        if not self.served.has_status:
            return applied
        if self.subresource == "status":
            part: dict[str, Any] = {name: applied[name] for name in _OF_STATUS if name in applied}
            if self.served.custom and is_map(meta := part.get("metadata")):
                part["metadata"] = {name: value for name, value in meta.items() if name in _IDENTITY}
            return part
        return {name: value for name, value in applied.items() if name != "status"}

    def _keep(self, before: dict[str, Any] | None, obj: dict[str, Any]) -> None:
        if not self.state.tracks:
            return
        entries = self._applied
        if self._lost:
            entries = []
        elif entries is None:
            entries = self._remembered(before, obj)
        if entries:
            obj["metadata"]["managedFields"] = entries
        else:
            obj["metadata"].pop("managedFields", None)

    def _remembered(self, before: dict[str, Any] | None, obj: dict[str, Any]) -> Entries:
        """Return managedFields after this write, from memory if only values are new."""
        if self.scaled is not None and before is not None:
            return self._scaled(before, obj, self.scaled)
        now = self.state.clock.stamp()
        if before is None:
            if "managedFields" in obj["metadata"]:
                return self._updated(before, obj, now)
            key = (self.manager, self.subresource, shape_of(obj))
            known = self.served.owned.get(key)
            if known is None:
                known = self._updated(before, obj, now)
                if len(self.served.owned) < _MOST_SHAPES:
                    self.served.owned[key] = known
            return [entry | {"time": now} for entry in known]
        entries: Entries = before["metadata"].get("managedFields", [])
        if len(entries) == 1 and obj["metadata"].get("managedFields", entries) == entries:
            [entry] = entries
            if (
                entry["manager"] == self.manager
                and entry["operation"] == "Update"
                and entry["apiVersion"] == self.served.api_version
                and entry.get("subresource", "") == self.subresource
            ):
                match difference(before, obj):
                    case "none":
                        return entries
                    case "values":
                        return [entry | {"time": now}]
                    case _:
                        pass
        return self._updated(before, obj, now)

    def _updated(self, before: dict[str, Any] | None, obj: dict[str, Any], now: str) -> Entries:
        return update(
            before, obj, manager=self.manager, facts=facts_for(self.served),
            api_version=self.served.api_version, now=now, subresource=self.subresource,
            versions=KindVersions(self.state.kinds, self.served),
        )  # fmt: skip

    def _scaled(self, before: dict[str, Any], obj: dict[str, Any], path: tuple[str, ...]) -> Entries:
        return update_by_scale(
            before, replicas=tuple(map(field_step, path)), manager=self.manager,
            api_version=self.served.api_version, changed=_at(before, path) != _at(obj, path),
        )  # fmt: skip


class KindVersions:
    """The versions of a kind, for managers that own fields of another one."""

    def __init__(self, kinds: Kinds, served: Served) -> None:
        self._kinds = kinds
        self._served = served

    def in_version(self, obj: dict[str, Any], api_version: str) -> tuple[dict[str, Any], Facts] | None:
        """Return an object in another version, and the facts of that; None if there is no such version."""
        served = self._served
        if obj["apiVersion"] == api_version:
            return obj, self._facts(api_version)
        if not served.custom:
            other = self._kinds.of_kind(api_version, served.kind)
            here = self._kinds.of_kind(obj["apiVersion"], served.kind)
            if other is None or here is None or other.storage is not served.storage:
                return None
            return other.read(here.kept(obj)), facts_for(other)
        codec = served.codecs.get(api_version)
        if codec is None:
            return None
        made = served.converted(copied(obj), api_version)
        codec.conform(made)
        return made, self._facts(api_version)

    def _facts(self, api_version: str) -> Facts:
        served = self._served
        if api_version == served.api_version:
            return facts_for(served)
        if (codec := served.codecs.get(api_version)) is None:
            other = self._kinds.of_kind(api_version, served.kind)
            return facts_for(other or served)
        if codec.facts is None:
            codec.facts = facts_of_schema(codec.schema)
        return codec.facts


def facts_for(served: Served) -> Facts:
    """Return what merging and tracking know of a kind."""
    facts: Facts | None = served.facts
    if facts is None:
        if isinstance(served.codec, SchemaCodec):
            facts = facts_of_schema(served.codec.schema)
        else:
            facts = facts_of_kind(served.resource.gvk, without=served.codec.release.missing_fields)
        served.facts = facts
    return facts


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        obj = obj.get(name) if is_map(obj) else None
    return obj


def _refusal(refused: ApplyRefused) -> Rejection:
    return Rejection(failure(refused.code, refused.message, reason=refused.reason))
