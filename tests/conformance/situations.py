"""The state of a cluster when a response was recorded: a function for each recording.

A situation prepares a cluster and may change the request, if that contains a version, a token or a uid.
Changes while a watch is open are made by the function that the situation returns.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import kubeproto_sim as sim
from kubeproto.wire import RawRequest

FOO: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.wire.test"},
    "spec": {
        "group": "wire.test",
        "scope": "Namespaced",
        "names": {
            "plural": "foos",
            "singular": "foo",
            "kind": "Foo",
            "shortNames": ["fo"],
            "categories": ["all"],
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["color"],
                                "properties": {
                                    "color": {"type": "string"},
                                    "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
                                    "mode": {"type": "string", "enum": ["A", "B"]},
                                    "replicas": {"type": "integer"},
                                },
                                "x-kubernetes-validations": [
                                    {
                                        "rule": "!has(self.mode) || self.mode != 'B' || self.size > 5",
                                        "message": "mode B needs size above 5",
                                    }
                                ],
                            },
                            "status": {"type": "object", "properties": {"note": {"type": "string"}}},
                        },
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
                "additionalPrinterColumns": [{"name": "Color", "type": "string", "jsonPath": ".spec.color"}],
            }
        ],
    },
}
BAR: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "bars.wire.test"},
    "spec": {
        "group": "wire.test",
        "scope": "Namespaced",
        "names": {"plural": "bars", "singular": "bar", "kind": "Bar"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}
CONFIGMAPS: Final = "/api/v1/namespaces/w/configmaps"
FOOS: Final = "/apis/wire.test/v1/namespaces/w/foos"

Changes = dict[str, Any]
Situation = Callable[["Stage"], "Changes | None"]
SITUATIONS: Final[dict[str, Situation]] = {}


class Stage:
    """A cluster with the namespace and the kinds of the recordings."""

    def __init__(self) -> None:
        self.cluster = sim.Cluster(crds=[FOO, BAR], version=100)
        self.cluster.namespace("w")

    def send(
        self, method: str, target: str, body: Any = None, media: str = "application/json"
    ) -> sim.ServerResponse:
        """Return the response to a request like that of the recordings' client."""
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("User-Agent", "wire/1.0"), ("Accept", "application/json"), ("Content-Type", media))
        return self.cluster.respond(RawRequest(method, target, headers, data))

    def body(self, method: str, target: str, body: Any = None, media: str = "application/json") -> Any:
        """Return the decoded body of the response, which must be a success."""
        answer = self.send(method, target, body, media)
        assert isinstance(answer.body, bytes)
        assert answer.status < 300, answer.body
        return json.loads(answer.body)

    def config(self, name: str, data: dict[str, str] | None = None, **metadata: Any) -> Any:
        """Create a ConfigMap."""
        body = {"metadata": {"name": name, **metadata}, "data": data or {"a": "1"}}
        return self.body("POST", CONFIGMAPS, body)

    def foo(self, name: str, **spec: Any) -> Any:
        """Create a custom resource."""
        return self.body("POST", FOOS, {
            "apiVersion": "wire.test/v1", "kind": "Foo", "metadata": {"name": name},
            "spec": {"color": "red"} | spec,
        })  # fmt: skip

    def merge(self, target: str, change: Any) -> Any:
        """Send a merge patch."""
        return self.body("PATCH", target, change, "application/merge-patch+json")

    def pages(self) -> None:
        """Create the seven ConfigMaps that were listed in pages."""
        self.config("a")
        self.cluster.put(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": "kube-root-ca.crt",
                    "namespace": "w",
                    "annotations": {"kubernetes.io/description": (_CA_TEXT)},
                },
                "data": {"ca.crt": _CA},
            },
            manager="apiserver",
        )
        for number in range(5):
            self.config(f"p{number}")


_CA: Final = "<certificate>"
_CA_TEXT: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as"
    " the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of"
    " Kubernetes clusters."
)


def situation(*names: str) -> Callable[[Situation], Situation]:
    """Register the situation of some recordings."""

    def register(function: Situation) -> Situation:
        for name in names:
            SITUATIONS[name] = function
        return function

    return register


