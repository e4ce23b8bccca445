"""Authorization in a simulated cluster: users, tokens, roles, reviews and impersonation."""

from __future__ import annotations

import json
from typing import Any, Final

import anyio
import pytest
from simulated_access import ADMIN

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap, Pod
from kubeproto.wire import RawRequest
from kubeproto_runtime.testing import run, simulated

RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS: Final = "/api/v1/namespaces/default/serviceaccounts"
TOKENS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
WHO: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
Json = dict[str, Any]


class Cluster:
    """A cluster with RBAC, and requests to it as several users."""

    def __init__(self, **options: Any) -> None:
        self.cluster = sim.Cluster(authorization="RBAC", **options)

    def send(
        self, user: sim.User | str | None, method: str, target: str, body: Any = None, **headers: str
    ) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        header_values = {"Accept": "application/json", "Content-Type": "application/json"}
        header_values |= {name.replace("_", "-"): value for name, value in headers.items()}
        response = self.cluster.respond(RawRequest(method, target, tuple(header_values.items()), data), user)
        assert isinstance(response.body, bytes)
        self.cluster.settle()
        return response.status, json.loads(response.body) if response.body[:1] == b"{" else response.body

    def make(self, target: str, body: Json) -> Json:
        status, created = self.send(ADMIN, "POST", target, body)
        assert status == 201, created
        return dict(created)

    def role(self, name: str, *rules: Json, **more: Any) -> None:
        self.make(f"{RBAC}/clusterroles", {"metadata": {"name": name, **more}, "rules": list(rules)})

    def bind(self, role: str, *subjects: Json) -> None:
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
        body = {"metadata": {"name": f"{role}-{len(self.cluster.objects(BINDING))}"}, "roleRef": ref}
        self.make(f"{RBAC}/clusterrolebindings", body | {"subjects": list(subjects)})

    def may(self, user: sim.User | str, method: str, target: str) -> bool:
        return self.send(user, method, target)[0] not in (401, 403)


BINDING: Final = "rbac.authorization.k8s.io/v1/ClusterRoleBinding"


def user(name: str) -> Json:
    return {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name}


def rule(verbs: str, resources: str, group: str = "", **more: Any) -> Json:
    return {"verbs": verbs.split(), "apiGroups": [group], "resources": resources.split(), **more}


PODS: Final = "/api/v1/namespaces/default/pods"
ATTRIBUTES: Final = (
    # the request, the resource in the message, and the missing permission
    ("GET", "/healthz/x", "forbidden", 'get path "/healthz/x"'),
    ("POST", "/api/v1", "forbidden", 'post path "/api/v1"'),
    ("GET", "/apis/apps/v1/", "forbidden", 'get path "/apis/apps/v1/"'),
    ("GET", "/api/v1/pods", "pods is forbidden",
     'list resource "pods" in API group "" at the cluster scope'),
    ("HEAD", "/api/v1/nodes/a", 'nodes "a" is forbidden',
     'get resource "nodes" in API group "" at the cluster scope'),
    ("GET", "/api/v1/namespaces", "namespaces is forbidden",
     'list resource "namespaces" in API group "" at the cluster scope'),
    ("GET", "/api/v1/namespaces/x", 'namespaces "x" is forbidden',
     'get resource "namespaces" in API group "" in the namespace "x"'),
    ("PUT", "/api/v1/namespaces/x/finalize", 'namespaces "x" is forbidden',
     'update resource "namespaces/finalize" in API group "" in the namespace "x"'),
    ("DELETE", "/apis/g/v2/namespaces/x/things", "things.g is forbidden",
     'deletecollection resource "things" in API group "g" in the namespace "x"'),
    ("GET", "/api/v1/watch/namespaces/x/pods/p", 'pods "p" is forbidden',
     'watch resource "pods" in API group "" in the namespace "x"'),
    ("TRACE", "/api/v1/pods/x", 'pods "x" is forbidden',
     ' resource "pods" in API group "" at the cluster scope'),
)  # fmt: skip


