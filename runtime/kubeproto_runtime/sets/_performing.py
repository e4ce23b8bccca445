"""`perform`: does what a plan says, in an order in which an interruption at any moment does no harm.

1. The parent is written with all kinds and namespaces of which there are or will be members.
2. What is new or changed is applied, in the order of `apply_manifests`.
3. Objects that are no longer wanted are deleted, in the opposite order. Before the next rank it waits for
   objects that finalizers hold, since the controller that removes the finalizers may be a part of the set.
4. The members are listed once more, and the parent is written with what is left: another client may have
   applied some since the plan was made.

An interruption or a failure leaves a parent that names every member; the next plan does the rest.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypedDict

from msgspec import Struct

from kubeproto import AlreadyExists, Conflict, Dynamic, KubeprotoError, NotFound, ObjectRef
from kubeproto.wire import printable

from .._documents import parsed
from ..calls._core import call
from ..calls._discovery import discover
from ..calls._reading import back_off, find_object
from ..conditions import deleted
from ..watching._waiting import Waiting, WaitTimeout
from ..writing._applying import Applied, apply
from ..writing._entry import CONFLICTS
from ..writing._ranks import NAMESPACE, rank
from ._apply_set import extent_of
from ._members import list_members
from ._parents import write_parent
from ._plan import PlanRefused

if TYPE_CHECKING:
    from kubeproto import Api

    from ..calls._core import ClientCore
    from ..calls._effects import Effects
    from ..writing._applying import Applying
    from ._apply_set import Extent, Parent
    from ._plan import Plan, PlannedDeletion

_WAIT: Final = 60.0


class Performing(TypedDict, total=False):
    """How a plan is performed. With `partial`, what is not refused is applied; nothing is deleted then.

    `timeout` bounds each wait: for a definition to be served, and for finalizers of what was deleted.
    """

    partial: bool
    timeout: float


class StalePlan(KubeprotoError):
    """The parent of the set has changed since the plan was made, by another client. Plan again."""


class DeletionHeld(KubeprotoError):
    """Finalizers hold a deleted object, and later objects were left. Plan again when it is gone."""


class Performed(Struct, frozen=True):
    """What was done: the objects that were applied, and what happened to those that were not wanted."""

    applied: tuple[Applied, ...] = ()
    deleted: tuple[ObjectRef[Any], ...] = ()
    left: tuple[ObjectRef[Any], ...] = ()

    def __repr__(self) -> str:
        return f"<{len(self.applied)} applied, {len(self.deleted)} deleted, {len(self.left)} left alone>"

    def __str__(self) -> str:
        lines = [str(one) for one in self.applied]
        lines += [f"{printable(str(ref))} deleted" for ref in self.deleted]
        lines += [f"{printable(str(ref))} left alone: it is not a member any more" for ref in self.left]
        return "\n".join(lines)


def perform(client: ClientCore, plan: Plan, options: Performing) -> Effects[Performed]:
    """Do what a plan says; `PlanRefused`, before anything is written, if something in it is refused."""
    final = any(one.final for one in plan.refusals)
    if final or not (plan.complete or options.get("partial", False)):
        raise PlanRefused(plan)
    timeout = options.get("timeout", _WAIT)
    version = yield from _grow(client, plan)
    applied = yield from _apply(client, plan, timeout)
    deleted, left = yield from _delete(client, plan, timeout)
    yield from _shrink(client, plan, version)
    return Performed(tuple(applied), tuple(deleted), tuple(left))


# The parent


def _grow(client: ClientCore, plan: Plan) -> Effects[str]:
    """Let the parent name all that is or will be a member, and return its version."""
    parent, extent = plan.parent, plan.extent
    if parent is None or extent is None:
        return ""
    wanted = parent.extent | extent
    if parent.version and wanted == parent.extent:
        return parent.version
    try:
        return (yield from write_parent(client, parent, wanted, parent.version))
    except (Conflict, AlreadyExists) as error:
        raise StalePlan(f"{parent} has changed since the plan was made: plan again ({error})") from error


def _shrink(client: ClientCore, plan: Plan, version: str) -> Effects[None]:
    """Let the parent name what is left, if that is known: everything else was pruned."""
    parent, extent = plan.parent, plan.extent
    if parent is None or extent is None or plan.withheld_because:
        return
    named = parent.extent | extent
    if named == extent or _goes_too(plan):
        return
    left = extent | (yield from _extent_of_members(client, parent))
    if left == named:
        return
    try:
        yield from write_parent(client, parent, left, version)
    except Conflict:
        # Another client is changing the set, and may need what the parent names: too much does no harm.
        return


def _extent_of_members(client: ClientCore, parent: Parent) -> Effects[Extent]:
    """Return of which kinds and in which namespaces there are members; all that there may be, if unknown."""
    listings = yield from list_members(client, parent, (yield from discover(client)))
    if any(one.failure for one in listings):
        return parent.extent
    present = [
        (one.kind, member["metadata"].get("namespace", ""))
        for one in listings
        for member in one.members
        if "deletionTimestamp" not in member["metadata"]
    ]
    return extent_of(present, parent)


def _goes_too(plan: Plan) -> bool:
    """Return whether the parent was deleted with its namespace."""
    place = plan.parent.namespace if plan.parent is not None else ""
    return any((one.ref.group, one.ref.kind) == NAMESPACE and one.ref.name == place for one in plan.deletions)


# The objects


def _apply(client: ClientCore, plan: Plan, timeout: float) -> Effects[list[Applied]]:
    writes: list[Dynamic] = [one.document for one in plan.writes]
    if not writes:
        return []
    options: Applying = {
        "field_manager": plan.field_manager,
        "force": plan.force,
        "namespace": plan.namespace,
        "timeout": timeout,
    }
    return (yield from apply(client, writes, options))


def _delete(
    client: ClientCore, plan: Plan, timeout: float
) -> Effects[tuple[list[ObjectRef[Any]], list[ObjectRef[Any]]]]:
    gone: list[ObjectRef[Any]] = []
    left: list[ObjectRef[Any]] = []
    held: list[PlannedDeletion] = []
    for _, ranked in groupby(plan.deletions, key=lambda one: rank((one.ref.group, one.ref.kind))):
        for one in held:
            yield from _wait_for_finalizers(client, one, timeout)
        held = []
        for one in ranked:
            after = yield from _delete_member(client, plan, one)
            (left if after is None else gone).append(one.ref)
            if after is not None and after.metadata.finalizers:
                held.append(one)
    return gone, left


def _delete_member(client: ClientCore, plan: Plan, one: PlannedDeletion) -> Effects[Dynamic | None]:
    """Delete an object, and return what is left of it; None if it was not a member any more.

    The version is a precondition, because a member may have been given to another set meanwhile.
    """
    api = _api(client, one)
    nothing, version, attempt = Dynamic(), one.version, 0
    while True:
        attempt += 1
        request = api.delete(one.ref.name, uid=one.uid, resource_version=version, propagation="Background")
        try:
            response = (yield from call(client, request)).value
        except NotFound:
            return nothing
        except Conflict as error:
            found = yield from find_object(client, api, one.ref.name)
            if found is None or found[0].metadata.uid != one.uid:
                return nothing
            if plan.membership is None or not plan.membership.includes(parsed(found[1])):
                return None
            if found[0].metadata.resource_version == version:
                raise  # it is not about the version
            version = found[0].metadata.resource_version
            yield from back_off(client, error, attempt, CONFLICTS)
        else:
            return response if isinstance(response, Dynamic) else nothing


def _wait_for_finalizers(client: ClientCore, one: PlannedDeletion, timeout: float) -> Effects[None]:
    waiting = Waiting(client, _api(client, one), one.ref.name, deleted(one.uid), timeout)
    yield from waiting.observe()
    try:
        waiting.result()
    except WaitTimeout as error:
        raise DeletionHeld(f"{one.ref}: {error}; what comes after it was not deleted") from error


def _api(client: ClientCore, one: PlannedDeletion) -> Api[Dynamic]:
    return client.requests(Dynamic, namespace=one.ref.namespace, resource=one.resource)
