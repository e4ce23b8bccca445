"""Who owns which fields, read from the entries of `metadata.managedFields` and written back to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..objects import parse_time
from ._apply_values import is_list, is_map
from ._fieldsets import FieldSet, decode_fields, encode_fields, union

# A server keeps this many managers that write without applying; KEP-555 wants an object to stay small.
MAX_UPDATERS: Final = 10
ANCIENT: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"


class Owner(Struct, frozen=True, kw_only=True, order=True):
    """A manager as such. Who applies is the same in every version, who updates is another in each.

    The order of the fields is that in which a server names several owners in a message.
    """

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def applies(self) -> bool:
        """Whether this is a server-side apply manager."""
        return self.operation == "Apply"

    def __str__(self) -> str:
        text = msgspec.json.encode(self.manager).decode()
        if self.subresource:
            text += f" with subresource {msgspec.json.encode(self.subresource).decode()}"
        return text if self.applies else f"{text} using {self.api_version}"


class Held(Struct, frozen=True):
    """The fields that an owner holds, the version in which they are named, and since when."""

    fields: FieldSet
    api_version: str
    time: str = ""


Managers = dict[Owner, Held]


def owner_of(manager: str, operation: str, api_version: str, subresource: str = "") -> Owner:
    """The owner that a write acts for."""
    version = "" if operation == "Apply" else api_version
    return Owner(manager=manager, operation=operation, api_version=version, subresource=subresource)


def decode_managers(entries: Any) -> Managers:
    """The owners of an object; ValueError if an entry cannot be read."""
    managers: Managers = {}
    if entries is not None and not is_list(entries):
        raise ValueError("managedFields is no list")
    for entry in entries or ():
        if not is_map(entry) or entry.get("operation") not in ("Apply", "Update"):
            raise ValueError(f"{entry!r} is no entry of managedFields: its operation is Apply or Update")
        if entry.get("fieldsType", "FieldsV1") != "FieldsV1":
            raise ValueError(f"{entry['fieldsType']!r} is no type of fields: there is only FieldsV1")
        version = entry.get("apiVersion", "")
        owner = owner_of(entry.get("manager", ""), entry["operation"], version, entry.get("subresource", ""))
        managers[owner] = Held(decode_fields(entry.get("fieldsV1", {})), version, entry.get("time") or "")
    return managers


def encode_managers(managers: Mapping[Owner, Held]) -> list[dict[str, Any]]:
    """The entries, those that apply first, then the oldest, the keys in the order of a built-in kind."""
    entries = sorted(managers.items(), key=lambda entry: _place(*entry))
    return [_entry(owner, held) for owner, held in entries]


def capped(managers: Managers) -> Managers:
    """The managers with the oldest updaters put together, a heap a version, when there are too many."""
    updaters = [owner for owner in managers if not owner.applies]
    if len(updaters) <= MAX_UPDATERS:
        return managers
    result = dict(managers)
    excess = len(updaters) - MAX_UPDATERS
    first: dict[str, Owner] = {}
    for owner in sorted(updaters, key=lambda owner: (_seconds(managers[owner].time), owner)):
        if excess == 0:
            break
        version = result[owner].api_version
        heap = owner_of(ANCIENT, "Update", version)
        if version not in first:
            # One alone is no heap: it keeps its name until a second one comes.
            first[version] = owner
            continue
        if heap not in result:
            result[heap] = result.pop(first[version])
        held = result.pop(owner)
        result[heap] = Held(union(result[heap].fields, held.fields), version, held.time)
        excess -= 1
    return result


def _entry(owner: Owner, held: Held) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": held.api_version,
    }
    if held.time:
        entry["time"] = held.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": encode_fields(held.fields)}
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def _place(owner: Owner, held: Held) -> tuple[str, int, str, str, str]:
    return owner.operation, _seconds(held.time), owner.manager, held.api_version, owner.subresource


def _seconds(time: str) -> int:
    try:
        return int(parse_time(time).timestamp()) if time else 0
    except ValueError:
        return 0
