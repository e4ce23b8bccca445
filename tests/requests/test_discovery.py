"""Discovery: the aggregated and the legacy documents of one server lead to the same result."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recorded import recording

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
    "/apis/wire.test/v1": json.loads(str(recording("discovery-legacy-resources").response.body)),
}


def aggregated(group: str, version: str, legacy: Any) -> Any:
    """A version of an aggregated document, from the legacy one."""
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
    """Drive the machine as a driver would; the result, and how many questions it took."""
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


def test_both_kinds_of_documents_lead_to_one_result() -> None:
    new, questions = discover(AGGREGATED)
    old, more_questions = discover(LEGACY)
    assert new.groups == old.groups
    assert (questions, more_questions) == (2, 6)


@pytest.mark.parametrize(
    ("name", "found"),
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
def test_a_resource_is_found_by_the_names_that_people_use(name: str, found: str) -> None:
    assert str(discover(AGGREGATED)[0].find(name)) == found


def test_what_is_found_can_be_asked_for() -> None:
    discovery, _ = discover(LEGACY)
    foo = discovery.get(GroupVersionKind("wire.test", "v1", "Foo"))
    assert foo is not None
    assert foo.subresources == ("status", "scale")
    assert kp.Api(kp.Dynamic, resource=foo).get("f").target == "/apis/wire.test/v1/namespaces/default/foos/f"
    old = discovery.find("hpa", version="v1", group="autoscaling")
    assert old is not None
    assert old.version == "v1"
    node = discovery.find("node")
    assert node is not None
    assert not node.namespaced


def test_the_preferred_version_counts_wherever_it_stands() -> None:
    group = {
        "name": "autoscaling",
        "versions": [{"version": "v1"}, {"version": "v2"}],
        "preferredVersion": {"version": "v2"},
    }
    found, _ = discover(LEGACY | {"/apis": {"kind": "APIGroupList", "groups": [group]}})
    assert [version.version for version in found.groups[-1].versions] == ["v1", "v2"]
    assert str(found.find("hpa")) == "horizontalpodautoscalers.autoscaling/v2"


def test_sv_25_what_has_not_changed_is_not_read_again() -> None:
    first, _ = discover(AGGREGATED, etag='"A"')
    again, questions = discover({"/api": 304, "/apis": 304}, previous=first, etag='"A"')
    assert again == first
    assert questions == 2


def test_one_group_that_cannot_be_asked_leaves_the_others() -> None:
    found, _ = discover({path: document for path, document in LEGACY.items() if path != "/apis/wire.test/v1"})
    assert found.stale == ("wire.test/v1",)
    [version] = found.groups[-1].versions
    assert (version.version, version.resources, version.stale) == ("v1", (), True)
    assert found.find("Pod") is not None


def test_a_stale_group_of_an_aggregated_document_is_told() -> None:
    group = {
        "metadata": {"name": "metrics.k8s.io"},
        "versions": [{"version": "v1beta1", "freshness": "Stale"}],
    }
    found, _ = discover({"/api": AGGREGATED["/api"], "/apis": aggregated_list(group)})
    assert found.stale == ("metrics.k8s.io/v1beta1",)


def test_a_root_that_is_refused_is_an_error() -> None:
    state = DiscoveryProgress()
    with pytest.raises(kp.Forbidden):
        state.receive(state.requests[0], 403, (), b"")
    with pytest.raises(kp.RemoteProtocolError, match="not a discovery document"):
        state.receive(state.requests[0], 200, (), b'{"kind":"ConfigMap"}')


def test_a_response_to_what_was_not_asked_is_a_mistake_of_this_side() -> None:
    state = DiscoveryProgress()
    next_state = state.receive(state.requests[0], 200, (), b'{"kind":"APIVersions","versions":[]}')
    with pytest.raises(kp.LocalProtocolError):
        next_state.receive(state.requests[0], 200, (), b"")
