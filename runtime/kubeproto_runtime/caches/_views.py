"""Views: a part of a cache, by namespace, labels and indexes.

A view holds no objects. It decides for each object whether it is included, and what each change is to readers
of this part: an object that comes to match is added, one that no longer does is deleted.
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
    """The objects of a cache that are in a namespace, match a selector and have values in indexes."""

    def __init__(
        self, reflector: Reflector[K], namespace: str, selector: Selector | None, indexed: Mapping[str, str]
    ) -> None:
        self._reflector = reflector
        self._prefix = f"{namespace}/" if namespace else ""
        self._selector = selector
        self._indexed = dict(indexed)

    @property
    def synced(self) -> bool:
        """Whether the first complete snapshot has been shown."""
        return self._reflector.synced

    @property
    def closed(self) -> bool:
        """Whether it has stopped following."""
        return self._reflector.closed

    def get(self, name: str, namespace: str = "") -> K | None:
        """Return a new object, if it is in this view; a view of one namespace needs no `namespace`."""
        self._reflector.require_synced()
        if not (namespace or self._prefix) and self._reflector.resource.namespaced:
            raise LocalProtocolError(
                f"this view of {self._reflector.resource} shows all namespaces, and {name!r} may be in each"
                f" of them: say get({name!r}, namespace)"
            )
        entry = self.entry(key_of(name, namespace or self._prefix[:-1]))
        return None if entry is None else self._reflector.store.read(entry)

    def entry(self, key: str) -> CachedObject | None:
        """Return the version and the bytes of an object, if it is in this view."""
        self._reflector.require_synced()
        entry = self._reflector.store.entry(key)
        return entry if entry is not None and self._includes(key, entry) else None

    def keys(self) -> list[str]:
        """Return the keys of this moment."""
        return [key for key, _ in self._entries()]

    def __iter__(self) -> Iterator[K]:
        """Iterate over the objects of this moment; malformed objects are left out."""
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
        """Call `callback` with the changes of this part that arrive together; see `Cache.listen`."""

        def narrowed(changes: list[Change[K]]) -> None:
            if own_changes := [
                own_change for change in changes if (own_change := self._narrow(change)) is not None
            ]:
                callback(own_changes)

        return self._reflector.listen(narrowed)

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

    def _narrow(self, change: Change[K]) -> Change[K] | None:
        """Return a change as this view sees it; None if it does not."""
        key, old, new = change.key, change.old, change.new
        was = old is not None and self._includes(key, old)
        is_now = change.type != "DELETED" and new is not None and self._includes(key, new)
        if was and is_now:
            return change
        if was:
            return Change(change.kind, "DELETED", key, old, new, resource=change.resource)
        if is_now:
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
