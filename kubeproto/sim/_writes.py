"""Creating and replacing objects: what the server sets, keeps, refuses, and when nothing changes."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ..crd import Violation
from ._apply_values import is_map
from ._defaults import admit, fill_in
from ._keeping import count_generation, kept
from ._kinds import SchemaCodec, Served
from ._lists import invalid_version, read_version
from ._query import Query
from ._refusals import (
    Refused,
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
)  # fmt: skip
from ._routes import Route
from ._rules import check_meta, check_spec, new_finalizers
from ._storage import Stored
from ._tracking import Tracker
from ._typed import Misfit
from ._world import World

# What the storage of a real server takes for one object, and what it says about more.
_LARGEST: Final = 1_572_864
_NAME_TRIES: Final = 8
_VERSION: Final = b'"resourceVersion":"%d"'
_DROPPED: Final = (
    "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
    "resourceVersion",
)  # fmt: skip
_decode: Final = msgspec.json.Decoder().decode


class Written(Struct, frozen=True):
    """The outcome of a write: the object as it is answered with, and whether it came to be."""

    data: bytes
    created: bool = False


class Writer:
    """One write of one request: who writes what, how strictly, and what is to be warned of."""

    def __init__(self, world: World, route: Route, query: Query, manager: str) -> None:
        self.world = world
        self.route = route
        self.served = route.served
        self.dry_run = bool(query.get("dryRun"))
        self.validation = query.get("fieldValidation") or "Warn"
        self.manager = query.get("fieldManager") or manager
        self.warnings: list[str] = []
        self.tracker = Tracker(world, self.served, self.manager, route.subresource)

    def create(self, obj: dict[str, Any], twice: list[str]) -> Written:
        """Store a new object."""
        served, world = self.served, self.world
        self._check_type(obj)
        meta = self._metadata(obj)
        self._check_namespace(meta)
        asked_version = meta.get("resourceVersion", "")
        self.tidy(obj, twice)
        for name in _DROPPED:
            meta.pop(name, None)
        name = self._name(meta)
        if name and self.route.name and name != self.route.name:
            raise _other_name(name, self.route.name)
        self._admit(meta.get("name", ""))
        fill_in(served, obj)
        if served.has_status:
            obj.pop("status", None)
        self._check(obj, None)
        self.tracker.created(obj)
        admit(served, obj)
        version = world.storage.version + 1
        if not self.dry_run:
            meta["resourceVersion"] = str(version)
        if served.counts_generation:
            meta["generation"] = 1
        meta["uid"] = world.chance.uid()
        meta["creationTimestamp"] = world.clock.stamp()
        data = self._written(obj)
        if asked_version not in ("", "0"):
            raise unexplained("resourceVersion should not be set on objects to be created")
        key = served.key(self.route.namespace, meta["name"])
        if (old := served.shelf.objects.get(key)) is not None:
            raise exists(
                served.plural, served.group, meta["name"], deleting=b'"deletionTimestamp":' in old.data
                and "deletionTimestamp" in _decode(old.data)["metadata"],
            )  # fmt: skip
        if self.dry_run:
            return Written(data, created=True)
        world.commit(served.shelf, make_stored(key, obj, version, data))
        return Written(served.shown(data), created=True)

    def replace(self, obj: dict[str, Any], twice: list[str]) -> Written:
        """Put an object in the place of the one that is stored."""
        served, route = self.served, self.route
        self._check_type(obj)
        meta = self._metadata(obj)
        if not meta.get("name"):
            raise bad_request(
                "the name of the object (based on the body) was undeterminable: name must be provided"
            )
        if meta["name"] != route.name:
            raise _other_name(meta["name"], route.name)
        self._check_namespace(meta)
        self.tidy(obj, twice)
        old = served.shelf.objects.get(served.key(route.namespace, route.name))
        if old is None:
            if served.made_by_update and not route.subresource:
                return self.create(obj, [])
            raise not_found(served.plural, served.group, route.name)
        uid = meta.get("uid", "")
        if uid and uid != old.uid:
            raise conflict(served.plural, served.group, route.name, _other_uid(served, old, uid))
        return self.store(old, obj)

    def store(self, old: Stored, obj: dict[str, Any], *, patched: bool = False) -> Written:
        """Store a new state of an object, unless nothing changed; what a client may not change stays."""
        served = self.served
        before: dict[str, Any] = _decode(old.data)
        self._check_version(old, obj["metadata"], patched=patched)
        self._check_immutable(before["metadata"], obj["metadata"], old.name)
        obj = kept(served, self.route.subresource, before, obj)
        meta = obj["metadata"]
        found = new_finalizers(before["metadata"], meta)
        if found and served.custom is False:
            # Kinds of the server's own check it in two places.
            found = found * 2
        if found:
            raise invalid(served.kind, served.group, old.name, found)
        self._check(obj, before)
        if served.counts_generation and self.route.subresource != "status":
            count_generation(served, before, obj)
        self.tracker.updated(before, obj)
        meta["resourceVersion"] = str(old.version)
        data = self._written(obj)
        if data == old.data or self.dry_run:
            return Written(served.shown(data))
        if self._finished(meta):
            self._remove(old, obj)
            return Written(served.shown(data))
        return Written(self._commit(old, obj, data))

    def tidy(self, obj: dict[str, Any], twice: list[str]) -> None:
        """Bring an object into the form that is stored; what that drops is warned of or refused."""
        served = self.served
        try:
            unknown = served.codec.tidy(obj)
            if not served.custom:
                served.write(obj)  # a value of a wrong type is found now, before anybody looks at it
        except Misfit as error:
            raise self.misfit(error) from None
        if not (unknown or twice) or self.validation == "Ignore":
            return
        faults = [f"unknown field {quoted(path)}" for path in unknown]
        faults += [f"duplicate field {quoted(path)}" for path in twice]
        if self.validation == "Strict":
            raise self.strict_refusal(faults)
        self.warnings += faults

    def strict_refusal(self, faults: list[str]) -> Refused:
        """How unknown and duplicate fields are refused; a patch has a shape of its own for it."""
        where = "" if self.served.custom else self._handled()
        return bad_request(f"{where}strict decoding error: {', '.join(faults)}")

    def misfit(self, error: Misfit) -> Refused:
        """How a value of a wrong type is refused."""
        return bad_request(f"{self._handled()}{error}")

    def _handled(self) -> str:
        served = self.served
        return f"{served.kind} in version {quoted(served.version)} cannot be handled as a {served.kind}: "

    def _check_type(self, obj: dict[str, Any]) -> None:
        """kind and apiVersion: built-in kinds may leave them out."""
        served = self.served
        kind, api_version = obj.get("kind", ""), obj.get("apiVersion", "")
        if served.custom and not kind:
            text = msgspec.json.encode(obj).decode()
            raise bad_request(f"Object 'Kind' is missing in '{text}'")
        if served.custom and not api_version:
            raise bad_request(f"Object 'apiVersion' is missing in '{msgspec.json.encode(obj).decode()}'")
        if api_version and api_version != served.api_version:
            raise bad_request(
                f"the API version in the data ({api_version}) does not match the expected API version"
                f" ({served.api_version})"
            )
        if kind and kind != served.kind:
            raise bad_request(
                f"{kind} in version {quoted(served.version)} cannot be handled as a {served.kind}:"
                f" the kind in the data ({kind}) does not match the expected kind ({served.kind})"
            )
        obj["kind"], obj["apiVersion"] = served.kind, served.shelf_version

    def _metadata(self, obj: dict[str, Any]) -> dict[str, Any]:
        meta = obj.get("metadata")
        if meta is None:
            meta = obj["metadata"] = {}
        if not is_map(meta):
            field = f"{self.served.kind}.metadata of type v1.ObjectMeta"
            raise bad_request(f"{self._handled()}json: cannot unmarshal into Go struct field {field}")
        return meta

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
            served = self.served
            violation = Violation(
                "FieldValueRequired", "metadata.name", detail="name or generateName is required"
            )
            raise invalid(served.kind, served.group, "", [violation])
        for _ in range(_NAME_TRIES):
            meta["name"] = name = self.world.chance.name(base)
            if self.served.key(self.route.namespace, name) not in self.served.shelf.objects:
                return name
        served = self.served
        word = dotted(served.plural, served.group)
        message = (
            f"{word} {quoted(meta['name'])} already exists, the server was not able to generate a unique name"
            " for the object"
        )
        details = about(meta["name"], served.group, served.plural) | {"retryAfterSeconds": 1}
        raise Refused(failure(409, message, details, reason="AlreadyExists"))

    def _admit(self, name: str) -> None:
        """Whether the namespace takes new objects."""
        served, namespace = self.served, self.route.namespace
        if served.defined and served.shelf.name in self.world.closing:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(served.plural, served.group, name, why)
        if not served.namespaced:
            return
        home = self.world.storage.shelf("namespaces").objects.get(namespace)
        if home is None:
            raise not_found("namespaces", "", namespace)
        if namespace in self.world.terminating:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(served.plural, served.group, name, why, [cause])

    def _check(self, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        """Refuse what breaks the rules of metadata, of the kind or of the schema."""
        served = self.served
        found = check_meta(served, obj["metadata"])
        if isinstance(served.codec, SchemaCodec):
            found += served.codec.violations(obj, old)
        else:
            found += check_spec(served, obj)
        if found:
            raise invalid(served.kind, served.group, obj["metadata"].get("name", ""), found)

    def _check_version(self, old: Stored, meta: dict[str, Any], *, patched: bool) -> None:
        served = self.served
        text: str = meta.get("resourceVersion", "")
        if text in ("", "0"):
            if served.custom:
                fault = Violation(
                    "FieldValueInvalid", "metadata.resourceVersion", 0, "must be specified for an update"
                )
                raise invalid(served.plural, served.group, old.name, [fault])
            return
        version = read_version(text)
        if version is None:
            raise unexplained(f"resourceVersion: {invalid_version(text)}")
        if version != old.version:
            raise conflict(served.plural, served.group, old.name)

    def _check_immutable(self, before: dict[str, Any], meta: dict[str, Any], name: str) -> None:
        found: list[Violation] = []
        for field in ("uid", "deletionTimestamp"):
            if meta.get(field) not in (None, "", before.get(field)):
                found.append(
                    Violation("FieldValueInvalid", f"metadata.{field}", meta[field], "field is immutable")
                )
        if found:
            raise invalid(self.served.kind, self.served.group, name, found)

    def _finished(self, meta: dict[str, Any]) -> bool:
        """Whether this write took away the last thing that a deletion was waiting for."""
        if not meta.get("deletionTimestamp") or meta.get("finalizers"):
            return False
        if self.served.full_name == "namespaces":
            return False
        return not meta.get("deletionGracePeriodSeconds")

    def _written(self, obj: dict[str, Any]) -> bytes:
        try:
            data = self.served.write(obj)
        except Misfit as error:
            raise self.misfit(error) from None
        if len(data) > _LARGEST:
            raise unexplained("etcdserver: request is too large")
        return data

    def _commit(self, old: Stored, obj: dict[str, Any], data: bytes) -> bytes:
        """Store a new state that was written at the old version."""
        served, version = self.served, self.world.storage.version + 1
        obj["metadata"]["resourceVersion"] = str(version)
        if served.custom:
            data = served.write(obj)
        else:
            # What stands before the version of a built-in object holds no quotes of its own.
            data = data.replace(_VERSION % old.version, _VERSION % version, 1)
        self.world.commit(served.shelf, make_stored(old.key, obj, version, data))
        return served.shown(data)

    def _remove(self, old: Stored, obj: dict[str, Any]) -> None:
        version = self.world.storage.version + 1
        last = dict(obj)
        last["metadata"] = {**obj["metadata"], "resourceVersion": str(version)}
        self.world.remove(self.served.shelf, make_stored(old.key, last, version, self.served.write(last)))


def make_stored(key: str, obj: dict[str, Any], version: int, data: bytes) -> Stored:
    """An object as it is kept."""
    meta = obj["metadata"]
    owners = meta.get("ownerReferences")
    return Stored(
        key, meta.get("namespace", ""), meta["name"], meta["uid"], version, data, meta.get("labels"),
        tuple(owner["uid"] for owner in owners) if owners else (),
    )  # fmt: skip


def _other_name(body: str, url: str) -> Refused:
    return bad_request(f"the name of the object ({body}) does not match the name on the URL ({url})")


def _other_uid(served: Served, old: Stored, uid: str) -> str:
    path = f"{served.group}/{served.plural}" if served.custom else served.plural
    return (
        f"StorageError: invalid object, Code: 4, Key: /registry/{path}/{old.key}, ResourceVersion: 0,"
        f" AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {old.uid}"
    )
