"""Decodes request bodies in protobuf, which kubectl and client-go send for built-in kinds, to JSON values.

A body is the bytes `k8s` and zero, then an envelope with the kind. Field numbers exist only in Kubernetes'
`generated.proto` files; `tools/protobuf` generates a table of them. Go writes every field that is not a
pointer, so a zero in such a field is omitted, as by its JSON encoder. No response is in protobuf: clients
that send it accept JSON.
"""

from __future__ import annotations

import base64
import functools
import struct
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from msgspec import Struct

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_MAGIC: Final = b"k8s\x00"
_MAX_DEPTH: Final = 100
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_META: Final = "apimachinery.pkg.apis.meta.v1"
_CRD: Final = "apiextensions_apiserver.pkg.apis.apiextensions.v1"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class MalformedProtobuf(ValueError):
    """A body is not valid protobuf of its kind."""


class ProtobufField(Struct, frozen=True, array_like=True):
    """A field. `flags`: r (repeated), m (a map), i (inline: part of the outer object), p (a pointer)."""

    number: int
    name: str
    type: str
    flags: str


class FieldNumbers(Struct, frozen=True):
    """The field numbers of a Kubernetes version."""

    kubernetes: str
    kinds: dict[str, str]
    types: dict[str, list[ProtobufField]]


@functools.cache
def numbers() -> tuple[dict[str, str], dict[str, dict[int, ProtobufField]]]:
    """Return the types of kinds, and the fields of each type by number."""
    import pkgutil

    data = pkgutil.get_data("kubeproto_sim.kinds", "protobuf.json")
    if data is None:
        raise RuntimeError("kubeproto_sim was installed without its protobuf.json")
    loaded = msgspec.json.decode(data, type=FieldNumbers)
    return loaded.kinds, {
        name: {field.number: field for field in fields} for name, fields in loaded.types.items()
    }


@functools.cache
def _widths() -> dict[tuple[str, str], int]:
    """Return the size of integers in bits by type and field; type names omit the package prefix."""
    bits = {"int32": 32, "int64": 64}
    return {
        (".".join(name.split(".")[-3:]), field.name): bits[field.type]
        for name, fields in numbers()[1].items()
        for field in fields.values()
        if field.type in bits
    }


def bits_of(type_: str, field: str) -> int:
    """Return the size of an integer field in bits: 64 if Kubernetes' own type is int64, else 32."""
    package, _, struct = type_.partition(".")
    return _widths().get((f"{package.replace('_', '.')}.{struct}", field), 32)


def read_protobuf(body: bytes) -> dict[str, Any]:
    """Return the object in a body, or raise `MalformedProtobuf`."""
    if not body:
        return {}
    if not body.startswith(_MAGIC):
        prefix = "expected prefix [107 56 115 0]"
        raise MalformedProtobuf(f"provided data does not appear to be a protobuf message, {prefix}")
    try:
        return _read_envelope(body[len(_MAGIC) :])
    except (IndexError, struct.error, UnicodeDecodeError, OverflowError) as error:
        raise MalformedProtobuf(f"proto: cannot parse invalid wire-format data: {error}") from None


def _read_envelope(data: bytes) -> dict[str, Any]:
    raw, meta = b"", dict[int, str]()
    for number, _, value in _fields(data):
        if number == 1 and isinstance(value, bytes):
            meta = {inner: text.decode() for inner, _, text in _fields(value) if isinstance(text, bytes)}
        elif number == 2 and isinstance(value, bytes):
            raw = value
    api_version, kind = meta.get(1, ""), meta.get(2, "")
    kinds, _ = numbers()
    # DeleteOptions are registered in every group version, and sent in that of the deleted object.
    type_ = kinds.get("v1 DeleteOptions" if kind == "DeleteOptions" else f"{api_version} {kind}")
    if type_ is None:
        raise MalformedProtobuf(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"kind": kind, "apiVersion": api_version, **_message(type_, raw, 0)}


def _message(type_: str, data: bytes, depth: int) -> dict[str, Any]:
    if depth > _MAX_DEPTH:
        raise MalformedProtobuf("proto: exceeded maximum recursion depth")
    fields = numbers()[1][type_]
    obj: dict[str, Any] = {}
    for number, wire_type, value in _fields(data):
        field = fields.get(number)
        if field is None:
            continue  # a field of a newer Kubernetes than the table
        if "m" in field.flags:
            key, item = _entry(field.type, _bytes(value), depth)
            obj.setdefault(field.name, {})[key] = item
        elif "r" in field.flags:
            obj.setdefault(field.name, []).extend(_items(field.type, wire_type, value, depth))
        else:
            item = _value(field.type, value, depth)
            if "i" in field.flags:
                obj.update(item or {})
            elif item is not None and (item not in ("", 0, False) or "p" in field.flags):
                obj[field.name] = item
    return obj


def _entry(type_: str, data: bytes, depth: int) -> tuple[str, Any]:
    key, item = "", None
    for number, _, value in _fields(data):
        if number == 1:
            key = _bytes(value).decode()
        elif number == 2:
            item = _value(type_, value, depth)
    return key, _zero(type_) if item is None else item


def _zero(type_: str) -> Any:
    match type_:
        case "string" | "bytes":
            return ""
        case "bool":
            return False
        case "int32" | "int64" | "double":
            return 0
        case _:
            return {}


