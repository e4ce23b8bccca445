"""Privilege escalation: a writer of roles and bindings may not grant permissions that the writer lacks.

A user may write a role if the user has all its permissions, or may ``escalate`` it; a binding if the user has
all permissions of its role, or may ``bind`` it.
https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .._rejections import forbidden_for, not_found
from ..storage._json_values import go_list
from ._attributes import Attributes
from ._policy_rules import ALL, PolicyRule, covers_path, read_rules
from ._rbac import GROUP, GrantedRule, Rbac, aggregate, not_found_text
from ._users import MASTERS, User

_ROLES: Final = ("clusterroles", "roles")
_BINDINGS: Final = ("clusterrolebindings", "rolebindings")
_EVERYTHING: Final = (
    PolicyRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)
_ANY_NAME: Final[list[tuple[str, ...]]] = [()]
_CLEANUP: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")


def check_escalation(
    rbac: Rbac, user: User, attributes: Attributes, obj: dict[str, Any], old: dict[str, Any] | None
) -> None:
    """Refuse a role or binding that grants permissions that its writer lacks."""
    if (
        attributes.group != GROUP
        or attributes.resource not in (*_ROLES, *_BINDINGS)
        or MASTERS in user.groups
    ):
        return
    if old is not None and _without_cleanup(obj) == _without_cleanup(old):
        return  # the garbage collector must be able to remove references and finalizers
    if attributes.resource in _ROLES:
        _check_role(rbac, user, attributes, obj, old)
    else:
        _check_binding(rbac, user, attributes, obj)


def _check_role(
    rbac: Rbac, user: User, attributes: Attributes, obj: dict[str, Any], old: dict[str, Any] | None
) -> None:
    escalate = Attributes(
        verb="escalate",
        group=attributes.group,
        resource=attributes.resource,
        name=attributes.name,
        namespace=attributes.namespace,
    )
    if rbac.decide(user, escalate).allowed:
        return
    name = obj["metadata"].get("name", "")
    if missing := _missing_rules(rbac, user, attributes, read_rules(obj)):
        raise forbidden_for(attributes.resource, GROUP, name, missing)
    aggregates = "aggregationRule" in obj or "aggregationRule" in (old or {})
    if aggregates and _missing_rules(rbac, user, attributes, _EVERYTHING):
        problem = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden_for(attributes.resource, GROUP, name, problem)


def _check_binding(rbac: Rbac, user: User, attributes: Attributes, obj: dict[str, Any]) -> None:
    kind, name = obj["roleRef"].get("kind", ""), obj["roleRef"].get("name", "")
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(kind)
    if plural is None:
        return  # validation refuses it
    bind = Attributes(verb="bind", group=GROUP, resource=plural, name=name, namespace=attributes.namespace)
    if rbac.decide(user, bind).allowed:
        return
    rules = rbac.rules_of(kind, name, attributes.namespace)
    if rules is None:
        # The message of a server has the name in the request, not the name of the missing role.
        raise not_found(attributes.resource, GROUP, name)
    if missing := _missing_rules(rbac, user, attributes, rules):
        raise forbidden_for(attributes.resource, GROUP, obj["metadata"].get("name", ""), missing)


def _missing_rules(rbac: Rbac, user: User, attributes: Attributes, required: Iterable[PolicyRule]) -> str:
    """Return a real server's message if the user lacks some of these rules; empty otherwise."""
    grants = list(rbac.grants(user, attributes.namespace))
    granted = [grant.rule for grant in grants if grant.rule is not None]
    lacking = uncovered(granted, required)
    if not lacking:
        return ""
    lines = sorted({str(rule) for rule in _merge_verbs(lacking)})
    text = (
        f'user "{user.name}" (groups={go_list(user.groups)}) is attempting to grant RBAC permissions not'
        " currently held:\n" + "\n".join(lines)
    )
    return text + _unresolved(grants, attributes.resource)


def _unresolved(grants: list[GrantedRule], resource: str) -> str:
    errors = [not_found_text(grant, resource) for grant in grants if grant.rule is None]
    return f"; resolution errors: [{aggregate(errors)}]" if errors else ""


def uncovered(granted: Iterable[PolicyRule], required: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the single permissions of the required rules that no granted rule covers."""
    granted = list(granted)
    return [
        permission
        for rule in required
        for permission in _split_rule(rule)
        if not any(_covers(grant, permission) for grant in granted)
    ]


def _split_rule(rule: PolicyRule) -> Iterable[PolicyRule]:
    """Split a rule into rules with a single verb, resource and name."""
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for names in [(name,) for name in rule.resource_names] or _ANY_NAME:
                    yield PolicyRule((verb,), (group,), (resource,), names)
    for url in rule.non_resource_urls:
        for verb in rule.verbs:
            yield PolicyRule((verb,), non_resource_urls=(url,))


def _covers(grant: PolicyRule, permission: PolicyRule) -> bool:
    """Return whether a granted rule covers a single permission."""
    return (
        _has(grant.verbs, permission.verbs)
        and _has(grant.api_groups, permission.api_groups)
        and all(_covers_resource(grant.resources, resource) for resource in permission.resources)
        and all(
            any(covers_path(url, path) for url in grant.non_resource_urls)
            for path in permission.non_resource_urls
        )
        and (
            not grant.resource_names
            or (bool(permission.resource_names) and {*permission.resource_names} <= {*grant.resource_names})
        )
    )


def _has(granted: tuple[str, ...], required: tuple[str, ...]) -> bool:
    return ALL in granted or {*required} <= {*granted}


def _covers_resource(granted: tuple[str, ...], resource: str) -> bool:
    if ALL in granted or resource in granted:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in granted


def _merge_verbs(rules: list[PolicyRule]) -> list[PolicyRule]:
    """Merge the verbs of the permissions of each resource."""
    by_resource: dict[tuple[object, ...], PolicyRule] = {}
    paths: list[PolicyRule] = []
    for rule in rules:
        if rule.non_resource_urls:
            paths.append(rule)
            continue
        key = (rule.api_groups, rule.resources, rule.resource_names)
        merged = by_resource.get(key)
        verbs = (*merged.verbs, *rule.verbs) if merged else rule.verbs
        by_resource[key] = PolicyRule(verbs, rule.api_groups, rule.resources, rule.resource_names)
    return [*paths, *by_resource.values()]


def _without_cleanup(obj: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _CLEANUP}
    return {**obj, "metadata": meta}
