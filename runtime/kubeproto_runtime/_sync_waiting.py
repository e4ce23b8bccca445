"""`wait_for`, for threads: one object is read, then followed, until it is as somebody wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from kubeproto import (
    Added,
    Bookmark,
    DeadlineExceeded,
    Deleted,
    FieldSelector,
    KubeObject,
    KubeprotoError,
    Malformed,
    Modified,
    NotFound,
)
from kubeproto.watching import resync
from kubeproto.wire import Refused

from ._conditions import Condition, predicate
from ._entry import is_missing
from ._sync_watch import BlockingFollowed
from ._waiting import NotYet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._sync_verbs import BlockingApi

K = TypeVar("K", bound=KubeObject)

# What the server has at hand could be older than what was read before.
_LATEST: Final = resync.Settings(first="")


def wait_for(
    api: BlockingApi[K], name: str, condition: Condition[K] | Callable[[K], bool], *, timeout: float
) -> K | None:
    """Wait until the object of this name is as it should be."""
    wanted: Condition[K] = predicate(condition) if callable(condition) else condition
    troubles: list[str] = []
    last: K | None = None
    missing = "it was not seen"
    for last in _states(api, name, timeout, troubles):
        missing = wanted.missing(last)
        if not missing:
            return last
        troubles.clear()
    what = f"{api.resource.kind} {f'{api.namespace}/' if api.namespace else ''}{name}"
    trouble = f"; the last trouble was: {troubles[-1]}" if troubles else ""
    raise NotYet(f"{what} is not {wanted.name} after {timeout:g} s: {missing}{trouble}", last)


def _states(api: BlockingApi[K], name: str, timeout: float, troubles: list[str]) -> Iterator[K | None]:
    """Each state in which the object is seen until the time is up; None where there is none."""
    end = api.client.clock() + timeout
    try:
        yield api.client.call(api.requests.get(name), timeout=timeout).value
    except NotFound as error:
        if not is_missing(error, name):
            raise
        yield None
    except DeadlineExceeded as error:
        troubles.append(str(error))
        return

    def troubled(trouble: resync.Trouble) -> None:
        troubles.append(trouble.text)
        if isinstance(trouble.outcome, Refused):
            raise KubeprotoError(f"it cannot be watched: {trouble.outcome.reason}")

    selection = {"field_selector": FieldSelector.of({"metadata.name": name})}
    followed = BlockingFollowed(
        api.client, api.requests, settings=_LATEST, selection=selection, until=end, troubled=troubled
    )
    there = False
    with followed:
        for event in followed:
            match event:
                case Added(obj) | Modified(obj):
                    there = True
                    yield obj
                case Deleted():
                    there = False
                    yield None
                case Malformed(error=problem):
                    raise problem
                case Bookmark():
                    if not there:
                        yield None