def _items(type_: str, wire_type: int, value: int | bytes, depth: int) -> list[Any]:
    if wire_type == _BYTES and type_ in ("int32", "int64", "bool"):  # packed
        data, position, items = _bytes(value), 0, list[Any]()
        while position < len(data):
            number, position = _varint(data, position)
            items.append(_value(type_, number, depth))
        return items
    return [_value(type_, value, depth)]


def _value(type_: str, value: int | bytes, depth: int) -> Any:
    match type_:
        case "string":
            return _bytes(value).decode()
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case "bool":
            return bool(value)
        case "int32" | "int64":
            return _signed(value)
        case "double":
            return struct.unpack("<d", _int(value).to_bytes(8, "little"))[0]
        case _:
            special = _SPECIAL.get(type_)
            message = _bytes(value)
            return special(message, depth) if special else _message(type_, message, depth + 1)


def _signed(value: int | bytes) -> int:
    number = _int(value)
    return number - (1 << 64) if number >> 63 else number


def _int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise MalformedProtobuf("proto: wrong wireType: a number was expected")
    return value


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise MalformedProtobuf("proto: wrong wireType: bytes were expected")
    return value


# The wire format


def _fields(data: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        value: int | bytes
        if wire_type == _VARINT:
            value, position = _varint(data, position)
        elif wire_type == _BYTES:
            size, position = _varint(data, position)
            value, position = _read_bytes(data, position, size)
        elif wire_type in (_FIXED64, _FIXED32):
            chunk, position = _read_bytes(data, position, 8 if wire_type == _FIXED64 else 4)
            value = int.from_bytes(chunk, "little")
        else:
            raise MalformedProtobuf(f"proto: illegal wireType {wire_type}")
        if not number:
            raise MalformedProtobuf("proto: illegal tag 0")
        yield number, wire_type, value


def _read_bytes(data: bytes, position: int, size: int) -> tuple[bytes, int]:
    if position + size > len(data):
        raise MalformedProtobuf("unexpected EOF")
    return data[position : position + size], position + size


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70:
        if position >= len(data):
            raise MalformedProtobuf("unexpected EOF")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position
        shift += 7
    raise MalformedProtobuf("proto: integer overflow")


# Types with a JSON form of their own


def _values_by_number(data: bytes) -> dict[int, list[int | bytes]]:
    values_by_number: dict[int, list[int | bytes]] = {}
    for number, _, value in _fields(data):
        values_by_number.setdefault(number, []).append(value)
    return values_by_number


def _text(data: bytes, _: int) -> str:
    return _bytes(_values_by_number(data).get(1, [b""])[-1]).decode()


def _json(data: bytes, _: int) -> Any:
    raw = _bytes(_values_by_number(data).get(1, [b""])[-1])
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedProtobuf(f"JSON inside of the message cannot be read: {error}") from None


def _datetime(data: bytes) -> datetime | None:
    parts = _values_by_number(data)
    if not parts:
        return None  # Go's zero time
    seconds, nanos = _signed(parts.get(1, [0])[-1]), _signed(parts.get(2, [0])[-1])
    return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)


def _time(data: bytes, _: int) -> str | None:
    time = _datetime(data)
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(data: bytes, _: int) -> str | None:
    time = _datetime(data)
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _duration(data: bytes, _: int) -> str:
    nanoseconds = _signed(_values_by_number(data).get(1, [0])[-1])
    return f"{nanoseconds / 1e9:g}s"


def _int_or_string(data: bytes, _: int) -> int | str:
    parts = _values_by_number(data)
    if parts.get(1, [0])[-1] == 1:
        return _bytes(parts.get(3, [b""])[-1]).decode()
    return _signed(parts.get(2, [0])[-1])


def _texts(data: bytes, _: int) -> list[str]:
    return [_bytes(value).decode() for value in _values_by_number(data).get(1, [])]


def _schema_or_bool(data: bytes, depth: int) -> Any:
    parts = _values_by_number(data)
    if 2 in parts:
        return _value(f"{_CRD}.JSONSchemaProps", parts[2][-1], depth + 1)
    return bool(parts.get(1, [0])[-1])


def _schema_or_list(item: str) -> Callable[[bytes, int], Any]:
    def read(data: bytes, depth: int) -> Any:
        parts = _values_by_number(data)
        if 1 in parts:
            return _value(f"{_CRD}.JSONSchemaProps", parts[1][-1], depth + 1)
        return [_value(item, value, depth + 1) for value in parts.get(2, [])]

    return read


_SPECIAL: Final[dict[str, Callable[[bytes, int], Any]]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.Duration": _duration,
    f"{_META}.FieldsV1": _json,
    "apimachinery.pkg.runtime.RawExtension": _json,
    "apimachinery.pkg.api.resource.Quantity": _text,
    "apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "api.authentication.v1.ExtraValue": _texts,
    "api.authorization.v1.ExtraValue": _texts,
    "api.certificates.v1.ExtraValue": _texts,
    f"{_CRD}.JSON": _json,
    f"{_CRD}.JSONSchemaPropsOrBool": _schema_or_bool,
    f"{_CRD}.JSONSchemaPropsOrArray": _schema_or_list(f"{_CRD}.JSONSchemaProps"),
    f"{_CRD}.JSONSchemaPropsOrStringArray": _schema_or_list("string"),
}
