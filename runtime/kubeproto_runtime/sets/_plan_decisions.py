"""`decide_plan`: decides the plan of a set from its documents, the existing objects and the dry runs.

An existing object is changed if its dry run returned a different object. A missing object is created. A
member without a document is deleted, but only if each possible kind of the set was listed, and each document
can be read and applied. Otherwise a syntax error in a document would delete its object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from kubeproto import ApiError, BadRequest, Conflict, KubeprotoError, ObjectRef

from .._documents import to_builtins
from ..writing._ranks import DEFINITION, NAMESPACE, rank
from ._apply_set import extent_of
from ._diffs import diff, differ
from ._plan import (
    ManagerConflict,
    Plan,
    PlannedChange,
    PlannedCreation,
    PlannedDeletion,
    PlannedRefusal,
    PlannedWrite,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kubeproto import Dynamic

    from ..writing._ranks import GroupKind
    from ._apply_set import Parent
    from ._membership import Membership

_CASCADES: Final[dict[GroupKind, str]] = {
    NAMESPACE: "and all objects in it",
    DEFINITION: "and all objects of its kind",
}


class DryRunSuccess(Struct, frozen=True):
    """The object that a dry run returned."""

    document: dict[str, Any]


class DryRunFailure(Struct, frozen=True):
    """The error of an object that cannot be applied, from the server or from this client."""

    error: KubeprotoError


class NoDryRun(Struct, frozen=True):
    """The reason why no dry run was possible, such as a namespace that the set creates."""

    reason: str


DryRunResult: TypeAlias = "DryRunSuccess | DryRunFailure | NoDryRun"


class Observation(Struct, frozen=True):
    """A document, the existing object, and the result of the dry run."""

    ref: ObjectRef[Any]
    document: Any  # a `Dynamic`
    live: dict[str, Any] | None
    outcome: DryRunResult


class Listing(Struct, frozen=True):
    """The members of a kind, in a namespace or in all; `failure` is the reason if they are unknown."""

    kind: tuple[str, str]
    namespace: str = ""
    resource: Any = None
    members: tuple[dict[str, Any], ...] = ()
    failure: str = ""


def decide_plan(
    observations: Sequence[Observation],
    listings: Sequence[Listing] = (),
    *,
    membership: Membership | None = None,
    parent: Parent | None = None,
    unreadable: tuple[str, ...] = (),
    field_manager: str = "",
    force: bool = False,
    namespace: str = "",
) -> Plan:
    """Return the plan for these observations, in the order of its execution.

    `observations` contain all documents of the set, including the documents that cannot be applied. Without a
    membership nothing is deleted, because the members are unknown.
    """
    decisions = [(observation.ref, _decide_write(observation, membership)) for observation in observations]
    refusals = tuple(decision for _, decision in decisions if isinstance(decision, PlannedRefusal))
    applied = [
        ((ref.group, ref.kind), ref.namespace)
        for ref, decision in decisions
        if not isinstance(decision, PlannedRefusal)
    ]
    obstacle = ""
    deletions: tuple[PlannedDeletion, ...] = ()
    if membership is not None:
        obstacle = _find_gaps(refusals, unreadable, [listing for listing in listings if listing.failure])
        desired_refs = {observation.ref for observation in observations}
        if parent is not None:
            desired_refs.add(parent.ref)
        deletions = _plan_deletions(listings, desired_refs, membership)
    return Plan(
        writes=tuple(decision for _, decision in decisions if isinstance(decision, PlannedWrite)),
        unchanged=tuple(ref for ref, decision in decisions if decision is None),
        deletions=() if obstacle else deletions,
        refusals=refusals,
        unreadable=unreadable,
        withheld=deletions if obstacle else (),
        withheld_because=obstacle,
        field_manager=field_manager,
        force=force,
        namespace=namespace,
        parent=parent,
        membership=membership,
        extent=None if parent is None else extent_of(applied, parent),
    )


def _decide_write(
    observation: Observation, membership: Membership | None
) -> PlannedWrite | PlannedRefusal | None:
    """Return the step of a document; None if its object needs no write."""
    ref, live = observation.ref, observation.live
    obj: Dynamic = observation.document
    document = as_json(obj)
    if live is not None and (obstacle := _find_obstacle(live, membership)):
        return PlannedRefusal(ref, obstacle)
    match observation.outcome:
        case DryRunFailure(error):
            return _plan_refusal(ref, error)
        case NoDryRun(obstacle):
            step = PlannedCreation if live is None else PlannedChange
            return step(ref, obj, diff(live, document) if live is None else (), obstacle)
        case DryRunSuccess(result):
            if live is None:
                return PlannedCreation(ref, obj, diff(None, document))
            return PlannedChange(ref, obj, diff(live, result)) if differ(live, result) else None


def _plan_deletions(
    listings: Iterable[Listing], desired_refs: set[ObjectRef[Any]], membership: Membership
) -> tuple[PlannedDeletion, ...]:
    """Return the members without a document, in the order of deletion."""
    deletions: dict[ObjectRef[Any], PlannedDeletion] = {}
    for listing in listings:
        for member in listing.members:
            metadata = member["metadata"]
            group, kind = listing.kind
            ref: ObjectRef[Any] = ObjectRef(group, kind, metadata.get("namespace", ""), metadata["name"])
            # The server selects members by label; the owner is checked here.
            if ref not in desired_refs and membership.includes(member):
                deletions[ref] = PlannedDeletion(
                    ref,
                    listing.resource,
                    metadata["uid"],
                    metadata["resourceVersion"],
                    _CASCADES.get(listing.kind, ""),
                    "deletionTimestamp" in metadata,
                )
    return tuple(
        sorted(deletions.values(), key=lambda deletion: -rank((deletion.ref.group, deletion.ref.kind)))
    )


def _find_gaps(
    refusals: Iterable[PlannedRefusal], unreadable: Iterable[str], unlisted: Iterable[Listing]
) -> str:
    """Return the reasons against any deletion; empty if there are none."""
    refusal_count = len(list(refusals))
    reasons = [f"{refusal_count} of the desired objects cannot be applied"] if refusal_count else []
    reasons += ["not all files can be read"] if list(unreadable) else []
    for listing in unlisted:
        kind = f"{listing.kind[1]}.{listing.kind[0]}" if listing.kind[0] else listing.kind[1]
        location = f" in namespace {listing.namespace}" if listing.namespace else ""
        reasons.append(f"{kind}{location} cannot be listed: {listing.failure}")
    return "; ".join(reasons)


def _plan_refusal(ref: ObjectRef[Any], error: KubeprotoError) -> PlannedRefusal:
    """Return the step of an object that cannot be applied; for a conflict, with the other field managers."""
    return PlannedRefusal(ref, str(error), _conflicts_of(error) if isinstance(error, Conflict) else ())


def _conflicts_of(error: ApiError) -> tuple[ManagerConflict, ...]:
    """Return the other managers and their fields, from the causes of a conflict."""
    fields: dict[str, list[str]] = {}
    for cause in error.status.details.causes:
        if cause.reason == "FieldManagerConflict":
            # The message is "conflict with \"kubectl-edit\" using v1".
            _, quote, quoted = cause.message.partition('"')
            manager = quoted.rpartition('"')[0] if quote else cause.message
            fields.setdefault(manager or cause.message, []).append(cause.field)
    return tuple(
        ManagerConflict(manager, tuple(owned_fields)) for manager, owned_fields in sorted(fields.items())
    )


def refuses_dry_runs(error: KubeprotoError) -> bool:
    """Return whether the dry run was refused only because a webhook has side effects."""
    return isinstance(error, BadRequest) and "does not support dry run" in error.status.message


def as_json(document: Dynamic) -> dict[str, Any]:
    """Return a document as JSON."""
    content: dict[str, Any] = to_builtins(document)
    return content


def _find_obstacle(live: dict[str, Any], membership: Membership | None) -> str:
    """Return the reason why an existing object cannot be changed; empty if it can."""
    metadata: dict[str, Any] = live["metadata"]
    if "deletionTimestamp" in metadata:
        finalizers: list[str] = metadata.get("finalizers") or []
        waiting = f", and waits for the finalizers {', '.join(finalizers)}" if finalizers else ""
        return f"it is being deleted{waiting}: plan again after its deletion"
    return membership.find_obstacle(live) if membership is not None else ""
