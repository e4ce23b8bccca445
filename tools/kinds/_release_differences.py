"""The differences of the kinds in older releases from the newest release: `releases.json`.

The classes read the objects of each supported release, and a typed `replace` loses none of their fields: the
classes also have the fields that a later release dropped. A field that only the newest schemas require is
required in the classes, too, because older servers also refuse objects without it, as the tests of real
servers show.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from kubeproto.kinds import BuiltinField, BuiltinResource, BuiltinType, KindTable, ReleaseDifferences

RELEASES: Final = Path(__file__).with_name("releases.json")


def difference(newest: KindTable, older: KindTable) -> ReleaseDifferences:
    """Return the differences of an older release from the newest release."""
    older_resources = {_name(builtin): builtin for builtin in older.resources}
    missing_resources: list[str] = []
    for builtin in newest.resources:
        name = _name(builtin)
        if name not in older_resources:
            missing_resources.append(name)
            continue
        older_names = {subresource.name for subresource in older_resources[name].subresources}
        missing_resources += [
            f"{name}/{subresource.name}"
            for subresource in builtin.subresources
            if subresource.name not in older_names
        ]
    dropped = {f"{type_}.{wire_name}": field for type_, wire_name, field in _extra_fields(older, newest)}
    return ReleaseDifferences(
        kubernetes=older.kubernetes,
        missing_resources=tuple(sorted(missing_resources)),
        missing_fields=tuple(f"{type_}.{wire_name}" for type_, wire_name, _ in _extra_fields(newest, older)),
        dropped_fields=dropped,
        dropped_types=_types_of(dropped.values(), newest, older),
        optional_fields=tuple(
            f"{type_}.{wire_name}"
            for type_, newest_type in newest.types.items()
            if type_ in older.types
            for wire_name, field in newest_type.fields.items()
            if field.required and not older.types[type_].fields.get(wire_name, _OPTIONAL).required
        ),
    )


_OPTIONAL: Final = BuiltinField(type="any")


def _name(builtin: BuiltinResource) -> str:
    return f"{builtin.resource.gvk.api_version}/{builtin.resource.plural}"


def _extra_fields(table: KindTable, other: KindTable) -> Iterator[tuple[str, str, BuiltinField]]:
    """Yield the fields that `other` lacks, of the types that both tables have."""
    for type_, builtin_type in table.types.items():
        if type_ in other.types:
            for wire_name, field in builtin_type.fields.items():
                if wire_name not in other.types[type_].fields:
                    yield type_, wire_name, field


def _types_of(fields: Iterable[BuiltinField], newest: KindTable, older: KindTable) -> dict[str, BuiltinType]:
    """Return the types inside these fields that the newest release lacks."""
    types: dict[str, BuiltinType] = {}
    pending = [field.type for field in fields]
    while pending:
        name = pending.pop()
        if name in older.types and name not in newest.types and name not in types:
            types[name] = older.types[name]
            pending += [field.type for field in types[name].fields.values()]
    return types


def read() -> dict[str, ReleaseDifferences]:
    """Return the differences of each older release by its number, such as 1.30."""
    return msgspec.json.decode(RELEASES.read_bytes(), type=dict[str, ReleaseDifferences])


def dump(releases: Mapping[str, ReleaseDifferences]) -> str:
    """Return the text of `releases.json`."""
    return json.dumps(msgspec.to_builtins(releases), indent=1) + "\n"


def with_dropped_fields(newest: KindTable) -> KindTable:
    """Add the fields that releases dropped; classes are generated from the result."""
    types = dict(newest.types)
    for differences in newest.releases.values():
        types |= differences.dropped_types
    fields = {name: dict(builtin_type.fields) for name, builtin_type in types.items()}
    for differences in newest.releases.values():
        for path, field in differences.dropped_fields.items():
            type_, _, wire_name = path.rpartition(".")
            fields[type_].setdefault(wire_name, msgspec.structs.replace(field, required=False))
    complete_types = {
        name: msgspec.structs.replace(builtin_type, fields=dict(sorted(fields[name].items())))
        for name, builtin_type in sorted(types.items())
    }
    return msgspec.structs.replace(newest, types=complete_types)