@pytest.mark.parametrize(("method", "target", "resource", "cannot"), ATTRIBUTES)
def test_a_url_determines_the_attributes_of_a_request(
    method: str, target: str, resource: str, cannot: str
) -> None:
    assert refusal(method, target) == f'{resource}: User "system:anonymous" cannot {cannot}'


@pytest.mark.parametrize(
    ("query", "verb", "name"),
    [
        ("watch=1", "watch", ""),
        ("watch=false", "list", ""),
        ("fieldSelector=metadata.name=a", "list", ' "a"'),
        ("fieldSelector=metadata.name=a&watch=true", "watch", ' "a"'),
        ("fieldSelector=metadata.name!=a", "list", ""),
        ("fieldSelector=metadata.name=a/b", "list", ""),
        ("fieldSelector=metadata.name", "list", ""),
    ],
)
def test_a_list_with_a_name_selector_is_authorized_by_that_name(query: str, verb: str, name: str) -> None:
    assert refusal("GET", f"/api/v1/pods?{query}") == (
        f'pods{name} is forbidden: User "system:anonymous" cannot {verb} resource "pods" in API group ""'
        " at the cluster scope"
    )


def refusal(method: str, target: str) -> Any:
    """Return the reason of the refusal for a user without permissions."""
    status, error_body = Cluster().send(None, method, target)
    assert status == 403
    return error_body["message"]


def test_anonymous_requests_may_only_read_the_health() -> None:
    cluster = Cluster()
    assert cluster.send(None, "GET", "/healthz") == (200, b"ok")
    status, error_body = cluster.send(None, "GET", PODS)
    assert (status, error_body["reason"], error_body["details"]) == (403, "Forbidden", {"kind": "pods"})
    assert error_body["message"] == (
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the'
        ' namespace "default"'
    )
    assert cluster.send(None, "GET", "/metrics")[1]["message"] == (
        'forbidden: User "system:anonymous" cannot get path "/metrics"'
    )


def test_a_missing_object_is_forbidden_rather_than_not_found() -> None:
    cluster = Cluster()
    assert cluster.send("alice", "GET", "/apis/none.io/v1/things")[0] == 403
    assert cluster.send(ADMIN, "GET", "/apis/none.io/v1/things")[0] == 404


def test_resource_names_restrict_requests_for_single_objects_and_lists_by_name() -> None:
    cluster = Cluster()
    cluster.role("one", rule("get list create", "pods", resourceNames=["one"]))
    cluster.bind("one", user("alice"))
    assert cluster.may("alice", "GET", f"{PODS}/one")
    assert not cluster.may("alice", "GET", f"{PODS}/two")
    assert not cluster.may("alice", "GET", PODS)
    assert cluster.may("alice", "GET", f"{PODS}?fieldSelector=metadata.name%3Done")
    assert not cluster.may("alice", "POST", PODS)  # a new object has no name yet


def test_a_permission_ends_with_its_binding() -> None:
    cluster = Cluster()
    cluster.role("readers", rule("get", "pods"))
    cluster.bind("readers", user("alice"))
    assert cluster.may("alice", "GET", f"{PODS}/a")
    names = [binding["metadata"]["name"] for binding in cluster.cluster.objects(BINDING)]
    cluster.cluster.remove(BINDING, next(name for name in names if name.startswith("readers")))
    assert not cluster.may("alice", "GET", f"{PODS}/a")


def test_a_refusal_names_the_missing_role() -> None:
    cluster = Cluster()
    cluster.bind("gone", user("alice"))
    message = cluster.send("alice", "GET", PODS)[1]["message"]
    assert message.endswith(': RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found')


