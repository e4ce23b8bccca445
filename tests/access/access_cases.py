"""Random roles, bindings and requests, and what a server with RBAC says of each request.

The same cases are put to a real server (``make access``, ``make real``) and to the simulated one. An
administrator makes the roles, and asks as others by impersonation; "nobody", who has a token, impersonates
by rights that a role gives.
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


class Ask(Struct, frozen=True):
    """One request; `by` is "admin" or "nobody", and the headers say as whom."""

    method: str
    target: str
    body: Json | None = None
    headers: tuple[tuple[str, str], ...] = ()
    by: str = "admin"


# Sends a request and returns the status and the decoded body.
Send = Callable[[Ask], tuple[int, Any]]


class Cases:
    """The objects and the requests that a seed decides."""

    def __init__(self, seed: str, count: int) -> None:
        self.rng = random.Random(seed)
        self.mark = f"{self.rng.randrange(16**6):06x}"
        self.spaces = [f"access-{self.mark}-{letter}" for letter in "ab"]
        self.users = [f"user-{self.mark}-{letter}" for letter in "abcd"]
        self.groups = [f"group-{self.mark}-{letter}" for letter in "ab"]
        self.cluster_roles = [f"cluster-role-{self.mark}-{number}" for number in range(5)]
        self.writers = f"writers-{self.mark}"
        self.roles = [f"role-{self.mark}-{number}" for number in range(4)]
        self.objects = list(self._objects())
        self.asks = [self._ask() for _ in range(count)]

    # What the administrator makes.

    def _objects(self) -> Any:
        for space in self.spaces:
            yield Ask("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
            yield Ask("POST", f"/api/v1/namespaces/{space}/serviceaccounts", {"metadata": {"name": "robot"}})
        for name in self.cluster_roles:
            rules = [self._rule(cluster=True) for _ in range(self.rng.randint(1, 3))]
            yield Ask("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        for space in self.spaces:
            for name in self.roles:
                rules = [self._rule(cluster=False) for _ in range(self.rng.randint(1, 3))]
                yield Ask(
                    "POST", f"{RBAC}/namespaces/{space}/roles", {"metadata": {"name": name}, "rules": rules}
                )
        for number in range(4):
            yield Ask("POST", f"{RBAC}/clusterrolebindings", self._binding(f"b-{self.mark}-{number}"))
        for space in self.spaces:
            for number in range(5):
                body = self._binding(f"b-{number}", space)
                yield Ask("POST", f"{RBAC}/namespaces/{space}/rolebindings", body)
        rules = [
            {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
            for verb, group, resource in self.rng.sample(IMPERSONATION, 8)
        ]
        yield from self._granted(f"impersonator-{self.mark}", rules, "User", "nobody")
        rules = [{"verbs": ["create", "update"], "apiGroups": [GROUP], "resources": ["*"]}]
        yield from self._granted(self.writers, rules, "Group", self.writers)

    def _granted(self, name: str, rules: list[Json], kind: str, subject: str) -> Any:
        """A role for the whole cluster, and its binding to one user or group, all by one name."""
        yield Ask("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        subjects = [{"kind": kind, "name": subject, "apiGroup": GROUP}]
        body = {"metadata": {"name": name}, "roleRef": _role("ClusterRole", name), "subjects": subjects}
        yield Ask("POST", f"{RBAC}/clusterrolebindings", body)

    def _rule(self, *, cluster: bool) -> Json:
        rng = self.rng
        if cluster and rng.random() < 0.25:
            return {"nonResourceURLs": _some(rng, URLS), "verbs": _some(rng, ("get", "post", "*"))}
        rule: Json = {"apiGroups": _some(rng, GROUPS), "resources": _some(rng, RESOURCES, 3)}
        rule["verbs"] = _some(rng, VERBS, 4)
        if rng.random() < 0.3:
            rule["resourceNames"] = _some(rng, ("one", "two", *self.roles))
        if rng.random() < 0.1:
            rule |= {
                "apiGroups": [GROUP],
                "resources": ["roles", "clusterroles"],
                "verbs": ["escalate", "bind"],
            }
        return rule

    def _binding(self, name: str, space: str = "") -> Json:
        rng = self.rng
        kind = "Role" if space and rng.random() < 0.6 else "ClusterRole"
        role = rng.choice(self.roles if kind == "Role" else self.cluster_roles)
        if rng.random() < 0.2:
            role = "not-there"
        subjects: list[Json] = []
        for _ in range(rng.randint(1, 2)):
            match rng.randrange(4):
                case 0:
                    subjects.append({"kind": "Group", "name": rng.choice(self.groups), "apiGroup": GROUP})
                case 1:
                    home = rng.choice(self.spaces)
                    subjects.append({"kind": "ServiceAccount", "name": "robot", "namespace": home})
                case _:
                    subjects.append({"kind": "User", "name": rng.choice(self.users), "apiGroup": GROUP})
        return {"metadata": {"name": name}, "roleRef": _role(kind, role), "subjects": subjects}

    # What is asked.

    def _ask(self) -> Ask:
        match self.rng.randrange(14):
            case 0 | 12:
                return self._grant()
            case 1 | 13:
                return self._bind()
            case 2:
                return self._access_review()
            case 3:
                space = self.rng.choice(self.spaces)
                return self._as(
                    Ask("POST", _review("selfsubjectrulesreviews"), {"spec": {"namespace": space}})
                )
            case 4:
                return self._impersonating()
            case 5:
                path = self.rng.choice(
                    ("/healthz", "/metrics", "/metrics/a", "/logs/a/b", "/x", "/xy", "/api", "/nope/")
                )
                return self._as(Ask("GET", path))
            case _:
                return self._as(self._resource())

    def _resource(self) -> Ask:
        rng = self.rng
        root, resource = rng.choice((
            ("/api/v1", "pods"), ("/api/v1", "configmaps"), ("/api/v1", "secrets"),
            ("/apis/apps/v1", "deployments"),
            ("/apis/example.io/v1", "widgets"), (RBAC, "roles"),
        ))  # fmt: skip
        if rng.random() < 0.12:
            return Ask(
                "GET", "/api/v1/" + rng.choice(("nodes", "namespaces", "namespaces/one", "nodes/one", "pods"))
            )
        target = f"{root}/namespaces/{rng.choice(self.spaces)}/{resource}"
        method = rng.choice(("GET", "GET", "GET", "POST", "PUT", "PATCH", "DELETE"))
        if method == "POST":
            return Ask(method, f"{target}?dryRun=All", {})
        if method == "DELETE" and rng.random() < 0.3:
            return Ask(method, f"{target}?dryRun=All")
        if method == "GET" and rng.random() < 0.5:
            query = rng.choice(("", "", "?watch=true&timeoutSeconds=1", "?fieldSelector=metadata.name%3Done"))
            return Ask(method, target + query)
        target += f"/{rng.choice(('one', 'two', 'three'))}"
        if rng.random() < 0.3:
            target += "/" + rng.choice(
                {"pods": ("log", "status"), "deployments": ("scale", "status")}.get(resource, ("status",))
            )
        return Ask(
            method,
            target if method == "GET" else f"{target}?dryRun=All",
            None if method in ("GET", "DELETE") else {},
        )

    def _grant(self) -> Ask:
        """A role that its writer may not be able to grant."""
        rng, space = self.rng, self.rng.choice(self.spaces)
        cluster = rng.random() < 0.3
        target = f"{RBAC}/clusterroles" if cluster else f"{RBAC}/namespaces/{space}/roles"
        body: Json = {"metadata": {"name": f"new-{rng.randrange(9)}"}}
        body["rules"] = [self._rule(cluster=cluster) for _ in range(rng.randint(0, 2))]
        if cluster and rng.random() < 0.4:
            body["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
        if rng.random() < 0.4:
            name = rng.choice(self.cluster_roles if cluster else self.roles)
            body["metadata"]["name"] = name
            return self._as(Ask("PUT", f"{target}/{name}?dryRun=All", body), writer=True)
        return self._as(Ask("POST", f"{target}?dryRun=All", body), writer=True)

    def _bind(self) -> Ask:
        rng, space = self.rng, self.rng.choice(self.spaces)
        name = f"new-{rng.randrange(9)}"
        if rng.random() < 0.3:
            return self._as(
                Ask("POST", f"{RBAC}/clusterrolebindings?dryRun=All", self._binding(name)), writer=True
            )
        target = f"{RBAC}/namespaces/{space}/rolebindings?dryRun=All"
        return self._as(Ask("POST", target, self._binding(name, space)), writer=True)

    def _access_review(self) -> Ask:
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
            return self._as(Ask("POST", _review("selfsubjectaccessreviews"), {"spec": spec}))
        spec |= {"user": rng.choice(self.users)} if rng.random() < 0.8 else {}
        spec |= {"groups": [rng.choice(self.groups)]} if rng.random() < 0.6 else {}
        if rng.random() < 0.3:
            space = rng.choice(self.spaces)
            target = f"/apis/authorization.k8s.io/v1/namespaces/{space}/localsubjectaccessreviews"
            return Ask("POST", target, {"metadata": {"namespace": space}, "spec": spec})
        return Ask("POST", _review("subjectaccessreviews"), {"spec": spec})

    def _impersonating(self) -> Ask:
        """A request of "nobody", who acts as somebody else if some role allows it."""
        rng = self.rng
        space = rng.choice(self.spaces)
        name = rng.choice((*self.users, f"system:serviceaccount:{space}:robot", "system:node:one"))
        headers = [("Impersonate-User", name)] if rng.random() < 0.95 else []
        if rng.random() < 0.4:
            headers.append(("Impersonate-Group", rng.choice((*self.groups, "system:masters"))))
        if rng.random() < 0.2:
            headers.append(("Impersonate-Uid", "u1"))
        if rng.random() < 0.2:
            headers.append(("Impersonate-Extra-Team", "blue"))
        target = rng.choice(
            (f"/api/v1/namespaces/{space}/pods", "/api/v1/nodes", f"/api/v1/namespaces/{space}/pods/one")
        )
        if rng.random() < 0.2:
            return Ask(
                "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, tuple(headers), "nobody"
            )
        return Ask("GET", target, None, tuple(headers), "nobody")

    def _as(self, ask: Ask, *, writer: bool = False) -> Ask:
        """The same request, made as one of the users."""
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
        return Ask(ask.method, ask.target, ask.body, tuple(headers), ask.by)


def _role(kind: str, name: str) -> Json:
    return {"apiGroup": GROUP, "kind": kind, "name": name}


def _some(rng: random.Random, values: tuple[str, ...], max_count: int = 2) -> list[str]:
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
        return [status, _ordered(content)]
    if status == 400 and "impersonating" in str(content):
        return [status, content["message"]]
    if status == 201 and str(content.get("kind", "")).endswith("Review"):
        return [status, _of_review(content["status"])]
    if status == 422 and content["details"].get("group") == "authorization.k8s.io":
        return [status, _without_address(content)]
    return "passed"


def _of_review(status: Json) -> Json:
    """The status of a review. Which of several bindings is named is chance on a server, and so is the order
    of rules."""
    status = json.loads(json.dumps(status))
    if "RBAC: allowed by" in status.get("reason", ""):
        status["reason"] = "RBAC: allowed by"
    elif "reason" in status:
        status["reason"] = _ordered_text(status["reason"])
    if "evaluationError" in status:
        status["evaluationError"] = _ordered_text(status["evaluationError"])
    for name in ("resourceRules", "nonResourceRules"):
        if name in status:
            status[name] = sorted(status[name] or (), key=lambda rule: json.dumps(rule, sort_keys=True))
    return status


def _without_address(body: Json) -> Json:
    """A refusal without the values that it shows, some of which are addresses in the server's memory."""
    return {**body, "message": re.sub(r"Invalid value: .*?: ", "", body["message"])} | {
        "details": {**body["details"], "causes": [cause["field"] for cause in body["details"]["causes"]]}
    }


def _ordered(body: Json) -> Json:
    return {**body, "message": _ordered_text(body["message"])}


def _ordered_text(text: str) -> str:
    """A text whose list of missing roles stands in one order."""
    return re.sub(
        r"(?<=\[)[^\[\]]* not found(?=\])", lambda match: ", ".join(sorted(match[0].split(", "))), text
    )


def verdicts(cases: Cases, send: Send) -> list[Any]:
    """What a server says of the requests of these cases; their objects are there already."""
    return [verdict(*send(ask)) for ask in cases.asks]
