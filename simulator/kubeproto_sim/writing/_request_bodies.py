"""Decoding of request bodies by content type, and the messages about bodies that cannot be decoded."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from kubeproto.objects import is_list, is_object

from .._rejections import Rejection, bad_request, too_large, unsupported_media
from ..kinds._protobuf_bodies import PROTOBUF, MalformedProtobuf, read_protobuf
from ..storage._json_values import go_kind, quoted

MAX_BODY: Final = 3 * 1024 * 1024
_JSON: Final = ("application/json", "text/json", "*/*", "")
_YAML: Final = ("application/yaml", "application/x-yaml", "text/yaml")
_decode: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode
_NO_YAML: Final = "error decoding YAML: "
_MAX_QUOTED: Final = 30  # bytes of a body in an error message
_NO_KIND: Final = "couldn't get version/kind; json parse error: "
_INTO_MAP: Final = "into Go value of type map[string]interface {}"
_INTO_TYPE: Final = (
    'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)


def read_json(body: bytes) -> Any:
    """Return the value of a client's JSON; raise `DecodeError` or RecursionError.

    Go reads each byte that is not UTF-8 as U+FFFD, so a server accepts such a body.
    """
    try:
        return _decode(body)
    except UnicodeDecodeError:
        return _decode(_INVALID_BYTES.sub("\ufffd", body.decode("utf-8", "surrogateescape")))


# The characters to which `surrogateescape` maps bytes that are not UTF-8.
_INVALID_BYTES: Final = re.compile("[\udc80-\udcff]")


def check_size(body: bytes) -> None:
    """Raise a `Rejection` for a body that is too large for a server."""
    if len(body) > MAX_BODY:
        raise too_large(MAX_BODY)


def read_object(
    body: bytes, content_type: str, kind: str, *, custom: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a body, and the messages about duplicate keys.

    `kind` is the expected kind; only a custom resource must contain it.
    """
    media = content_type.partition(";")[0].strip()
    if media in _YAML:
        return _read_yaml_object(body, kind)
    if media == PROTOBUF and not custom:
        return read_message(body, kind), []
    if media not in _JSON:
        raise unsupported_media("application/json, application/yaml, application/vnd.kubernetes.protobuf")
    try:
        obj = read_json(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise unrecognized(kind, f"{_NO_KIND}{_syntax_error(body, error)}", body) from None
    if obj is None and not custom:
        return {}, []
    if obj is not None and not is_object(obj):
        raise unrecognized(kind, f"{_NO_KIND}json: cannot unmarshal {go_kind(obj)} {_INTO_TYPE}", body)
    obj = obj or {}
    _check_kind(obj, kind, body)
    if custom and not obj.get("kind"):
        raise unrecognized(kind, f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'", body)
    # A body with duplicate keys is longer than its value encoded again. Most bodies are compact JSON, so this
    # comparison saves the slow search for duplicates.
    if len(_encode(obj)) == len(body):
        return obj, []
    return obj, [f"duplicate field {quoted(path)}" for path in duplicates(body)]


def _read_yaml_object(body: bytes, kind: str) -> tuple[dict[str, Any], list[str]]:
    try:
        obj, duplicate_faults = read_yaml(body, allow_duplicates=True)
    except Rejection as rejection:
        message = rejection.status["message"].removeprefix(_NO_YAML)
        raise unrecognized(kind, message, body) from None
    _check_kind(obj, kind, body)
    return obj, duplicate_faults


def _check_kind(obj: dict[str, Any], kind: str, body: bytes) -> None:
    """Raise a `Rejection` for a malformed kind or apiVersion."""
    for name in ("kind", "apiVersion"):
        if (value := obj.get(name)) is not None and not isinstance(value, str):
            message = f"json: cannot unmarshal {go_kind(value)} into Go struct field .{name} of type string"
            raise unrecognized(kind, f"{_NO_KIND}{message}", body)
    if (obj.get("apiVersion") or "").count("/") > 1:
        raise unrecognized(kind, f"unexpected GroupVersion string: {obj['apiVersion']}", body)


def read_message(body: bytes, kind: str) -> dict[str, Any]:
    """Return the object in a protobuf body."""
    try:
        return read_protobuf(body)
    except MalformedProtobuf as error:
        raise unrecognized(kind, str(error), body) from None


def unrecognized(kind: str, message: str, body: bytes) -> Rejection:
    """Return the 400 for a body of unknown format; its message quotes the beginning of the body."""
    beginning, ellipsis = body[:_MAX_QUOTED], " ..." if len(body) > _MAX_QUOTED else ""
    text = beginning.decode("utf-8", "replace") if beginning[:1] == b"{" else beginning.hex()
    summary = f"{text}{ellipsis}" or "<empty>"
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {message} ({summary})")


def read_yaml(body: bytes, *, allow_duplicates: bool = False) -> tuple[dict[str, Any], list[str]]:
    """Return the object in a YAML body, and the messages about duplicate keys.

    JSON is YAML too, and is tried first.
    """
    duplicate_faults: list[str] = []
    try:
        obj = read_json(body)
    except (msgspec.DecodeError, RecursionError):
        from kubeproto.yaml import YamlError, YamlUnavailable, read_documents

        try:
            documents = list(read_documents(body.decode(), allow_duplicates=allow_duplicates))
        except (YamlError, YamlUnavailable, UnicodeDecodeError, RecursionError) as error:
            raise bad_request(f"{_NO_YAML}error converting YAML to JSON: yaml: {error}") from None
        obj = documents[0].value if documents else None
        duplicate_keys = documents[0].duplicate_keys if documents else []
        duplicate_faults = [
            f"line {line}: key {quoted(key)} already set in map" for line, key in duplicate_keys
        ]
    if obj is None:
        return {}, []
    if not is_object(obj):
        message = f"json: cannot unmarshal {go_kind(obj)} {_INTO_MAP}"
        raise bad_request(f"{_NO_YAML}error unmarshaling JSON: while decoding JSON: {message}")
    return obj, duplicate_faults


def read_value(body: bytes, prefix: str = "") -> Any:
    """Return any JSON value, such as a patch; `prefix` precedes the message about invalid JSON."""
    try:
        return read_json(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"{prefix}{_syntax_error(body, error)}") from None


def not_a_map(value: Any, prefix: str = "") -> Rejection:
    """Return the 400 for a patch that is not an object."""
    return bad_request(f"{prefix}json: cannot unmarshal {go_kind(value)} {_INTO_MAP}")


def duplicates(body: bytes) -> list[str]:
    """Return the paths of duplicate keys."""
    paths: list[tuple[int, str]] = []

    def object_of(pairs: list[tuple[str, Any]]) -> Any:
        names: dict[str, Any] = {}
        duplicate_names: list[str] = []
        for name, value in pairs:
            if name in names:
                duplicate_names.append(name)
            names[name] = value
        return _ParsedObject(names, duplicate_names)

    try:
        tree = json.loads(body, object_pairs_hook=object_of)
    except (ValueError, RecursionError):
        return []
    _collect_duplicates(tree, "", paths)
    return [path for _, path in paths]


class _ParsedObject:
    def __init__(self, members: dict[str, Any], duplicate_names: list[str]) -> None:
        self.members = members
        self.duplicate_names = duplicate_names


def _collect_duplicates(value: Any, path: str, paths: list[tuple[int, str]]) -> None:
    if isinstance(value, _ParsedObject):
        paths.extend((len(paths), f"{path}{name}") for name in value.duplicate_names)
        for name, member in value.members.items():
            _collect_duplicates(member, f"{path}{name}.", paths)
    elif is_list(value):
        for index, element in enumerate(value):
            _collect_duplicates(element, f"{path[:-1]}[{index}].", paths)


def _syntax_error(body: bytes, error: Exception) -> str:
    text = str(error)
    if not body.strip() or "truncated" in text:
        return "unexpected end of JSON input"
    match = re.search(r"byte (\d+)", text)
    position = int(match[1]) if match else 0
    char = body[position : position + 1].decode("latin-1") or " "
    expected_token = "object key string" if body[:position].rstrip()[-1:] == b"{" else "value"
    return f"invalid character '{char}' looking for beginning of {expected_token}"
