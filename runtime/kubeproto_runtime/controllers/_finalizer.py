"""`finalizer`: returns a reconcile that adds a finalizer first, and removes it after a cleanup.

::

    reconcile = finalizer("books.example.com/shelf", apply=shelve, cleanup=clear_shelf)

`kubeproto.control.finalizers` decides the action in each state of an object and after each response to a
patch.
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

# An attempt fails if another client changes the list of finalizers at the same time.
_MAX_ATTEMPTS: Final = 5


class FinalizerContext(Protocol):
    """The attributes of a context that a finalizer uses."""

    @property
    def client(self) -> Client:
        """The client that sends the patches."""
        ...

    @property
    def resource(self) -> Resource:
        """The group, version and names of the kind."""
        ...


K = TypeVar("K", bound=KubeObject)
C = TypeVar("C", bound=FinalizerContext)


def finalizer(
    name: str,
    *,
    apply: Callable[[K, C], Awaitable[Action]],
    cleanup: Callable[[K, C], Awaitable[Action | None]],
) -> Callable[[K, C], Awaitable[Action]]:
    """Return a reconcile that calls `apply`, or `cleanup` once the deletion of the object was requested.

    `apply` is only called for an object with the finalizer whose deletion was not requested. `cleanup` is
    called until it succeeds, and then the finalizer is removed. If `cleanup` returns a `requeue`, it has not
    finished, and is called again at that time. If either function raises, the finalizer stays.
    """
    check_finalizer(name)

    async def reconcile(obj: K, ctx: C) -> Action:
        match decision := finalizers.decide(obj, name):
            case finalizers.AddFinalizer():
                # `apply` is called in the same reconcile: with a predicate such as `generation`, the added
                # finalizer would not cause another reconcile.
                patched = await _perform(ctx, obj, decision)
                if patched is None or not isinstance(finalizers.decide(patched, name), finalizers.Reconcile):
                    return await_change()
                return await apply(patched, ctx)
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
    """Add or remove the finalizer by a patch, and repeat the patch after a conflict.

    Return the object after the patch; None if it was deleted, or if another client has changed it so that the
    patch is not needed any more.
    """
    namespace, name = obj.metadata.namespace, obj.metadata.name
    api = ctx.client.api(type(obj), namespace=namespace, resource=ctx.resource)
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            return await api.json_patch(name, decision.patch)
        except ApiError as error:
            outcome = classify(error)
            match finalizers.interpret(outcome):
                case finalizers.Patched():
                    return None
                case finalizers.ReadAgain() if attempt < _MAX_ATTEMPTS:
                    current = await api.get_or_none(name)
                    next_decision = finalizers.decide_again(decision, outcome, current)
                case _:
                    raise
            if isinstance(next_decision, finalizers.Failed):
                raise
            if isinstance(next_decision, finalizers.Reconcile):
                return current  # the finalizer exists: the response to an earlier attempt was lost
            if not isinstance(next_decision, type(decision)):
                return None  # deleted before it was added, or removed by another client
            decision = next_decision
    return None
