"""The owners of fields, which are decoded from the entries of `metadata.managedFields` and encoded again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import is_list, is_object, parse_time

from ..storage._json_values import members
from .fieldsets import FieldSet, decode_fields, encode_fields, union

# A server limits the managers that write without applying, to limit the size of objects (KEP-555).
MAX_UPDATERS: Final = 10
ANCIENT: Final = "ancient-changes"
BEFORE_FIRST_APPLY: Final = "before-first-apply"


class Owner(Struct, frozen=True, kw_only=True, order=True):
    """A manager. An applier is the same owner in all versions, an updater a different owner in each version.

    The fields define the order in which a server names several owners in a message.
    """

    manager: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def applies(self) -> bool:
        """Whether the operation of this manager is Apply."""
        return self.operation == "Apply"

    def __str__(self) -> str:
        text = msgspec.json.encode(self.manager).decode()
        if self.subresource:
            text += f" with subresource {msgspec.json.encode(self.subresource).decode()}"
        return text if self.applies else f"{text} using {self.api_version}"


class OwnedFields(Struct, frozen=True):
    """The fields of an owner, their version, and the time of the last change.

    `entry` is the decoded entry, which is written again while nothing changes.
    """

    fields: FieldSet
    api_version: str
    time: str = ""
    entry: dict[str, Any] | None = None


Managers = dict[Owner, OwnedFields]


def owner_of(manager: str, operation: str, api_version: str, subresource: str = "") -> Owner:
    """Return the owner of the fields that a write sets."""
    version = "" if operation == "Apply" else api_version
    return Owner(manager=manager, operation=operation, api_version=version, subresource=subresource)


def decode_managers(entries: Any) -> Managers:
    """Return the owners in a body; ValueError if an entry cannot be read."""
    if not is_list(entries):
        raise ValueError("managedFields is not a list")
    managers: Managers = {}
    for entry in entries:
        owner = _check(entry)
        owned = OwnedFields(
            decode_fields(entry.get("fieldsV1", {})), entry["apiVersion"], entry.get("time") or ""
        )
        managers[owner] = owned
    return managers


def read_managers(object_: Mapping[str, Any] | None) -> Managers:
    """Return the owners of a stored object, whose entries are valid because `encode_managers` wrote them."""
    managers: Managers = {}
    for entry in members((object_ or {}).get("metadata")).get("managedFields") or ():
        owner = owner_of(
            entry["manager"], entry["operation"], entry["apiVersion"], entry.get("subresource", "")
        )
        managers[owner] = OwnedFields(entry["fieldsV1"], entry["apiVersion"], entry.get("time", ""), entry)
    return managers


def _check(entry: Any) -> Owner:
    if not is_object(entry) or entry.get("operation") not in ("Apply", "Update"):
        raise ValueError(f"{entry!r} is not an entry of managedFields: its operation is Apply or Update")
    if entry.get("fieldsType") != "FieldsV1":
        raise ValueError(f"{entry.get('fieldsType')!r} is not a type of fields: there is only FieldsV1")
    texts = {name: entry.get(name) or "" for name in ("manager", "apiVersion", "subresource", "time")}
    if wrong_fields := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise ValueError(
            f"{wrong_fields[0]} of an entry of managedFields is not a string: {texts[wrong_fields[0]]!r}"
        )
    if not texts["apiVersion"]:
        raise ValueError(f"{entry!r} is not an entry of managedFields: it has no apiVersion")
    return owner_of(texts["manager"], entry["operation"], texts["apiVersion"], texts["subresource"])


def encode_managers(
    managers: Mapping[Owner, OwnedFields] | list[tuple[Owner, OwnedFields]],
) -> list[dict[str, Any]]:
    """Return the entries in a server's order: appliers first, then by time."""
    entries = managers if isinstance(managers, list) else list(managers.items())
    if len(entries) > 1:
        entries.sort(key=lambda entry: _sort_key(*entry))
    return [_entry(owner, owned) for owner, owned in entries]


def limit_updaters(managers: Managers) -> Managers:
    """Return the managers; beyond the limit, merge the oldest Update entries of each version."""
    updaters = [owner for owner in managers if not owner.applies]
    if len(updaters) <= MAX_UPDATERS:
        return managers
    result = dict(managers)
    excess = len(updaters) - MAX_UPDATERS
    merged_owners: dict[str, Owner] = {}
    for owner in sorted(updaters, key=lambda owner: (_seconds(managers[owner].time), owner)):
        if excess <= 0:
            break
        version = result[owner].api_version
        if version not in merged_owners:
            # The first manager of a version keeps its name until there is a second manager to merge with.
            merged_owners[version] = owner
            continue
        older, newer = result.pop(merged_owners[version]), result.pop(owner)
        merged_owner = merged_owners[version] = owner_of(ANCIENT, "Update", version)
        fields = union(older.fields, newer.fields)
        if merged_owner in result:
            fields = union(fields, result[merged_owner].fields)
            excess -= 1
        result[merged_owner] = OwnedFields(fields, version, newer.time)
        excess -= 1
    return result


def _entry(owner: Owner, owned: OwnedFields) -> dict[str, Any]:
    if owned.entry is not None:
        return owned.entry
    entry: dict[str, Any] = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owned.api_version,
    }
    if owned.time:
        entry["time"] = owned.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": encode_fields(owned.fields)}
    if owner.subresource:
        entry["subresource"] = owner.subresource
    return entry


def _sort_key(owner: Owner, owned: OwnedFields) -> tuple[str, int, str, str, str]:
    return owner.operation, _seconds(owned.time), owner.manager, owned.api_version, owner.subresource


@lru_cache(maxsize=1024)
def _seconds(time: str) -> int:
    try:
        return int(parse_time(time).timestamp()) if time else 0
    except ValueError:
        return 0
