"""Server-side apply, and the managedFields in which a server records which manager owns which field.

- A manager who applies an object owns the fields in it, and no others: what it applied before and leaves out
  now is removed, unless another manager owns it too.
- A manager who writes in another way owns what it changed, and takes it from all others.
- Several may own a field while they agree on its value. A manager who applies another value is refused, or
  takes the field by force.
- Identity and what the server sets itself (name, uid, resourceVersion, …) are never owned.

::

    match apply(live, body, manager="m", facts=facts, api_version="v1", kind="ConfigMap", now=now):
        case Applied(object=object): ...       # with its managedFields
        case Conflicts() as conflicts: ...     # a 409 with these causes
    metadata["managedFields"] = update(before, after, manager="m", facts=facts, api_version="v1", now=now)

Times are strings as a server writes them. If a body is sent to a subresource that ignores a part of the
object (the status, or everything else), only the part that the subresource writes is passed here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from msgspec import Struct

from ..storage._json_values import members
from ._apply_refusals import ApplyRefused, Conflicts, FieldConflict
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
from ._merge_schemas import Facts
from ._object_fields import UNOWNED, compare, fields_of
from ._ownership_updates import Entries, Object, taken_by, update, without_managed_fields
from ._type_checks import misfits
from ._versioned_managers import VersionedChanges, Versions, pruned_across
from .fieldsets import EMPTY, FieldSet, difference, intersection, paths, union

__all__ = ["AppliedObject", "ApplyRefused", "Conflicts", "FieldConflict", "apply", "check_applied", "update"]

# Whatever a body says of these, the server decides.
_SERVERS_OWN: Final = ("creationTimestamp", "generation", "resourceVersion", "selfLink")


class AppliedObject(Struct, frozen=True):
    """The object as it is to be stored, its `managedFields` in place; `changed` if it differs."""

    object: Object
    managed_fields: Entries
    changed: bool


def apply(
    live: Object | None,
    applied: Object,
    *,
    manager: str,
    facts: Facts,
    api_version: str,
    kind: str,
    now: str,
    force: bool = False,
    subresource: str = "",
    apart: Collection[str] = (),
    versions: Versions | None = None,
) -> AppliedObject | Conflicts:
    """Apply an object over the live one, or create it; ApplyRefused if the body cannot be applied."""
    check_applied(applied, facts, api_version, kind)
    before, managers = _live(live, facts, api_version, now, apart)
    owner = owner_of(manager, "Apply", api_version, subresource)
    case = _Case(before, without_managed_fields(applied), managers, owner, facts, api_version, versions)
    outcome = _apply(case, force=force)
    if isinstance(outcome, Conflicts) and manager == "kubectl":
        # kubectl may continue with what it applied on the client side, before servers could.
        left = outcome.apart_from(allowed_by_last_applied(before, facts))
        outcome = left or _apply(case, force=True)
    if isinstance(outcome, Conflicts):
        return outcome
    object_, owners = outcome
    if owner in owners and object_ != before:
        # A manager who applies what is there already gets an entry without a time.
        owners = {**owners, owner: OwnedFields(owners[owner].fields, api_version, now)}
    if manager == "kubectl":
        object_ = with_last_applied(object_, applied)
    return _written(live, object_, encode_managers(owners))


class _Case(Struct, frozen=True):
    """Who applies what over which object."""

    before: Object
    applied: Object
    managers: Managers
    owner: Owner
    facts: Facts
    api_version: str
    versions: Versions | None


def _apply(case: _Case, *, force: bool) -> tuple[Object, Managers] | Conflicts:
    """Return the object and its owners, their times as they were; or the conflicts."""
    facts, owner = case.facts, case.owner
    last = case.managers.get(owner)
    mine = OwnedFields(fields_of(case.applied, facts), case.api_version, last.time if last else "")
    result = _servers_own(case.before, members(merged(case.before, case.applied, facts)))
    if last is not None and last.fields:
        result = _pruned_in(case, result, last, {**case.managers, owner: mine})
    versions = case.versions if case.before else None
    changes = VersionedChanges(
        case.before, result, compare(case.before, result, facts), case.api_version, versions
    )
    others = {
        other: (held, seen)
        for other, held in case.managers.items()
        if other != owner and (seen := changes.seen_by(held)) is not None
    }
    disputed = {other: intersection(held.fields, seen.written) for other, (held, seen) in others.items()}
    if any(disputed.values()) and not force:
        return Conflicts(
            tuple(FieldConflict(other, path) for other in sorted(disputed) for path in paths(disputed[other]))
        )
    owners: Managers = {owner: OwnedFields(difference(mine.fields, UNOWNED), mine.api_version, mine.time)}
    for other, (held, seen) in others.items():
        lost = union(disputed[other], seen.removed)
        left = difference(held.fields, lost)
        owners[other] = held if left == held.fields else OwnedFields(left, held.api_version, held.time)
    return result, {each: held for each, held in owners.items() if held.fields}


def _pruned_in(case: _Case, result: Object, last: OwnedFields, claimed: Managers) -> Object:
    """Remove what this manager applied last time and nobody owns any more, in whichever version that was."""
    if case.versions is None or all(
        held.api_version == case.api_version for held in (last, *claimed.values())
    ):
        return _pruned(result, last.fields, claimed, case.facts)
    return pruned_across(result, last, claimed, case.api_version, case.versions)


def _pruned(result: Object, last: FieldSet, claimed: Managers, facts: Facts) -> Object:
    """Remove what this manager applied last time and nobody owns any more."""
    last = with_parents(last, facts)
    there = with_parents(fields_of(result, facts), facts)
    owned = EMPTY
    for held in claimed.values():
        owned = union(owned, held.fields)
    owned = with_parents(owned, facts)
    # Removing a field removes what is inside; so what is owned by another manager is restored, and so is what
    # never was this manager's.
    without = _left(result, last, facts)
    kept = _left(result, difference(there, union(without, owned)), facts)
    gone = difference(intersection(difference(there, kept), last), UNOWNED)
    return members(removed(result, gone, facts))


def _left(result: Object, fields: FieldSet, facts: Facts) -> FieldSet:
    """Return the fields of an object when these are removed; a map that becomes empty stays."""
    return with_parents(fields_of(removed(result, fields, facts, emptied=None), facts), facts)


def _live(
    live: Object | None, facts: Facts, api_version: str, now: str, apart: Collection[str]
) -> tuple[Object, Managers]:
    """Return the object to apply to and its owners. Untracked fields belong to an earlier manager.

    Fields that this subresource ignores, named in `apart`, do not count.
    """
    before = without_managed_fields(live or {})
    managers = read_managers(live)
    if not managers and live is not None:
        owner = owner_of(BEFORE_FIRST_APPLY, "Update", api_version)
        managers = taken_by(
            {},
            {name: before[name] for name in before if name not in apart},
            owner,
            {},
            facts,
            now,
            api_version,
        )
    return before, managers


def check_applied(applied: Object, facts: Facts, api_version: str, kind: str) -> None:
    """Refuse a body that cannot be applied to an object of this kind: ApplyRefused."""
    group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
    gvk = f"{group}/{version}, Kind={applied.get('kind') or ''}"
    if (applied.get("apiVersion"), applied.get("kind")) != (api_version, kind):
        raise ApplyRefused(400, f"invalid object type: {gvk}")
    metadata = members(applied.get("metadata"))
    if metadata.get("managedFields") is not None:
        raise ApplyRefused(400, "metadata.managedFields must be nil")
    if wrong := misfits(applied, facts):
        name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
        raise ApplyRefused(500, f"failed to create typed patch object ({namespace}/{name}; {gvk}): {wrong}")


def _servers_own(before: Object, result: Object) -> Object:
    """Return the merged object with what only the server sets as it was; a new object has none of it yet."""
    if not before:
        return result
    kept = members(before.get("metadata"))
    metadata = {
        name: kept.get(name) if name in _SERVERS_OWN else value
        for name, value in members(result.get("metadata")).items()
        if name not in _SERVERS_OWN or name in kept
    }
    return {**result, "metadata": metadata}


def _written(live: Object | None, object_: Object, entries: Entries) -> AppliedObject:
    metadata = {**members(object_.get("metadata"))}
    if entries:
        metadata["managedFields"] = entries
    result = {**object_, "metadata": metadata}
    return AppliedObject(result, entries, live != result)
