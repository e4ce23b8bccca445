"""Indexes that follow changes: dependents by owner, orphans, and selectors by the labels that they match."""

from __future__ import annotations

from typing import Final, TypeVar

from kubeproto.objects import Selector

from ...storage._storage import StoredEvent, StoredRecord

K = TypeVar("K")
_CONTROLLED: Final = b'"controller":true'


class OwnerIndex:
    """The objects of a kind by the uid of each owner, and the orphans by namespace."""

    def __init__(self) -> None:
        self._owned: dict[str, dict[str, None]] = {}
        self._orphans: dict[str, dict[str, None]] = {}

    def on_event(self, event: StoredEvent) -> None:
        """Update the index after a change."""
        stored, previous = event.stored, event.previous
        if event.change == "DELETED":
            self._drop(previous or stored)
            return
        if previous is None:
            self._add(stored)
        elif previous.owners != stored.owners or is_orphan(previous) != is_orphan(stored):
            self._drop(previous)
            self._add(stored)

    def owned(self, uid: str) -> list[str]:
        """Return the keys of the objects with this owner, the oldest first."""
        return list(self._owned.get(uid, ()))

    def orphans(self, namespace: str) -> list[str]:
        """Return the keys of the objects in a namespace that have no controller."""
        return list(self._orphans.get(namespace, ()))

    def copy(self) -> OwnerIndex:
        """Return an independent copy."""
        clone = OwnerIndex()
        clone._owned = {uid: dict(keys) for uid, keys in self._owned.items()}
        clone._orphans = {namespace: dict(keys) for namespace, keys in self._orphans.items()}
        return clone

    def _add(self, stored: StoredRecord) -> None:
        for uid in stored.owners:
            self._owned.setdefault(uid, {})[stored.key] = None
        if is_orphan(stored):
            self._orphans.setdefault(stored.namespace, {})[stored.key] = None

    def _drop(self, stored: StoredRecord) -> None:
        for uid in stored.owners:
            _remove(self._owned, uid, stored.key)
        _remove(self._orphans, stored.namespace, stored.key)


class SelectorIndex:
    """The selectors of a kind by namespace and a label that each of them requires."""

    def __init__(self) -> None:
        self._selectors: dict[str, Selector] = {}
        self._buckets: dict[str, tuple[str, str]] = {}
        self._keys: dict[tuple[str, str], dict[str, None]] = {}

    def put(self, key: str, namespace: str, selector: Selector) -> None:
        """Set the selector of an object."""
        if self._selectors.get(key) == selector:
            return
        self.drop(key)
        bucket = self._buckets[key] = (namespace, first_pair(selector))
        self._selectors[key] = selector
        self._keys.setdefault(bucket, {})[key] = None

    def drop(self, key: str) -> None:
        """Remove the selector of an object."""
        if self._selectors.pop(key, None) is not None:
            _remove(self._keys, self._buckets.pop(key), key)

    def matching(self, namespace: str, labels: dict[str, str] | None) -> list[str]:
        """Return the keys of the objects whose selector matches these labels."""
        matching: list[str] = []
        pairs = ["", *(f"{name}={value}" for name, value in (labels or {}).items())]
        for pair in pairs:
            keys = self._keys.get((namespace, pair), ())
            matching += [key for key in keys if self._selectors[key].matches(labels or {})]
        return matching

    def copy(self) -> SelectorIndex:
        """Return an independent copy."""
        clone = SelectorIndex()
        clone._selectors, clone._buckets = dict(self._selectors), dict(self._buckets)
        clone._keys = {bucket: dict(keys) for bucket, keys in self._keys.items()}
        return clone


class LabelIndex:
    """The objects of a kind by namespace and each of their labels."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, str], dict[str, None]] = {}

    def on_event(self, event: StoredEvent) -> None:
        """Update the index after a change."""
        stored, previous = event.stored, event.previous
        if event.change == "DELETED":
            self._drop(previous or stored)
        elif previous is None:
            self._add(stored)
        elif previous.labels != stored.labels:
            self._drop(previous)
            self._add(stored)

    def candidates(self, namespace: str, selector: Selector) -> list[str]:
        """Return the keys of the objects that a selector may match: a superset of its matches."""
        return list(self._keys.get((namespace, first_pair(selector)), ()))

    def copy(self) -> LabelIndex:
        """Return an independent copy."""
        clone = LabelIndex()
        clone._keys = {bucket: dict(keys) for bucket, keys in self._keys.items()}
        return clone

    def _buckets_of(self, stored: StoredRecord) -> list[tuple[str, str]]:
        pairs = [f"{name}={value}" for name, value in (stored.labels or {}).items()]
        return [(stored.namespace, pair) for pair in ("", *pairs)]

    def _add(self, stored: StoredRecord) -> None:
        for bucket in self._buckets_of(stored):
            self._keys.setdefault(bucket, {})[stored.key] = None

    def _drop(self, stored: StoredRecord) -> None:
        for bucket in self._buckets_of(stored):
            _remove(self._keys, bucket, stored.key)


def is_orphan(stored: StoredRecord) -> bool:
    """Return whether an object has no controller."""
    return not stored.owners or _CONTROLLED not in stored.data


def first_pair(selector: Selector) -> str:
    """Return the first label that a selector requires, as name=value; empty if it requires none."""
    for requirement in selector.requirements:
        if requirement.operator == "In" and len(requirement.values) == 1:
            return f"{requirement.key}={requirement.values[0]}"
    return ""


def _remove(keys: dict[K, dict[str, None]], bucket: K, key: str) -> None:
    members = keys.get(bucket)
    if members is not None:
        members.pop(key, None)
        if not members:
            del keys[bucket]
