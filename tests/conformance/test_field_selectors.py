"""Field selectors of built-in kinds: the known fields, the selected objects, and the refusals of other
fields.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from conformance.client import Client

META = {"labels": {"selected": "yes"}}


def names(client: Client, path: str, selector: str) -> list[str]:
    selected = client.get(f"{path}?labelSelector=selected%3Dyes&fieldSelector={quote(selector)}")
    return [item["metadata"]["name"] for item in selected["items"]]


def obj(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name} | META, **fields}


def event(client: Client, name: str, **fields: Any) -> dict[str, Any]:
    regarding = {"kind": "Pod", "name": f"of-{name}", "namespace": client.namespace}
    return obj("Event", name, involvedObject=regarding, **fields)


def test_events_are_selected_by_their_object_in_both_groups(client: Client) -> None:
    core = f"/api/v1/namespaces/{client.namespace}/events"
    group = f"/apis/events.k8s.io/v1/namespaces/{client.namespace}/events"
    client.create(core, event(client, "a", reason="Started", source={"component": "kubelet"}))
    client.create(core, event(client, "b", reason="Pulled", reportingComponent="example.com/x"))
    assert names(client, core, "involvedObject.name=of-a") == ["a"]
    assert names(client, core, "source=kubelet") == ["a"]
    assert names(client, core, "source=example.com/x") == ["b"]
    assert names(client, core, "reason!=Started") == ["b"]
    assert names(client, group, "regarding.name=of-b,reason=Pulled") == ["b"]
    assert names(client, group, "reportingController=example.com/x") == ["b"]


def test_an_unset_field_has_the_zero_value_of_go(client: Client) -> None:
    controllers = f"/api/v1/namespaces/{client.namespace}/replicationcontrollers"
    client.create(controllers, obj("ReplicationController", "none", spec={
        "replicas": 0, "selector": {"a": "b"}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    }))  # fmt: skip
    assert names(client, controllers, "status.replicas=0") == ["none"]
    jobs = f"/apis/batch/v1/namespaces/{client.namespace}/jobs"
    client.create(jobs, obj("Job", "paused") | {"apiVersion": "batch/v1", "spec": {
        "suspend": True, "template": {
            "spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"},
        },
    }})  # fmt: skip
    assert names(client, jobs, "status.successful=0") == ["paused"]
    assert names(client, jobs, "status.successful=1") == []


@pytest.mark.kubernetes("1.33")
def test_services_are_selected_by_type_and_address(client: Client) -> None:
    services = f"/api/v1/namespaces/{client.namespace}/services"
    client.create(services, obj("Service", "plain", spec={"ports": [{"port": 80}]}))
    client.create(services, obj("Service", "headless", spec={"clusterIP": "None", "ports": [{"port": 80}]}))
    assert names(client, services, "spec.type=ClusterIP") == ["headless", "plain"]
    assert names(client, services, "spec.clusterIP=None") == ["headless"]


@pytest.mark.parametrize(
    ("path", "field", "message"),
    [
        ("/apis/apps/v1/replicasets", "status.replicas", "is not a known field selector: only"),
        ("/apis/apps/v1/deployments", "spec.replicas", "is not a known field selector: only"),
        ("/api/v1/nodes", "metadata.namespace", "field label not supported: metadata.namespace"),
        ("/api/v1/namespaces", "metadata.namespace", "field label not supported: metadata.namespace"),
        ("/api/v1/pods", "spec.priority", "field label not supported: spec.priority"),
        ("/api/v1/events", "regarding.name", "field label not supported: regarding.name"),
        ("/apis/events.k8s.io/v1/events", "involvedObject.name", "field label not supported: involvedObject"),
        pytest.param(
            "/apis/resource.k8s.io/v1/resourceslices",
            "spec.pool",
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.pool",
            marks=pytest.mark.kubernetes("1.34"),
        ),
    ],
)
def test_a_field_that_is_not_selectable_is_a_bad_request(
    client: Client, path: str, field: str, message: str
) -> None:
    for extra in ("", "&watch=1"):
        refused = client.expect_refusal("GET", f"{path}?fieldSelector={field}%3Dx{extra}")
        assert refused["code"] == 400
        assert message in refused["message"]


@pytest.mark.parametrize(
    "field", ["status.podIPs", "spec.host", "spec.hostNetwork", "status.nominatedNodeName"]
)
def test_pods_have_further_selectable_fields(client: Client, field: str) -> None:
    assert names(client, f"/api/v1/namespaces/{client.namespace}/pods", f"{field}=x") == []
