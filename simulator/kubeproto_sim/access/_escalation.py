"""Privilege escalation: writers of roles and bindings may not grant what they do not have.

A role may be written by a user who holds all that it grants, or may ``escalate`` it; a binding by one who
holds its role grants, or may ``bind`` it.
https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .._rejections import forbidden_for, not_found
from ._attributes import Attributes
from ._policy_rules import ALL, PolicyRule, covers_path, go_list, read_rules
from ._rbac import GROUP, GrantedRule, Rbac, aggregate, not_found_text
from ._users import MASTERS, User

_ROLES: Final = ("clusterroles", "roles")
_BINDINGS: Final = ("clusterrolebindings", "rolebindings")
_EVERYTHING: Final = (
    PolicyRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)
_NO_NAMES: Final[list[tuple[str, ...]]] = [()]
_CLEANUP: Final = ("ownerReferences", "finalizers", "managedFields", "resourceVersion")


def check_escalation(
    rbac: Rbac, user: User, asked: Attributes, obj: dict[str, Any], old: dict[str, Any] | None
) -> None:
    """Refuse a role or binding that grants more than its writer holds."""
    if asked.group != GROUP or asked.resource not in (*_ROLES, *_BINDINGS) or MASTERS in user.groups:
        return
    if old is not None and _without_cleanup(obj) == _without_cleanup(old):
        return  # the garbage collector must be able to delete them
    if asked.resource in _ROLES:
        _check_role(rbac, user, asked, obj, old)
    else:
        _check_binding(rbac, user, asked, obj)


def _check_role(
    rbac: Rbac, user: User, asked: Attributes, obj: dict[str, Any], old: dict[str, Any] | None
) -> None:
    escalate = Attributes(
        verb="escalate",
        group=asked.group,
        resource=asked.resource,
        name=asked.name,
        namespace=asked.namespace,
    )
    if rbac.decide(user, escalate).allowed:
        return
    name = obj["metadata"].get("name", "")
    if missing := _missing(rbac, user, asked, read_rules(obj)):
        raise forbidden_for(asked.resource, GROUP, name, missing)
    aggregates = "aggregationRule" in obj or "aggregationRule" in (old or {})
    if aggregates and _missing(rbac, user, asked, _EVERYTHING):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden_for(asked.resource, GROUP, name, why)


def _check_binding(rbac: Rbac, user: User, asked: Attributes, obj: dict[str, Any]) -> None:
    kind, name = obj["roleRef"].get("kind", ""), obj["roleRef"].get("name", "")
    plural = {"ClusterRole": "clusterroles", "Role": "roles"}.get(kind)
    if plural is None:
        return  # validation refuses it
    bind = Attributes(verb="bind", group=GROUP, resource=plural, name=name, namespace=asked.namespace)
    if rbac.decide(user, bind).allowed:
        return
    rules = rbac.rules_of(kind, name, asked.namespace)
    if rules is None:
        # The message of the registry has the name in the request, not the one it looked up.
        raise not_found(asked.resource, GROUP, name)
    if missing := _missing(rbac, user, asked, rules):
        raise forbidden_for(asked.resource, GROUP, obj["metadata"].get("name", ""), missing)


def _missing(rbac: Rbac, user: User, asked: Attributes, wanted: Iterable[PolicyRule]) -> str:
    """Return a server's message if the user does not hold all of these rules; empty if they do."""
    grants = list(rbac.grants(user, asked.namespace))
    held = [grant.rule for grant in grants if grant.rule is not None]
    lacking = uncovered(held, wanted)
    if not lacking:
        return ""
    lines = sorted({str(rule) for rule in _compacted(lacking)})
    text = (
        f'user "{user.name}" (groups={go_list(user.groups)}) is attempting to grant RBAC permissions not'
        " currently held:\n" + "\n".join(lines)
    )
    return text + _unresolved(grants, asked.resource)


def _unresolved(grants: list[GrantedRule], resource: str) -> str:
    errors = [not_found_text(grant, resource) for grant in grants if grant.rule is None]
    return f"; resolution errors: [{aggregate(errors)}]" if errors else ""


def uncovered(held: Iterable[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the single permissions among the wanted rules that no held rule covers."""
    held = list(held)
    return [
        one for rule in wanted for one in _broken_down(rule) if not any(_covers(each, one) for each in held)
    ]


def _broken_down(rule: PolicyRule) -> Iterable[PolicyRule]:
    """Return a rule as rules with one verb, one resource and one name each."""
    for group in rule.api_groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for names in [(name,) for name in rule.resource_names] or _NO_NAMES:
                    yield PolicyRule((verb,), (group,), (resource,), names)
    for url in rule.non_resource_urls:
        for verb in rule.verbs:
            yield PolicyRule((verb,), non_resource_urls=(url,))


def _covers(held: PolicyRule, one: PolicyRule) -> bool:
    """Return whether a held rule covers a single permission."""
    return (
        _has(held.verbs, one.verbs)
        and _has(held.api_groups, one.api_groups)
        and all(_covers_resource(held.resources, resource) for resource in one.resources)
        and all(
            any(covers_path(url, path) for url in held.non_resource_urls) for path in one.non_resource_urls
        )
        and (
            not held.resource_names
            or (bool(one.resource_names) and {*one.resource_names} <= {*held.resource_names})
        )
    )


def _has(held: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    return ALL in held or {*wanted} <= {*held}


def _covers_resource(held: tuple[str, ...], resource: str) -> bool:
    if ALL in held or resource in held:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in held


def _compacted(rules: list[PolicyRule]) -> list[PolicyRule]:
    """Return the same permissions with the verbs of each resource together."""
    together: dict[tuple[object, ...], PolicyRule] = {}
    paths: list[PolicyRule] = []
    for rule in rules:
        if rule.non_resource_urls:
            paths.append(rule)
            continue
        key = (rule.api_groups, rule.resources, rule.resource_names)
        before = together.get(key)
        verbs = (*before.verbs, *rule.verbs) if before else rule.verbs
        together[key] = PolicyRule(verbs, rule.api_groups, rule.resources, rule.resource_names)
    return [*paths, *together.values()]


def _without_cleanup(obj: dict[str, Any]) -> dict[str, Any]:
    meta = {name: value for name, value in obj["metadata"].items() if name not in _CLEANUP}
    return {**obj, "metadata": meta}
