"""The plan of a controller, the result of a run, and the errors of its functions."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from kubeproto import InvalidObject, KubeprotoError, ObjectRef, Resource
from kubeproto.control import Action, QueueBackoff, Rate
from kubeproto.watching import resync

from ..tasks._error_texts import type_name
from ._context import Context

if TYPE_CHECKING:
    from ..client._client import Client
    from ._sources import KindSource

_ACTION_TIMES: Final = frozenset({float, int, type(None)})
_PRIORITIES: Final = frozenset({int, type(None)})
_PLAIN: Final = frozenset({int, float, bool, type(None)})

ReconcileFunction: TypeAlias = Callable[[Any, Context[Any]], Awaitable[Action | None]]


class Terminal(KubeprotoError):
    """Raise it in a reconcile if a retry is useless until the object changes."""


class ReconcileTimeout(KubeprotoError, TimeoutError):
    """A reconcile exceeded its `timeout`, and was cancelled."""


class Result(Struct, frozen=True):
    """The outcome of a reconcile. `error` is set if it failed, `after` is the seconds until it is
    repeated."""

    ref: ObjectRef[Any]
    reason: str
    attempt: int
    seconds: float
    after: float | None = None
    error: Exception | None = None


class ControllerPlan(Struct, frozen=True):
    """The settings of a controller; see `Controller` for each field."""

    client: Client
    kind: type[Any]
    resource: Resource
    state: Any
    name: str
    sources: tuple[KindSource, ...]
    triggers: tuple[AsyncIterable[str], ...]
    reconcile: ReconcileFunction
    by_key: bool
    on_error: Callable[[Exception, Context[Any]], Action | None] | None
    on_invalid: Callable[[InvalidObject, Context[Any]], object] | None
    observe: Callable[[Result], None] | None
    concurrency: int
    timeout: float | None
    sync_timeout: float | None
    wait_for_definition: bool
    backoff: QueueBackoff
    rate: Rate | None
    debounce: float
    max_wait: float | None
    settings: resync.Settings


class WrongResult(Terminal, TypeError):
    """A function of the user returned a wrong value. A retry would not help."""


def check_awaitable(returned: Awaitable[Action | None]) -> Awaitable[Action | None]:
    """Check the returned value of a reconcile, for users without a type checker."""
    if not hasattr(returned, "__await__"):
        raise WrongResult(
            f"the reconcile returned {_describe(returned)} instead of a coroutine: define it with `async def`"
        )
    return returned


def check_action(action: object, function: str) -> None:
    """Check the action that a user function returned."""
    if action is None:
        return
    if not isinstance(action, Action):
        raise WrongResult(
            f"{function} returned {_describe(action)}: return requeue(after=...), await_change() or None"
        )
    after, priority = action.requeue_after, action.priority
    if after is None and priority is None:
        return
    # An `Action` that was built without `requeue` may contain anything, and the queue compares it.
    if type(after) not in _ACTION_TIMES or (after is not None and not 0.0 <= after < inf):
        raise WrongResult(f"{function} returned an Action to repeat it after {_describe(after)} s")
    if type(priority) not in _PRIORITIES:
        raise WrongResult(f"{function} returned an Action with the priority {_describe(priority)}")


def _describe(value: object) -> str:
    """Describe a value in an error: an object only by its type, since its content may be private."""
    return repr(value) if type(value) in _PLAIN else f"a {type_name(value)}"
