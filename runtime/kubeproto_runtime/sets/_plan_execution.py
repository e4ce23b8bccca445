"""`perform`: executes a plan in an order that makes an interruption at any moment harmless.

1. The parent is written with all kinds and namespaces of the current and the future members.
2. New and changed objects are applied, in the order of `apply_manifests`.
3. Members without a document are deleted, in the opposite order. Before the next rank, `perform` waits for
   deleted objects with finalizers, because the controller that removes the finalizers may be a later member.
4. The members are listed again, and the parent is written with their kinds and namespaces: another client may
   have applied members since the plan was made.

After an interruption or a failure, the parent still names the kinds of all members, so the next plan can
complete the changes.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypedDict

from msgspec import Struct

from kubeproto import AlreadyExists, Conflict, Dynamic, KubeprotoError, NotFound, ObjectRef
from kubeproto.wire import printable

from .._documents import parse_document
from ..calls._core import call
from ..calls._discovery import discover
from ..calls._object_reads import back_off, find_object
from ..conditions import deleted
from ..watching._waiting import Waiting, WaitTimeout
from ..writing._applying import ApplyResult, apply
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
    from ..writing._applying import ApplyManifestsOptions
    from ._apply_set import Extent, Parent
    from ._plan import Plan, PlannedDeletion

_WAIT: Final = 60.0


class PerformOptions(TypedDict, total=False):
    """The options of `perform`.

    With `partial`, a plan with refused objects is performed too: the other objects are applied, and nothing
    is deleted. `timeout` limits each wait for a definition to be served, and for the finalizers of a deleted
    object.
    """

    partial: bool
    timeout: float


class StalePlan(KubeprotoError):
    """The parent of the set has changed since the plan was made, by another client. Plan again."""


class DeletionHeld(KubeprotoError):
    """A deleted object has finalizers, so later objects were not deleted. Plan again after it is gone."""


class PerformResult(Struct, frozen=True):
    """The result of a plan: the applied, the deleted and the skipped objects."""

    applied: tuple[ApplyResult, ...] = ()
    deleted: tuple[ObjectRef[Any], ...] = ()
    skipped: tuple[ObjectRef[Any], ...] = ()

    def __repr__(self) -> str:
        return f"<{len(self.applied)} applied, {len(self.deleted)} deleted, {len(self.skipped)} skipped>"

    def __str__(self) -> str:
        lines = [str(applied) for applied in self.applied]
        lines += [f"{printable(str(ref))} deleted" for ref in self.deleted]
        lines += [f"{printable(str(ref))} skipped: it is no longer a member" for ref in self.skipped]
        return "\n".join(lines)


def perform(client: ClientCore, plan: Plan, options: PerformOptions) -> Effects[PerformResult]:
    """Execute a plan. Raise `PlanRefused` before the first write if the plan contains a refused object."""
    final = any(refusal.final for refusal in plan.refusals)
    if final or not (plan.complete or options.get("partial", False)):
        raise PlanRefused(plan)
    timeout = options.get("timeout", _WAIT)
    version = yield from _grow(client, plan)
    applied = yield from _apply(client, plan, timeout)
    deleted, skipped = yield from _delete(client, plan, timeout)
    yield from _shrink(client, plan, version)
    return PerformResult(tuple(applied), tuple(deleted), tuple(skipped))


# The parent


def _grow(client: ClientCore, plan: Plan) -> Effects[str]:
    """Write the extent of all current and future members to the parent, and return its version."""
    parent, extent = plan.parent, plan.extent
    if parent is None or extent is None:
        return ""
    required = parent.extent | extent
    if parent.version and required == parent.extent:
        return parent.version
    try:
        return (yield from write_parent(client, parent, required, parent.version))
    except (Conflict, AlreadyExists) as error:
        raise StalePlan(f"{parent} has changed since the plan was made: plan again ({error})") from error


def _shrink(client: ClientCore, plan: Plan, version: str) -> Effects[None]:
    """Write the extent of the remaining members to the parent, if it is known."""
    parent, extent = plan.parent, plan.extent
    if parent is None or extent is None or plan.withheld_because:
        return
    current = parent.extent | extent
    if current == extent or _deletes_parent(plan):
        return
    remaining = extent | (yield from _extent_of_members(client, parent))
    if remaining == current:
        return
    try:
        yield from write_parent(client, parent, remaining, version)
    except Conflict:
        # Another client is changing the set, and may need the current extent. A wider extent is harmless.
        return


def _extent_of_members(client: ClientCore, parent: Parent) -> Effects[Extent]:
    """Return the extent of the members; if a list failed, the extent of the parent."""
    listings = yield from list_members(client, parent, (yield from discover(client)))
    if any(listing.failure for listing in listings):
        return parent.extent
    present = [
        (listing.kind, member["metadata"].get("namespace", ""))
        for listing in listings
        for member in listing.members
        if "deletionTimestamp" not in member["metadata"]
    ]
    return extent_of(present, parent)


def _deletes_parent(plan: Plan) -> bool:
    """Return whether the plan deletes the parent with its namespace."""
    namespace = plan.parent.namespace if plan.parent is not None else ""
    return any(
        (deletion.ref.group, deletion.ref.kind) == NAMESPACE and deletion.ref.name == namespace
        for deletion in plan.deletions
    )


# The objects


def _apply(client: ClientCore, plan: Plan, timeout: float) -> Effects[list[ApplyResult]]:
    writes: list[Dynamic] = [write.document for write in plan.writes]
    if not writes:
        return []
    options: ApplyManifestsOptions = {
        "field_manager": plan.field_manager,
        "force": plan.force,
        "namespace": plan.namespace,
        "timeout": timeout,
    }
    return (yield from apply(client, writes, options))


def _delete(
    client: ClientCore, plan: Plan, timeout: float
) -> Effects[tuple[list[ObjectRef[Any]], list[ObjectRef[Any]]]]:
    deleted_refs: list[ObjectRef[Any]] = []
    skipped_refs: list[ObjectRef[Any]] = []
    pending: list[PlannedDeletion] = []
    for _, same_rank in groupby(plan.deletions, key=_rank_of):
        for deletion in pending:
            yield from _wait_for_finalizers(client, deletion, timeout)
        pending = []
        for deletion in same_rank:
            remaining = yield from _delete_member(client, plan, deletion)
            (skipped_refs if remaining is None else deleted_refs).append(deletion.ref)
            if remaining is not None and remaining.metadata.finalizers:
                pending.append(deletion)
    return deleted_refs, skipped_refs


def _delete_member(client: ClientCore, plan: Plan, deletion: PlannedDeletion) -> Effects[Dynamic | None]:
    """Delete an object, and return its remaining state; None if it is no longer a member.

    The version is a precondition, because another set may have taken over the member meanwhile.
    """
    api = _api(client, deletion)
    empty_object, version, attempt = Dynamic(), deletion.version, 0
    while True:
        attempt += 1
        request = api.delete(
            deletion.ref.name, uid=deletion.uid, resource_version=version, propagation="Background"
        )
        try:
            response = (yield from call(client, request)).value
        except NotFound:
            return empty_object
        except Conflict as error:
            existing = yield from find_object(client, api, deletion.ref.name)
            if existing is None or existing[0].metadata.uid != deletion.uid:
                return empty_object
            if plan.membership is None or not plan.membership.includes(parse_document(existing[1])):
                return None
            if existing[0].metadata.resource_version == version:
                raise  # the version is not the cause of the conflict
            version = existing[0].metadata.resource_version
            yield from back_off(client, error, attempt, CONFLICTS)
        else:
            return response if isinstance(response, Dynamic) else empty_object


def _rank_of(deletion: PlannedDeletion) -> int:
    return rank((deletion.ref.group, deletion.ref.kind))


def _wait_for_finalizers(client: ClientCore, deletion: PlannedDeletion, timeout: float) -> Effects[None]:
    waiting = Waiting(client, _api(client, deletion), deletion.ref.name, deleted(deletion.uid), timeout)
    yield from waiting.observe()
    try:
        waiting.result()
    except WaitTimeout as error:
        raise DeletionHeld(f"{deletion.ref}: {error}; later objects were not deleted") from error


def _api(client: ClientCore, deletion: PlannedDeletion) -> Api[Dynamic]:
    return client.requests(Dynamic, namespace=deletion.ref.namespace, resource=deletion.resource)
