"""`finalizer`: a reconcile that adds its finalizer first, and cleans up before it removes it.

::

    reconcile = finalizer("books.example.com/shelf", apply=shelve, cleanup=clear_shelf)

What to do in each state of an object, and what the response to a patch means, is decided by
`kubeproto.control.finalizers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kubeproto import ApiError, KubeObject
from kubeproto.control import await_change, finalizers
from kubeproto.objects import check_finalizer
from kubeproto.wire import classify

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kubeproto import Resource
    from kubeproto.control import Action

    from ..client._client import Client

# Attempts: each fails if another client has changed the list of finalizers at the same moment.
_TRIES: Final = 5


class FinalizerContext(Protocol):
    """The part of a reconcile's context that is needed here."""

    @property
    def client(self) -> Client:
        """The client that patches."""
        ...

    @property
    def resource(self) -> Resource:
        """How the server names the kind of the object."""
        ...


K = TypeVar("K", bound=KubeObject)
C = TypeVar("C", bound=FinalizerContext)


def finalizer(
    name: str,
    *,
    apply: Callable[[K, C], Awaitable[Action]],
    cleanup: Callable[[K, C], Awaitable[Action | None]],
) -> Callable[[K, C], Awaitable[Action]]:
    """A reconcile of two: `apply` while the object is wanted, `cleanup` once it is being deleted.

    `apply` is never called before the object has the finalizer, nor after the deletion; `cleanup` until it
    has returned once, and then the finalizer is removed. A `cleanup` that returns a `requeue` is not
    finished: it is called again at that time. An error of either leaves the finalizer where it is.
    """
    check_finalizer(name)

    async def reconcile(obj: K, ctx: C) -> Action:
        match decision := finalizers.decide(obj, name):
            case finalizers.AddFinalizer():
                # It continues in the same run: a predicate such as `generation` would not let the change
                # pass.
                added = await _perform(ctx, obj, decision)
                if added is None or not isinstance(finalizers.decide(added, name), finalizers.Reconcile):
                    return await_change()
                return await apply(added, ctx)
            case finalizers.Reconcile():
                return await apply(obj, ctx)
            case finalizers.CleanUp():
                action = await cleanup(obj, ctx)
                if action is not None and action.requeue_after is not None:
                    return action
                await _perform(ctx, obj, decision)
                return await_change()
            case finalizers.Ignore():
                return await_change()

    return reconcile


async def _perform(
    ctx: FinalizerContext, obj: K, decision: finalizers.AddFinalizer | finalizers.CleanUp
) -> K | None:
    """Add or remove the finalizer by a patch, and repeat that if another write interfered.

    Return the object as it is then; None if it is deleted, or another client has decided.
    """
    namespace, name = obj.metadata.namespace, obj.metadata.name
    api = ctx.client.api(type(obj), namespace=namespace, resource=ctx.resource)
    for attempt in range(1, _TRIES + 1):
        try:
            return await api.json_patch(name, decision.patch)
        except ApiError as error:
            outcome = classify(error)
            match finalizers.interpret(outcome):
                case finalizers.Patched():
                    return None
                case finalizers.ReadAgain() if attempt < _TRIES:
                    fresh = await api.get_or_none(name)
                    again = finalizers.decide_again(decision, outcome, fresh)
                case _:
                    raise
            if isinstance(again, finalizers.Failed):
                raise
            if isinstance(again, finalizers.Reconcile):
                return fresh  # it is in place already: a response to an earlier attempt was lost
            if not isinstance(again, type(decision)):
                return None  # deleted before it was added, or removed by another client
            decision = again
    return None