@situation(
    "cr-create-201",
    "cr-pruned-field-201",
    "cr-validation-422",
    "cr-validation-rule-422",
    "create-configmap-201",
    "create-generate-name-201",
    "create-in-missing-namespace-404",
    "create-invalid-causes-422",
    "create-invalid-name-422",
    "create-namespace-mismatch-400",
    "create-strict-400",
    "create-unknown-field-warnings-201",
    "create-with-rv-500",
    "crd-create-201",
    "discovery-legacy-api",
    "discovery-legacy-resources",
    "get-404",
    "list-bad-continue-400",
    "list-bad-shard-selector-500",
    "list-empty",
    "list-match-without-rv-422",
    "list-too-large-rv-504",
    "list-unsupported-field-selector-400",
    "method-not-allowed-405",
    "micro-time-without-fraction-400",
    "not-acceptable-406",
    "request-timeout-504",
    "unknown-group-404",
    "unknown-resource-404",
    "version",
    "watch-bad-rv-500",
    "watch-bookmark-custom-resource",
    "watch-bookmark-pod",
    "watch-list-too-large-rv",
    "watch-send-initial-events-without-match-422",
    "apply-create-201",
    "apply-without-field-manager-422",
    "patch-unsupported-type-415",
    "patch-strategic-on-custom-resource-415",
)
def empty(stage: Stage) -> None:
    """Return a cluster with only the namespace and the definitions."""


@situation(
    "create-already-exists-409", "get-named-with-watch-param-200", "json-patch-test-failed-422",
    "patch-rv-conflict-409", "update-conflict-409", "update-uid-mismatch-409", "watch-list-start",
    "watch-legacy-start-gets-end-bookmark", "watch-metadata-only",
)  # fmt: skip
def one_config_map(stage: Stage) -> None:
    stage.config("a")


@situation("patch-wrong-type-422")
def config_map_with_another_key(stage: Stage) -> None:
    stage.config("a", {"a": "1", "nope": "x"})


@situation("watch-legacy-start-no-marker")
def before_streaming_lists(stage: Stage) -> None:
    stage.config("a", {"a": "nocache3"}, annotations={"q": "1"})
    stage.cluster.modes = sim.Modes(streaming_lists=False)


@situation("watch-list-unsupported-422")
def without_streaming_lists(stage: Stage) -> None:
    stage.cluster.modes = sim.Modes(streaming_lists=False)


def apply(
    stage: Stage, name: str, manager: str, target: str = "", *, force: bool = False, **content: Any
) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} | content
    path = f"{target or CONFIGMAPS}/{name}" if not target.endswith("/status") else target
    query = f"?fieldManager={manager}" + ("&force=true" if force else "")
    stage.body("PATCH", path + query, body, "application/apply-patch+yaml")


@situation("apply-conflict-409")
def applied_by_one(stage: Stage) -> None:
    apply(stage, "ap", "m1", data={"a": "1"})


@situation("apply-conflicts-409")
def applied_by_two(stage: Stage) -> None:
    apply(stage, "ap", "m1", data={"a": "1"})
    apply(stage, "ap", "m2", data={"a": "1", "b": "1"})


@situation("apply-status-conflict-409")
def status_applied(stage: Stage) -> None:
    stage.foo("ff")
    apply(
        stage, "ff", "ctl", f"{FOOS}/ff/status", apiVersion="wire.test/v1", kind="Foo", status={"note": "n1"}
    )


@situation("add-finalizer-while-deleting-422", "remove-last-finalizer-200", "create-while-deleting-409")
def being_deleted(stage: Stage) -> None:
    stage.config("fi", finalizers=["wire.test/x"])
    stage.body("DELETE", f"{CONFIGMAPS}/fi")


@situation("delete-with-finalizer-200")
def with_finalizer(stage: Stage) -> None:
    stage.config("fi", finalizers=["wire.test/x"])


@situation("delete-foreground-200")
def owner(stage: Stage) -> None:
    stage.config("own")


@situation("delete-immediate-200")
def to_be_deleted(stage: Stage) -> None:
    stage.config("tm2")


@situation("delete-uid-precondition-409")
def another_uid(stage: Stage) -> None:
    stage.config("pre")


@situation("delete-namespace-200")
def namespace(stage: Stage) -> None:
    stage.body("POST", "/api/v1/namespaces", {"metadata": {"name": "t1"}})


@situation("create-in-terminating-namespace-403")
def terminating_namespace(stage: Stage) -> None:
    namespace(stage)
    stage.body("DELETE", "/api/v1/namespaces/t1")


