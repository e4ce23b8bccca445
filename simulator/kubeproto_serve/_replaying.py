"""Replays of a recorded watch on a simulated cluster, with its timing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kubeproto import Dynamic, LocalProtocolError, decode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kubeproto.watching import RecordedEvent, RecordingHead, WatchRecording
    from kubeproto_sim import Cluster


def prepare_replay(cluster: Cluster, recording: WatchRecording) -> tuple[RecordedEvent, ...]:
    """Store the initial objects of a recording, and return the events for `replay`.

    A kind that the cluster does not serve gets a definition that accepts every object.
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
    """Replay the events of `prepare_replay`, with their delays divided by `speed`; 0 means no delays."""
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
