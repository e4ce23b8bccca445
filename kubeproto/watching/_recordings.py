"""Recordings of watches as files: the first line describes the kind, each other line is an event.

::

    {"format":"kubeproto/watch/v1","group":"","version":"v1","kind":"Pod","plural":"pods","namespaced":true}
    {"delay":0.0,"type":"ADDED","object":{…}}
    {"delay":0.0,"type":"SYNCED"}
    {"delay":1.25,"type":"MODIFIED","object":{…}}

`delay` is the number of seconds since the previous event. Objects before SYNCED existed when the recording
began.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import Struct

from .._errors import InvalidObject
from ..objects import Dynamic, Reader, Resource, decode

FORMAT: Final = "kubeproto/watch/v1"


class RecordingHead(Struct, frozen=True, kw_only=True):
    """The first line: the kind of the objects, and the namespace and time of the recording."""

    format: str = FORMAT
    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    namespace: str = ""
    recorded: str = ""

    @property
    def resource(self) -> Resource:
        """The kind as a resource."""
        return Resource(
            group=self.group,
            version=self.version,
            kind=self.kind,
            plural=self.plural,
            namespaced=self.namespaced,
        )


class RecordedEvent(Struct, frozen=True, omit_defaults=True):
    """An event, with the object and the number of seconds since the previous event."""

    delay: float
    type: Literal["ADDED", "MODIFIED", "DELETED", "SYNCED"]
    object: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def text(self) -> bytes:
        """The JSON of the object."""
        return bytes(self.object) if isinstance(self.object, msgspec.Raw) else b""

    def line(self) -> bytes:
        """Return the line of the event in a file."""
        return msgspec.json.encode(self) + b"\n"


class WatchRecording(Struct, frozen=True):
    """A recorded watch."""

    head: RecordingHead
    events: tuple[RecordedEvent, ...]

    @property
    def initial(self) -> int:
        """The number of events of objects that existed when the recording began."""
        return next((number for number, event in enumerate(self.events) if event.type == "SYNCED"), 0)


_head_reader: Final[Reader[RecordingHead]] = Reader(RecordingHead)
_event_reader: Final[Reader[RecordedEvent]] = Reader(RecordedEvent)


def read_recording(data: bytes) -> WatchRecording:
    """Return the recording in a file, without an unfinished last line; raise ValueError if a line is
    invalid."""
    lines = data.split(b"\n")
    try:
        head = _head_reader.read(lines[0])
    except InvalidObject as error:
        raise ValueError(f"line 1 is not the head of a recording: {error}") from error
    if head.format != FORMAT:
        raise ValueError(f"line 1: the format is {head.format!r}, not {FORMAT}")
    events: list[RecordedEvent] = []
    for number, line in enumerate(lines[1:-1], 2):
        try:
            event = _event_reader.read(line)
            if event.type != "SYNCED":
                decode(event.text, Dynamic)
        except InvalidObject as error:
            raise ValueError(f"line {number} is not an event: {error}") from error
        if not 0 <= event.delay < 1e9:
            raise ValueError(f"line {number}: a delay of {event.delay} s is not possible")
        events.append(event)
    return WatchRecording(head, tuple(events))
