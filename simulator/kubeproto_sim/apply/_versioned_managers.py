"""Managers that know an object in several versions: each owns fields of the version that it last wrote in.

A change is looked at in each of these versions, and what a manager no longer applies is removed in the
version in which it applied it. That takes conversions of the whole object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ._field_managers import OwnedFields, Owner
from ._merge import removed, with_parents
from ._merge_schemas import Facts
from ._object_fields import UNOWNED, Changes, compare, fields_of, tracked
from .fieldsets import EMPTY, FieldSet, difference, intersection, union

Object = dict[str, Any]


class Versions(Protocol):
    """Converts an object between the versions of its kind."""

    def in_version(self, obj: Object, api_version: str) -> tuple[Object, Facts] | None:
        """Return an object in another version, and the facts of that; None if there is no such version."""
        ...


class VersionedChanges:
    """What changed from one state of an object to the next, as each of its managers sees it."""

    def __init__(
        self, before: Object, after: Object, changes: Changes, api_version: str, versions: Versions | None
    ) -> None:
        self._before = before
        self._after = after
        self._versions = versions
        self._changes: dict[str, Changes | None] = {api_version: changes}
        self._own = changes

    def seen_by(self, held: OwnedFields) -> Changes | None:
        """Return the changes in the version of a manager; None if that is not served any more."""
        if self._versions is None:
            return self._own
        if held.api_version not in self._changes:
            self._changes[held.api_version] = self._compared(held.api_version)
        return self._changes[held.api_version]

    def _compared(self, api_version: str) -> Changes | None:
        assert self._versions is not None  # only `seen_by` calls this
        before = self._versions.in_version(self._before, api_version)
        after = self._versions.in_version(self._after, api_version)
        if before is None or after is None:
            return None
        return compare(tracked(before[0]), tracked(after[0]), after[1])


def pruned_across(
    result: Object, last: OwnedFields, claimed: Mapping[Owner, OwnedFields], api_version: str,
    versions: Versions,
) -> Object:  # fmt: skip
    """Remove what a manager applied last time, in another version, and nobody owns any more."""
    found = versions.in_version(result, last.api_version)
    if found is None:
        return result
    merged, facts = found
    mine = with_parents(last.fields, facts)
    pruned: Object = removed(merged, mine, facts, emptied=None)
    owned: dict[str, FieldSet] = {}
    for held in claimed.values():
        owned[held.api_version] = union(owned.get(held.api_version, EMPTY), held.fields)
    # The version of the last apply comes first: a conversion may need what is owned in it.
    for version in sorted(owned, key=lambda version: version != last.api_version):
        whole, left = versions.in_version(merged, version), versions.in_version(pruned, version)
        if whole is None or left is None:
            continue
        there, kept = _fields(*whole), union(_fields(*left), with_parents(owned[version], whole[1]))
        pruned = removed(whole[0], difference(there, kept), whole[1], emptied=None)
    back = versions.in_version(pruned, last.api_version)
    if back is None:
        return result
    gone = intersection(difference(_fields(merged, facts), _fields(*back)), mine)
    made = versions.in_version(removed(merged, difference(gone, UNOWNED), facts), api_version)
    return result if made is None else made[0]


def _fields(obj: Object, facts: Facts) -> FieldSet:
    return with_parents(fields_of(obj, facts), facts)
