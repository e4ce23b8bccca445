"""`PlainDecoder`: a plain and slow `WatchDecoder`. Read this before `_decoder.py`.

It splits lines, parses each by `json.loads`, and decodes its object as a plain class. The tests compare both
decoders on random streams.
"""

from __future__ import annotations

import json
from typing import Any, Final, Never

import msgspec

import kubeproto as kp
from kubeproto.watching import Added, Bookmark, Deleted, Malformed, Modified, Unknown, WatchFailed

CHANGES: Final[dict[str, Any]] = {"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted}


class PlainDecoder:
    """Decodes the bytes of a watch whose response has status 200 and no compression."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind
        self._unfinished_line = b""

    def feed(self, chunk: bytes) -> list[Any]:
        """Take the next bytes; return the events that are complete."""
        *lines, self._unfinished_line = (self._unfinished_line + chunk).split(b"\n")
        return [read_line(line, self._kind) for line in lines if line.strip()]

    def finish(self) -> list[Any]:
        """Take the end of the stream; the last line needs no line feed, but it must be complete."""
        line = self._unfinished_line
        try:
            return [read_line(line, self._kind)] if line.strip() and parse(line) is not line else []
        except ValueError:
            raise kp.RemoteProtocolError("the watch ended inside an event") from None


def read_line(line: bytes, kind: type[Any]) -> Any:
    """Return the event on a line."""
    try:
        value = parse(line)
    except ValueError as error:
        return Malformed(None, kp.InvalidObject(str(error)), line)
    try:
        match value:
            case {"type": "ADDED" | "MODIFIED" | "DELETED" as type_, "object": _}:
                return CHANGES[type_](read_object(line, kind))
            case {"type": "BOOKMARK", "object": {"metadata": dict()}}:
                return read_bookmark(value["object"]["metadata"])
            case {"type": "ERROR", "object": status} | ({"kind": "Status"} as status):
                return WatchFailed(msgspec.convert(status, kp.Status, strict=False))
            case {"type": str(type_), "object": _} if type_ and type_ != "BOOKMARK":
                return Unknown(type_, line)
            case {"items": _} | {"kind": "Table"} if not {"type", "object"} & value.keys():
                raise kp.RemoteProtocolError("the response is a list although a watch was requested")
            case _:
                raise kp.InvalidObject("not an event")
    except (kp.InvalidObject, msgspec.ValidationError) as error:
        return Malformed(None, kp.InvalidObject(str(error)), line)


def parse(line: bytes) -> Any:
    """Return the JSON value on a line. Raise `ValueError` if the line is not strictly JSON in UTF-8."""
    value = json.loads(line.decode(), parse_constant=_refuse_constant)
    json.dumps(value, ensure_ascii=False).encode()  # half of an escaped surrogate pair is not a character
    return value


def read_object(line: bytes, kind: type[Any]) -> Any:
    """Return the object of an event; it must have a name and fit its kind."""
    text = msgspec.json.decode(line, type=dict[str, msgspec.Raw])["object"]
    if kind is kp.Dynamic:
        content = json.loads(bytes(text))
        metadata = msgspec.json.decode(text, type=kp.Metadata).metadata
        obj = kp.Dynamic(
            kind=content.pop("kind", ""), api_version=content.pop("apiVersion", ""), metadata=metadata
        )
        content.pop("metadata", None)
        obj.content.update(content)
    else:
        obj = msgspec.json.decode(text, type=kind)
    if not obj.metadata.name:
        raise kp.InvalidObject("an object without a name")
    return obj


def read_bookmark(metadata: dict[str, Any]) -> Bookmark:
    """Return the bookmark of this metadata."""
    annotations: dict[str, Any] = metadata.get("annotations") or {}
    initial_events_end = annotations.get("k8s.io/initial-events-end") == "true"
    return Bookmark(metadata.get("resourceVersion", ""), initial_events_end)


def _refuse_constant(name: str) -> Never:
    raise ValueError(f"{name} is not JSON")
