"""`Index`: maps values to the objects of a cache, and is updated by the changes of the cache.

The function of an index may raise for some objects. That must not stop the cache, so the index omits such an
object. The first failure is logged, and `failed` contains all of them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kubeproto import KubeObject
from kubeproto.control import Change

from ..tasks._error_texts import error_text, log_failure, type_name
from ..tasks._stray_cancellations import failure_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kubeproto.control import CachedObject, Store

K = TypeVar("K", bound=KubeObject)

_log: Final = logging.getLogger("kubeproto.cache")
_NONE: Final[frozenset[str]] = frozenset()


class Index(Generic[K]):
    """The keys of the objects for each value that a function returns for them.

    `failed` contains the keys of the objects for which the function failed, each with the error.
    """

    def __init__(self, name: str, store: Store[K], values_of: Callable[[K], Iterable[str]]) -> None:
        self.name = name
        self.values_of = values_of
        self.failed: dict[str, str] = {}
        self._store = store
        self._keys: dict[str, set[str]] = {}
        self._values: dict[str, tuple[str, ...]] = {}
        self._logged = False

    def build(self, snapshot: Mapping[str, CachedObject]) -> None:
        """Add the objects of a snapshot."""
        for key, entry in snapshot.items():
            self._add(key, entry)

    def update(self, changes: Iterable[Change[K]]) -> None:
        """Update the index with changes of the cache."""
        for change in changes:
            self._remove(change.key)
            if change.type != "DELETED" and change.new is not None:
                self._add(change.key, change.new)

    def keys(self, value: str) -> set[str] | frozenset[str]:
        """Return the keys of the objects with this value."""
        return self._keys.get(value, _NONE)

    def values(self) -> list[str]:
        """Return all values of the objects."""
        return list(self._keys)

    def values_in(self, key: str, entry: CachedObject) -> tuple[str, ...]:
        """Return the values of an object; an empty tuple if the function fails for it."""
        return self._compute(key, entry)[0]

    def _compute(self, key: str, entry: CachedObject) -> tuple[tuple[str, ...], str]:
        """Return the values of an object, and the error if the function failed."""
        try:
            return tuple(dict.fromkeys(map(_checked, self.values_of(self._store.read(entry))))), ""
        except failure_types() as error:
            if not self._logged:
                self._logged = True
                line = "index %r: the function failed for %s, which is omitted"
                log_failure(_log, line, self.name, key, error=error)
            return (), f"{type_name(error)}: {error_text(error)}"

    def _add(self, key: str, entry: CachedObject) -> None:
        values, error = self._compute(key, entry)
        if error:
            # Not in `_compute`, because views call `values_in` for deleted objects too.
            self.failed[key] = error
        if values:
            self._values[key] = values
        for value in values:
            self._keys.setdefault(value, set()).add(key)

    def _remove(self, key: str) -> None:
        self.failed.pop(key, None)
        for value in self._values.pop(key, ()):
            keys = self._keys[value]
            keys.discard(key)
            if not keys:
                del self._keys[value]


def _checked(value: object) -> str:
    """Check a value: the index hashes and compares values, and those of another class may raise then."""
    if not isinstance(value, str):
        raise TypeError(f"the function must return strings, not a {type_name(value)}")
    return str.__str__(value)
