"""`wait_for`: one object is read, then followed, until it is as somebody wants it.

Each state in which the object is seen is looked at, so that what holds for a moment is not missed. A watch
that ends, a server that restarts, a version that is gone: all that is waited through, for the resync machine
does the following.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import (
    Added,
    Deleted,
    FieldSelector,
    KubeObject,
    KubeprotoError,
    Malformed,
    Modified,
    TransportError,
)
from kubeproto.watching import resync
from kubeproto.wire import Refused

from ._conditions import Condition, predicate
from ._following import Following

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubeproto import WatchEvent
    from kubeproto.wire import Outcome

    from ._verbs import BoundApi

K = TypeVar("K", bound=KubeObject)

WAIT: Final = 60.0  # seconds; twice what kubectl waits, for whoever waits here asks for more than one pod

# What the server has at hand could be older than what was read before.
_LATEST: Final = resync.Settings(first="")


class NotYet(KubeprotoError, TimeoutError):
    """The time is up. `last` is the object as it was last seen, None if there was none."""

    def __init__(self, message: str, last: KubeObject | None) -> None:
        super().__init__(message)
        self.last = last


async def wait_for(
    api: BoundApi[K], name: str, condition: Condition[K] | Callable[[K], bool], *, timeout: float = WAIT
) -> K | None:
    """Wait until the object of this name is as it should be."""
    wanted: Condition[K] = predicate(condition) if callable(condition) else condition
    looking = _Looking(wanted)
    with anyio.move_on_after(timeout):
        try:
            found = await api.get_or_none(name)
        except TransportError as error:  # a server that restarts is waited for
            found, looking.trouble = None, str(error)
        else:
            looking.see(found)
        if not looking.done:
            await _follow(api, name, found, looking)
    if looking.error is not None:
        raise looking.error
    if looking.done:
        return looking.last
    what = f"{api.resource.kind} {f'{api.namespace}/' if api.namespace else ''}{name}"
    trouble = f"; {looking.trouble}" if looking.trouble else ""
    raise NotYet(f"{what} is not {wanted.name} after {timeout:g} s: {looking.missing}{trouble}", looking.last)


async def _follow(api: BoundApi[K], name: str, found: K | None, looking: _Looking[K]) -> None:
    following = Following(
        api.client,
        api.requests,
        looking,
        version="" if found is None else found.metadata.resource_version,
        settings=_LATEST,
        selection={"field_selector": FieldSelector.of({"metadata.name": name})},
    )
    with looking.scope:
        await following.run()


class _Looking(Generic[K]):
    """Looks at each state of one object, until one is right or none ever will be."""

    def __init__(self, condition: Condition[K]) -> None:
        self.last: K | None = None
        self.missing = "it was not seen"
        self.trouble = ""
        self.error: Exception | None = None
        self.done = False
        self.scope = anyio.CancelScope()
        self._condition = condition
        self._staged: K | None = None

    def see(self, obj: K | None) -> None:
        if self.done:
            return
        self.last, self.trouble = obj, ""
        try:
            self.missing = self._condition.missing(obj)
        except Exception as error:  # it is raised where the caller waits
            self.error = error
        if self.error is not None or not self.missing:
            self._finish()

    # What a following brings

    def stage(self, news: list[Any]) -> None:
        came: list[WatchEvent[K] | K] = news
        for one in came:
            if isinstance(one, Added | Modified):
                self._staged = one.object
            elif isinstance(one, Deleted):
                self._staged = None
            elif isinstance(one, KubeObject):
                self._staged = one
            else:
                self._doubt(one)

    def apply(self, news: list[Any]) -> None:
        came: list[WatchEvent[K]] = news
        for one in came:
            if isinstance(one, Added | Modified):
                self.see(one.object)
            elif isinstance(one, Deleted):
                self.see(None)
            else:
                self._doubt(one)

    def commit(self, version: str) -> None:
        self._staged, staged = None, self._staged
        self.see(staged)

    def discard(self) -> None:
        self._staged = None

    def report(self, trouble: resync.Trouble) -> None:
        self.trouble = f"the last trouble was: {trouble.text}"
        if isinstance(trouble.outcome, Refused):
            self.abandon(trouble.outcome)

    def abandon(self, outcome: Outcome) -> None:
        self.error = KubeprotoError(f"it cannot be watched: {outcome.reason}")
        self._finish()

    def _finish(self) -> None:
        self.done = True
        self.scope.cancel()

    def _doubt(self, one: Any) -> None:
        if isinstance(one, Malformed) and not self.done:
            self.error = one.error
            self._finish()
