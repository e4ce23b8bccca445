"""The rights of an operator: what its parts declare and its requests have shown, as the rules of roles.

| scope | becomes |
|---|---|
| its own namespace | a Role there |
| objects of namespaces that it names | a Role in each of them |
| objects of all namespaces, or of the cluster | a ClusterRole |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from .._access import RequiredAccess, Scope
from ..webhooks import ManagedCertificates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..operator import ProgramDescription

OWN: Final = "(own)"  # means the program's namespace, unless its name is passed to `roles`
CLUSTER: Final = ""
_LEASES: Final = ("coordination.k8s.io", "leases")
# In the order in which Kubernetes' own roles have them.
_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class RoleRule(Struct, frozen=True, order=True):
    """Verbs on one resource, or on those of its objects that have a name here."""

    group: str
    resource: str
    names: tuple[str, ...]
    verbs: tuple[str, ...]


def required_access(described: ProgramDescription) -> frozenset[RequiredAccess]:
    """Return what an operator needs whatever its reconciles do.

    To follow its kinds, to hold its lease, to make the certificates of its webhooks.
    """
    found: set[RequiredAccess] = set()
    for one in described.follows:
        for place in one.namespaces:
            scope: Scope = "namespaces" if isinstance(place, str) else "cluster"
            for verb in ("list", "watch"):
                found.add(RequiredAccess(one.resource.group, one.resource.plural, verb, scope))
    if described.lease:
        found.add(RequiredAccess(*_LEASES, "create", "own"))
        for verb in ("get", "update"):
            found.add(RequiredAccess(*_LEASES, verb, "own", described.lease))
    if described.webhooks is not None and isinstance(described.webhooks.certificates, ManagedCertificates):
        found |= described.webhooks.certificates.required_access
    return frozenset(found)


def roles(
    described: ProgramDescription, recorded: Iterable[RequiredAccess] = (), *, own: str = OWN
) -> dict[str, tuple[RoleRule, ...]]:
    """Return the rules by namespace: `CLUSTER` for a ClusterRole, `own` for the program's namespace."""
    named = reconciled_namespaces(described)
    found: dict[str, set[RequiredAccess]] = {}
    for one in required_access(described) | set(recorded):
        match one.scope:
            case "own":
                places: tuple[str, ...] = (own,)
            case "cluster":
                places = (CLUSTER,)
            case "namespaces":
                places = named or (CLUSTER,)
        for place in places:
            found.setdefault(place, set()).add(one)
    return {place: _rules(needed) for place, needed in sorted(found.items())}


def reconciled_namespaces(described: ProgramDescription) -> tuple[str, ...]:
    """Return the namespaces that an operator is limited to; none if it follows any kind in all of them."""
    places = [place for one in described.follows if one.resource.namespaced for place in one.namespaces]
    names = tuple(dict.fromkeys(place for place in places if isinstance(place, str)))
    return names if len([place for place in places if isinstance(place, str)]) == len(places) else ()


def _rules(needed: Iterable[RequiredAccess]) -> tuple[RoleRule, ...]:
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for one in needed:
        verbs.setdefault((one.group, one.resource, one.name), set()).add(one.verb)
    # A right on all objects of a resource needs no rule for one of them.
    least = {
        (group, resource, name): allowed - (verbs.get((group, resource, ""), set()) if name else set())
        for (group, resource, name), allowed in verbs.items()
    }
    names: dict[tuple[str, str, tuple[str, ...], bool], list[str]] = {}
    for (group, resource, name), allowed in sorted(least.items()):
        if allowed:
            names.setdefault((group, resource, _in_order(allowed), bool(name)), []).append(name)
    return tuple(
        sorted(
            RoleRule(group, resource, tuple(found) if named else (), allowed)
            for (group, resource, allowed, named), found in names.items()
        )
    )


def _in_order(verbs: Iterable[str]) -> tuple[str, ...]:
    order = {verb: index for index, verb in enumerate(_VERBS)}
    return tuple(sorted(verbs, key=lambda verb: (order.get(verb, len(order)), verb)))
