"""What a controller is to do, how a run of it went, and the errors of its functions."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from kubeproto import InvalidObject, KubeprotoError, ObjectRef, Resource
from kubeproto.control import Action, QueueBackoff, Rate
from kubeproto.watching import resync

from ._context import Context

if TYPE_CHECKING:
    from ..client._client import Client
    from ._sources import KindSource

ReconcileFunction: TypeAlias = Callable[[Any, Context[Any]], Awaitable[Action | None]]


class Terminal(KubeprotoError):
    """Raise it in a reconcile if retrying is useless until something changes."""


class ReconcileTimeout(KubeprotoError, TimeoutError):
    """A reconcile took longer than it may, and was cancelled."""


class Result(Struct, frozen=True):
    """The outcome of a reconcile: `error` if it failed, `after` if it is repeated, in seconds."""

    ref: ObjectRef[Any]
    reason: str
    attempt: int
    seconds: float
    after: float | None = None
    error: Exception | None = None


class ControllerPlan(Struct, frozen=True):
    """What a controller is to do; see `Controller` for the meaning of each field."""

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
    """A function of the user's returned a wrong value, as it would each time."""


def check_awaitable(returned: Awaitable[Action | None]) -> Awaitable[Action | None]:
    if not hasattr(returned, "__await__"):
        raise WrongResult(
            f"the reconcile returned {_shown(returned)} instead of a coroutine: define it with `async def`"
        )
    return returned


def check_action(action: object, whose: str) -> None:
    """Check a returned value: users do not have to run a type checker."""
    if not (action is None or isinstance(action, Action)):
        raise WrongResult(
            f"{whose} returned {_shown(action)}: return requeue(after=...), await_change() or None"
        )


def _shown(value: object) -> str:
    """Return a value for an error: only its type if it is an object, whose content may be private."""
    return repr(value) if isinstance(value, int | float | bool | None) else f"a {type(value).__name__}"
