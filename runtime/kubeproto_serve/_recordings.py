"""A watch as a file: the first line says of which kind, each other one is an event with its delay.

::

    {"format":"kubeproto/watch/v1","group":"","version":"v1","kind":"Pod","plural":"pods","namespaced":true}
    {"delay":0.0,"type":"ADDED","object":{…}}
    {"delay":0.0,"type":"SYNCED"}
    {"delay":1.25,"type":"MODIFIED","object":{…}}

`delay` is in seconds after the line before. Objects before SYNCED existed when the recording began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from kubeproto import Dynamic, InvalidObject, LocalProtocolError, Resource, decode
from kubeproto.objects import Reader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kubeproto.sim import Cluster

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


def prepare_replay(cluster: Cluster, recording: WatchRecording) -> tuple[RecordedEvent, ...]:
    """Store the objects that existed when the recording began, and return the events to `replay`.

    A kind that the cluster does not serve gets a definition that takes every object.
    """
    resource = recording.head.resource
    kind = f"{resource.api_version}/{resource.kind}"
    try:
        cluster.objects(kind)
    except LocalProtocolError:  # it is not served yet
        cluster.define(_definition(recording.head))
    start = recording.initial
    for event in recording.events[:start]:
        _store(cluster, kind, event)
    return recording.events[start:]


async def replay(
    cluster: Cluster,
    recording: WatchRecording,
    events: tuple[RecordedEvent, ...],
    *,
    sleep: Callable[[float], Awaitable[object]],
    speed: float = 1.0,
) -> None:
    """Let the events of `prepare_replay` happen, with their delays divided by `speed`; 0 is at once."""
    kind = f"{recording.head.resource.api_version}/{recording.head.kind}"
    for event in events:
        await sleep(event.delay / speed if speed else 0.0)
        _store(cluster, kind, event)


def _store(cluster: Cluster, kind: str, event: RecordedEvent) -> None:
    if event.type == "SYNCED":
        return
    obj = decode(event.text, Dynamic)
    if event.type == "DELETED":
        cluster.remove(kind, obj.metadata.name, obj.metadata.namespace or "default")
    else:
        cluster.store(event.text)


def _definition(head: RecordingHead) -> bytes:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": head.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return msgspec.json.encode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{head.plural}.{head.group}"},
            "spec": {
                "group": head.group,
                "scope": "Namespaced" if head.namespaced else "Cluster",
                "names": {"plural": head.plural, "kind": head.kind},
                "versions": [version],
            },
        }
    )