@situation("delete-pod-graceful-200")
def scheduled_pod(stage: Stage) -> None:
    pod = {"metadata": {"name": "po2"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    stage.body("POST", "/api/v1/namespaces/w/pods", pod)
    stage.body("POST", "/api/v1/namespaces/w/pods/po2/binding", {"target": {"name": "n1"}})


@situation("exec-unscheduled-pod-400")
def unscheduled_pod(stage: Stage) -> None:
    pod = {"metadata": {"name": "po3"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    stage.body("POST", "/api/v1/namespaces/w/pods", pod)


@situation("deletecollection-200")
def some_with_a_label(stage: Stage) -> None:
    for number in range(3):
        stage.config(f"dc{number}", labels={"dc": "1"}, finalizers=["a.b/c"] if number == 1 else [])


@situation("cr-list-page")
def six_foos(stage: Stage) -> None:
    stage.foo("f1")

    def scaled(obj: dict[str, Any]) -> None:
        obj["spec"]["replicas"] = 0
        obj["metadata"]["generation"] = 6

    stage.cluster.edit("wire.test/v1/Foo", "f1", scaled, "w")
    for number in range(5):
        stage.foo(f"g{number}")


@situation("cr-update-without-rv-422")
def one_foo(stage: Stage) -> Changes:
    return {"uid": stage.foo("f1")["metadata"]["uid"]}


@situation("custom-resource-storage-initializing-429")
def just_established(stage: Stage) -> None:
    definition = json.loads(json.dumps(BAR))
    definition["metadata"]["name"] = "qubs.wire.test"
    definition["spec"]["names"] = {"plural": "qubs", "kind": "Qub"}
    stage.body("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    stage.cluster.advance(0.02)


@situation("deprecated-api-warning-200")
def endpoints(stage: Stage) -> None:
    stage.body("POST", "/api/v1/namespaces/w/endpoints", {"metadata": {"name": "pc"}})


@situation("eviction-429")
def budget(stage: Stage) -> None:
    pod = {
        "metadata": {"name": "ev1", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    stage.body("POST", "/api/v1/namespaces/w/pods", pod)
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    stage.body(
        "POST",
        "/apis/policy/v1/namespaces/w/poddisruptionbudgets",
        {"metadata": {"name": "pdb"}, "spec": spec},
    )


@situation("get-gzip")
def large(stage: Stage) -> None:
    stage.config("bigz", {"a": "x" * 140_000})


@situation("list-as-table", "list-as-partial-object-metadata")
def nineteen(stage: Stage) -> None:
    stage.config("a")
    for number in range(18):
        stage.config(f"b{number}")
    stage.cluster.advance(12 * 60)


def fnv_1a(text: str) -> int:
    """Return the 64-bit FNV-1a hash, by which servers divide objects into shards."""
    hash_value = 0xCBF29CE484222325
    for byte in text.encode():
        hash_value = (hash_value ^ byte) * 0x100000001B3 % (1 << 64)
    return hash_value


@situation("list-sharded")
def nineteen_in_shards(stage: Stage) -> None:
    # The hash of a uid determines its shard: create the first object until it is in the requested half.
    while (fnv_1a(stage.config("ap", {"u": "1"})["metadata"]["uid"])) >= 1 << 63:
        stage.body("DELETE", f"{CONFIGMAPS}/ap")
    stage.merge(f"{CONFIGMAPS}/ap", {"metadata": {"managedFields": [{}]}})
    apply(stage, "ap", "m9", data={"u": "3"}, force=True)
    for number in range(18):
        stage.config(f"b{number:02}")


@situation("list-page-1")
def seven(stage: Stage) -> None:
    stage.pages()


@situation("list-page-2")
def second_page(stage: Stage) -> Changes:
    stage.pages()
    token = stage.body("GET", f"{CONFIGMAPS}?limit=2")["metadata"]["continue"]
    stage.config("b-comes-too-late")
    return {"target": f"{CONFIGMAPS}?limit=2&continue={token}"}


@situation("list-last-page")
def last_page(stage: Stage) -> Changes:
    stage.pages()
    token = stage.body("GET", f"{CONFIGMAPS}?limit=4")["metadata"]["continue"]
    return {"target": f"{CONFIGMAPS}?limit=10&continue={token}"}


@situation("list-continue-410")
def compacted_page(stage: Stage) -> Changes:
    return {"target": compacted(stage)}


def compacted(stage: Stage) -> str:
    """Return a request for a second page that has expired."""
    stage.cluster.modes = sim.Modes(watch_cache=False)
    for name in ("a", "ap", "b", "c"):
        stage.config(name)
    token = stage.body("GET", f"{CONFIGMAPS}?limit=2")["metadata"]["continue"]
    stage.config("d")
    stage.cluster.compact()
    return f"{CONFIGMAPS}?limit=2&continue={token}"


@situation("list-inconsistent-continue")
def inconsistent_page(stage: Stage) -> Changes:
    expired = stage.send("GET", compacted(stage))
    assert isinstance(expired.body, bytes)
    token = json.loads(expired.body)["metadata"]["continue"]
    for number in range(16):
        stage.config(f"x{number:02}")
    for name in ("b", "c", "d"):
        stage.cluster.remove("v1/ConfigMap", name, "w")
    stage.config("ap9")
    base = "g" * 70 + "-"
    stage.body("POST", CONFIGMAPS, {"metadata": {"generateName": base}})

    def bare(obj: dict[str, Any]) -> None:
        obj["metadata"].pop("managedFields")
        obj.pop("data")

    stage.cluster.edit("v1/ConfigMap", "ap9", bare, "w")
    return {"target": f"{CONFIGMAPS}?limit=2&continue={token}"}


@situation("list-exact-410")
def exact_and_forgotten(stage: Stage) -> Changes:
    version = stage.cluster.version
    stage.config("a")
    stage.cluster.compact()
    return {"target": f"{CONFIGMAPS}?resourceVersion={version}&resourceVersionMatch=Exact"}


@situation("scale-get")
def deployment(stage: Stage) -> None:
    labels = {"a": "b"}
    spec = {
        "replicas": 0,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }
    stage.body("POST", "/apis/apps/v1/namespaces/w/deployments", {"metadata": {"name": "d1"}, "spec": spec})


@situation("status-subresource-patch-200")
def labelled_foo(stage: Stage) -> None:
    stage.foo("u2")
    stage.merge(f"{FOOS}/u2", {"metadata": {"labels": {"x": "1"}}, "spec": {"size": 5}})


@situation("token-request-201")
def service_account(stage: Stage) -> None:
    stage.body("POST", "/api/v1/namespaces/w/serviceaccounts", {"metadata": {"name": "sa1"}})


@situation("discovery-aggregated-304")
def known_discovery(stage: Stage) -> Changes:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = stage.cluster.respond(RawRequest("GET", "/apis", (("Accept", accept),)))
    return {"headers": {"If-None-Match": dict(answer.headers)["Etag"]}}


@situation("watch-as-table")
def foo_in_a_table(stage: Stage) -> None:
    stage.foo("f1")
    for size in (4, 5, 6, 7, 8):
        stage.merge(f"{FOOS}/f1", {"spec": {"size": size}})


@situation("watch-bookmark-before-timeout", "watch-idle-clean-end")
def nothing_for_this_watch(stage: Stage) -> Changes:
    return {"version": stage.cluster.version}


@situation("watch-custom-resource")
def life_of_a_foo(stage: Stage) -> Changes:
    def meanwhile() -> None:
        stage.foo("wcr")
        stage.merge(f"{FOOS}/wcr", {"spec": {"size": 4}})
        stage.body("DELETE", f"{FOOS}/wcr")

    return {"version": stage.cluster.version, "meanwhile": meanwhile}


@situation("watch-selector-transitions")
def in_and_out_of_a_selector(stage: Stage) -> Changes:
    def meanwhile() -> None:
        stage.config("s1", labels={"app": "x"})
        stage.merge(f"{CONFIGMAPS}/s1", {"data": {"a": "2"}})
        stage.merge(f"{CONFIGMAPS}/s1", {"metadata": {"labels": {"app": "y"}}})
        stage.merge(f"{CONFIGMAPS}/s1", {"data": {"a": "5"}})
        stage.merge(f"{CONFIGMAPS}/s1", {"metadata": {"labels": {"app": "x"}}})
        stage.body("DELETE", f"{CONFIGMAPS}/s1")

    return {"version": stage.cluster.version, "meanwhile": meanwhile}


@situation("watch-start-410-in-stream")
def outside_the_window(stage: Stage) -> None:
    stage.config("a")
    stage.cluster.compact()


@situation("watch-start-compacted-410-in-stream")
def outside_the_window_of_etcd(stage: Stage) -> Changes:
    version = stage.cluster.version
    stage.config("a")
    stage.cluster.compact()
    stage.cluster.modes = sim.Modes(watch_cache=False)
    return {"version": version}
