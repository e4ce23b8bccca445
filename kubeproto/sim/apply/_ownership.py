"""The managedFields of ordinary writes: a manager who changes a field takes it from all others."""

from __future__ import annotations

from typing import Any, Final

from ..storage._values import is_list, members
from ._facts import Facts
from ._fields import compare
from ._managers import (
    Managers,
    OwnedFields,
    Owner,
    capped,
    decode_managers,
    encode_managers,
    owner_of,
    read_managers,
)
from .fieldsets import EMPTY, difference, field_step, fieldset, intersection, union

Object = dict[str, Any]
Entries = list[dict[str, Any]]

# Identity, and what the server sets itself.
_UNOWNED_METADATA: Final = frozenset(
    {
        "clusterName",
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
UNOWNED: Final = fieldset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",)]
    + [("f:metadata", field_step(name)) for name in sorted(_UNOWNED_METADATA)]
)


def update(
    before: Object | None,
    after: Object,
    *,
    manager: str,
    facts: Facts,
    api_version: str,
    now: str,
    subresource: str = "",
) -> Entries:
    """Return the `managedFields` after a create, replace or patch; `before` is None for a create.

    The managers in `after` itself count unless they are empty; ``[]`` or ``[{}]`` ends the tracking until an
    apply.
    """
    managers = _managers_of_update(before, after, subresource)
    if not managers and before is not None:
        return []
    owner = owner_of(manager, "Update", api_version, subresource)
    return encode_managers(capped(taken_by(before or {}, after, owner, managers, facts, now)))


def taken_by(
    before: Object, after: Object, owner: Owner, managers: Managers, facts: Facts, now: str
) -> Managers:
    """Return the owners after a write that takes whatever it changes."""
    changes = compare(_tracked(before), _tracked(after), facts)
    written, gone = changes.written, changes.removed
    lost = union(written, gone)
    if not lost:
        return managers
    owners: Managers = {}
    for other, held in managers.items():
        if not intersection(held.fields, lost):
            owners[other] = held
        elif fields := difference(held.fields, lost):
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


def _tracked(object_: Object) -> Object:
    """Return the object without what nobody owns: less to compare."""
    rest = {name: value for name, value in object_.items() if name not in ("apiVersion", "kind")}
    if metadata := members(rest.pop("metadata", None)):
        metadata = {name: value for name, value in metadata.items() if name not in _UNOWNED_METADATA}
    return {"metadata": metadata, **rest} if metadata else rest


def without_managed_fields(object_: Object) -> Object:
    """Return the object without its `managedFields`."""
    metadata = members(object_.get("metadata"))
    if "managedFields" not in metadata:
        return object_
    rest = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**object_, "metadata": rest}
