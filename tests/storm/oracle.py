"""The invariants: the history of the cluster, with which caches, writes and logs are compared.

`Oracle` records each state of each resource of the cluster, so that a cache can be compared at the moment at
which its readers see a change. A restored backup begins another history with versions that may have been used
before; a cache may show a state of any history that it has not left.
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

State = dict[str, tuple[str, bool]]  # version, and whether the label is tier=gold, by key

FOLLOWED: Final = frozenset((BOOKS, SHELVES, CONFIGMAPS))


class _History:
    """Every state of a resource, by the first version of the state."""

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

    def state_at(self, version: int) -> State | None:
        index = bisect_right(self.versions, version) - 1
        return self.states[index] if index >= 0 else None


class Oracle:
    """The histories of a cluster, and the findings."""

    def __init__(self, now: Callable[[], float], report: Callable[[str], None]) -> None:
        self.now = now
        self.report = report
        self.changes = 0
        self.written: set[tuple[str, str]] = set()  # key and version of each write, in any history
        self._epochs: list[dict[str, _History]] = [{name: _History(0, {}) for name in FOLLOWED}]
        self._last: dict[Any, tuple[str, int]] = {}

    def change(self, obj: StoredObject) -> None:
        """Record a change of the cluster."""
        if obj.resource in FOLLOWED:
            self.changes += 1
            self.written.add((obj.key, str(obj.version)))
            self._epochs[-1][obj.resource].change(obj.version, obj.key, obj.data)

    def restore(self, version: int) -> None:
        """Record that the cluster was reset to its state at a version; the next version may be higher."""
        histories = self._epochs[-1]
        states = {name: history.state_at(version) or {} for name, history in histories.items()}
        self._epochs.append({name: _History(0, state) for name, state in states.items()})

    def current(self, resource: str) -> State:
        """Return the current state."""
        return self._epochs[-1][resource].states[-1]

    def follow(self, cache: Cache[Any], selector: str, label: str) -> None:
        """Compare a cache with the histories whenever it changes."""

        def look() -> None:
            if cache.synced:
                self._compare(cache, selector, label)

        cache.notify(look)

    def _compare(self, cache: Cache[Any], selector: str, label: str) -> None:
        version = int(cache.version)
        cached_versions = {key: entry.version for key, entry in cache._store.entries().items()}
        for epoch in range(len(self._epochs)):
            state = self._epochs[epoch][_resource(cache)].state_at(version)
            if state is not None and _part(state, cache, selector) == cached_versions:
                return
        state = self._epochs[-1][_resource(cache)].state_at(version)
        expected = _part(state or {}, cache, selector)
        self.report(
            f"the cache of {label} shows what never was at version {version}: "
            f"{cached_versions}, not {expected}"
        )

    def agrees(self, cache: Cache[Any], selector: str) -> bool:
        """Return whether a cache shows the current objects."""
        cached_versions = (
            {key: entry.version for key, entry in cache._store.entries().items()} if cache.synced else None
        )
        return cached_versions == _part(self.current(_resource(cache)), cache, selector)


def _resource(cache: Cache[Any]) -> str:
    resource = cache.resource
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _part(state: State, cache: Cache[Any], selector: str) -> dict[str, str]:
    """Return the part of a state that a cache of a namespace and selector shows."""
    prefix = f"{cache.namespace}/" if isinstance(cache.namespace, str) and cache.namespace else ""
    return {
        key: version
        for key, (version, selected) in state.items()
        if key.startswith(prefix) and (selected or not selector)
    }


class Repeats(logging.Handler):
    """Detects a line that is logged twice within a second."""

    def __init__(
        self, now: Callable[[], float], who: Callable[[], str], report: Callable[[str], None]
    ) -> None:
        super().__init__(logging.INFO)
        self._now = now
        self._who = who
        self._report = report
        self._latest: dict[tuple[str, str, str], float] = {}
        self.lines = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Check a line."""
        self.lines += 1
        text = record.getMessage()
        who = self._who()
        if not who:
            return  # a system task of trio belongs to no program: two programs may log the same
        line_key = (who, record.name, text)
        now = self._now()
        previous_time = self._latest.get(line_key)
        if previous_time is not None and now - previous_time < 1.0:
            self._report(f"logged twice within {now - previous_time:.3f} s: {record.name}: {text}")
        self._latest[line_key] = now
