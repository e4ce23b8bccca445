"""Managers of an object in several versions: each owns fields in the version of its last write.

A change is compared in each of these versions, and the fields that a manager no longer applies are removed in
the version of its last apply. Both need conversions of the object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ._field_managers import OwnedFields, Owner
from ._merge import removed, with_parents
from ._merge_schemas import MergeSchema
from ._object_fields import UNOWNED, FieldChanges, compare, fields_of, tracked
from .fieldsets import EMPTY, FieldSet, difference, intersection, union

Object = dict[str, Any]


class Versions(Protocol):
    """Converts an object between the versions of its kind."""

    def in_version(self, obj: Object, api_version: str) -> tuple[Object, MergeSchema] | None:
        """Return an object in another version and its merge schema; None if the version is not served."""
        ...


class VersionedChanges:
    """The changes between two states of an object, in the versions of its managers."""

    def __init__(
        self,
        previous: Object,
        current: Object,
        changes: FieldChanges,
        api_version: str,
        versions: Versions | None,
    ) -> None:
        self._previous = previous
        self._current = current
        self._versions = versions
        self._changes: dict[str, FieldChanges | None] = {api_version: changes}
        self._changes_in_own_version = changes

    def in_version_of(self, owned: OwnedFields) -> FieldChanges | None:
        """Return the changes in the version of a manager; None if it is no longer served."""
        if self._versions is None:
            return self._changes_in_own_version
        if owned.api_version not in self._changes:
            self._changes[owned.api_version] = self._compare(owned.api_version)
        return self._changes[owned.api_version]

    def _compare(self, api_version: str) -> FieldChanges | None:
        assert self._versions is not None  # only `in_version_of` calls this
        previous = self._versions.in_version(self._previous, api_version)
        current = self._versions.in_version(self._current, api_version)
        if previous is None or current is None:
            return None
        return compare(tracked(previous[0]), tracked(current[0]), current[1])


def pruned_across(
    result: Object, last_apply: OwnedFields, claimed: Mapping[Owner, OwnedFields], api_version: str,
    versions: Versions,
) -> Object:  # fmt: skip
    """Remove the fields of a manager's last apply, in another version, that nobody owns any more."""
    in_last_version = versions.in_version(result, last_apply.api_version)
    if in_last_version is None:
        return result
    merged, schema = in_last_version
    applied_fields = with_parents(last_apply.fields, schema)
    pruned: Object = removed(merged, applied_fields, schema, emptied=None)
    owned: dict[str, FieldSet] = {}
    for claim in claimed.values():
        owned[claim.api_version] = union(owned.get(claim.api_version, EMPTY), claim.fields)
    # The version of the last apply comes first, because a conversion may need fields that are owned in it.
    for version in sorted(owned, key=lambda version: version != last_apply.api_version):
        complete, remaining = versions.in_version(merged, version), versions.in_version(pruned, version)
        if complete is None or remaining is None:
            continue
        present, retained = (
            _fields(*complete),
            union(_fields(*remaining), with_parents(owned[version], complete[1])),
        )
        pruned = removed(complete[0], difference(present, retained), complete[1], emptied=None)
    back = versions.in_version(pruned, last_apply.api_version)
    if back is None:
        return result
    pruned_fields = intersection(difference(_fields(merged, schema), _fields(*back)), applied_fields)
    converted = versions.in_version(removed(merged, difference(pruned_fields, UNOWNED), schema), api_version)
    return result if converted is None else converted[0]


def _fields(obj: Object, schema: MergeSchema) -> FieldSet:
    return with_parents(fields_of(obj, schema), schema)