def test_aggregated_roles_contain_the_rules_of_selected_roles() -> None:
    cluster = Cluster()
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}
    cluster.make(
        f"{RBAC}/clusterroles", {"metadata": {"name": "all"}, "aggregationRule": gathers, "rules": []}
    )
    cluster.bind("all", user("alice"))
    assert not cluster.may("alice", "GET", f"{PODS}/a")
    cluster.role("pods", rule("get", "pods"), labels={"to": "all"})
    assert cluster.may("alice", "GET", f"{PODS}/a")
    cluster.send(ADMIN, "DELETE", f"{RBAC}/clusterroles/pods")
    assert not cluster.may("alice", "GET", f"{PODS}/a")


def test_users_cannot_grant_permissions_that_they_lack() -> None:
    cluster = Cluster()
    writes = rule("create update", "clusterroles clusterrolebindings", "rbac.authorization.k8s.io")
    cluster.role("writers", writes, rule("get", "pods"))
    cluster.bind("writers", user("alice"))
    granted_role = {
        "metadata": {"name": "new"},
        "rules": [rule("get list watch", "pods"), rule("get", "secrets")],
    }
    status, error_body = cluster.send("alice", "POST", f"{RBAC}/clusterroles", granted_role)
    assert (status, error_body["message"].splitlines()) == (403, [(
        'clusterroles.rbac.authorization.k8s.io "new" is forbidden: user "alice"'
        ' (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:'),
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
    ])  # fmt: skip
    assert (
        cluster.send(
            "alice", "POST", f"{RBAC}/clusterroles", granted_role | {"rules": [rule("get", "pods")]}
        )[0]
        == 201
    )
    cluster.role("escalators", rule("escalate", "clusterroles", "rbac.authorization.k8s.io"))
    cluster.bind("escalators", user("alice"))
    more = granted_role | {"metadata": {"name": "more"}}
    assert cluster.send("alice", "POST", f"{RBAC}/clusterroles", more)[0] == 201
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "more"}
    binding = {"metadata": {"name": "b"}, "roleRef": ref, "subjects": [user("bob")]}
    status, error_body = cluster.send("alice", "POST", f"{RBAC}/clusterrolebindings", binding)
    assert (status, error_body["details"]["kind"]) == (403, "clusterrolebindings")
    cluster.role("binders", rule("bind", "clusterroles", "rbac.authorization.k8s.io", resourceNames=["more"]))
    cluster.bind("binders", user("alice"))
    assert cluster.send("alice", "POST", f"{RBAC}/clusterrolebindings", binding)[0] == 201


def test_a_user_needs_all_permissions_to_write_an_aggregation_rule() -> None:
    cluster = Cluster()
    cluster.role("writers", rule("create", "clusterroles", "rbac.authorization.k8s.io"))
    cluster.bind("writers", user("alice"))
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]}
    body: Json = {"metadata": {"name": "all"}, "aggregationRule": gathers, "rules": []}
    status, error_body = cluster.send("alice", "POST", f"{RBAC}/clusterroles", body)
    assert status == 403
    assert "must have cluster-admin privileges to use the aggregationRule" in error_body["message"]


def test_a_review_names_the_binding_that_allows_the_request() -> None:
    cluster = Cluster()
    cluster.role("readers", rule("list", "pods"))
    cluster.bind("readers", {"kind": "ServiceAccount", "name": "robot", "namespace": "default"})
    attributes = {"verb": "list", "resource": "pods", "namespace": "default"}
    spec = {"resourceAttributes": attributes, "user": "system:serviceaccount:default:robot"}
    status = cluster.make("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})["status"]
    assert status["allowed"] is True
    assert 'of ClusterRole "readers" to ServiceAccount "robot/default"' in status["reason"]
    denied = cluster.make(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec | {"user": "bob"}}
    )
    assert denied["status"] == {"allowed": False}


def token_of(cluster: Cluster, account: str = "robot", **spec: Any) -> str:
    return str(cluster.make(f"{ACCOUNTS}/{account}/token", {"spec": spec})["status"]["token"])


