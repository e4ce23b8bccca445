"""Creating and replacing objects: what the server sets, keeps, refuses, and when nothing changes."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ...crd import NotEvaluated, Violation, check_definition
from .._refusals import (
    Rejection,
    about,
    bad_request,
    conflict,
    dotted,
    exists,
    failure,
    forbidden,
    invalid,
    not_found,
    quoted,
    unexplained,
)
from .._state import ServerState
from ..kinds._defaults import admit, fill_in
from ..kinds._kind_rules import check_bytes, check_kind
from ..kinds._kinds import SchemaCodec
from ..kinds._typed import Misfit
from ..reading._lists import read_version
from ..reading._query import Query
from ..reading._routes import Route
from ..storage._storage import Stored
from ..storage._values import copied, is_map
from ._allocation import SERVICES, allocate
from ._fixed_fields import check_fixed
from ._gates import OPEN, Gate
from ._keeping import count_generation, kept
from ._mistakes import immutable, misnamed, no_metadata, no_version, of_status, other_name, other_uid
from ._network_rules import addresses
from ._rules import check_meta, check_spec, finalizer_warnings, new_finalizers
from ._scales import with_scale
from ._schema_shapes import check_schemas
from ._tracking import Tracker
from ._workload_rules import BUDGETS

# What the storage of a real server takes for one object, and what it says about more.
_LARGEST: Final = 1_572_864
_NAME_TRIES: Final = 8
_VERSION: Final = b'"resourceVersion":"%d"'
_DROPPED: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
    "resourceVersion",
)  # fmt: skip
# Faults after which a server does not evaluate the rules of a schema, and what it says then.
_DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_BLOCKING: Final = frozenset((
    "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueDuplicate",
    "FieldValueTypeInvalid",
))  # fmt: skip
_UNCHECKED: Final = Violation(
    "FieldValueInvalid",
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; correct the existing errors to"
    " complete validation",
)
_decode: Final = msgspec.json.Decoder().decode


class Written(Struct, frozen=True):
    """The outcome of a write: the object as it is answered with, and whether it came to be."""

    data: bytes
    created: bool = False


class Writer:
    """One write of one request: who writes what, how strictly, and what is to be warned of."""

    def __init__(
        self,
        state: ServerState,
        route: Route,
        query: Query,
        manager: str,
        warnings: list[str] | None = None,
        gate: Gate = OPEN,
    ) -> None:
        self.state = state
        self.route = route
        self.served = route.served
        self.dry_run = bool(query.get("dryRun"))
        self.validation = query.get("fieldValidation") or "Warn"
        self.manager = query.get("fieldManager") or manager
        self.warnings: list[str] = [] if warnings is None else warnings
        self.decoding = ""  # what is said before the fault of a value that cannot be decoded
        self.misnamed: tuple[str, str] | None = None  # another kind and apiVersion than the URL's
        self.tracker = Tracker(state, self.served, self.manager, route.subresource)
        self.gate = gate

    @property
    def _key(self) -> str:
        return self.served.key(self.route.namespace, self.route.name)

    def create(self, obj: dict[str, Any], twice: list[str], *, replacing: bool = False) -> Written:
        """Store a new object; one that was to replace another may have a version."""
        served, state = self.served, self.state
        self._check_type(obj)
        meta = self._metadata(obj)
        self.tidy(obj, twice)
        self._check_namespace(meta)
        asked_version = meta.get("resourceVersion", "")
        for name in _DROPPED:
            meta.pop(name, None)
        asked_name = meta.get("name", "")
        name = self._name(meta)
        if name and self.route.name and name != self.route.name:
            raise other_name(name, self.route.name)
        self._admit(meta.get("name", ""))
        fill_in(served, obj)
        if served.has_status:
            self.tracker.look_at({}, obj)
            obj.pop("status", None)
        if self.gate.mutates:
            obj = self._mutated_new(obj, drawn=bool(name) and not asked_name)
            meta = obj["metadata"]
        self.gate.check(obj, None)
        self._check(obj, None)
        if not self.gate.mutates:
            self.tracker.created(obj)
        meta["uid"] = state.chance.uid()
        meta["creationTimestamp"] = state.clock.stamp()
        admit(served, obj)
        allocate(served, obj, dry_run=self.dry_run)
        version = state.storage.version + 1
        if not self.dry_run:
            meta["resourceVersion"] = str(version)
        elif asked_version:
            meta["resourceVersion"] = asked_version
        if served.counts_generation:
            meta["generation"] = 1
        data = self._written(obj)
        if replacing and asked_version and read_version(asked_version) is None:
            raise no_version(asked_version)
        if asked_version not in ("", "0") and not (replacing or self.dry_run):
            raise unexplained("resourceVersion should not be set on objects to be created")
        self.gate.validate(obj, None)
        key = served.key(self.route.namespace, meta["name"])
        if (old := served.storage.objects.get(key)) is not None:
            raise exists(
                served.plural, served.group, meta["name"], deleting=b'"deletionTimestamp":' in old.data
                and "deletionTimestamp" in _decode(old.data)["metadata"],
            )  # fmt: skip
        if self.dry_run:
            return Written(data, created=True)
        state.commit(served.storage, make_stored(key, obj, version, data))
        return Written(served.shown(data), created=True)

    def replace(self, obj: dict[str, Any], twice: list[str]) -> Written:
        """Put an object in the place of the one that is stored."""
        served, route = self.served, self.route
        self._check_type(obj)
        meta = self._metadata(obj)
        self.tidy(obj, twice)
        self.check_place(meta)
        old = served.storage.objects.get(self._key)
        if old is None:
            if served.made_by_update and not route.subresource:
                if uid := meta.get("uid"):
                    raise conflict(
                        served.plural, served.group, route.name, other_uid(served, self._key, uid, "")
                    )
                return self.create(obj, [], replacing=True)
            raise not_found(served.plural, served.group, route.name)
        uid = meta.get("uid", "")
        if uid and uid != old.uid:
            why = other_uid(served, self._key, uid, old.uid, dry_run=self.dry_run)
            raise conflict(served.plural, served.group, route.name, why)
        return self.store(old, obj)

    def store(self, old: Stored, obj: dict[str, Any], *, patched: bool = False) -> Written:
        """Store a new state of an object, unless nothing changed; what a client may not change stays."""
        served = self.served
        before = served.read(old.data)
        self._check_version(old, obj["metadata"], patched=patched)
        fixed = immutable(before["metadata"], obj["metadata"])
        self.tracker.look_at(before, obj)
        if self.gate.mutates:
            obj = self._mutated(before, obj)
        obj = kept(served, self.route.subresource, before, obj)
        self.gate.check(obj, before)
        meta = obj["metadata"]
        self._check(obj, before, fixed + new_finalizers(before["metadata"], meta))
        if served.counts_generation and self.route.subresource != "status":
            count_generation(served, before, obj)
        if not self.gate.mutates:
            self.tracker.updated(before, obj)
        meta["resourceVersion"] = str(old.version)
        data = self._written(obj)
        self.gate.validate(obj, before)
        if data == old.data or self.dry_run:
            return Written(served.shown(data))
        if self._finished(meta):
            self._remove(old, obj)
            return Written(served.shown(data))
        return Written(self._commit(old, obj, data))

    def _mutated_new(self, obj: dict[str, Any], *, drawn: bool) -> dict[str, Any]:
        """Return a new object as mutating webhooks make it.

        Nobody owns what they add, so ownership is noted before. A name that is drawn is not there yet.
        """
        self.tracker.created(obj)
        name = obj["metadata"].pop("name", "") if drawn else ""
        obj = self.gate.mutate(obj, None, self._tidied)
        meta = self._metadata(obj)
        if drawn:
            meta.setdefault("name", name)
        self._check_namespace(meta)
        return obj

    def _mutated(self, before: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
        """Return a new state as mutating webhooks make it; nobody owns what they add."""
        tracked = kept(self.served, self.route.subresource, before, copied(obj))
        self.tracker.updated(before, tracked)
        if (book := tracked["metadata"].get("managedFields")) is not None:
            obj["metadata"]["managedFields"] = book
        return self.gate.mutate(obj, before, self._tidied)

    def _tidied(self, obj: dict[str, Any]) -> dict[str, Any]:
        """An object that a webhook has changed, in the form that is stored; or `Misfit`."""
        served = self.served
        obj.setdefault("metadata", {})
        served.codec.tidy(obj)
        if not served.custom:
            served.write(obj)
        fill_in(served, obj)
        return obj

    def tidy(self, obj: dict[str, Any], twice: list[str]) -> None:
        """Bring an object into the form that is stored; what that drops is warned of or refused."""
        served = self.served
        try:
            unknown = served.codec.tidy(obj)
            if not served.custom:
                served.write(obj)  # a value of a wrong type is found now, before anybody looks at it
                check_bytes(served, obj, self.decoding)
            if served.full_name == _DEFINITIONS:
                check_schemas(obj)
        except Misfit as error:
            raise self.misfit(error) from None
        if self.misnamed:
            # Nobody knows what belongs into such an object, but for its metadata.
            unknown = [path for path in unknown if path.startswith("metadata.")]
        if not (unknown or twice) or self.validation == "Ignore":
            return
        faults = [f"unknown field {quoted(path)}" for path in unknown]
        faults += [f"duplicate field {quoted(path)}" for path in twice]
        if self.validation == "Strict":
            raise self.strict_refusal(faults)
        self.warnings += faults

    def strict_refusal(self, faults: list[str]) -> Rejection:
        """How unknown and duplicate fields are refused; a patch has a shape of its own for it."""
        return bad_request(f"{self._handled()}strict decoding error: {', '.join(faults)}")

    def misfit(self, error: Misfit) -> Rejection:
        """How a value of a wrong type is refused."""
        return bad_request(f"{self._handled()}{error}")

    def _handled(self) -> str:
        kind = self.misnamed[0] if self.misnamed else self.served.kind
        return f"{kind} in version {quoted(self.served.version)} cannot be handled as a {kind}: "

    def _check_type(self, obj: dict[str, Any]) -> None:
        """kind and apiVersion: built-in kinds may leave them out."""
        served = self.served
        kind, api_version = obj.get("kind", ""), obj.get("apiVersion", "")
        if served.custom:
            if api_version != served.api_version:
                raise bad_request(
                    f"the API version in the data ({api_version}) does not match the expected API version"
                    f" ({served.api_version})"
                )
            if kind != served.kind:
                self.misnamed = kind, api_version
        elif why := self.mistyped(kind, api_version):
            version = (api_version or served.api_version).rpartition("/")[2]
            shown = f"{kind or served.kind} in version {quoted(version)}"
            raise bad_request(f"{shown} cannot be handled as a {served.kind}: {why}")
        obj["kind"], obj["apiVersion"] = served.kind, served.api_version

    def mistyped(self, kind: str, api_version: str) -> str:
        """Why an object that says this of itself is none of this built-in kind; empty if it is."""
        served = self.served
        if kind in ("", served.kind) and api_version in ("", served.api_version):
            return ""
        kind, api_version = kind or served.kind, api_version or served.api_version
        other = self.state.kinds.of_kind(api_version, kind)
        if other is None or other.custom:
            scheme = quoted("pkg/runtime/scheme.go:111")
            return (
                f"no kind {quoted(kind)} is registered for version {quoted(api_version)} in scheme {scheme}"
            )
        package = served.group.partition(".")[0] or "core"
        return f"converting ({other.version}.{kind}) to ({package}.{served.kind}): unknown conversion"

    def _metadata(self, obj: dict[str, Any]) -> dict[str, Any]:
        meta = obj.get("metadata")
        if meta is None:
            meta = obj["metadata"] = {}
        if not is_map(meta):
            raise self.misfit(no_metadata(self.served, meta))
        return meta

    def check_place(self, meta: dict[str, Any]) -> None:
        """Whether an object is the one that the URL names."""
        name = self.route.name
        if not meta.get("name"):
            why = "name must be provided"
            raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: {why}")
        if meta["name"] != name:
            raise other_name(meta["name"], name)
        self._check_namespace(meta)

    def _check_namespace(self, meta: dict[str, Any]) -> None:
        if not self.served.namespaced:
            meta.pop("namespace", None)
            return
        given = meta.get("namespace") or self.route.namespace
        if given != self.route.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = given

    def _name(self, meta: dict[str, Any]) -> str:
        name: str = meta.get("name", "")
        if name:
            return name
        base: str = meta.get("generateName", "")
        if not base:
            return ""
        for _ in range(_NAME_TRIES):
            meta["name"] = name = self.state.chance.name(base)
            if self.served.key(self.route.namespace, name) not in self.served.storage.objects:
                return name
        served = self.served
        word = dotted(served.plural, served.group)
        message = (
            f"{word} {quoted(meta['name'])} already exists, the server was not able to generate a unique name"
            " for the object"
        )
        details = about(meta["name"], served.group, served.plural) | {"retryAfterSeconds": 1}
        raise Rejection(failure(409, message, details, reason="AlreadyExists"))

    def _admit(self, name: str) -> None:
        """Whether the namespace takes new objects."""
        served, namespace = self.served, self.route.namespace
        if served.defined and served.storage.name in self.state.closing:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(served.plural, served.group, name, why)
        if not served.namespaced:
            return
        home = self.state.storage.resource("namespaces").objects.get(namespace)
        if home is None:
            raise not_found("namespaces", "", namespace)
        if namespace in self.state.terminating:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(served.plural, served.group, name, why, [cause])

    def _check(
        self, obj: dict[str, Any], old: dict[str, Any] | None, fixed: list[Violation] | None = None
    ) -> None:
        """Refuse what breaks the rules of metadata, of the kind or of the schema; `fixed` did already."""
        served = self.served
        name: str = obj["metadata"].get("name", "")
        # What may not change is looked at in two places, and told twice.
        found = fixed * 2 if fixed else []
        if self.misnamed:
            kind, api_version = self.misnamed
            found += misnamed(served, kind, api_version)
            raise invalid(kind, api_version.rpartition("/")[0], name, found)
        if served.full_name == SERVICES and (alone := list(addresses(obj))):
            raise invalid(served.kind, served.group, name, alone)
        found += check_meta(served, obj["metadata"])
        if isinstance(served.codec, SchemaCodec):
            blocked = served.codec.rules and any(one.reason in _BLOCKING for one in found)
            unknown: list[NotEvaluated] = []
            violations = served.codec.violations(obj, old, unknown, rules=not blocked)
            # The server that is simulated would decide: the write may be one that it refuses.
            self.warnings += [
                f"{one.field or '<nil>'}: the rule {one.rule!r} was not evaluated: {one.why}"
                for one in unknown
            ]
            if blocked:
                violations = [*(one for one in violations if one.field != "<nil>"), _UNCHECKED]
            if served.defined and served.defined.scale:
                violations = with_scale(served.defined.scale, obj, violations)
            if self.route.subresource == "status":
                violations = [of_status(violation) for violation in violations]
            found += violations
        else:
            found += check_kind(served, obj, old) if self.route.subresource == "" else []
            faults = check_spec(served, obj)
            if old is not None and self.route.subresource == "":
                faults += check_fixed(served, old, obj)
            # Of this kind alone a server looks at the spec first, and at the metadata if that is good.
            found = faults if faults and served.full_name == BUDGETS else found + faults
            if served.full_name == _DEFINITIONS:
                found += check_definition(obj)
        if found:
            raise invalid(served.kind, served.group, name, found)
        if served.custom and "finalizers" in obj["metadata"]:
            self.warnings += finalizer_warnings(old, obj)

    def _check_version(self, old: Stored, meta: dict[str, Any], *, patched: bool) -> None:
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
        """Whether this write took away the last thing that a deletion was waiting for."""
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
            # What stands before the version of a built-in object holds no quotes of its own.
            data = data.replace(_VERSION % old.version, _VERSION % version, 1)
        self.state.commit(served.storage, make_stored(old.key, obj, version, data))
        return served.shown(data)

    def _remove(self, old: Stored, obj: dict[str, Any]) -> None:
        version = self.state.storage.version + 1
        last = dict(obj)
        last["metadata"] = {**obj["metadata"], "resourceVersion": str(version)}
        self.state.remove(self.served.storage, make_stored(old.key, last, version, self.served.kept(last)))


def make_stored(key: str, obj: dict[str, Any], version: int, data: bytes) -> Stored:
    """An object as it is kept."""
    meta = obj["metadata"]
    owners = meta.get("ownerReferences")
    return Stored(
        key, meta.get("namespace", ""), meta["name"], meta["uid"], version, data, meta.get("labels"),
        tuple(owner["uid"] for owner in owners) if owners else (),
    )  # fmt: skip
