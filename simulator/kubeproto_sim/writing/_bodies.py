"""The body of a request as a value, by its content type."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from .._rejections import Rejection, bad_request, too_large, unsupported_media
from ..kinds._protobuf import PROTOBUF, MalformedProtobuf, read_protobuf
from ..storage._json_values import go_kind, is_list, is_map

LIMIT: Final = 3 * 1024 * 1024
_JSON: Final = ("application/json", "text/json", "*/*", "")
_YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml")
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode
_NO_YAML: Final = "error decoding YAML: "
_SHOWN: Final = 30  # bytes of a body that a refusal shows
_NO_KIND: Final = "couldn't get version/kind; json parse error: "
_INTO_MAP: Final = "into Go value of type map[string]interface {}"
_INTO_TYPE: Final = (
    'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)


def read_json(body: bytes) -> Any:
    """Return the value of JSON that a client sent; `DecodeError` or RecursionError if it is not JSON.

    Go reads each byte that is not UTF-8 as U+FFFD, so a server accepts such a body.
    """
    try:
        return _decode(body)
    except UnicodeDecodeError:
        return _decode(_STRAY.sub("\ufffd", body.decode("utf-8", "surrogateescape")))


# The characters to which `surrogateescape` maps bytes that are not UTF-8.
_STRAY: Final = re.compile("[\udc80-\udcff]")


def check_size(body: bytes) -> None:
    """Refuse a body that is larger than a server accepts."""
    if len(body) > LIMIT:
        raise too_large(LIMIT)


def read_object(
    body: bytes, content_type: str, kind: str, *, custom: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a body that has to be of a kind, and the paths of duplicate keys.

    A custom resource has to name its kind.
    """
    media = content_type.partition(";")[0].strip()
    if media in _YAML:
        return _read_yaml_object(body, kind), []
    if media == PROTOBUF and not custom:
        return read_message(body, kind), []
    if media not in _JSON:
        raise unsupported_media("application/json, application/yaml, application/vnd.kubernetes.protobuf")
    try:
        obj = read_json(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise unrecognized(kind, f"{_NO_KIND}{_unreadable(body, error)}", body) from None
    if obj is None and not custom:
        return {}, []
    if obj is not None and not is_map(obj):
        raise unrecognized(kind, f"{_NO_KIND}json: cannot unmarshal {go_kind(obj)} {_INTO_TYPE}", body)
    obj = obj or {}
    _check_kind(obj, kind, body)
    if custom and not obj.get("kind"):
        raise unrecognized(kind, f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'", body)
    # A body with duplicate keys is longer than its value encoded again; most bodies are compact.
    return obj, [] if len(_encode(obj)) == len(body) else duplicates(body)


def _read_yaml_object(body: bytes, kind: str) -> dict[str, Any]:
    try:
        obj, _ = read_yaml(body)
    except Rejection as refused:
        why = refused.status["message"].removeprefix(_NO_YAML)
        raise unrecognized(kind, why, body) from None
    _check_kind(obj, kind, body)
    return obj


def _check_kind(obj: dict[str, Any], kind: str, body: bytes) -> None:
    """Refuse an object whose kind or apiVersion is not well-formed."""
    for name in ("kind", "apiVersion"):
        if (value := obj.get(name)) is not None and not isinstance(value, str):
            why = f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
            raise unrecognized(kind, f"{_NO_KIND}{why}", body)
    if (obj.get("apiVersion") or "").count("/") > 1:
        raise unrecognized(kind, f"unexpected GroupVersion string: {obj['apiVersion']}", body)


def read_message(body: bytes, kind: str) -> dict[str, Any]:
    """Return the object in a protobuf body."""
    try:
        return read_protobuf(body)
    except MalformedProtobuf as error:
        raise unrecognized(kind, str(error), body) from None


def unrecognized(kind: str, why: str, body: bytes) -> Rejection:
    """400: the format of the body is unknown; the beginning of it is shown."""
    shown, rest = body[:_SHOWN], " ..." if len(body) > _SHOWN else ""
    text = shown.decode("utf-8", "replace") if shown[:1] == b"{" else shown.hex()
    summary = f"{text}{rest}" or "<empty>"
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({summary})")


def read_yaml(body: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a YAML body. JSON is YAML, and is tried first."""
    try:
        obj = read_json(body)
    except (msgspec.DecodeError, RecursionError):
        from kubeproto.yaml import YamlError, YamlUnavailable, read_documents

        try:
            documents = list(read_documents(body.decode()))
        except (YamlError, YamlUnavailable, UnicodeDecodeError, RecursionError) as error:
            raise bad_request(f"{_NO_YAML}error converting YAML to JSON: yaml: {error}") from None
        obj = documents[0].value if documents else None
    if obj is None:
        return {}, []
    if not is_map(obj):
        why = f"json: cannot unmarshal {go_kind(obj)} {_INTO_MAP}"
        raise bad_request(f"{_NO_YAML}error unmarshaling JSON: while decoding JSON: {why}")
    return obj, []


def read_value(body: bytes, what: str = "") -> Any:
    """Return any JSON value, such as a patch; `what` precedes the message about one that cannot be read."""
    try:
        return read_json(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"{what}{_unreadable(body, error)}") from None


def not_a_map(value: Any, what: str = "") -> Rejection:
    """400: a patch that is not an object."""
    return bad_request(f"{what}json: cannot unmarshal {go_kind(value)} {_INTO_MAP}")


def duplicates(body: bytes) -> list[str]:
    """Return the paths of keys that occur twice in their object."""
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
    text = str(error)
    if not body.strip() or "truncated" in text:
        return "unexpected end of JSON input"
    at = re.search(r"byte (\d+)", text)
    where = int(at[1]) if at else 0
    char = body[where : where + 1].decode("latin-1") or " "
    what = "object key string" if body[:where].rstrip()[-1:] == b"{" else "value"
    return f"invalid character '{char}' looking for beginning of {what}"
