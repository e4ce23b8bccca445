"""`View`: a part of a cache, selected by namespace, labels and indexes.

A view does not store objects. It decides for each object whether it is included, and converts each change for
the readers of this part: an object that begins to match is added, and an object that no longer matches is
deleted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from kubeproto import InvalidObject, KubeObject, LocalProtocolError, Metadata
from kubeproto.control import CachedObject, Change, key_of
from kubeproto.objects import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kubeproto.objects import Selector

    from ._reflector import Reflector

K = TypeVar("K", bound=KubeObject)


class View(Generic[K]):
    """The objects of a cache in a namespace that match a selector and have certain values in indexes."""

    def __init__(
        self, reflector: Reflector[K], namespace: str, selector: Selector | None, indexed: Mapping[str, str]
    ) -> None:
        self._reflector = reflector
        self._prefix = f"{namespace}/" if namespace else ""
        self._selector = selector
        self._indexed = dict(indexed)

    @property
    def synced(self) -> bool:
        """Whether the first snapshot is complete, so that the cache can be read."""
        return self._reflector.synced

    @property
    def closed(self) -> bool:
        """Whether the cache has stopped following."""
        return self._reflector.closed

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, or None if this view does not include it.

        A view of a single namespace needs no `namespace`.
        """
        self._reflector.require_synced()
        if not (namespace or self._prefix) and self._reflector.resource.namespaced:
            raise LocalProtocolError(
                f"this view of {self._reflector.resource} contains all namespaces, and each of them may"
                f" contain {name!r}: use get({name!r}, namespace)"
            )
        entry = self.entry(key_of(name, namespace or self._prefix[:-1]))
        return None if entry is None else self._reflector.store.read(entry)

    def entry(self, key: str) -> CachedObject | None:
        """Return the version and the bytes of an object, or None if this view does not include it."""
        self._reflector.require_synced()
        entry = self._reflector.store.entry(key)
        return entry if entry is not None and self._includes(key, entry) else None

    def keys(self) -> list[str]:
        """Return the keys of the objects in this view."""
        return [key for key, _ in self._entries()]

    def __iter__(self) -> Iterator[K]:
        """Iterate over a snapshot of the objects; malformed objects are omitted."""
        read = self._reflector.store.read
        for _, entry in list(self._entries()):
            try:
                obj = read(entry)
            except InvalidObject:
                continue
            yield obj

    def __len__(self) -> int:
        return sum(1 for _ in self._entries())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.entry(key) is not None

    def listen(self, callback: Callable[[list[Change[K]]], None]) -> Callable[[], None]:
        """Call `callback` with each batch of changes of this part; see `Cache.listen`."""

        def notify(changes: list[Change[K]]) -> None:
            if view_changes := [
                view_change for change in changes if (view_change := self._convert(change)) is not None
            ]:
                callback(view_changes)

        return self._reflector.listen(notify)

    def _entries(self) -> Iterable[tuple[str, CachedObject]]:
        self._reflector.require_synced()
        store = self._reflector.store
        if not self._indexed:
            entries: Iterable[tuple[str, CachedObject]] = store.entries().items()
        else:
            sets = [self._reflector.index(name).keys(value) for name, value in self._indexed.items()]
            first, *others = sorted(sets, key=len)
            keys = first.intersection(*others)
            entries = [(key, entry) for key in sorted(keys) if (entry := store.entry(key)) is not None]
        return ((key, entry) for key, entry in entries if self._includes(key, entry, indexed=False))

    def _convert(self, change: Change[K]) -> Change[K] | None:
        """Return a change of the cache as a change of this view; None if the view does not change."""
        key, old, new = change.key, change.old, change.new
        was_included = old is not None and self._includes(key, old)
        is_included = change.type != "DELETED" and new is not None and self._includes(key, new)
        if was_included and is_included:
            return change
        if was_included:
            return Change(change.kind, "DELETED", key, old, new, resource=change.resource)
        if is_included:
            return Change(change.kind, "ADDED", key, None, new, change.initial, change.resource)
        return None

    def _includes(self, key: str, entry: CachedObject, *, indexed: bool = True) -> bool:
        if not key.startswith(self._prefix):
            return False
        if self._selector is not None and not self._selector.matches(_labels(entry)):
            return False
        return not indexed or all(
            value in self._reflector.index(name).values_in(key, entry)
            for name, value in self._indexed.items()
        )


def _labels(entry: CachedObject) -> dict[str, str] | None:
    try:
        return decode(entry.raw, Metadata).metadata.labels
    except InvalidObject:
        return None
