"""What a reconcile writes into objects besides their own fields: conditions, and owner references.

Both only change what differs, so that a controller that finds everything in order writes nothing, and two
controllers do not react to each other's writes forever.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from .._errors import InvalidRequest
from ..objects import KubeObject, OwnerReference, encode, json_equal

if TYPE_CHECKING:
    from collections.abc import Iterable


class ConditionLike(Protocol):
    """A condition of any kind: metav1's, or one that a kind defines itself."""

    @property
    def type(self) -> str:
        """Its type, such as Ready."""
        ...

    @property
    def status(self) -> str:
        """True, False or Unknown."""
        ...

    last_transition_time: datetime | None


C = TypeVar("C", bound=ConditionLike)


def find_condition(conditions: Iterable[C] | None, of_type: str) -> C | None:
    """Return the condition of this type, or None."""
    return next((one for one in conditions or () if one.type == of_type), None)


def is_true(conditions: Iterable[ConditionLike] | None, of_type: str) -> bool:
    """Return whether there is a condition of this type whose status is True; Unknown is not."""
    found = find_condition(conditions, of_type)
    return found is not None and found.status == "True"


def set_condition(conditions: list[C], condition: C, *, now: datetime) -> bool:
    """Put a condition into the list, in place of one of its type; return whether anything changed.

    The time of transition is that of the old one while the status stays the same. When it changes, it is the
    time of the new one, or `now` if that has none. Everything else is the new one's, like the observed
    generation.
    """
    old = find_condition(conditions, condition.type)
    if old is not None and old.status == condition.status:
        condition.last_transition_time = old.last_transition_time or condition.last_transition_time or now
    elif condition.last_transition_time is None:
        condition.last_transition_time = now
    if old is None:
        conditions.append(condition)
        return True
    conditions[conditions.index(old)] = condition
    return old != condition


def remove_condition(conditions: list[C], of_type: str) -> bool:
    """Remove the condition of this type from the list; return whether there was one."""
    found = find_condition(conditions, of_type)
    if found is not None:
        conditions.remove(found)
    return found is not None


def status_differs(before: Any, after: Any) -> bool:
    """Return whether two statuses (or specs, or anything else with a JSON form) differ for a server.

    None is not sent, so it equals a missing value.
    """
    return not json_equal(_sent(before), _sent(after))


def owner_reference(
    owner: KubeObject, *, controller: bool = True, block: bool = True, of: KubeObject | None = None
) -> OwnerReference:
    """Return a reference to the owner, for the metadata of what it owns.

    `of` is the object that is to carry it. `InvalidRequest`, a ValueError, is raised if a server would refuse
    the reference, or its garbage collector would delete the object at once, as it does if the owner is in
    another namespace.
    """
    meta = owner.metadata
    if not (owner.api_version and owner.kind and meta.name and meta.uid):
        raise InvalidRequest(
            "an owner is identified by apiVersion, kind, name and uid;"
            f" {owner.kind or 'this one'} {meta.name!r} lacks one of them: has it been created?"
        )
    if of is not None:
        _check_ownership(owner, of, controller)
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=meta.name,
        uid=meta.uid,
        controller=True if controller else None,
        block_owner_deletion=True if block else None,
    )


def is_controlled_by(owned: KubeObject, owner: KubeObject) -> bool:
    """Return whether the owner controls the object: it itself, and not an earlier one of the same name."""
    return any(one.controller and one.uid == owner.metadata.uid for one in owned.metadata.owner_references)


def _check_ownership(owner: KubeObject, owned: KubeObject, controller: bool) -> None:
    namespace, mine = owned.metadata.namespace, owner.metadata
    if mine.namespace and mine.namespace != namespace:
        where = f"namespace {namespace!r}" if namespace else "no namespace"
        raise InvalidRequest(
            f"{owner.kind} {mine.namespace}/{mine.name} cannot own what is in {where}:"
            " an owner is in the same namespace, or cluster-scoped"
        )
    if mine.uid == owned.metadata.uid:
        raise InvalidRequest(f"{owner.kind} {mine.name!r} cannot own itself")
    if controller:
        for other in owned.metadata.owner_references:
            if other.controller and other.uid != mine.uid:
                raise InvalidRequest(
                    f"{owned.kind} {owned.metadata.name!r} has one controller, which is"
                    f" {other.kind} {other.name!r}"
                )


def _sent(value: Any) -> Any:
    return None if value is None else msgspec.json.decode(encode(value))
