"""A watch as a file: the first line names the kind, each other line is an event with its delay.

::

    {"format":"kubeproto/watch/v1","group":"","version":"v1","kind":"Pod","plural":"pods","namespaced":true}
    {"delay":0.0,"type":"ADDED","object":{…}}
    {"delay":0.0,"type":"SYNCED"}
    {"delay":1.25,"type":"MODIFIED","object":{…}}

`delay` is in seconds after the line before. Objects before SYNCED existed when the recording began.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
from msgspec import Struct

from .._errors import InvalidObject
from ..objects import Dynamic, Reader, Resource, decode

FORMAT: Final = "kubeproto/watch/v1"


class RecordingHead(Struct, frozen=True, kw_only=True):
    """The first line: which kind it is, and where and when it was recorded."""

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
    """One line: what happened, how many seconds after the line before, and the object."""

    delay: float
    type: Literal["ADDED", "MODIFIED", "DELETED", "SYNCED"]
    object: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET

    @property
    def text(self) -> bytes:
        """The JSON of the object."""
        return bytes(self.object) if isinstance(self.object, msgspec.Raw) else b""

    def line(self) -> bytes:
        """Return it as a line of the file."""
        return msgspec.json.encode(self) + b"\n"


class WatchRecording(Struct, frozen=True):
    """A recorded watch."""

    head: RecordingHead
    events: tuple[RecordedEvent, ...]

    @property
    def initial(self) -> int:
        """How many events are about objects that existed when the recording began."""
        return next((number for number, event in enumerate(self.events) if event.type == "SYNCED"), 0)


_HEADS: Final[Reader[RecordingHead]] = Reader(RecordingHead)
_EVENTS: Final[Reader[RecordedEvent]] = Reader(RecordedEvent)


def read_recording(data: bytes) -> WatchRecording:
    """Return the recording in a file, a last half line left out; a ValueError names a line that is wrong."""
    lines = data.split(b"\n")
    try:
        head = _HEADS.read(lines[0])
    except InvalidObject as error:
        raise ValueError(f"line 1 is not the head of a recording: {error}") from error
    if head.format != FORMAT:
        raise ValueError(f"line 1: the format is {head.format!r}, and not {FORMAT}")
    events: list[RecordedEvent] = []
    for number, line in enumerate(lines[1:-1], 2):
        try:
            event = _EVENTS.read(line)
            if event.type != "SYNCED":
                decode(event.text, Dynamic)
        except InvalidObject as error:
            raise ValueError(f"line {number} is not an event: {error}") from error
        if not 0 <= event.delay < 1e9:
            raise ValueError(f"line {number}: a delay of {event.delay} s is not possible")
        events.append(event)
    return WatchRecording(head, tuple(events))
