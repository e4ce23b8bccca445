"""What to do about each object, decided from values: what is wanted, what exists, what a dry run returned.

An object that exists and is wanted is a change if its dry run returned something else. One that does not
exist is a creation. A member that is not wanted is a deletion, but only if everything is known: each kind
that the set may have members of was listed, and each document can be applied. Otherwise a document that
cannot be read would be a reason to delete its object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct

from kubeproto import ApiError, BadRequest, Conflict, KubeprotoError, ObjectRef

from .._documents import plain
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
    NAMESPACE: "and all that is in it",
    DEFINITION: "and all objects of its kind",
}


class Returned(Struct, frozen=True):
    """What a dry run returned: the object as it would be."""

    document: dict[str, Any]


class NotApplied(Struct, frozen=True):
    """An object that was refused, by the server or here."""

    error: KubeprotoError


class NotTried(Struct, frozen=True):
    """A dry run that could not be made, because something that the set brings is missing."""

    why: str


DryRun: TypeAlias = "Returned | NotApplied | NotTried"


class Observation(Struct, frozen=True):
    """A document to be applied, the object as it is, and what a dry run returned."""

    ref: ObjectRef[Any]
    document: Any  # a `Dynamic`
    live: dict[str, Any] | None
    outcome: DryRun


class Listing(Struct, frozen=True):
    """The members of one kind, in one namespace or in all; `failure` says why they are not known."""

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
    """Return the plan for what was observed, in the order in which it would be performed.

    `observations` are all documents of the set, those that cannot be applied included. Without a membership
    nothing is deleted, since it is unknown what belongs together.
    """
    decisions = [(seen.ref, _decide_write(seen, membership)) for seen in observations]
    refusals = tuple(one for _, one in decisions if isinstance(one, PlannedRefusal))
    applied = [
        ((ref.group, ref.kind), ref.namespace)
        for ref, one in decisions
        if not isinstance(one, PlannedRefusal)
    ]
    because = ""
    deletions: tuple[PlannedDeletion, ...] = ()
    if membership is not None:
        because = _why_incomplete(refusals, unreadable, [one for one in listings if one.failure])
        keep = {seen.ref for seen in observations}
        if parent is not None:
            keep.add(parent.ref)
        deletions = _deletions(listings, keep, membership)
    return Plan(
        writes=tuple(one for _, one in decisions if isinstance(one, PlannedWrite)),
        unchanged=tuple(ref for ref, one in decisions if one is None),
        deletions=() if because else deletions,
        refusals=refusals,
        unreadable=unreadable,
        withheld=deletions if because else (),
        withheld_because=because,
        field_manager=field_manager,
        force=force,
        namespace=namespace,
        parent=parent,
        membership=membership,
        extent=None if parent is None else extent_of(applied, parent),
    )


def _decide_write(seen: Observation, membership: Membership | None) -> PlannedWrite | PlannedRefusal | None:
    """Return what happens to a document; None if its object is as it should be."""
    ref, live = seen.ref, seen.live
    sent: Dynamic = seen.document
    document = as_json(sent)
    if live is not None and (why := _why_not(live, membership)):
        return PlannedRefusal(ref, why)
    match seen.outcome:
        case NotApplied(error):
            return _refusal(ref, error)
        case NotTried(why):
            made = PlannedCreation if live is None else PlannedChange
            return made(ref, sent, diff(live, document) if live is None else (), why)
        case Returned(after):
            if live is None:
                return PlannedCreation(ref, sent, diff(None, document))
            return PlannedChange(ref, sent, diff(live, after)) if differ(live, after) else None


def _deletions(
    listings: Iterable[Listing], keep: set[ObjectRef[Any]], membership: Membership
) -> tuple[PlannedDeletion, ...]:
    """Return the members that are not wanted, in the order in which they are deleted."""
    found: dict[ObjectRef[Any], PlannedDeletion] = {}
    for listing in listings:
        for member in listing.members:
            metadata = member["metadata"]
            group, kind = listing.kind
            ref: ObjectRef[Any] = ObjectRef(group, kind, metadata.get("namespace", ""), metadata["name"])
            # The server can select by label, and not by owner.
            if ref not in keep and membership.includes(member):
                found[ref] = PlannedDeletion(
                    ref,
                    listing.resource,
                    metadata["uid"],
                    metadata["resourceVersion"],
                    _CASCADES.get(listing.kind, ""),
                    "deletionTimestamp" in metadata,
                )
    return tuple(sorted(found.values(), key=lambda one: -rank((one.ref.group, one.ref.kind))))


def _why_incomplete(
    refusals: Iterable[PlannedRefusal], unreadable: Iterable[str], unlisted: Iterable[Listing]
) -> str:
    """Return why nothing may be deleted; empty if everything is known."""
    refused = len(list(refusals))
    reasons = [f"{refused} of the wanted objects cannot be applied"] if refused else []
    reasons += ["not all files can be read"] if list(unreadable) else []
    for one in unlisted:
        kind = f"{one.kind[1]}.{one.kind[0]}" if one.kind[0] else one.kind[1]
        where = f" in namespace {one.namespace}" if one.namespace else ""
        reasons.append(f"{kind}{where} cannot be listed: {one.failure}")
    return "; ".join(reasons)


def _refusal(ref: ObjectRef[Any], error: KubeprotoError) -> PlannedRefusal:
    """Return a refusal; of a conflict with other managers, who they are and what they own."""
    return PlannedRefusal(ref, str(error), _conflicts_of(error) if isinstance(error, Conflict) else ())


def _conflicts_of(error: ApiError) -> tuple[ManagerConflict, ...]:
    """Return the managers that own fields, from the causes of a conflict."""
    fields: dict[str, list[str]] = {}
    for cause in error.status.details.causes:
        if cause.reason == "FieldManagerConflict":
            # "conflict with \"kubectl-edit\" using v1": the name is the server's quotation.
            _, quote, rest = cause.message.partition('"')
            manager = rest.rpartition('"')[0] if quote else cause.message
            fields.setdefault(manager or cause.message, []).append(cause.field)
    return tuple(ManagerConflict(manager, tuple(found)) for manager, found in sorted(fields.items()))


def refuses_dry_runs(error: KubeprotoError) -> bool:
    """Return whether it is a webhook with side effects that refuses, rather than the object's own fault."""
    return isinstance(error, BadRequest) and "does not support dry run" in error.status.message


def as_json(document: Dynamic) -> dict[str, Any]:
    """Return a document as JSON."""
    made: dict[str, Any] = plain(document)
    return made


def _why_not(live: dict[str, Any], membership: Membership | None) -> str:
    """Return why an object that exists cannot be applied to."""
    metadata: dict[str, Any] = live["metadata"]
    if "deletionTimestamp" in metadata:
        held: list[str] = metadata.get("finalizers") or []
        by = f", held by {', '.join(held)}" if held else ""
        return f"it is being deleted{by}: plan again when it is gone"
    return membership.why_foreign(live) if membership is not None else ""
