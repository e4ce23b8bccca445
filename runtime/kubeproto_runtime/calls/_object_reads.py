"""Reading an object, with or without its text, and the backoff before another attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kubeproto import KubeObject, NotFound
from kubeproto.wire import Conflicted, ConflictPolicy, Retry

from ._core import call, read
from ._effects import SleepUntil

if TYPE_CHECKING:
    from kubeproto import Api, ApiError

    from ._core import ClientCore
    from ._effects import Effects

K = TypeVar("K", bound=KubeObject)


def read_object(client: ClientCore, api: Api[K], name: str) -> Effects[tuple[K, bytes]]:
    """Read an object, with its text."""
    reply, text = yield from read(client, api.get(name))
    return reply.value, text


def find_object(client: ClientCore, api: Api[K], name: str) -> Effects[tuple[K, bytes] | None]:
    """Read an object, with its text. Return None if it does not exist."""
    try:
        return (yield from read_object(client, api, name))
    except NotFound as error:
        if is_missing(error, name):
            return None
        raise


def back_off(client: ClientCore, error: ApiError, attempt: int, conflicts: ConflictPolicy) -> Effects[None]:
    """Wait before the next attempt, or raise the error if there is none."""
    outcome = Conflicted(str(error))  # AlreadyExists and NotFound count as conflicts here
    decision = conflicts.decide(outcome, attempt, client.now(), jitter=client.random.random())
    if not isinstance(decision, Retry):
        raise error
    yield SleepUntil(decision.at)


def is_missing(error: NotFound, name: str) -> bool:
    """Return whether the object does not exist; otherwise its kind does not exist."""
    return error.status.details.name == name


def get_or_none(client: ClientCore, api: Api[K], name: str, resource_version: str) -> Effects[K | None]:
    """Read an object. Return None if it does not exist."""
    try:
        return (yield from call(client, api.get(name, resource_version=resource_version))).value
    except NotFound as error:
        if is_missing(error, name):
            return None
        raise
