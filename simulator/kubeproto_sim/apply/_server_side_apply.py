"""Server-side apply, and the managedFields in which a server records which manager owns which field.

- A manager that applies an object owns exactly its fields. A field of the previous apply that is missing now
  is removed, unless another manager owns it, too.
- A manager that writes in another way owns the changed fields, and takes them from all other managers.
- Several managers can own a field while they agree on its value. The apply of another value is refused, or
  takes the field by force.
- Nobody owns the identity of an object and the fields that the server sets: name, uid, resourceVersion, …

::

    match apply(live, body, manager="m", schema=schema, api_version="v1", kind="ConfigMap", now=now):
        case Applied(object=object): ...       # with its managedFields
        case Conflicts() as conflicts: ...     # a 409 with these causes
    entries = update(previous, current, manager="m", schema=schema, api_version="v1", now=now)

Times are strings in a server's format. If a subresource ignores a part of an object (the status, or
everything else), only the part that the subresource writes is passed here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from ..storage._json_values import members
from ._apply_refusals import ApplyRejection, Conflicts, FieldConflict
from ._field_managers import (
    BEFORE_FIRST_APPLY,
    Managers,
    OwnedFields,
    Owner,
    encode_managers,
    owner_of,
    read_managers,
)
from ._last_applied import allowed_by_last_applied, with_last_applied
from ._merge import merged, removed, with_parents
from ._merge_schemas import MergeSchema
from ._object_fields import UNOWNED, compare, fields_of
from ._ownership_updates import Entries, Object, owners_after_write, without_managed_fields
from ._type_checks import misfits
from ._versioned_managers import VersionedChanges, Versions, pruned_across
from .fieldsets import EMPTY, FieldSet, difference, intersection, paths, union

# The server ignores the values of these fields in a body.
_SERVER_FIELDS: Final = ("creationTimestamp", "generation", "resourceVersion", "selfLink")


class AppliedObject(Struct, frozen=True):
    """The object to store, including its `managedFields`; `changed` if it differs from the live object."""

    object: Object
    managed_fields: Entries
    changed: bool


def apply(
    live: Object | None,
    applied: Object,
    *,
    manager: str,
    schema: MergeSchema,
    api_version: str,
    kind: str,
    now: str,
    force: bool = False,
    subresource: str = "",
    apart: Collection[str] = (),
    versions: Versions | None = None,
) -> AppliedObject | Conflicts:
    """Apply an object to the live object, or create it.

    Raise ApplyRejection if the body cannot be applied.
    """
    check_applied(applied, schema, api_version, kind)
    previous, managers = _live_managers(live, schema, api_version, now, apart)
    owner = owner_of(manager, "Apply", api_version, subresource)
    request = _ApplyRequest(
        previous, without_managed_fields(applied), managers, owner, schema, api_version, versions
    )
    outcome = _apply(request, force=force)
    if isinstance(outcome, Conflicts) and manager == "kubectl":
        # kubectl may overwrite the fields that it applied on the client side, before server-side apply.
        remaining = outcome.without(allowed_by_last_applied(previous, schema))
        outcome = remaining or _apply(request, force=True)
    if isinstance(outcome, Conflicts):
        return outcome
    object_, owners = outcome
    if owner in owners and object_ != previous:
        # An apply that changes nothing gives its entry no time.
        owners = {**owners, owner: OwnedFields(owners[owner].fields, api_version, now)}
    if manager == "kubectl":
        object_ = with_last_applied(object_, applied)
    return _applied_object(live, object_, encode_managers(owners))


class _ApplyRequest(Struct, frozen=True):
    """An apply: the object, the manager and the live object."""

    previous: Object
    applied: Object
    managers: Managers
    owner: Owner
    schema: MergeSchema
    api_version: str
    versions: Versions | None


def _apply(request: _ApplyRequest, *, force: bool) -> tuple[Object, Managers] | Conflicts:
    """Return the object and its owners with unchanged times, or the conflicts."""
    schema, owner = request.schema, request.owner
    last_apply = request.managers.get(owner)
    applied_fields = OwnedFields(
        fields_of(request.applied, schema), request.api_version, last_apply.time if last_apply else ""
    )
    result = _keep_server_fields(request.previous, members(merged(request.previous, request.applied, schema)))
    if last_apply is not None and last_apply.fields:
        result = _pruned_in(request, result, last_apply, {**request.managers, owner: applied_fields})
    versions = request.versions if request.previous else None
    changes = VersionedChanges(
        request.previous, result, compare(request.previous, result, schema), request.api_version, versions
    )
    others = {
        other: (owned, changes_there)
        for other, owned in request.managers.items()
        if other != owner and (changes_there := changes.in_version_of(owned)) is not None
    }
    disputed = {
        other: intersection(owned.fields, changes_there.written)
        for other, (owned, changes_there) in others.items()
    }
    if any(disputed.values()) and not force:
        return Conflicts(
            tuple(FieldConflict(other, path) for other in sorted(disputed) for path in paths(disputed[other]))
        )
    owners: Managers = {
        owner: OwnedFields(
            difference(applied_fields.fields, UNOWNED), applied_fields.api_version, applied_fields.time
        )
    }
    for other, (owned, changes_there) in others.items():
        lost_fields = union(disputed[other], changes_there.removed)
        remaining = difference(owned.fields, lost_fields)
        owners[other] = (
            owned if remaining == owned.fields else OwnedFields(remaining, owned.api_version, owned.time)
        )
    return result, {manager: owned for manager, owned in owners.items() if owned.fields}


def _pruned_in(request: _ApplyRequest, result: Object, last: OwnedFields, claimed: Managers) -> Object:
    """Remove the fields of the last apply, in the version of that apply, that nobody owns any more."""
    if request.versions is None or all(
        owned.api_version == request.api_version for owned in (last, *claimed.values())
    ):
        return _pruned(result, last.fields, claimed, request.schema)
    return pruned_across(result, last, claimed, request.api_version, request.versions)


def _pruned(result: Object, last: FieldSet, claimed: Managers, schema: MergeSchema) -> Object:
    """Remove the fields of the last apply that nobody owns any more."""
    last = with_parents(last, schema)
    current = with_parents(fields_of(result, schema), schema)
    owned = EMPTY
    for claim in claimed.values():
        owned = union(owned, claim.fields)
    owned = with_parents(owned, schema)
    # The removal of a field also removes its content, so content that another manager owns, or that this
    # manager never owned, is restored.
    remaining = _fields_without(result, last, schema)
    retained = _fields_without(result, difference(current, union(remaining, owned)), schema)
    pruned = difference(intersection(difference(current, retained), last), UNOWNED)
    return members(removed(result, pruned, schema))


def _fields_without(result: Object, fields: FieldSet, schema: MergeSchema) -> FieldSet:
    """Return the fields of an object without these fields; a map that becomes empty remains."""
    return with_parents(fields_of(removed(result, fields, schema, emptied=None), schema), schema)


def _live_managers(
    live: Object | None, schema: MergeSchema, api_version: str, now: str, apart: Collection[str]
) -> tuple[Object, Managers]:
    """Return the live object and its owners. Fields without an owner get `before-first-apply`.

    The fields in `apart`, which this subresource ignores, are excluded.
    """
    previous = without_managed_fields(live or {})
    managers = read_managers(live)
    if not managers and live is not None:
        owner = owner_of(BEFORE_FIRST_APPLY, "Update", api_version)
        managers = owners_after_write(
            {},
            {name: previous[name] for name in previous if name not in apart},
            owner,
            {},
            schema,
            now,
            api_version,
        )
    return previous, managers


def check_applied(applied: Object, schema: MergeSchema, api_version: str, kind: str) -> None:
    """Raise ApplyRejection if a body cannot be applied to an object of this kind."""
    group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
    gvk = f"{group}/{version}, Kind={applied.get('kind') or ''}"
    if (applied.get("apiVersion"), applied.get("kind")) != (api_version, kind):
        raise ApplyRejection(400, f"invalid object type: {gvk}")
    metadata = members(applied.get("metadata"))
    if metadata.get("managedFields") is not None:
        raise ApplyRejection(400, "metadata.managedFields must be nil")
    if wrong := misfits(applied, schema):
        name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
        raise ApplyRejection(500, f"failed to create typed patch object ({namespace}/{name}; {gvk}): {wrong}")


def _keep_server_fields(previous: Object, result: Object) -> Object:
    """Return the merged object with the previous values of the fields that only the server sets."""
    if not previous:
        return result
    previous_metadata = members(previous.get("metadata"))
    metadata = {
        name: previous_metadata.get(name) if name in _SERVER_FIELDS else value
        for name, value in members(result.get("metadata")).items()
        if name not in _SERVER_FIELDS or name in previous_metadata
    }
    return {**result, "metadata": metadata}


def _applied_object(live: Object | None, object_: Object, entries: Entries) -> AppliedObject:
    metadata = {**members(object_.get("metadata"))}
    if entries:
        metadata["managedFields"] = entries
    result = {**object_, "metadata": metadata}
    return AppliedObject(result, entries, live != result)