def review(cluster: Cluster, token: str, **spec: Any) -> Json:
    return dict(cluster.make(TOKENS, {"spec": {"token": token, **spec}})["status"])


def test_a_token_identifies_its_service_account() -> None:
    cluster = Cluster()
    uid = cluster.make(ACCOUNTS, {"metadata": {"name": "robot"}})["metadata"]["uid"]
    token = token_of(cluster)
    status, response = cluster.send(None, "POST", WHO, {}, Authorization=f"Bearer {token}")
    info = response["status"]["userInfo"]
    assert (status, info["username"], info["uid"]) == (201, "system:serviceaccount:default:robot", uid)
    assert info["groups"] == [
        "system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated",
    ]  # fmt: skip
    assert review(cluster, token)["authenticated"] is True
    assert cluster.send(None, "GET", PODS, Authorization="Bearer wrong")[0] == 401


def test_a_token_is_valid_for_its_audiences_lifetime_and_bound_objects() -> None:
    cluster = Cluster()
    cluster.make(ACCOUNTS, {"metadata": {"name": "robot"}})
    cluster.make("/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})
    plain, other = token_of(cluster, expirationSeconds=600), token_of(cluster, audiences=["x"])
    bound = token_of(cluster, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "s"})
    assert review(cluster, other, audiences=["y", "x"])["audiences"] == ["x"]
    assert "is invalid for the target audiences" in review(cluster, other)["error"]
    assert "cryptographic" in review(cluster, plain[:-4] + "AAAA")["error"]
    assert review(cluster, "nonsense") == {"user": {}, "error": "invalid bearer token"}
    assert review(cluster, bound)["authenticated"] is True
    cluster.send(ADMIN, "DELETE", "/api/v1/namespaces/default/secrets/s")
    assert (
        review(cluster, bound)["error"]
        == "[invalid bearer token, service account token has been invalidated]"
    )
    cluster.cluster.advance(600)
    assert review(cluster, plain)["authenticated"] is True  # clocks may differ by a minute
    cluster.cluster.advance(61)
    assert review(cluster, plain)["error"] == "[invalid bearer token, service account token has expired]"
    fresh = token_of(cluster)
    cluster.send(ADMIN, "DELETE", f"{ACCOUNTS}/robot")
    cluster.make(ACCOUNTS, {"metadata": {"name": "robot"}})
    assert "does not match claim" in review(cluster, fresh)["error"]


def test_a_token_becomes_invalid_with_its_bound_pod() -> None:
    cluster = Cluster()
    cluster.make(ACCOUNTS, {"metadata": {"name": "robot"}})
    spec = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "robot", "nodeName": "n"}
    cluster.make(PODS, {"metadata": {"name": "p"}, "spec": spec})
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    token = token_of(cluster, boundObjectRef=ref)
    extra = review(cluster, token)["user"]["extra"]
    assert extra["authentication.kubernetes.io/pod-name"] == ["p"]
    assert extra["authentication.kubernetes.io/node-name"] == ["n"]
    cluster.cluster.remove("v1/Pod", "p")
    assert "authenticated" not in review(cluster, token)
    status, error_body = cluster.send(
        ADMIN, "POST", f"{ACCOUNTS}/robot/token", {"spec": {"boundObjectRef": ref}}
    )
    assert (status, error_body["reason"]) == (404, "NotFound")


def test_impersonation_needs_a_permission_and_uses_those_of_the_other_user() -> None:
    cluster = Cluster()
    cluster.role("readers", rule("list", "pods"))
    cluster.bind("readers", user("bob"))
    status, error_body = cluster.send("alice", "GET", PODS, Impersonate_User="bob")
    assert status == 403
    assert 'User "alice" cannot impersonate-on:user-info:list resource "pods"' in error_body["message"]
    cluster.role("actors", rule("impersonate", "users groups"))
    cluster.bind("actors", user("alice"))
    assert cluster.send("alice", "GET", PODS, Impersonate_User="bob")[0] == 200
    assert cluster.send("alice", "GET", PODS)[0] == 403
    assert cluster.send("alice", "GET", PODS, Impersonate_Group="x")[0] == 400
    _, response = cluster.send("alice", "POST", WHO, {}, Impersonate_User="bob", Impersonate_Group="x")
    assert response["status"]["userInfo"] == {"username": "bob", "groups": ["x", "system:authenticated"]}


