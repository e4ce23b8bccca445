"""`follow`: the events of one kind, for ever, as an iterator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kubeproto import Added, Bookmark, Deleted, InvalidObject, KubeObject, Malformed, Modified
from kubeproto.watching import resync

from ._sync_following import BlockingFollowing
from ._sync_reflector import Mirrored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubeproto import Api, WatchEvent
    from kubeproto.control import Change

    from ._sync_client import BlockingClient

K = TypeVar("K", bound=KubeObject)


def follow(
    client: BlockingClient,
    api: Api[K],
    *,
    settings: resync.Settings | None = None,
    selection: dict[str, Any] | None = None,
) -> Iterator[WatchEvent[K]]:
    """The events; whoever closes the iterator closes the watch."""
    events: list[WatchEvent[K]] = []

    def changed(changes: list[Change[K]]) -> None:
        events.extend(map(_event, changes))

    def whole(version: str) -> None:
        events.append(Bookmark(version, initial_events_end=True))

    mirrored = Mirrored(api, changed, whole)
    following = BlockingFollowing(
        client, api, mirrored, settings=settings or resync.Settings(), selection=selection
    )
    for _ in following.attend():
        yield from events
        events.clear()


def _event(change: Change[K]) -> WatchEvent[K]:
    try:
        obj = change.object
    except InvalidObject as error:
        entry = change.new or change.old
        return Malformed(None, error, b"" if entry is None else entry.raw, change.type)
    match change.type:
        case "ADDED":
            return Added(obj)
        case "MODIFIED":
            return Modified(obj)
        case "DELETED":
            return Deleted(obj)
