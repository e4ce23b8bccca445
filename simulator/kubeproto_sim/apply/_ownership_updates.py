"""The managedFields of ordinary writes: a manager who changes a field takes it from all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..storage._json_values import is_list, members
from ._field_managers import (
    Managers,
    OwnedFields,
    Owner,
    capped,
    decode_managers,
    encode_managers,
    owner_of,
    read_managers,
)
from ._merge_schemas import Facts
from ._object_fields import UNOWNED, compare, tracked
from ._versioned_managers import VersionedChanges, Versions
from .fieldsets import EMPTY, FieldSet, Path, difference, fieldset, intersection, union

Object = dict[str, Any]
Entries = list[dict[str, Any]]
_SCALE: Final = "autoscaling/v1"


def update(
    before: Object | None,
    after: Object,
    *,
    manager: str,
    facts: Facts,
    api_version: str,
    now: str,
    subresource: str = "",
    versions: Versions | None = None,
) -> Entries:
    """Return the `managedFields` after a create, replace or patch; `before` is None for a create.

    The managers in `after` itself count unless they are empty; ``[]`` or ``[{}]`` ends the tracking until an
    apply.
    """
    managers = _managers_of_update(before, after, subresource)
    if not managers and before is not None:
        return []
    owner = owner_of(manager, "Update", api_version, subresource)
    known = versions if before is not None else None
    return encode_managers(
        capped(taken_by(before or {}, after, owner, managers, facts, now, api_version, known))
    )


def taken_by(
    before: Object, after: Object, owner: Owner, managers: Managers, facts: Facts, now: str,
    api_version: str, versions: Versions | None = None,
) -> Managers:  # fmt: skip
    """Return the owners after a write that takes whatever it changes."""
    changes = compare(tracked(before), tracked(after), facts)
    written, gone = changes.written, changes.removed
    lost = union(written, gone)
    if not lost:
        return managers
    owners: Managers = {}
    seen = VersionedChanges(before, after, changes, api_version, versions)
    for other, held in managers.items():
        theirs = seen.seen_by(held)
        if theirs is None:
            continue
        gone_there = union(theirs.written, theirs.removed)
        if not intersection(held.fields, gone_there):
            owners[other] = held
        elif fields := difference(held.fields, gone_there):
            owners[other] = OwnedFields(fields, held.api_version, held.time)
    if mine := difference(difference(written, gone), UNOWNED):
        kept = owners[owner].fields if owner in owners else EMPTY
        owners[owner] = OwnedFields(union(kept, mine), owner.api_version, now)
    return owners


def _managers_of_update(before: Object | None, after: Object, subresource: str) -> Managers:
    sent = members(after.get("metadata")).get("managedFields")
    # A client that does not know managedFields sends back what it read, or nothing at all.
    if (
        not subresource
        and is_list(sent)
        and sent != members((before or {}).get("metadata")).get("managedFields")
    ):
        if sent in ([], [{}]):
            return {}
        try:
            return decode_managers(sent)
        except ValueError:
            pass  # a server treats what it cannot read as missing
    return read_managers(before)


def without_managed_fields(object_: Object) -> Object:
    """Return the object without its `managedFields`."""
    metadata = members(object_.get("metadata"))
    if "managedFields" not in metadata:
        return object_
    rest = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**object_, "metadata": rest}


def update_by_scale(
    before: Mapping[str, Any], *, replicas: Path, manager: str, api_version: str, changed: bool
) -> list[dict[str, Any]]:
    """Return the entries of managedFields after a write of a Scale; `changed` is whether replicas changed.

    A server converts the owners of the object to owners of a Scale, records the write there, and converts
    them back. An owner that updates has another version there, so it comes back as a new entry: without a
    time, and apart from the other fields that it owns. Where nobody owned the replicas, nothing is recorded.
    """
    path = fieldset([replicas])
    known = read_managers(before)
    owners = [owner for owner, held in known.items() if intersection(held.fields, path) != EMPTY]
    if owners and changed:
        owners = [owner_of(manager, "Update", _SCALE, "scale")]
    entries = list[tuple[Owner, OwnedFields]]()
    for owner, held in known.items():
        if owner.applies and owner in owners:
            entries.append((owner, held))
            continue
        fields = difference(held.fields, path)
        if fields == held.fields:
            entries.append((owner, held))
        elif fields != EMPTY:
            entries.append((owner, OwnedFields(fields, held.api_version, held.time)))
    entries += [_returned(owner, path, api_version) for owner in owners if not owner.applies]
    return encode_managers(entries)


def _returned(owner: Owner, path: FieldSet, api_version: str) -> tuple[Owner, OwnedFields]:
    own = owner_of(owner.manager, owner.operation, api_version, owner.subresource)
    return own, OwnedFields(path, api_version)
