"""The checks of a server on roles, bindings, webhooks, priorities and definitions."""

from __future__ import annotations

from typing import Final

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import listed, member, texts
from ._pod_rules import Found, Json, forbidden, invalid, required, unsupported
from ._workload_rules import selector

_RBAC: Final = "rbac.authorization.k8s.io"
_NO_PATCH: Final = "must be specified when patchType is JSONPatch"


def role(obj: Json, *, everywhere: bool = False) -> Found:
    """A Role; a ClusterRole is `everywhere`."""
    for at, one in enumerate(listed(member(obj, "aggregationRule"), "clusterRoleSelectors")):
        yield from selector(one, f"aggregationRule.clusterRoleSelectors[{at}]")
    for at, rule in enumerate(listed(obj, "rules")):
        where = f"rules[{at}]"
        if rule.get("nonResourceURLs"):
            if not everywhere:
                text = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"{where}.nonResourceURLs", rule["nonResourceURLs"], text)
            elif rule.get("apiGroups") or rule.get("resources"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{where}.nonResourceURLs", rule["nonResourceURLs"], text)
            continue
        if not rule.get("apiGroups"):
            yield required(f"{where}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{where}.resources", "resource rules must supply at least one resource")


def role_binding(obj: Json, *, everywhere: bool = False) -> Found:
    """A RoleBinding; a ClusterRoleBinding is `everywhere`."""
    kind = member(obj, "roleRef").get("kind", "")
    known = ("ClusterRole",) if everywhere else ("Role", "ClusterRole")
    if kind not in known:
        yield unsupported("roleRef.kind", kind, known)
    for at, one in enumerate(listed(obj, "subjects")):
        where, group = f"subjects[{at}]", one.get("apiGroup", "")
        if not one.get("kind"):
            yield unsupported(f"{where}.kind", "", ("ServiceAccount", "User", "Group"))
        if one.get("kind") == "ServiceAccount":
            if group:
                yield unsupported(f"{where}.apiGroup", group, ("",))
            if one.get("name") and not FORMATS["subdomain"](one["name"]):
                yield invalid(f"{where}.name", one["name"], "a lowercase RFC 1123 subdomain must be given")
            if everywhere and not one.get("namespace"):
                yield required(f"{where}.namespace")
        elif one.get("kind") in ("User", "Group") and group not in ("", _RBAC):
            yield unsupported(f"{where}.apiGroup", group, (_RBAC,))


def mutations(obj: Json) -> Found:
    """A MutatingAdmissionPolicy: each mutation has the form that its type names."""
    for at, one in enumerate(listed(member(obj, "spec"), "mutations")):
        path, patch = f"spec.mutations[{at}].jsonPatch", one.get("jsonPatch")
        if one.get("patchType") == "JSONPatch" and not member(one, "jsonPatch").get("expression"):
            yield required(path, _NO_PATCH) if patch is None else required(f"{path}.expression")


def webhooks(obj: Json) -> Found:
    """A configuration of webhooks."""
    operations = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
    for at, hook in enumerate(listed(obj, "webhooks")):
        where, name = f"webhooks[{at}]", hook.get("name", "")
        if name and name.count(".") < 2:
            yield invalid(f"{where}.name", name, "should be a domain with at least three segments")
        client = member(hook, "clientConfig")
        if "url" in client and "service" in client:
            yield required(f"{where}.clientConfig", "exactly one of url or service is required")
        versions = texts(hook, "admissionReviewVersions")
        if versions and not {"v1", "v1beta1"} & {*versions}:
            text = "must include at least one of v1, v1beta1"
            yield invalid(f"{where}.admissionReviewVersions", versions, text)
        for place, rule in enumerate(listed(hook, "rules")):
            inner = f"{where}.rules[{place}]"
            for part in ("operations", "apiGroups", "apiVersions", "resources"):
                if not rule.get(part):
                    yield required(f"{inner}.{part}")
            for spot, one in enumerate(texts(rule, "operations")):
                if one not in operations:
                    yield unsupported(f"{inner}.operations[{spot}]", one, operations)


def priority(obj: Json) -> Found:
    """A PriorityClass."""
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        yield forbidden("metadata.name", "priority class names with 'system-' prefix are reserved")
    elif value > 1_000_000_000:
        yield forbidden("value", "maximum allowed value of a user defined priority is 1000000000")


_MIGRATE: Final = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until"
    " a storage migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)


def definition(obj: Json) -> Found:
    """A definition, in addition to what `check_definition` finds."""
    spec = member(obj, "spec")
    versions = listed(spec, "versions")
    if sum(bool(one.get("storage")) for one in versions) != 1:
        yield invalid("status.storedVersions", [], "must have at least one stored version")
    known = {one.get("name") for one in versions}
    for at, name in enumerate(texts(member(obj, "status"), "storedVersions")):
        if name not in known:
            yield invalid(f"status.storedVersions[{at}]", name, _MIGRATE.format(name))
    for one in versions[:1]:
        if not FORMATS["dns1035"](one.get("name", "")):
            yield invalid("spec.version", one.get("name", ""), "a DNS-1035 label must be given")
    if not member(spec, "names").get("kind"):
        yield invalid("spec.names.listKind", "List", "kind and listKind may not be the same")
