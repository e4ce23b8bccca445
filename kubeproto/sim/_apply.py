"""Server-side apply, and the book that a server keeps on which manager owns which field.

- Who applies an object owns the fields in it, and no others: what they applied before and leave out now is
  removed, unless somebody else owns it too.
- Who writes in another way owns what they changed, and takes it from all others.
- Several may own a field while they agree on its value. Who applies another one is refused, or takes the
  field by force.
- Identity and what the server keeps itself (name, uid, resourceVersion, …) is never owned.

::

    match apply(live, body, manager="m", facts=facts, api_version="v1", kind="ConfigMap", now=now):
        case Applied(object=object): ...       # with its managedFields
        case Conflicts() as conflicts: ...     # a 409 with these causes
    metadata["managedFields"] = update(before, after, manager="m", facts=facts, api_version="v1", now=now)

Times are texts as a server writes them. Of a body sent to an endpoint that leaves a part of the object alone
(the status, or all but it), only the part that it writes is given here.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from ..objects import StatusCause
from ._apply_facts import Facts
from ._apply_fields import compare, fields_of
from ._apply_kubectl import allowed_by_last_applied, with_last_applied
from ._apply_managers import (
    BEFORE_FIRST_APPLY,
    Held,
    Managers,
    Owner,
    capped,
    decode_managers,
    encode_managers,
    owner_of,
)
from ._apply_merge import merged, removed, with_parents
from ._apply_refusals import ApplyRefused
from ._apply_typing import misfits
from ._apply_values import is_list, members
from ._fieldsets import (
    EMPTY,
    FieldSet,
    Path,
    difference,
    fieldset,
    format_path,
    intersection,
    paths,
    union,
)

Object = dict[str, Any]
Entries = list[dict[str, Any]]


class Applied(Struct, frozen=True):
    """The object as it is to be stored, its `managedFields` in place; `changed` if it is not as it was."""

    object: Object
    managed_fields: Entries
    changed: bool


class Conflict(Struct, frozen=True):
    """A field that another manager owns and holds another value for."""

    owner: Owner
    path: Path


class Conflicts(Struct, frozen=True):
    """Why an object is not applied: every field in conflict, by owner and path."""

    conflicts: tuple[Conflict, ...]

    @property
    def message(self) -> str:
        """The message of the Status."""
        if len(self.conflicts) == 1:
            [only] = self.conflicts
            return f"Apply failed with 1 conflict: conflict with {only.owner}: {format_path(only.path)}"
        lines: list[str] = []
        for owner in dict.fromkeys(conflict.owner for conflict in self.conflicts):
            lines.append(f"conflicts with {owner}:")
            lines += [f"- {format_path(found.path)}" for found in self.conflicts if found.owner == owner]
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """The causes of the Status; its details hold nothing else."""
        return tuple(
            StatusCause(
                reason="FieldManagerConflict",
                message=f"conflict with {conflict.owner}",
                field=format_path(conflict.path),
            )
            for conflict in self.conflicts
        )


_UNOWNED: Final = fieldset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",)]
    + [
        ("f:metadata", f"f:{name}")
        for name in (
            "clusterName",
            "creationTimestamp",
            "generation",
            "managedFields",
            "name",
            "namespace",
            "resourceVersion",
            "selfLink",
            "uid",
        )
    ]
)


def apply(
    live: Object | None,
    applied: Object,
    *,
    manager: str,
    facts: Facts,
    api_version: str,
    kind: str,
    now: str,
    force: bool = False,
    subresource: str = "",
) -> Applied | Conflicts:
    """Apply an object over the live one, or create it; ApplyRefused if the body cannot be applied."""
    _check(applied, facts, api_version, kind)
    owner = owner_of(manager, "Apply", api_version, subresource)
    before, managers = _live(live, facts, api_version, now)
    outcome = _apply(before, applied, owner, managers, facts, api_version, now, force)
    if isinstance(outcome, Conflicts) and manager == "kubectl":
        # What kubectl applied on its own side, before servers could, it may go on with here.
        conflicts = _not_among(outcome, allowed_by_last_applied(before, facts))
        outcome = conflicts or _apply(before, applied, owner, managers, facts, api_version, now, True)
    if isinstance(outcome, Conflicts):
        return outcome
    object_, owners = outcome
    if manager == "kubectl":
        object_ = with_last_applied(object_, applied)
    return _written(live, object_, encode_managers(owners))


def update(
    before: Object | None,
    after: Object,
    *,
    manager: str,
    facts: Facts,
    api_version: str,
    now: str,
    subresource: str = "",
) -> Entries:
    """The `managedFields` after a create, replace or patch; `before` is None for a create.

    What `after` itself says of managers counts if there is something to it; ``[]`` or ``[{}]`` ends the
    keeping of the book, until somebody applies.
    """
    managers = _managers_of_update(before, after, subresource)
    if not managers and before is not None:
        return []
    owner = owner_of(manager, "Update", api_version, subresource)
    changed = _taken(_without_book(before or {}), _without_book(after), owner, managers, facts, now)
    return encode_managers(capped(changed))


def _apply(
    before: Object,
    applied: Object,
    owner: Owner,
    managers: Managers,
    facts: Facts,
    api_version: str,
    now: str,
    force: bool,
) -> tuple[Object, Managers] | Conflicts:
    """One application: the object and its owners, or the conflicts."""
    last = managers.get(owner)
    mine = fields_of(applied, facts)
    claimed = {**managers, owner: Held(mine, api_version, last.time if last else "")}
    result = merged(before, applied, facts)
    if last is not None:
        result = _pruned(result, last.fields, claimed, facts)
    changes = compare(before, result, facts)
    disputed = {
        other: found
        for other, held in claimed.items()
        if other != owner and (found := intersection(held.fields, changes.written))
    }
    if disputed and not force:
        return Conflicts(
            tuple(Conflict(other, path) for other in sorted(disputed) for path in paths(disputed[other]))
        )
    owners: Managers = {owner: _owned(claimed[owner], mine)}
    for other, held in managers.items():
        if other != owner:
            taken = union(disputed.get(other, EMPTY), changes.removed)
            owners[other] = Held(difference(held.fields, taken), held.api_version, held.time)
    owners = {each: held for each, held in owners.items() if held.fields}
    if result != before or _fields(owners) != _fields(managers):
        owners = {
            each: Held(held.fields, held.api_version, now) if each == owner else held
            for each, held in owners.items()
        }
    return result, owners


def _owned(held: Held, fields: FieldSet) -> Held:
    return Held(difference(fields, _UNOWNED), held.api_version, held.time)


def _pruned(result: Object, last: FieldSet, claimed: Managers, facts: Facts) -> Object:
    """Take out what this manager applied last time and nobody owns any more."""
    last = with_parents(last, facts)
    there = with_parents(fields_of(result, facts), facts)
    owned = EMPTY
    for held in claimed.values():
        owned = union(owned, held.fields)
    owned = with_parents(owned, facts)
    # A field that goes takes along what is inside; so what is owned by somebody is put back, and what was
    # never this manager's as well.
    without = _all_fields(removed(result, last, facts), facts)
    kept = _all_fields(removed(result, difference(there, union(without, owned)), facts), facts)
    gone = intersection(difference(there, kept), last)
    left = removed(result, gone, facts)
    return members(left)


def _all_fields(value: Any, facts: Facts) -> FieldSet:
    return with_parents(fields_of(members(value), facts), facts)


def _taken(
    before: Object, after: Object, owner: Owner, managers: Managers, facts: Facts, now: str
) -> Managers:
    """The owners after a write that takes whatever it changes."""
    changes = compare(before, after, facts)
    written, gone = changes.written, changes.removed
    lost = union(written, gone)
    owners: Managers = {}
    for other, held in managers.items():
        fields = difference(held.fields, lost) if lost else held.fields
        if fields:
            owners[other] = Held(fields, held.api_version, held.time)
    if mine := difference(written, union(gone, _UNOWNED)):
        kept = owners[owner].fields if owner in owners else EMPTY
        owners[owner] = Held(union(kept, mine), owner.api_version, now)
    return owners


def _live(live: Object | None, facts: Facts, api_version: str, now: str) -> tuple[Object, Managers]:
    """The object to apply to and its owners. What was never tracked belongs to one who came before."""
    before = _without_book(live or {})
    try:
        managers = decode_managers(members((live or {}).get("metadata")).get("managedFields"))
    except ValueError as error:
        raise ApplyRefused(500, f"failed to decode managed fields: {error}") from None
    if not managers and live is not None:
        owner = owner_of(BEFORE_FIRST_APPLY, "Update", api_version)
        managers = _taken({}, before, owner, {}, facts, now)
    return before, managers


def _managers_of_update(before: Object | None, after: Object, subresource: str) -> Managers:
    sent = members(after.get("metadata")).get("managedFields")
    if not subresource and is_list(sent):
        if sent in ([], [{}]):
            return {}
        try:
            if managers := decode_managers(sent):
                return managers
        except ValueError:
            pass
    try:
        return decode_managers(members((before or {}).get("metadata")).get("managedFields"))
    except ValueError:
        return {}


def _check(applied: Object, facts: Facts, api_version: str, kind: str) -> None:
    group, _, version = str(applied.get("apiVersion") or "").rpartition("/")
    gvk = f"{group}/{version}, Kind={applied.get('kind') or ''}"
    if (applied.get("apiVersion"), applied.get("kind")) != (api_version, kind):
        raise ApplyRefused(400, f"invalid object type: {gvk}")
    metadata = members(applied.get("metadata"))
    if metadata.get("managedFields") is not None:
        raise ApplyRefused(400, "metadata.managedFields must be nil")
    if wrong := misfits(applied, facts):
        name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
        raise ApplyRefused(500, f"failed to create typed patch object ({namespace}/{name}; {gvk}): {wrong}")


def _not_among(found: Conflicts, allowed: FieldSet) -> Conflicts | None:
    """The conflicts about other fields than these."""
    left = [each for each in found.conflicts if not intersection(fieldset([each.path]), allowed)]
    return Conflicts(tuple(left)) if left else None


def _written(live: Object | None, object_: Object, entries: Entries) -> Applied:
    metadata = {**members(object_.get("metadata"))}
    if entries:
        metadata["managedFields"] = entries
    result = {**object_, "metadata": metadata}
    return Applied(result, entries, live != result)


def _without_book(object_: Object) -> Object:
    metadata = members(object_.get("metadata"))
    if "managedFields" not in metadata:
        return object_
    rest = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**object_, "metadata": rest}


def _fields(managers: Managers) -> dict[Owner, tuple[FieldSet, str]]:
    return {owner: (held.fields, held.api_version) for owner, held in managers.items()}
