"""CEL rules that the simulator cannot evaluate: a write that needs such a rule gets a warning."""

from __future__ import annotations

from typing import Any, Final

from raw_client import MERGE, RawClient

import kubeproto_sim as sim

TAGGED: Final = "/apis/example.io/v1/namespaces/default/taggeds"


def tagging(spec: dict[str, Any]) -> RawClient:
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "taggeds.example.io"},
        "spec": {
            "group": "example.io",
            "scope": "Namespaced",
            "names": {"plural": "taggeds", "singular": "tagged", "kind": "Tagged", "listKind": "TaggedList"},
            "versions": [version],
        },
    }
    return RawClient(sim.Cluster(crds=[definition]))


def test_a_rule_that_cannot_be_evaluated_causes_a_warning_on_the_write() -> None:
    listed = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    rules = [{"rule": "dyn(self) == ['b', 'a']"}, {"rule": "size(self) < 3"}]
    spec = {"type": "object", "properties": {"tags": listed | {"x-kubernetes-validations": rules}}}
    client = tagging(spec)
    tagged: dict[str, Any] = {"apiVersion": "example.io/v1", "kind": "Tagged", "metadata": {"name": "a"}}
    tagged["spec"] = {"tags": ["a"]}
    client.create(TAGGED, tagged)
    (warning,) = [value for name, value in client.response.headers if name == "Warning"]
    assert "spec.tags: the rule " in warning
    assert "was not evaluated: == ignores the order" in warning
    refused = client.expect_refusal("POST", TAGGED, tagged | {"spec": {"tags": ["a", "b", "c"]}})
    assert refused["code"] == 422
    client.fetch("PATCH", f"{TAGGED}/a", {"spec": {"tags": ["b"]}}, MERGE)
    assert any("was not evaluated" in value for name, value in client.response.headers if name == "Warning")
