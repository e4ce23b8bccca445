"""The rights of an operator, from the declarations of its parts and from its recorded requests, as roles.

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
    """Verbs on a resource, or on its objects of these names."""

    group: str
    resource: str
    names: tuple[str, ...]
    verbs: tuple[str, ...]


def required_access(description: ProgramDescription) -> frozenset[RequiredAccess]:
    """Return the rights that an operator needs besides those of its reconciles.

    They allow it to follow its kinds, hold its lease, and issue the certificates of its webhooks.
    """
    access: set[RequiredAccess] = set()
    for followed in description.follows:
        for namespace in followed.namespaces:
            scope: Scope = "namespaces" if isinstance(namespace, str) else "cluster"
            for verb in ("list", "watch"):
                access.add(RequiredAccess(followed.resource.group, followed.resource.plural, verb, scope))
    if description.lease:
        access.add(RequiredAccess(*_LEASES, "create", "own"))
        for verb in ("get", "update"):
            access.add(RequiredAccess(*_LEASES, verb, "own", description.lease))
    if description.webhooks is not None and isinstance(
        description.webhooks.certificates, ManagedCertificates
    ):
        access |= description.webhooks.certificates.required_access
    return frozenset(access)


def roles(
    description: ProgramDescription, recorded: Iterable[RequiredAccess] = (), *, own_namespace: str = OWN
) -> dict[str, tuple[RoleRule, ...]]:
    """Return the rules by namespace: `CLUSTER` for a ClusterRole, `own_namespace` for the program's
    namespace."""
    namespaces = reconciled_namespaces(description)
    access_by_namespace: dict[str, set[RequiredAccess]] = {}
    for access in required_access(description) | set(recorded):
        match access.scope:
            case "own":
                places: tuple[str, ...] = (own_namespace,)
            case "cluster":
                places = (CLUSTER,)
            case "namespaces":
                places = namespaces or (CLUSTER,)
        for namespace in places:
            access_by_namespace.setdefault(namespace, set()).add(access)
    return {namespace: _rules(needed) for namespace, needed in sorted(access_by_namespace.items())}


def reconciled_namespaces(description: ProgramDescription) -> tuple[str, ...]:
    """Return the namespaces that an operator is limited to; none if it follows a kind in all namespaces."""
    namespaces = [
        namespace
        for followed in description.follows
        if followed.resource.namespaced
        for namespace in followed.namespaces
    ]
    names = [namespace for namespace in namespaces if isinstance(namespace, str)]
    return tuple(dict.fromkeys(names)) if len(names) == len(namespaces) else ()


def _rules(accesses: Iterable[RequiredAccess]) -> tuple[RoleRule, ...]:
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for access in accesses:
        verbs.setdefault((access.group, access.resource, access.name), set()).add(access.verb)
    # A right on all objects of a resource needs no rule for single objects.
    least = {
        (group, resource, name): allowed - (verbs.get((group, resource, ""), set()) if name else set())
        for (group, resource, name), allowed in verbs.items()
    }
    grouped: dict[tuple[str, str, tuple[str, ...], bool], list[str]] = {}
    for (group, resource, name), allowed in sorted(least.items()):
        if allowed:
            grouped.setdefault((group, resource, _in_order(allowed), bool(name)), []).append(name)
    return tuple(
        sorted(
            RoleRule(group, resource, tuple(names_of_objects) if limited else (), allowed)
            for (group, resource, allowed, limited), names_of_objects in grouped.items()
        )
    )


def _in_order(verbs: Iterable[str]) -> tuple[str, ...]:
    order = {verb: index for index, verb in enumerate(_VERBS)}
    return tuple(sorted(verbs, key=lambda verb: (order.get(verb, len(order)), verb)))
