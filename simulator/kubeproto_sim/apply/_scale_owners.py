"""Who owns the replicas of an object after its Scale was written.

A server converts the owners of the object to owners of a Scale, records the write there, and converts them
back. An owner that updates has another version there, so it comes back as a new entry: without a time, and
apart from what else it owns in the object. Where nobody owned the replicas, nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._managers import OwnedFields, Owner, encode_managers, owner_of, read_managers
from .fieldsets import EMPTY, FieldSet, Path, difference, fieldset, intersection

_SCALE: Final = "autoscaling/v1"


def update_by_scale(
    before: Mapping[str, Any], *, replicas: Path, manager: str, api_version: str, changed: bool
) -> list[dict[str, Any]]:
    """Return the entries of managedFields after a write of a Scale, which may have left the replicas."""
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
