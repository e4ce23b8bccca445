"""Reading, changing and writing an object, for threads. What is sent is decided where `Entry` decides it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from kubeproto import AlreadyExists, Conflict, KubeObject, NotFound
from kubeproto.wire import Conflicted, ConflictPolicy, Retry

from ._entry import CONFLICTS, Entry, Writing, _guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._sync_verbs import BlockingApi

K = TypeVar("K", bound=KubeObject)


def update(
    api: BlockingApi[K],
    name: str,
    change: Callable[[K], object],
    *,
    create: Callable[[], K] | None = None,
    conflicts: ConflictPolicy = CONFLICTS,
    **options: Unpack[Writing],
) -> K:
    """Read, change and write an object, again and again while others come between."""
    attempt = 0
    while True:
        attempt += 1
        found = api.get(name) if create is None else api.get_or_none(name)
        given: Any = api  # an entry asks it for the kind and the namespace alone, unless it is committed
        held: Entry[K] = Entry(given, name, found)
        if create is not None:
            held.or_insert(create)
        held.modify(change)
        try:
            return _write(api, held, options)
        except (Conflict, AlreadyExists, NotFound) as error:
            if not isinstance(error, Conflict) and create is None:
                raise
            now, draw = api.client.clock(), api.client.random.random()
            # A name that is taken, or free again, is met like a conflict.
            decision = conflicts.decide(Conflicted(str(error)), attempt, now, jitter=draw)
            if not isinstance(decision, Retry):
                raise
        api.client.sleep_until(decision.at)


def _write(api: BlockingApi[K], held: Entry[K], options: Writing) -> K:
    obj, before = held._place(held._held()), held._before
    if before is None:
        return api.create(obj, **options)
    patch = held._difference(obj, before)
    return api.merge_patch(held.name, _guarded(patch, before), **options) if patch else obj