def test_always_allow_needs_no_credentials() -> None:
    cluster = sim.Cluster()
    response = cluster.respond(RawRequest("GET", PODS, (("Authorization", "Bearer whatever"),)))
    assert response.status == 200
    alice_response = cluster.respond(RawRequest("POST", WHO, (), b"{}"), "alice")
    assert isinstance(alice_response.body, bytes)
    assert json.loads(alice_response.body)["status"]["userInfo"]["username"] == "alice"


def test_a_fork_and_a_snapshot_keep_roles_and_tokens() -> None:
    cluster = Cluster(tokens={"t": sim.User("carol")})
    cluster.make(ACCOUNTS, {"metadata": {"name": "robot"}})
    token = token_of(cluster)
    cluster.role("readers", rule("list", "pods"))
    cluster.bind("readers", user("carol"))
    snapshot = cluster.cluster.snapshot()
    twin = cluster.cluster.fork()
    for copy in (cluster.cluster, twin):
        copy.restore(snapshot)
        for good in ("t", token):
            response = copy.respond(RawRequest("GET", PODS, (("Authorization", f"Bearer {good}"),)))
            assert response.status == (200 if good == "t" else 403)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_operator_runs_with_the_permissions_of_its_account(backend: Any) -> None:
    cluster = Cluster()
    cluster.role("operator", rule("get list watch", "configmaps"))
    cluster.bind("operator", {"kind": "ServiceAccount", "name": "operator", "namespace": "default"})

    async def main() -> None:
        async with simulated(cluster.cluster, user="system:serviceaccount:default:operator") as client:
            assert list(await client.api(ConfigMap).list()) == []
            with pytest.raises(kp.Forbidden, match="cannot list resource"):
                await client.api(Pod).list()
            await anyio.sleep(1)

    run(main, backend=backend)


LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("method", "target", "content", "verb"),
    [
        ("PATCH", f"{CONFIG_MAPS}/moby?fieldManager=me", "application/apply-patch+yaml", "patch"),
        ("PUT", f"{LEASES}/moby", "application/json", "update"),
    ],
)
def test_a_write_that_creates_needs_the_create_permission(
    method: str, target: str, content: str, verb: str
) -> None:
    cluster = Cluster()
    group, kind = ("", "ConfigMap") if verb == "patch" else ("coordination.k8s.io", "Lease")
    resource = "configmaps" if verb == "patch" else "leases"
    rule = {"apiGroups": [group], "resources": [resource], "resourceNames": ["moby"]}
    cluster.role("writer", {**rule, "verbs": [verb]})
    cluster.role("creator", {**rule, "verbs": ["create"]})
    alice = {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}
    cluster.bind("writer", alice)
    body = {"apiVersion": f"{group}/v1".strip("/"), "kind": kind, "metadata": {"name": "moby"}}
    status, response = cluster.send("alice", method, target, body, Content_Type=content)
    resource_name = f"{resource}.{group}".rstrip(".")
    assert (status, response["message"]) == (403, f'{resource_name} "moby" is forbidden: ')
    cluster.bind("creator", alice)
    assert cluster.send("alice", method, target, body, Content_Type=content)[0] == 201
    [binding] = [
        candidate
        for candidate in cluster.cluster.objects(BINDING)
        if candidate["roleRef"]["name"] == "creator"
    ]
    cluster.cluster.edit(BINDING, binding["metadata"]["name"], lambda obj: obj.pop("subjects"))
    assert cluster.send("alice", method, target, body, Content_Type=content)[0] != 403
