"""Indexes that follow changes: dependents by owner, orphans, and selectors by the labels that they match."""

from __future__ import annotations

from typing import Final, TypeVar

from kubeproto.objects import Selector

from ...storage._storage import Stored, StoredEvent

K = TypeVar("K")
_CONTROLLED: Final = b'"controller":true'


class OwnerIndex:
    """The objects of one kind by the uid of each owner, and those without a controller by namespace."""

    def __init__(self) -> None:
        self._owned: dict[str, dict[str, None]] = {}
        self._orphans: dict[str, dict[str, None]] = {}

    def follow(self, event: StoredEvent) -> None:
        """Take a change in."""
        stored, before = event.stored, event.before
        if event.change == "DELETED":
            self._drop(before or stored)
            return
        if before is None:
            self._add(stored)
        elif before.owners != stored.owners or is_orphan(before) != is_orphan(stored):
            self._drop(before)
            self._add(stored)

    def owned(self, uid: str) -> list[str]:
        """Return the keys of the objects with this owner, the oldest first."""
        return list(self._owned.get(uid, ()))

    def orphans(self, namespace: str) -> list[str]:
        """Return the keys of the objects in a namespace that have no controller."""
        return list(self._orphans.get(namespace, ()))

    def copy(self) -> OwnerIndex:
        """Return an index that goes on by itself."""
        twin = OwnerIndex()
        twin._owned = {uid: dict(keys) for uid, keys in self._owned.items()}
        twin._orphans = {namespace: dict(keys) for namespace, keys in self._orphans.items()}
        return twin

    def _add(self, stored: Stored) -> None:
        for uid in stored.owners:
            self._owned.setdefault(uid, {})[stored.key] = None
        if is_orphan(stored):
            self._orphans.setdefault(stored.namespace, {})[stored.key] = None

    def _drop(self, stored: Stored) -> None:
        for uid in stored.owners:
            _remove(self._owned, uid, stored.key)
        _remove(self._orphans, stored.namespace, stored.key)


class SelectorIndex:
    """The selectors of one kind, found by labels: one pair that a selector requires leads to it."""

    def __init__(self) -> None:
        self._selectors: dict[str, Selector] = {}
        self._places: dict[str, tuple[str, str]] = {}
        self._keys: dict[tuple[str, str], dict[str, None]] = {}

    def put(self, key: str, namespace: str, selector: Selector) -> None:
        """Note the selector of an object."""
        if self._selectors.get(key) == selector:
            return
        self.drop(key)
        place = self._places[key] = (namespace, first_pair(selector))
        self._selectors[key] = selector
        self._keys.setdefault(place, {})[key] = None

    def drop(self, key: str) -> None:
        """Forget an object."""
        if self._selectors.pop(key, None) is not None:
            _remove(self._keys, self._places.pop(key), key)

    def matching(self, namespace: str, labels: dict[str, str] | None) -> list[str]:
        """Return the keys of the objects whose selector matches these labels."""
        found: list[str] = []
        pairs = ["", *(f"{name}={value}" for name, value in (labels or {}).items())]
        for pair in pairs:
            keys = self._keys.get((namespace, pair), ())
            found += [key for key in keys if self._selectors[key].matches(labels or {})]
        return found

    def copy(self) -> SelectorIndex:
        """Return an index that goes on by itself."""
        twin = SelectorIndex()
        twin._selectors, twin._places = dict(self._selectors), dict(self._places)
        twin._keys = {place: dict(keys) for place, keys in self._keys.items()}
        return twin


class LabelIndex:
    """The objects of one kind by namespace and each of their labels."""

    def __init__(self) -> None:
        self._keys: dict[tuple[str, str], dict[str, None]] = {}

    def follow(self, event: StoredEvent) -> None:
        """Take a change in."""
        stored, before = event.stored, event.before
        if event.change == "DELETED":
            self._drop(before or stored)
        elif before is None:
            self._add(stored)
        elif before.labels != stored.labels:
            self._drop(before)
            self._add(stored)

    def candidates(self, namespace: str, selector: Selector) -> list[str]:
        """Return the keys of objects that include all that a selector matches."""
        return list(self._keys.get((namespace, first_pair(selector)), ()))

    def copy(self) -> LabelIndex:
        """Return an index that goes on by itself."""
        twin = LabelIndex()
        twin._keys = {place: dict(keys) for place, keys in self._keys.items()}
        return twin

    def _places(self, stored: Stored) -> list[tuple[str, str]]:
        pairs = [f"{name}={value}" for name, value in (stored.labels or {}).items()]
        return [(stored.namespace, pair) for pair in ("", *pairs)]

    def _add(self, stored: Stored) -> None:
        for place in self._places(stored):
            self._keys.setdefault(place, {})[stored.key] = None

    def _drop(self, stored: Stored) -> None:
        for place in self._places(stored):
            _remove(self._keys, place, stored.key)


def is_orphan(stored: Stored) -> bool:
    """Whether an object has no controller."""
    return not stored.owners or _CONTROLLED not in stored.data


def first_pair(selector: Selector) -> str:
    """Return one label that a selector requires, as name=value; empty if it requires none."""
    for one in selector.requirements:
        if one.operator == "In" and len(one.values) == 1:
            return f"{one.key}={one.values[0]}"
    return ""


def _remove(keys: dict[K, dict[str, None]], place: K, key: str) -> None:
    found = keys.get(place)
    if found is not None:
        found.pop(key, None)
        if not found:
            del keys[place]
