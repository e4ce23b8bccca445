"""Random roles, bindings and requests, and the verdict of a server with RBAC on each request.

The same cases run against a real server (``make access``, ``make real``) and the simulated server. An
administrator creates the roles, and impersonates other users; the user "nobody", who has a token, may
impersonate users if a role permits it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

RECORDED: Final = Path(__file__).parent / "access_verdicts.json"
SEED: Final = "access"
GROUP: Final = "rbac.authorization.k8s.io"
RBAC: Final = f"/apis/{GROUP}/v1"
VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "*")
GROUPS: Final = ("", "apps", "example.io", GROUP, "*")
RESOURCES: Final = (
    "pods", "pods/log", "pods/status", "*/status", "configmaps", "secrets", "deployments",
    "deployments/scale", "*/scale", "namespaces", "nodes", "widgets", "roles", "rolebindings", "*",
)  # fmt: skip
URLS: Final = ("/healthz", "/metrics", "/metrics/*", "/logs/*", "/x", "/x*", "*")
IMPERSONATION: Final = (
    ("impersonate", "", "users"), ("impersonate", "", "groups"), ("impersonate", "", "serviceaccounts"),
    ("impersonate", "authentication.k8s.io", "uids"),
    ("impersonate", "authentication.k8s.io", "userextras/team"),
    ("impersonate:user-info", "authentication.k8s.io", "users"),
    ("impersonate:user-info", "authentication.k8s.io", "groups"),
    ("impersonate:serviceaccount", "authentication.k8s.io", "serviceaccounts"),
    ("impersonate:arbitrary-node", "authentication.k8s.io", "nodes"),
    ("impersonate-on:user-info:list", "", "pods"), ("impersonate-on:serviceaccount:list", "", "pods"),
    ("impersonate-on:arbitrary-node:list", "*", "*"),
)  # fmt: skip
Json = dict[str, Any]


class AccessRequest(Struct, frozen=True):
    """A request; `by` is "admin" or "nobody", and the headers contain the impersonated user."""

    method: str
    target: str
    body: Json | None = None
    headers: tuple[tuple[str, str], ...] = ()
    by: str = "admin"


# Sends a request and returns the status and the decoded body.
Send = Callable[[AccessRequest], tuple[int, Any]]


class Cases:
    """Random objects and requests, which depend only on the seed."""

    def __init__(self, seed: str, count: int) -> None:
        self.rng = random.Random(seed)
        self.suffix = f"{self.rng.randrange(16**6):06x}"
        self.spaces = [f"access-{self.suffix}-{letter}" for letter in "ab"]
        self.users = [f"user-{self.suffix}-{letter}" for letter in "abcd"]
        self.groups = [f"group-{self.suffix}-{letter}" for letter in "ab"]
        self.cluster_roles = [f"cluster-role-{self.suffix}-{number}" for number in range(5)]
        self.writers = f"writers-{self.suffix}"
        self.roles = [f"role-{self.suffix}-{number}" for number in range(4)]
        self.objects = list(self._objects())
        self.requests = [self._request() for _ in range(count)]

    # Objects that the administrator creates.

    def _objects(self) -> Any:
        for namespace in self.spaces:
            yield AccessRequest("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            yield AccessRequest(
                "POST", f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "robot"}}
            )
        for name in self.cluster_roles:
            rules = [self._rule(cluster=True) for _ in range(self.rng.randint(1, 3))]
            yield AccessRequest("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        for namespace in self.spaces:
            for name in self.roles:
                rules = [self._rule(cluster=False) for _ in range(self.rng.randint(1, 3))]
                yield AccessRequest(
                    "POST",
                    f"{RBAC}/namespaces/{namespace}/roles",
                    {"metadata": {"name": name}, "rules": rules},
                )
        for number in range(4):
            yield AccessRequest(
                "POST", f"{RBAC}/clusterrolebindings", self._binding(f"b-{self.suffix}-{number}")
            )
        for namespace in self.spaces:
            for number in range(5):
                body = self._binding(f"b-{number}", namespace)
                yield AccessRequest("POST", f"{RBAC}/namespaces/{namespace}/rolebindings", body)
        rules = [
            {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
            for verb, group, resource in self.rng.sample(IMPERSONATION, 8)
        ]
        yield from self._granted(f"impersonator-{self.suffix}", rules, "User", "nobody")
        rules = [{"verbs": ["create", "update"], "apiGroups": [GROUP], "resources": ["*"]}]
        yield from self._granted(self.writers, rules, "Group", self.writers)

    def _granted(self, name: str, rules: list[Json], kind: str, subject: str) -> Any:
        """Return a ClusterRole, and a binding of the same name to a user or group."""
        yield AccessRequest("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        subjects = [{"kind": kind, "name": subject, "apiGroup": GROUP}]
        body = {"metadata": {"name": name}, "roleRef": _role("ClusterRole", name), "subjects": subjects}
        yield AccessRequest("POST", f"{RBAC}/clusterrolebindings", body)

    def _rule(self, *, cluster: bool) -> Json:
        rng = self.rng
        if cluster and rng.random() < 0.25:
            return {"nonResourceURLs": _sample(rng, URLS), "verbs": _sample(rng, ("get", "post", "*"))}
        rule: Json = {"apiGroups": _sample(rng, GROUPS), "resources": _sample(rng, RESOURCES, 3)}
        rule["verbs"] = _sample(rng, VERBS, 4)
        if rng.random() < 0.3:
            rule["resourceNames"] = _sample(rng, ("one", "two", *self.roles))
        if rng.random() < 0.1:
            rule |= {
                "apiGroups": [GROUP],
                "resources": ["roles", "clusterroles"],
                "verbs": ["escalate", "bind"],
            }
        return rule

    def _binding(self, name: str, namespace: str = "") -> Json:
        rng = self.rng
        kind = "Role" if namespace and rng.random() < 0.6 else "ClusterRole"
        role = rng.choice(self.roles if kind == "Role" else self.cluster_roles)
        if rng.random() < 0.2:
            role = "not-there"
        subjects: list[Json] = []
        for _ in range(rng.randint(1, 2)):
            match rng.randrange(4):
                case 0:
                    subjects.append({"kind": "Group", "name": rng.choice(self.groups), "apiGroup": GROUP})
                case 1:
                    account_namespace = rng.choice(self.spaces)
                    subjects.append(
                        {"kind": "ServiceAccount", "name": "robot", "namespace": account_namespace}
                    )
                case _:
                    subjects.append({"kind": "User", "name": rng.choice(self.users), "apiGroup": GROUP})
        return {"metadata": {"name": name}, "roleRef": _role(kind, role), "subjects": subjects}

    # Requests.

    def _request(self) -> AccessRequest:
        match self.rng.randrange(14):
            case 0 | 12:
                return self._grant()
            case 1 | 13:
                return self._bind()
            case 2:
                return self._access_review()
            case 3:
                namespace = self.rng.choice(self.spaces)
                return self._as(
                    AccessRequest(
                        "POST", _review("selfsubjectrulesreviews"), {"spec": {"namespace": namespace}}
                    )
                )
            case 4:
                return self._impersonating()
            case 5:
                path = self.rng.choice(
                    ("/healthz", "/metrics", "/metrics/a", "/logs/a/b", "/x", "/xy", "/api", "/nope/")
                )
                return self._as(AccessRequest("GET", path))
            case _:
                return self._as(self._resource())

    def _resource(self) -> AccessRequest:
        rng = self.rng
        root, resource = rng.choice((
            ("/api/v1", "pods"), ("/api/v1", "configmaps"), ("/api/v1", "secrets"),
            ("/apis/apps/v1", "deployments"),
            ("/apis/example.io/v1", "widgets"), (RBAC, "roles"),
        ))  # fmt: skip
        if rng.random() < 0.12:
            return AccessRequest(
                "GET", "/api/v1/" + rng.choice(("nodes", "namespaces", "namespaces/one", "nodes/one", "pods"))
            )
        target = f"{root}/namespaces/{rng.choice(self.spaces)}/{resource}"
        method = rng.choice(("GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE"))
        if method == "POST":
            return AccessRequest(method, f"{target}?dryRun=All", {})
        if method == "DELETE" and rng.random() < 0.3:
            return AccessRequest(method, f"{target}?dryRun=All")
        if method == "GET" and rng.random() < 0.5:
            query = rng.choice(("", "", "?watch=true&timeoutSeconds=1", "?fieldSelector=metadata.name%3Done"))
            return AccessRequest(method, target + query)
        target += f"/{rng.choice(('one', 'two', 'three'))}"
        if rng.random() < 0.3:
            target += "/" + rng.choice(
                {"pods": ("log", "status"), "deployments": ("scale", "status")}.get(resource, ("status",))
            )
        return AccessRequest(
            method,
            target if method == "GET" else f"{target}?dryRun=All",
            None if method in ("GET", "DELETE") else {},
        )

    def _grant(self) -> AccessRequest:
        """Return a write of a role that the writer may not be able to grant."""
        rng, namespace = self.rng, self.rng.choice(self.spaces)
        cluster = rng.random() < 0.3
        target = f"{RBAC}/clusterroles" if cluster else f"{RBAC}/namespaces/{namespace}/roles"
        body: Json = {"metadata": {"name": f"new-{rng.randrange(9)}"}}
        body["rules"] = [self._rule(cluster=cluster) for _ in range(rng.randint(0, 2))]
        if cluster and rng.random() < 0.4:
            body["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        if rng.random() < 0.4:
            name = rng.choice(self.cluster_roles if cluster else self.roles)
            body["metadata"]["name"] = name
            return self._as(AccessRequest("PUT", f"{target}/{name}?dryRun=All", body), writer=True)
        return self._as(AccessRequest("POST", f"{target}?dryRun=All", body), writer=True)

    def _bind(self) -> AccessRequest:
        rng, namespace = self.rng, self.rng.choice(self.spaces)
        name = f"new-{rng.randrange(9)}"
        if rng.random() < 0.3:
            return self._as(
                AccessRequest("POST", f"{RBAC}/clusterrolebindings?dryRun=All", self._binding(name)),
                writer=True,
            )
        target = f"{RBAC}/namespaces/{namespace}/rolebindings?dryRun=All"
        return self._as(AccessRequest("POST", target, self._binding(name, namespace)), writer=True)

    def _access_review(self) -> AccessRequest:
        rng = self.rng
        spec: Json = {}
        if rng.random() < 0.2:
            spec["nonResourceAttributes"] = {"verb": "get", "path": rng.choice(("/x", "/healthz", "/logs/a"))}
        else:
            resource, _, sub = rng.choice(RESOURCES).partition("/")
            attributes = {"verb": rng.choice(VERBS), "group": rng.choice(GROUPS), "resource": resource}
            attributes |= {"subresource": sub} if sub else {}
            attributes |= {"name": "one"} if rng.random() < 0.3 else {}
            attributes |= {"namespace": rng.choice(self.spaces)} if rng.random() < 0.7 else {}
            spec["resourceAttributes"] = attributes
        if rng.random() < 0.5:
            return self._as(AccessRequest("POST", _review("selfsubjectaccessreviews"), {"spec": spec}))
        spec |= {"user": rng.choice(self.users)} if rng.random() < 0.8 else {}
        spec |= {"groups": [rng.choice(self.groups)]} if rng.random() < 0.6 else {}
        if rng.random() < 0.3:
            namespace = rng.choice(self.spaces)
            target = f"/apis/authorization.k8s.io/v1/namespaces/{namespace}/localsubjectaccessreviews"
            return AccessRequest("POST", target, {"metadata": {"namespace": namespace}, "spec": spec})
        return AccessRequest("POST", _review("subjectaccessreviews"), {"spec": spec})

    def _impersonating(self) -> AccessRequest:
        """Return a request of "nobody" that impersonates a user."""
        rng = self.rng
        namespace = rng.choice(self.spaces)
        name = rng.choice((*self.users, f"system:serviceaccount:{namespace}:robot", "system:node:one"))
        headers = [("Impersonate-User", name)] if rng.random() < 0.95 else []
        if rng.random() < 0.4:
            headers.append(("Impersonate-Group", rng.choice((*self.groups, "system:masters"))))
        if rng.random() < 0.2:
            headers.append(("Impersonate-Uid", "u1"))
        if rng.random() < 0.2:
            headers.append(("Impersonate-Extra-Team", "blue"))
        target = rng.choice(
            (
                f"/api/v1/namespaces/{namespace}/pods",
                "/api/v1/nodes",
                f"/api/v1/namespaces/{namespace}/pods/one",
            )
        )
        if rng.random() < 0.2:
            return AccessRequest(
                "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, tuple(headers), "nobody"
            )
        return AccessRequest("GET", target, None, tuple(headers), "nobody")

    def _as(self, request: AccessRequest, *, writer: bool = False) -> AccessRequest:
        """Return the request with the impersonation of a random user."""
        rng = self.rng
        if rng.random() < 0.15 and not writer:
            name = f"system:serviceaccount:{rng.choice(self.spaces)}:robot"
            headers = [("Impersonate-User", name)]
        else:
            headers = [("Impersonate-User", rng.choice(self.users))]
            if rng.random() < 0.5 or writer:
                headers.append(("Impersonate-Group", rng.choice(self.groups)))
            if writer and rng.random() < 0.8:
                headers.append(("Impersonate-Group", self.writers))
        return AccessRequest(request.method, request.target, request.body, tuple(headers), request.by)


def _role(kind: str, name: str) -> Json:
    return {"apiGroup": GROUP, "kind": kind, "name": name}


def _sample(rng: random.Random, values: tuple[str, ...], max_count: int = 2) -> list[str]:
    return rng.sample(values, rng.randint(1, min(max_count, len(values))))


def _review(plural: str) -> str:
    return f"/apis/authorization.k8s.io/v1/{plural}"


def verdict(status: int, body: Any) -> Any:
    """Return the verdict of authorization: its refusal, the status of a review, or "passed"."""
    if not body or status < 201:
        return "passed"
    content: Json = body
    missing_role = status == 404 and f".{GROUP}" in str(content.get("message"))
    if status in (401, 403) or missing_role:
        return [status, _with_sorted_roles(content)]
    if status == 400 and "impersonating" in str(content):
        return [status, content["message"]]
    if status == 201 and str(content.get("kind", "")).endswith("Review"):
        return [status, _review_status(content["status"])]
    if status == 422 and content["details"].get("group") == "authorization.k8s.io":
        return [status, _without_address(content)]
    return "passed"


def _review_status(status: Json) -> Json:
    """Return the status of a review without random parts: the named binding and the order of rules."""
    status = json.loads(json.dumps(status))
    if "RBAC: allowed by" in status.get("reason", ""):
        status["reason"] = "RBAC: allowed by"
    elif "reason" in status:
        status["reason"] = _sort_missing_roles(status["reason"])
    if "evaluationError" in status:
        status["evaluationError"] = _sort_missing_roles(status["evaluationError"])
    for name in ("resourceRules", "nonResourceRules"):
        if name in status:
            status[name] = sorted(status[name] or (), key=lambda rule: json.dumps(rule, sort_keys=True))
    return status


def _without_address(body: Json) -> Json:
    """Remove quoted values from a refusal: some of them are memory addresses of the server."""
    return {**body, "message": re.sub(r"Invalid value: .*?: ", "", body["message"])} | {
        "details": {**body["details"], "causes": [cause["field"] for cause in body["details"]["causes"]]}
    }


def _with_sorted_roles(body: Json) -> Json:
    return {**body, "message": _sort_missing_roles(body["message"])}


def _sort_missing_roles(text: str) -> str:
    """Sort the list of missing roles in a message."""
    return re.sub(
        r"(?<=\[)[^\[\]]* not found(?=\])", lambda match: ", ".join(sorted(match[0].split(", "))), text
    )


def verdicts(cases: Cases, send: Send) -> list[Any]:
    """Return the verdicts of a server on the requests; the objects must exist already."""
    return [verdict(*send(request)) for request in cases.requests]
