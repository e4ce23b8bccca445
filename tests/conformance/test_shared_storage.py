"""One object behind several versions and groups, and objects that are older than their schema."""

from __future__ import annotations

import copy
from typing import Any, Final

from conformance.client import DEFINITIONS, MERGE, Client

GROUP: Final = "stored.test"


def kind(plural: str, *versions: dict[str, Any]) -> dict[str, Any]:
    """A definition whose versions have these fields in their spec."""
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


def test_a_version_shows_no_field_of_another_that_it_does_not_have(client: Client) -> None:
    client.define(kind("crates", {"old": TEXT, "both": TEXT}, {"new": TEXT, "both": TEXT}))
    made = client.create(home(client, "crates", "v2"), obj("crates", "v2", new="n", both="b"))
    assert made["spec"] == {"both": "b"}  # the stored version has no place for the rest
    client.merge(f"{home(client, 'crates')}/a", {"spec": {"old": "o"}})
    assert client.get(f"{home(client, 'crates', 'v2')}/a")["spec"] == {"both": "b"}
    assert client.get(f"{home(client, 'crates')}/a")["spec"] == {"both": "b", "old": "o"}


def test_an_object_is_pruned_and_gets_defaults_when_its_definition_has_changed(client: Client) -> None:
    definition = kind("trunks", {"gone": TEXT, "kept": TEXT})
    client.define(definition)
    made = client.create(home(client, "trunks"), obj("trunks", gone="g", kept="k"))
    changed = copy.deepcopy(definition)
    schema: dict[str, Any] = changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"] = {"kept": TEXT, "added": TEXT | {"default": "d"}}
    client.define(changed)
    target = f"{home(client, 'trunks')}/a"
    client.eventually(lambda: client.get(target)["spec"] == {"kept": "k", "added": "d"})
    found = client.get(target)
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert client.get(home(client, "trunks"))["items"][0]["spec"] == {"kept": "k", "added": "d"}
    client.send("DELETE", f"{DEFINITIONS}/trunks.{GROUP}")


def test_an_event_of_one_group_is_an_event_of_the_other(client: Client) -> None:
    about = {"kind": "Pod", "name": "p", "namespace": client.namespace}
    client.create(
        f"{client.home}/events",
        {"metadata": {"name": "e"}, "involvedObject": about, "message": "m", "reason": "r", "type": "Normal"},
    )
    other = f"/apis/events.k8s.io/v1/namespaces/{client.namespace}/events"
    found = client.get(f"{other}/e")
    assert (found["regarding"], found["note"], found["reason"]) == (about, "m", "r")
    assert found["apiVersion"] == "events.k8s.io/v1"
    with client.watch(f"{other}?resourceVersion=0&fieldSelector=metadata.name%3De") as stream:
        [(change, seen)] = stream.take(1)
        assert (change, seen["note"]) == ("ADDED", "m")
        client.send("DELETE", f"{client.home}/events/e")
        [(change, seen)] = stream.take(1)
        assert (change, seen["note"]) == ("DELETED", "m")
    assert client.send("GET", f"{other}/e").status == 404


def test_an_event_that_one_group_would_refuse_is_shown_by_it(client: Client) -> None:
    events = f"namespaces/{client.namespace}/events"
    about = {"kind": "Pod", "name": "p", "namespace": client.namespace}
    client.create(
        f"/api/v1/{events}",
        {"metadata": {"name": "again"}, "involvedObject": about, "series": {"count": 2}},
    )
    shown = client.get(f"/apis/events.k8s.io/v1/{events}/again")
    assert shown["series"] == {"count": 2, "lastObservedTime": None}


def test_both_versions_of_an_autoscaler_are_one_object(client: Client) -> None:
    v1 = f"/apis/autoscaling/v1/namespaces/{client.namespace}/horizontalpodautoscalers"
    v2 = v1.replace("v1", "v2", 1)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
    spec = {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50, "scaleTargetRef": target}
    client.create(v1, {"metadata": {"name": "h"}, "spec": spec})
    wanted = {"type": "Utilization", "averageUtilization": 50}
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": wanted}}
    assert client.get(f"{v2}/h")["spec"]["metrics"] == [metric]
    client.merge(f"{v2}/h", {"spec": {"maxReplicas": 5}})
    found = client.get(f"{v1}/h")["spec"]
    assert (found["maxReplicas"], found["targetCPUUtilizationPercentage"]) == (5, 50)
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


def test_a_deletion_in_the_foreground_spares_what_has_another_owner(client: Client) -> None:
    def owner(made: Any) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": made["metadata"]["name"],
                "uid": made["metadata"]["uid"], "blockOwnerDeletion": True}  # fmt: skip

    first, second = client.config("first"), client.config("second")
    client.config("shared", ownerReferences=[owner(first), owner(second)])
    client.config("own", ownerReferences=[owner(first)])
    client.send("DELETE", f"{client.configmaps}/first?propagationPolicy=Foreground")
    client.gone(client.configmaps, "first")
    left = client.get(f"{client.configmaps}/shared")
    assert [one["name"] for one in left["metadata"]["ownerReferences"]] == ["second"]
    assert client.send("GET", f"{client.configmaps}/own").status == 404
