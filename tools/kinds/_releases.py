"""How the kinds of older releases differ from the newest one's: `releases.json`, one line a difference.

The classes read what each supported release sends, and lose nothing of it in a typed `replace`: a field that
a later release dropped stays in them. What only the newest release's schemas call required, older servers
have refused to do without, which the tests of the real servers show; so it is required in the classes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from kubeproto.kinds import BuiltinField, BuiltinType, KindTable, ReleaseDifferences

RELEASES: Final = Path(__file__).with_name("releases.json")


def difference(newest: KindTable, older: KindTable) -> ReleaseDifferences:
    """What the older release has or lacks beside the newest one."""
    served = {
        _name(found.resource.gvk.api_version, found.resource.plural): found for found in older.resources
    }
    missing_resources: list[str] = []
    for found in newest.resources:
        name = _name(found.resource.gvk.api_version, found.resource.plural)
        if name not in served:
            missing_resources.append(name)
            continue
        theirs = {each.name for each in served[name].subresources}
        missing_resources += [f"{name}/{each.name}" for each in found.subresources if each.name not in theirs]
    dropped = {f"{type_}.{wire}": facts for type_, wire, facts in _beside(older, newest)}
    return ReleaseDifferences(
        kubernetes=older.kubernetes,
        missing_resources=tuple(sorted(missing_resources)),
        missing_fields=tuple(f"{type_}.{wire}" for type_, wire, _ in _beside(newest, older)),
        dropped_fields=dropped,
        dropped_types=_types_of(dropped.values(), newest, older),
        optional_fields=tuple(
            f"{type_}.{wire}"
            for type_, facts in newest.types.items()
            if type_ in older.types
            for wire, field in facts.fields.items()
            if field.required and not older.types[type_].fields.get(wire, _OPTIONAL).required
        ),
    )


_OPTIONAL: Final = BuiltinField(type="any")


def _name(api_version: str, plural: str) -> str:
    return f"{api_version}/{plural}"


def _beside(one: KindTable, other: KindTable) -> Iterator[tuple[str, str, BuiltinField]]:
    """The fields of types that both have, which only the first one has."""
    for type_, facts in one.types.items():
        if type_ in other.types:
            for wire, field in facts.fields.items():
                if wire not in other.types[type_].fields:
                    yield type_, wire, field


def _types_of(fields: Iterable[BuiltinField], newest: KindTable, older: KindTable) -> dict[str, BuiltinType]:
    """The types of these fields, and of theirs, that the newest release has no more."""
    found: dict[str, BuiltinType] = {}
    waiting = [field.type for field in fields]
    while waiting:
        name = waiting.pop()
        if name in older.types and name not in newest.types and name not in found:
            found[name] = older.types[name]
            waiting += [field.type for field in found[name].fields.values()]
    return found


def read() -> dict[str, ReleaseDifferences]:
    """The differences of each older release, by its number such as 1.30."""
    return msgspec.json.decode(RELEASES.read_bytes(), type=dict[str, ReleaseDifferences])


def dump(releases: Mapping[str, ReleaseDifferences]) -> str:
    """The text of `releases.json`."""
    return json.dumps(msgspec.to_builtins(releases), indent=1) + "\n"


def with_dropped_fields(newest: KindTable) -> KindTable:
    """The table that the classes are made from: a `replace` deletes nothing of any supported release."""
    kept = dict(newest.types)
    for facts in newest.releases.values():
        kept |= facts.dropped_types
    types = {name: dict(facts.fields) for name, facts in kept.items()}
    for facts in newest.releases.values():
        for path, field in facts.dropped_fields.items():
            type_, _, wire = path.rpartition(".")
            types[type_].setdefault(wire, msgspec.structs.replace(field, required=False))
    made = {
        name: msgspec.structs.replace(facts, fields=dict(sorted(types[name].items())))
        for name, facts in sorted(kept.items())
    }
    return msgspec.structs.replace(newest, types=made)
