"""The managedFields after a write other than an apply: its manager takes the changed fields from all
others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubeproto.objects import is_list

from ..storage._json_values import members
from ._field_managers import (
    Managers,
    OwnedFields,
    Owner,
    decode_managers,
    encode_managers,
    limit_updaters,
    owner_of,
    read_managers,
)
from ._merge_schemas import MergeSchema
from ._object_fields import UNOWNED, compare, tracked
from ._versioned_managers import VersionedChanges, Versions
from .fieldsets import EMPTY, FieldSet, Path, difference, fieldset, intersection, union

Object = dict[str, Any]
Entries = list[dict[str, Any]]
_SCALE: Final = "autoscaling/v1"


def update(
    previous: Object | None,
    current: Object,
    *,
    manager: str,
    schema: MergeSchema,
    api_version: str,
    now: str,
    subresource: str = "",
    versions: Versions | None = None,
) -> Entries:
    """Return the `managedFields` after a create, replace or patch; `previous` is None for a create.

    A client may send `managedFields` in `current`; ``[]`` or ``[{}]`` ends the tracking until an apply.
    """
    managers = _managers_of_update(previous, current, subresource)
    if not managers and previous is not None:
        return []
    owner = owner_of(manager, "Update", api_version, subresource)
    comparable_versions = versions if previous is not None else None
    return encode_managers(
        limit_updaters(
            owners_after_write(
                previous or {}, current, owner, managers, schema, now, api_version, comparable_versions
            )
        )
    )


def owners_after_write(
    previous: Object, current: Object, owner: Owner, managers: Managers, schema: MergeSchema, now: str,
    api_version: str, versions: Versions | None = None,
) -> Managers:  # fmt: skip
    """Return the owners after a write, which takes the changed fields."""
    changes = compare(tracked(previous), tracked(current), schema)
    written, removed = changes.written, changes.removed
    changed = union(written, removed)
    if not changed:
        return managers
    owners: Managers = {}
    versioned = VersionedChanges(previous, current, changes, api_version, versions)
    for other, owned in managers.items():
        changes_there = versioned.in_version_of(owned)
        if changes_there is None:
            continue
        changed_there = union(changes_there.written, changes_there.removed)
        if not intersection(owned.fields, changed_there):
            owners[other] = owned
        elif fields := difference(owned.fields, changed_there):
            owners[other] = OwnedFields(fields, owned.api_version, owned.time)
    if new_fields := difference(difference(written, removed), UNOWNED):
        owned_before = owners[owner].fields if owner in owners else EMPTY
        owners[owner] = OwnedFields(union(owned_before, new_fields), owner.api_version, now)
    return owners


def _managers_of_update(previous: Object | None, current: Object, subresource: str) -> Managers:
    sent_entries = members(current.get("metadata")).get("managedFields")
    # A client that ignores managedFields sends back the entries that it read, or none.
    if (
        not subresource
        and is_list(sent_entries)
        and sent_entries != members((previous or {}).get("metadata")).get("managedFields")
    ):
        if sent_entries in ([], [{}]):
            return {}
        try:
            return decode_managers(sent_entries)
        except ValueError:
            pass  # a server ignores entries that it cannot read
    return read_managers(previous)


def without_managed_fields(object_: Object) -> Object:
    """Return the object without its `managedFields`."""
    metadata = members(object_.get("metadata"))
    if "managedFields" not in metadata:
        return object_
    other_metadata = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**object_, "metadata": other_metadata}


def update_by_scale(
    obj: Mapping[str, Any], *, replicas: Path, manager: str, api_version: str, old_value: Any, new_value: Any
) -> list[dict[str, Any]]:
    """Return the entries of managedFields after a write of a Scale with a new number of replicas.

    A server converts the owners of the object to owners of a Scale, records the write there, and converts
    them back. An owner that updates has another version there, so it comes back as a new entry: without a
    time, and apart from the other fields that it owns. Where nobody owned the replicas, nothing is recorded.
    A Scale omits zero replicas, so nobody owns them.
    """
    path = fieldset([replicas])
    managers = read_managers(obj)
    owners = [owner for owner, owned in managers.items() if intersection(owned.fields, path) != EMPTY]
    if owners and old_value != new_value:
        owners = [owner_of(manager, "Update", _SCALE, "scale")] if new_value else []
    entries = list[tuple[Owner, OwnedFields]]()
    for owner, owned in managers.items():
        if owner.applies and owner in owners:
            entries.append((owner, owned))
            continue
        fields = difference(owned.fields, path)
        if fields == owned.fields:
            entries.append((owner, owned))
        elif fields != EMPTY:
            entries.append((owner, OwnedFields(fields, owned.api_version, owned.time)))
    entries += [_convert_owner(owner, path, api_version) for owner in owners if not owner.applies]
    return encode_managers(entries)


def _convert_owner(owner: Owner, path: FieldSet, api_version: str) -> tuple[Owner, OwnedFields]:
    new_owner = owner_of(owner.manager, owner.operation, api_version, owner.subresource)
    return new_owner, OwnedFields(path, api_version)
