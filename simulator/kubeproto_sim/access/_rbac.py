"""`Rbac`: the rules of a user in a namespace, from roles and bindings, and the decision on a request.

Bindings are read again only after a change of the four kinds: a controller makes thousands of requests
between two changes of a role.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from .._state import ServerState
from ..storage._json_values import objects_in, quoted
from ..storage._storage import ResourceStorage
from ._attributes import Attributes
from ._policy_rules import PolicyRule, read_rules
from ._users import MASTERS, User

GROUP: Final = "rbac.authorization.k8s.io"
_RESOURCES: Final = ("clusterrolebindings", "rolebindings", "clusterroles", "roles")


class Decision(Struct, frozen=True):
    """Whether a request is allowed, and the reason if a server reports one."""

    allowed: bool
    reason: str = ""


class GrantedRule(Struct, frozen=True):
    """A rule of a user and its binding, or a missing role."""

    rule: PolicyRule | None
    source: str = ""
    missing: tuple[str, str] | None = None  # kind and name of the role


class Subject(Struct, frozen=True):
    """A subject of a binding."""

    kind: str
    name: str
    namespace: str = ""

    def is_for(self, user: User, namespace: str) -> bool:
        """Return whether this is the user, a group of the user, or the service account."""
        match self.kind:
            case "User":
                return user.name == self.name
            case "Group":
                return self.name in user.groups
            case "ServiceAccount":
                account_namespace = self.namespace or namespace
                return (
                    bool(account_namespace)
                    and user.name == f"system:serviceaccount:{account_namespace}:{self.name}"
                )
            case _:
                return False

    def described(self, namespace: str) -> str:
        """Return the subject in the form of reasons."""
        if self.kind == "ServiceAccount":
            return f"{self.kind} {quoted(f'{self.name}/{self.namespace or namespace}')}"
        return f"{self.kind} {quoted(self.name)}"


class _Binding(Struct, frozen=True):
    kind: str
    name: str
    namespace: str
    role_kind: str
    role: str
    subjects: tuple[Subject, ...]

    def source(self, subject: Subject) -> str:
        name = f"{self.name}/{self.namespace}" if self.namespace else self.name
        role = f"{self.role_kind} {quoted(self.role)}"
        return f"{self.kind} {quoted(name)} of {role} to {subject.described(self.namespace)}"


class Rbac:
    """Decides by the roles and bindings of the cluster."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._state_key: tuple[object, ...] = ()
        self._bindings: dict[str, list[_Binding]] = {}
        self._rules: dict[tuple[str, str, str], tuple[PolicyRule, ...]] = {}

    def decide(self, user: User, attributes: Attributes) -> Decision:
        """Return whether a user may make a request."""
        if MASTERS in user.groups:
            return Decision(allowed=True)
        missing: list[str] = []
        for grant in self.grants(user, attributes.namespace):
            if grant.rule is None:
                missing.append(not_found_text(grant))
            elif grant.rule.allows(attributes):
                return Decision(allowed=True, reason=f"RBAC: allowed by {grant.source}")
        return Decision(allowed=False, reason=f"RBAC: {aggregate(missing)}" if missing else "")

    def grants(self, user: User, namespace: str) -> Iterator[GrantedRule]:
        """Return the rules of a user: those of the whole cluster first, then those of the namespace."""
        self._refresh()
        for binding_namespace in ("", namespace) if namespace else ("",):
            for binding in self._bindings.get(binding_namespace, ()):
                subject = next(
                    (
                        candidate
                        for candidate in binding.subjects
                        if candidate.is_for(user, binding_namespace)
                    ),
                    None,
                )
                if subject is None:
                    continue
                rules = self.rules_of(binding.role_kind, binding.role, binding_namespace)
                if rules is None:
                    yield GrantedRule(None, missing=(binding.role_kind, binding.role))
                    continue
                source = binding.source(subject)
                for rule in rules:
                    yield GrantedRule(rule, source)

    def rules_of(self, kind: str, name: str, namespace: str) -> tuple[PolicyRule, ...] | None:
        """Return the rules of a role; None if it does not exist."""
        self._refresh()
        return self._rules.get((kind, namespace if kind == "Role" else "", name))

    def _refresh(self) -> None:
        resources = [self.state.storage.resource(f"{name}.{GROUP}") for name in _RESOURCES]
        state_key = (self.state.storage, *(storage.end for storage in resources))
        if state_key == self._state_key:
            return
        self._state_key = state_key
        self._bindings, self._rules = {}, {}
        for storage, kind in zip(resources[:2], ("ClusterRoleBinding", "RoleBinding"), strict=True):
            self._read_bindings(storage, kind)
        for storage, kind in zip(resources[2:], ("ClusterRole", "Role"), strict=True):
            for stored in storage.objects.values():
                rules = read_rules(msgspec.json.decode(stored.data))
                self._rules[kind, stored.namespace, stored.name] = rules

    def _read_bindings(self, storage: ResourceStorage, kind: str) -> None:
        for key in storage.sorted_keys():
            stored = storage.objects[key]
            obj: dict[str, Any] = msgspec.json.decode(stored.data)
            role: dict[str, str] = obj["roleRef"]
            subjects = tuple(
                Subject(subject["kind"], subject["name"], subject.get("namespace", ""))
                for subject in objects_in(obj, "subjects")
            )
            self._bindings.setdefault(stored.namespace, []).append(
                _Binding(kind, stored.name, stored.namespace, role["kind"], role["name"], subjects)
            )


def not_found_text(grant: GrantedRule, resource: str = "") -> str:
    """Return the message for a missing role: authorization names its kind, the registry its resource."""
    assert grant.missing is not None  # other grants have a rule
    kind, name = grant.missing
    return f"{resource or kind.lower()}.{GROUP} {quoted(name)} not found"


def aggregate(errors: list[str]) -> str:
    """Join errors as Go does: without duplicates, and several errors in brackets."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
