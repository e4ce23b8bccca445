"""The same object in several versions and groups, and objects that are older than their schema."""

from __future__ import annotations

import copy
from typing import Any, Final

from conformance.client import DEFINITIONS, MERGE, Client

GROUP: Final = "stored.test"


def kind(plural: str, *versions: dict[str, Any]) -> dict[str, Any]:
    """Return a definition whose versions have these fields in their spec."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural.title(), "singular": plural[:-1]},
            "versions": [
                {
                    "name": f"v{number}",
                    "served": True,
                    "storage": number == 1,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": {"type": "object", "properties": properties}},
                        }
                    },
                }
                for number, properties in enumerate(versions, 1)
            ],
        },
    }


def home(client: Client, plural: str, version: str = "v1") -> str:
    return f"/apis/{GROUP}/{version}/namespaces/{client.namespace}/{plural}"


def obj(plural: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    api_version = f"{GROUP}/{version}"
    return {"apiVersion": api_version, "kind": plural.title(), "metadata": {"name": "a"}, "spec": spec}


TEXT: Final = {"type": "string"}


def test_a_version_returns_only_its_own_fields(client: Client) -> None:
    client.define(kind("crates", {"old": TEXT, "both": TEXT}, {"new": TEXT, "both": TEXT}))
    created = client.create(home(client, "crates", "v2"), obj("crates", "v2", new="n", both="b"))
    assert created["spec"] == {"both": "b"}  # the stored version has no field for the other value
    client.merge(f"{home(client, 'crates')}/a", {"spec": {"old": "o"}})
    assert client.get(f"{home(client, 'crates', 'v2')}/a")["spec"] == {"both": "b"}
    assert client.get(f"{home(client, 'crates')}/a")["spec"] == {"both": "b", "old": "o"}


def test_an_object_is_pruned_and_gets_defaults_when_its_definition_has_changed(client: Client) -> None:
    definition = kind("trunks", {"gone": TEXT, "kept": TEXT})
    client.define(definition)
    created = client.create(home(client, "trunks"), obj("trunks", gone="g", kept="k"))
    changed = copy.deepcopy(definition)
    schema: dict[str, Any] = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = {"kept": TEXT, "added": TEXT | {"default": "d"}}
    client.define(changed)
    target = f"{home(client, 'trunks')}/a"
    client.poll_until(lambda: client.get(target)["spec"] == {"kept": "k", "added": "d"})
    pruned = client.get(target)
    assert pruned["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert client.get(home(client, "trunks"))["items"][0]["spec"] == {"kept": "k", "added": "d"}
    client.send("DELETE", f"{DEFINITIONS}/trunks.{GROUP}")


def test_an_event_of_one_group_is_an_event_of_the_other(client: Client) -> None:
    regarding = {"kind": "Pod", "name": "p", "namespace": client.namespace}
    client.create(
        f"{client.home}/events",
        {
            "metadata": {"name": "e"},
            "involvedObject": regarding,
            "message": "m",
            "reason": "r",
            "type": "Normal",
        },
    )
    other = f"/apis/events.k8s.io/v1/namespaces/{client.namespace}/events"
    event = client.get(f"{other}/e")
    assert (event["regarding"], event["note"], event["reason"]) == (regarding, "m", "r")
    assert event["apiVersion"] == "events.k8s.io/v1"
    with client.watch(f"{other}?resourceVersion=0&fieldSelector=metadata.name%3De") as stream:
        [(change, watched)] = stream.take(1)
        assert (change, watched["note"]) == ("ADDED", "m")
        client.send("DELETE", f"{client.home}/events/e")
        [(change, watched)] = stream.take(1)
        assert (change, watched["note"]) == ("DELETED", "m")
    assert client.send("GET", f"{other}/e").status == 404


def test_a_group_returns_an_event_that_it_would_refuse(client: Client) -> None:
    events = f"namespaces/{client.namespace}/events"
    regarding = {"kind": "Pod", "name": "p", "namespace": client.namespace}
    client.create(
        f"/api/v1/{events}",
        {"metadata": {"name": "again"}, "involvedObject": regarding, "series": {"count": 2}},
    )
    returned = client.get(f"/apis/events.k8s.io/v1/{events}/again")
    assert returned["series"] == {"count": 2, "lastObservedTime": None}


def test_both_versions_of_an_autoscaler_are_the_same_object(client: Client) -> None:
    v1 = f"/apis/autoscaling/v1/namespaces/{client.namespace}/horizontalpodautoscalers"
    v2 = v1.replace("v1", "v2", 1)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    spec = {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target}
    client.create(v1, {"metadata": {"name": "h"}, "spec": spec})
    target_value = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": target_value}}
    assert client.get(f"{v2}/h")["spec"]["metrics"] == [metric]
    client.merge(f"{v2}/h", {"spec": {"maxReplicas": 5}})
    returned_spec = client.get(f"{v1}/h")["spec"]
    assert (returned_spec["maxReplicas"], returned_spec["targetCPUUtilizationPercentage"]) == (5, 50)
    memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    changed = client.merge(f"{v2}/h", {"spec": {"metrics": [{"type": "Resource", "resource": memory}]}})
    assert changed["spec"]["metrics"] == [{"type": "Resource", "resource": memory}]
    old = client.get(f"{v1}/h")
    assert "targetCPUUtilizationPercentage" not in old["spec"]
    assert old["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"] == (
        '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]'
    )
    assert client.send("PATCH", f"{v1}/h", {"spec": {"maxReplicas": 7}}, MERGE).status == 200
    assert client.get(f"{v2}/h")["spec"]["metrics"] == [{"type": "Resource", "resource": memory}]


def test_a_foreground_deletion_spares_objects_with_another_owner(client: Client) -> None:
    def owner(obj: Any) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": obj["metadata"]["name"],
                "uid": obj["metadata"]["uid"], "blockOwnerDeletion": True}  # fmt: skip

    first, second = client.config("first"), client.config("second")
    client.config("shared", ownerReferences=[owner(first), owner(second)])
    client.config("own", ownerReferences=[owner(first)])
    client.send("DELETE", f"{client.configmaps}/first?propagationPolicy=Foreground")
    client.wait_until_deleted(client.configmaps, "first")
    shared = client.get(f"{client.configmaps}/shared")
    assert [reference["name"] for reference in shared["metadata"]["ownerReferences"]] == ["second"]
    assert client.send("GET", f"{client.configmaps}/own").status == 404
