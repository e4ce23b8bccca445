"""Discovery: the aggregated and the legacy documents of a server have the same result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recorded import read_recording

import kubeproto as kp
from kubeproto.objects import GroupVersionKind
from kubeproto.requests import Discovery, DiscoveryProgress

CORE = {"kind": "APIVersions", "versions": ["v1"]}
GROUPS = {
    "kind": "APIGroupList",
    "groups": [
        {
            "name": "autoscaling",
            "versions": [{"version": "v2"}, {"version": "v1"}],
            "preferredVersion": {"version": "v2"},
        },
        {"name": "wire.test", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
    ],
}
CORE_RESOURCES = {
    "kind": "APIResourceList",
    "resources": [
        {
            "name": "pods",
            "singularName": "pod",
            "namespaced": True,
            "kind": "Pod",
            "verbs": ["get"],
            "shortNames": ["po"],
        },
        {"name": "pods/log", "singularName": "", "namespaced": True, "kind": "Pod", "verbs": ["get"]},
        {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node", "verbs": ["get"]},
    ],
}
HPA = {"name": "horizontalpodautoscalers", "singularName": "horizontalpodautoscaler", "namespaced": True}
SCALING = {
    "kind": "APIResourceList",
    "resources": [HPA | {"kind": "HorizontalPodAutoscaler", "verbs": ["get"], "shortNames": ["hpa"]}],
}
LEGACY: dict[str, Any] = {
    "/api": CORE,
    "/apis": GROUPS,
    "/api/v1": CORE_RESOURCES,
    "/apis/autoscaling/v1": SCALING,
    "/apis/autoscaling/v2": SCALING,
    "/apis/wire.test/v1": json.loads(str(read_recording("discovery-legacy-resources").response.body)),
}


def aggregated(group: str, version: str, legacy: Any) -> Any:
    """Convert a legacy document to a version of an aggregated document."""
    resources: list[Any] = []
    for entry in legacy["resources"]:
        parent, _, sub = entry["name"].partition("/")
        if sub:
            resources[[r["resource"] for r in resources].index(parent)]["subresources"].append(
                {"subresource": sub}
            )
            continue
        fields = {key: entry[key] for key in ("verbs", "shortNames", "categories") if key in entry}
        resources.append(
            {
                "resource": parent,
                "responseKind": {"group": group, "version": "", "kind": entry["kind"]},
                "scope": "Namespaced" if entry["namespaced"] else "Cluster",
                "singularResource": entry["singularName"],
                "subresources": [],
                **fields,
            }
        )
    return {"version": version, "resources": resources, "freshness": "Current"}


def aggregated_list(*groups: Any) -> Any:
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": groups}


AGGREGATED: dict[str, Any] = {
    "/api": aggregated_list({"metadata": {}, "versions": [aggregated("", "v1", CORE_RESOURCES)]}),
    "/apis": aggregated_list(
        {
            "metadata": {"name": "autoscaling"},
            "versions": [aggregated("autoscaling", version, SCALING) for version in ("v2", "v1")],
        },
        {
            "metadata": {"name": "wire.test"},
            "versions": [aggregated("wire.test", "v1", LEGACY["/apis/wire.test/v1"])],
        },
    ),
}


def discover(
    documents: dict[str, Any], previous: Discovery | None = None, etag: str = ""
) -> tuple[Discovery, int]:
    """Drive the machine, and return the result and the number of requests."""
    state, request_count = DiscoveryProgress(previous), 0
    while state.requests:
        request = state.requests[-1]
        document = documents.get(request.target)
        request_count += 1
        if document is None:
            state = state.receive(request, 503, (), b"")
        elif document == 304:
            assert dict(request.headers)["If-None-Match"] == etag
            state = state.receive(request, 304, (), b"")
        else:
            headers = (("ETag", etag),) if etag else ()
            state = state.receive(request, 200, headers, json.dumps(document).encode())
        assert (state.result is None) is bool(state.requests)
    assert state.result is not None
    return state.result, request_count


def test_aggregated_and_legacy_documents_have_the_same_result() -> None:
    new, questions = discover(AGGREGATED)
    old_version, more_questions = discover(LEGACY)
    assert new.groups == old_version.groups
    assert (questions, more_questions) == (2, 6)


@pytest.mark.parametrize(
    ("name", "expected_name"),
    [
        ("Pod", "pods/v1"),
        ("pods", "pods/v1"),
        ("po", "pods/v1"),
        ("node", "nodes/v1"),
        ("HPA", "horizontalpodautoscalers.autoscaling/v2"),
        ("foo", "foos.wire.test/v1"),
        ("nonesuch", "None"),
    ],
)
def test_find_accepts_the_resource_names_of_kubectl(name: str, expected_name: str) -> None:
    assert str(discover(AGGREGATED)[0].find(name)) == expected_name


def test_a_discovered_resource_can_be_requested() -> None:
    discovery, _ = discover(LEGACY)
    foo = discovery.get(GroupVersionKind("wire.test", "v1", "Foo"))
    assert foo is not None
    assert foo.subresources == ("status", "scale")
    assert kp.Api(kp.Dynamic, resource=foo).get("f").target == "/apis/wire.test/v1/namespaces/default/foos/f"
    old_version = discovery.find("hpa", version="v1", group="autoscaling")
    assert old_version is not None
    assert old_version.version == "v1"
    node = discovery.find("node")
    assert node is not None
    assert not node.namespaced


def test_the_preferred_version_is_used_at_any_position() -> None:
    group = {
        "name": "autoscaling",
        "versions": [{"version": "v1"}, {"version": "v2"}],
        "preferredVersion": {"version": "v2"},
    }
    expected_name, _ = discover(LEGACY | {"/apis": {"kind": "APIGroupList", "groups": [group]}})
    assert [version.version for version in expected_name.groups[-1].versions] == ["v1", "v2"]
    assert str(expected_name.find("hpa")) == "horizontalpodautoscalers.autoscaling/v2"


def test_sv_25_unchanged_documents_are_not_read_again() -> None:
    first_discovery, _ = discover(AGGREGATED, etag='"A"')
    second_discovery, questions = discover({"/api": 304, "/apis": 304}, previous=first_discovery, etag='"A"')
    assert second_discovery == first_discovery
    assert questions == 2


def test_a_group_that_cannot_be_read_does_not_affect_the_others() -> None:
    expected_name, _ = discover(
        {path: document for path, document in LEGACY.items() if path != "/apis/wire.test/v1"}
    )
    assert expected_name.stale == ("wire.test/v1",)
    [version] = expected_name.groups[-1].versions
    assert (version.version, version.resources, version.stale) == ("v1", (), True)
    assert expected_name.find("Pod") is not None


def test_a_stale_group_of_an_aggregated_document_is_reported() -> None:
    group = {
        "metadata": {"name": "metrics.k8s.io"},
        "versions": [{"version": "v1beta1", "freshness": "Stale"}],
    }
    expected_name, _ = discover({"/api": AGGREGATED["/api"], "/apis": aggregated_list(group)})
    assert expected_name.stale == ("metrics.k8s.io/v1beta1",)


def test_a_refused_root_document_is_an_error() -> None:
    state = DiscoveryProgress()
    with pytest.raises(kp.Forbidden):
        state.receive(state.requests[0], 403, (), b"")
    with pytest.raises(kp.RemoteProtocolError, match="not a discovery document"):
        state.receive(state.requests[0], 200, (), b'{"kind":"ConfigMap"}')


def test_a_response_to_an_unsent_request_is_a_local_error() -> None:
    state = DiscoveryProgress()
    next_state = state.receive(state.requests[0], 200, (), b'{"kind":"APIVersions","versions":[]}')
    with pytest.raises(kp.LocalProtocolError):
        next_state.receive(state.requests[0], 200, (), b"")
