"""The rules of roles, bindings, webhooks and priorities."""

from __future__ import annotations

from typing import Final

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import member, objects_in, strings_in
from ._rule_violations import Json, Violations, forbidden, invalid, required, unsupported
from ._workload_rules import check_selector

_RBAC: Final = "rbac.authorization.k8s.io"
_NO_PATCH: Final = "must be specified when patchType is JSONPatch"


def check_role(obj: Json, *, is_cluster_role: bool = False) -> Violations:
    """Check a Role or a ClusterRole."""
    for index, label_selector in enumerate(
        objects_in(member(obj, "aggregationRule"), "clusterRoleSelectors")
    ):
        yield from check_selector(label_selector, f"aggregationRule.clusterRoleSelectors[{index}]")
    for index, rule in enumerate(objects_in(obj, "rules")):
        path = f"rules[{index}]"
        if rule.get("nonResourceURLs"):
            if not is_cluster_role:
                text = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", rule["nonResourceURLs"], text)
            elif rule.get("apiGroups") or rule.get("resources"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", rule["nonResourceURLs"], text)
            continue
        if not rule.get("apiGroups"):
            yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{path}.resources", "resource rules must supply at least one resource")


def check_role_binding(obj: Json, *, is_cluster_role_binding: bool = False) -> Violations:
    """Check a RoleBinding or a ClusterRoleBinding."""
    kind = member(obj, "roleRef").get("kind", "")
    role_kinds = ("ClusterRole",) if is_cluster_role_binding else ("Role", "ClusterRole")
    if kind not in role_kinds:
        yield unsupported("roleRef.kind", kind, role_kinds)
    for index, subject in enumerate(objects_in(obj, "subjects")):
        path, group = f"subjects[{index}]", subject.get("apiGroup", "")
        if not subject.get("kind"):
            yield unsupported(f"{path}.kind", "", ("ServiceAccount", "User", "Group"))
        if subject.get("kind") == "ServiceAccount":
            if group:
                yield unsupported(f"{path}.apiGroup", group, ("",))
            if subject.get("name") and not FORMATS["subdomain"](subject["name"]):
                yield invalid(f"{path}.name", subject["name"], "a lowercase RFC 1123 subdomain must be given")
            if is_cluster_role_binding and not subject.get("namespace"):
                yield required(f"{path}.namespace")
        elif subject.get("kind") in ("User", "Group") and group not in ("", _RBAC):
            yield unsupported(f"{path}.apiGroup", group, (_RBAC,))


def check_mutations(obj: Json) -> Violations:
    """Check a MutatingAdmissionPolicy: each mutation must have the form of its type."""
    for index, mutation in enumerate(objects_in(member(obj, "spec"), "mutations")):
        path, patch = f"spec.mutations[{index}].jsonPatch", mutation.get("jsonPatch")
        if mutation.get("patchType") == "JSONPatch" and not member(mutation, "jsonPatch").get("expression"):
            yield required(path, _NO_PATCH) if patch is None else required(f"{path}.expression")


def check_webhooks(obj: Json) -> Violations:
    """Check a configuration of webhooks."""
    operations = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
    for index, hook in enumerate(objects_in(obj, "webhooks")):
        path, name = f"webhooks[{index}]", hook.get("name", "")
        if name and name.count(".") < 2:
            yield invalid(f"{path}.name", name, "should be a domain with at least three segments")
        client_config = member(hook, "clientConfig")
        if "url" in client_config and "service" in client_config:
            yield required(f"{path}.clientConfig", "exactly one of url or service is required")
        versions = strings_in(hook, "admissionReviewVersions")
        if versions and not {"v1", "v1beta1"} & {*versions}:
            text = "must include at least one of v1, v1beta1"
            yield invalid(f"{path}.admissionReviewVersions", versions, text)
        for rule_index, rule in enumerate(objects_in(hook, "rules")):
            rule_path = f"{path}.rules[{rule_index}]"
            for field in ("operations", "apiGroups", "apiVersions", "resources"):
                if not rule.get(field):
                    yield required(f"{rule_path}.{field}")
            for operation_index, operation in enumerate(strings_in(rule, "operations")):
                if operation not in operations:
                    yield unsupported(f"{rule_path}.operations[{operation_index}]", operation, operations)


def check_priority_class(obj: Json) -> Violations:
    """Check a PriorityClass."""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        text = (
            "priority class names with 'system-' prefix are reserved for system use only."
            f" error: {name} is not a known system priority class"
        )
        yield forbidden("metadata.name", text)
    elif value > 1_000_000_000:
        yield forbidden("value", "maximum allowed value of a user defined priority is 1000000000")
