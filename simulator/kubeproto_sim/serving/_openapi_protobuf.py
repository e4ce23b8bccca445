"""OpenAPI version 2 in protobuf (gnostic's `openapi.v2.Document`), which kubectl requests.

Only the parts that clients of Kubernetes read are encoded: schemas with their extensions, and the operations
of paths with their query parameters.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

Json = dict[str, Any]

# Clients request a name that is no valid media type by Go's own rules; the response has a valid one.
REQUESTED_MEDIA: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
SENT_MEDIA: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

_METHODS: Final = {"get": 2, "put": 3, "post": 4, "delete": 5, "patch": 8}
_NUMBERS: Final = {
    "$ref": 1, "format": 2, "title": 3, "description": 4, "default": 5, "multipleOf": 6, "maximum": 7,
    "exclusiveMaximum": 8, "minimum": 9, "exclusiveMinimum": 10, "maxLength": 11, "minLength": 12,
    "pattern": 13, "maxItems": 14, "minItems": 15, "uniqueItems": 16, "maxProperties": 17,
    "minProperties": 18, "required": 19, "enum": 20,
}  # fmt: skip
_TEXTS: Final = ("$ref", "format", "title", "description", "pattern")
_DOUBLES: Final = ("multipleOf", "maximum", "minimum")
_ANYTHING: Final = ("default", "enum")


def encode_v2(document: Json) -> bytes:
    """Return the bytes of a document of version 2."""
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    paths = b"".join(_block(2, _named_entry(path, _path(item))) for path, item in document["paths"].items())
    definitions = b"".join(
        _block(1, _named_entry(name, _schema(schema))) for name, schema in document["definitions"].items()
    )
    return _text(1, document["swagger"]) + _block(2, info) + _block(8, paths) + _block(9, definitions)


def _path(item: Json) -> bytes:
    return b"".join(_block(_METHODS[method], _operation(operation)) for method, operation in item.items())


def _operation(operation: Json) -> bytes:
    parameters = b"".join(_block(8, _parameter(parameter)) for parameter in operation["parameters"])
    return _text(5, operation["operationId"]) + parameters + _extensions(13, operation)


def _parameter(parameter: Json) -> bytes:
    # ParametersItem.parameter, Parameter.non_body_parameter, and one message for each location.
    if parameter["in"] == "query":
        content = _text(2, "query") + _text(4, parameter["name"]) + _text(6, parameter["type"])
        return _block(1, _block(2, _block(3, content)))
    content = _number(1, 1) + _text(2, "path") + _text(4, parameter["name"]) + _text(5, parameter["type"])
    return _block(1, _block(2, _block(4, content)))


def _schema(schema: Json) -> bytes:
    encoded = b""
    for name, number in _NUMBERS.items():
        if (value := schema.get(name)) is not None:
            encoded += _member(name, number, value)
    additional = schema.get("additionalProperties")
    if isinstance(additional, bool):
        encoded += _block(21, _number(2, additional))
    elif additional is not None:
        encoded += _block(21, _block(1, _schema(additional)))
    if type_ := schema.get("type"):
        encoded += _block(22, _text(1, type_))
    if "items" in schema:
        encoded += _block(23, _block(1, _schema(schema["items"])))
    if properties := schema.get("properties"):
        members = (
            _block(1, _named_entry(name, _schema(property_schema)))
            for name, property_schema in properties.items()
        )
        encoded += _block(25, b"".join(members))
    return encoded + _extensions(31, schema)


def _member(name: str, number: int, value: Any) -> bytes:
    if name in _TEXTS:
        return _text(number, value)
    if name in _DOUBLES:
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    if name == "required":
        return b"".join(_text(number, text) for text in value)
    if name in _ANYTHING:
        return b"".join(_block(number, _any(element)) for element in (value if name == "enum" else [value]))
    return _number(number, value)


def _extensions(number: int, members: Json) -> bytes:
    return b"".join(
        _block(number, _named_entry(name, _any(value)))
        for name, value in members.items()
        if name.startswith("x-")
    )


def _any(value: Any) -> bytes:
    return _text(2, msgspec.json.encode(value).decode() + "\n")  # JSON is YAML


def _named_entry(name: str, content: bytes) -> bytes:
    return _text(1, name) + _block(2, content)


def _text(number: int, value: str) -> bytes:
    return _block(number, value.encode())


def _block(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(int(value) & 0xFFFF_FFFF_FFFF_FFFF)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
