"""What comes in: the body of a request as a value, by its content type."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from ._apply_values import is_list, is_map
from ._refusals import bad_request, too_large, unsupported_media

LIMIT: Final = 3 * 1024 * 1024
_JSON: Final = ("application/json", "text/json", "*/*", "")
_YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml")
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode
_DEEPEST: Final = 200


def check_size(body: bytes) -> None:
    """Refuse a body that is longer than a server takes."""
    if len(body) > LIMIT:
        raise too_large(LIMIT)


def read_object(body: bytes, content_type: str) -> tuple[dict[str, Any], list[str]]:
    """The object in a body, and the paths of keys that stand in it twice."""
    media = content_type.partition(";")[0].strip()
    if media in _YAML:
        return read_yaml(body)
    if media not in _JSON:
        raise unsupported_media()
    try:
        obj = _decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(_unreadable(body, error)) from None
    if not is_map(obj):
        raise bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal"
            f" {_go_kind(obj)} into Go value of type struct {{ APIVersion string; Kind string }}"
        )
    # Keys that stand twice make the body longer than its meaning; most bodies are compact.
    return obj, [] if len(_encode(obj)) == len(body) else duplicates(body)


def read_yaml(body: bytes) -> tuple[dict[str, Any], list[str]]:
    """The object in a YAML body. JSON is YAML, and is read as such first."""
    try:
        obj = _decode(body)
    except msgspec.DecodeError:
        from .._yaml import YamlError, YamlUnavailable, read_documents

        try:
            documents = list(read_documents(body.decode()))
        except (YamlError, YamlUnavailable, UnicodeDecodeError) as error:
            raise bad_request(f"error converting YAML to JSON: {error}") from None
        obj = documents[0].value if documents else None
    if not is_map(obj):
        raise bad_request("error decoding YAML: the body is no object")
    return obj, []


def read_value(body: bytes) -> Any:
    """Any JSON value, such as a patch."""
    try:
        return _decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(_unreadable(body, error)) from None


def duplicates(body: bytes) -> list[str]:
    """The paths of keys that stand twice in their object."""
    found: list[tuple[int, str]] = []

    def object_of(pairs: list[tuple[str, Any]]) -> Any:
        names: dict[str, Any] = {}
        twice: list[str] = []
        for name, value in pairs:
            if name in names:
                twice.append(name)
            names[name] = value
        return _Object(names, twice)

    try:
        tree = json.loads(body, object_pairs_hook=object_of)
    except (ValueError, RecursionError):
        return []
    _walk(tree, "", found)
    return [path for _, path in found]


class _Object:
    def __init__(self, members: dict[str, Any], twice: list[str]) -> None:
        self.members = members
        self.twice = twice


def _walk(value: Any, path: str, found: list[tuple[int, str]]) -> None:
    if isinstance(value, _Object):
        found.extend((len(found), f"{path}{name}") for name in value.twice)
        for name, member in value.members.items():
            _walk(member, f"{path}{name}.", found)
    elif is_list(value):
        for index, element in enumerate(value):
            _walk(element, f"{path[:-1]}[{index}].", found)


def _unreadable(body: bytes, error: Exception) -> str:
    if not body.strip():
        return "unexpected end of JSON input"
    text = str(error)
    if "truncated" in text:
        return "couldn't get version/kind; json parse error: unexpected end of JSON input"
    at = re.search(r"byte (\d+)", text)
    where = int(at[1]) if at else 0
    char = body[where : where + 1].decode("latin-1") or " "
    why = f"invalid character '{char}' looking for beginning of value"
    return f"couldn't get version/kind; json parse error: {why}"


def _go_kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "null"
