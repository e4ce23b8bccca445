"""The roles of an operator, from the declarations of its parts and from its recorded requests.

| scope of a permission | role |
|---|---|
| "own": the namespace of the operator | a Role in this namespace |
| "namespaces", if the operator is limited to namespaces | a Role in each of these namespaces |
| "namespaces" otherwise, and "cluster" | a ClusterRole |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from .._access import RequiredAccess, Scope
from ..webhooks import ManagedCertificates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..operator import ProgramDescription

OWN_NAMESPACE: Final = "(own)"  # the program's namespace, unless its name is passed to `roles`
CLUSTER: Final = ""
_LEASES: Final = ("coordination.k8s.io", "leases")
# The order of the verbs in the roles that Kubernetes defines.
_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")


class RoleRule(Struct, frozen=True, order=True):
    """Verbs on a resource, or on its objects with these names."""

    group: str
    resource: str
    names: tuple[str, ...]
    verbs: tuple[str, ...]


def required_access(description: ProgramDescription) -> frozenset[RequiredAccess]:
    """Return the permissions that an operator needs besides those of its reconciles.

    The operator needs them to follow its kinds, to hold its lease, and to issue the certificates of its
    webhooks.
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
    description: ProgramDescription,
    recorded: Iterable[RequiredAccess] = (),
    *,
    own_namespace: str = OWN_NAMESPACE,
) -> dict[str, tuple[RoleRule, ...]]:
    """Return the rules of each role by its namespace; `CLUSTER` is the key of the ClusterRole."""
    namespaces = reconciled_namespaces(description)
    access_by_namespace: dict[str, set[RequiredAccess]] = {}
    for access in required_access(description) | set(recorded):
        match access.scope:
            case "own":
                role_namespaces: tuple[str, ...] = (own_namespace,)
            case "cluster":
                role_namespaces = (CLUSTER,)
            case "namespaces":
                role_namespaces = namespaces or (CLUSTER,)
        for namespace in role_namespaces:
            access_by_namespace.setdefault(namespace, set()).add(access)
    return {namespace: _merge_rules(required) for namespace, required in sorted(access_by_namespace.items())}


def reconciled_namespaces(description: ProgramDescription) -> tuple[str, ...]:
    """Return the namespaces to which an operator is limited; empty if it follows a kind in all namespaces."""
    namespaces = [
        namespace
        for followed in description.follows
        if followed.resource.namespaced
        for namespace in followed.namespaces
    ]
    names = [namespace for namespace in namespaces if isinstance(namespace, str)]
    return tuple(dict.fromkeys(names)) if len(names) == len(namespaces) else ()


def _merge_rules(accesses: Iterable[RequiredAccess]) -> tuple[RoleRule, ...]:
    verbs: dict[tuple[str, str, str], set[str]] = {}
    for access in accesses:
        verbs.setdefault((access.group, access.resource, access.name), set()).add(access.verb)
    # A verb on all objects of a resource is not repeated for single objects.
    minimal = {
        (group, resource, name): allowed - (verbs.get((group, resource, ""), set()) if name else set())
        for (group, resource, name), allowed in verbs.items()
    }
    grouped: dict[tuple[str, str, tuple[str, ...], bool], list[str]] = {}
    for (group, resource, name), allowed in sorted(minimal.items()):
        if allowed:
            grouped.setdefault((group, resource, _sort_verbs(allowed), bool(name)), []).append(name)
    return tuple(
        sorted(
            RoleRule(group, resource, tuple(names) if limited else (), allowed)
            for (group, resource, allowed, limited), names in grouped.items()
        )
    )


def _sort_verbs(verbs: Iterable[str]) -> tuple[str, ...]:
    order = {verb: index for index, verb in enumerate(_VERBS)}
    return tuple(sorted(verbs, key=lambda verb: (order.get(verb, len(order)), verb)))
