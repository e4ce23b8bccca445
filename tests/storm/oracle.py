"""What must hold: the history of the cluster, and what caches, writes and logs are held against.

`Oracle` keeps each state of each resource that the cluster had, so a cache can be compared in the moment in
which its readers see something new. A restored backup begins another history under versions that may have
been used before; a cache may show a state of any history that it has not left.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kubeproto_sim import StoredObject

from .kinds import BOOKS, CONFIGMAPS, SHELVES

if TYPE_CHECKING:
    from kubeproto_runtime.caches import Cache

State = dict[str, tuple[str, bool]]  # version, and whether it is labelled tier=gold, by key

FOLLOWED: Final = frozenset((BOOKS, SHELVES, CONFIGMAPS))


class _History:
    """Every state of one resource, by the version from which on it was so."""

    def __init__(self, version: int, state: State) -> None:
        self.versions = [version]
        self.states = [state]

    def change(self, version: int, key: str, data: bytes | None) -> None:
        state = dict(self.states[-1])
        if data is None:
            state.pop(key, None)
        else:
            state[key] = (str(version), b'"tier":"gold"' in data)
        self.versions.append(version)
        self.states.append(state)

    def at(self, version: int) -> State | None:
        place = bisect_right(self.versions, version) - 1
        return self.states[place] if place >= 0 else None


class Oracle:
    """The histories of a cluster, and the findings."""

    def __init__(self, now: Callable[[], float], found: Callable[[str], None]) -> None:
        self.now = now
        self.found = found
        self.changes = 0
        self.written: set[tuple[str, str]] = set()  # key and version of each write, in any history
        self._epochs: list[dict[str, _History]] = [{name: _History(0, {}) for name in FOLLOWED}]
        self._last: dict[Any, tuple[str, int]] = {}

    def change(self, one: StoredObject) -> None:
        """Take in a change of the cluster."""
        if one.resource in FOLLOWED:
            self.changes += 1
            self.written.add((one.key, str(one.version)))
            self._epochs[-1][one.resource].change(one.version, one.key, one.data)

    def restore(self, version: int) -> None:
        """The cluster was set back to the state that it had at a version, and the next one may be higher."""
        histories = self._epochs[-1]
        states = {name: history.at(version) or {} for name, history in histories.items()}
        self._epochs.append({name: _History(0, state) for name, state in states.items()})

    def current(self, resource: str) -> State:
        """The state of this moment."""
        return self._epochs[-1][resource].states[-1]

    def follow(self, cache: Cache[Any], selector: str, label: str) -> None:
        """Hold a cache against the histories whenever it changes."""

        def look() -> None:
            if cache.synced:
                self._compare(cache, selector, label)

        cache.notify(look)

    def _compare(self, cache: Cache[Any], selector: str, label: str) -> None:
        version = int(cache.version)
        shown = {key: entry.version for key, entry in cache._store.entries().items()}
        for epoch in range(len(self._epochs)):
            state = self._epochs[epoch][_resource(cache)].at(version)
            if state is not None and _part(state, cache, selector) == shown:
                return
        state = self._epochs[-1][_resource(cache)].at(version)
        expected = _part(state or {}, cache, selector)
        self.found(f"the cache of {label} shows what never was at version {version}: {shown}, not {expected}")

    def agrees(self, cache: Cache[Any], selector: str) -> bool:
        """Whether a cache shows what is there now."""
        shown = (
            {key: entry.version for key, entry in cache._store.entries().items()} if cache.synced else None
        )
        return shown == _part(self.current(_resource(cache)), cache, selector)


def _resource(cache: Cache[Any]) -> str:
    resource = cache.resource
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _part(state: State, cache: Cache[Any], selector: str) -> dict[str, str]:
    """What a cache of a namespace and selector shows of a state."""
    place = f"{cache.namespace}/" if isinstance(cache.namespace, str) and cache.namespace else ""
    return {
        key: version
        for key, (version, gold) in state.items()
        if key.startswith(place) and (gold or not selector)
    }


class Repeats(logging.Handler):
    """Finds the same line logged twice within a second."""

    def __init__(
        self, now: Callable[[], float], who: Callable[[], str], found: Callable[[str], None]
    ) -> None:
        super().__init__(logging.INFO)
        self._now = now
        self._who = who
        self._found = found
        self._latest: dict[tuple[str, str, str], float] = {}
        self.lines = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        self.lines += 1
        text = record.getMessage()
        who = self._who()
        if not who:
            return  # a system task of trio belongs to nobody: two programs may say the same
        mark = (who, record.name, text)
        now = self._now()
        before = self._latest.get(mark)
        if before is not None and now - before < 1.0:
            self._found(f"logged twice within {now - before:.3f} s: {record.name}: {text}")
        self._latest[mark] = now
