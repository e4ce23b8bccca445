"""Tests of `apply_manifests`: the order, kinds that the file defines, dry runs, errors that name the
object."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from virtual_time import Book, Go, book, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.crd import definition_of
from kubeproto_runtime import ApplyError
from kubeproto_runtime.testing import simulated

__all__ = ["go"]

MANIFEST = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: checks}
webhooks: []
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {name: web, namespace: shop}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings, namespace: shop}
  data: {a: b}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: here}
"""


def with_definition() -> str:
    """Return a manifest with a book before its definition, as when files are sorted by name."""
    crd = json.loads(kp.encode(definition_of(Book)))
    moby = {"apiVersion": "example.com/v1", "kind": "Book", "metadata": {"name": "moby"}}
    return json.dumps(moby | {"spec": {"title": "Moby-Dick"}}) + "\n" + json.dumps(crd)


def applied_paths(cluster: sim.Cluster) -> list[str]:
    """Return the ends of the paths of all applies: resource and name."""
    return ["/".join(entry.request.target.partition("?")[0].split("/")[-2:]) for entry in cluster.log
            if entry.request.method == "PATCH"]  # fmt: skip


def test_a_file_is_applied_in_the_order_of_its_dependencies(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            results = await client.apply_manifests(MANIFEST, field_manager="m")
            assert applied_paths(cluster) == [
                "namespaces/shop",
                "serviceaccounts/web",
                "rolebindings/web",
                "configmaps/settings",
                "configmaps/here",
                "deployments/web",
                "validatingwebhookconfigurations/checks",
            ]
            assert {result.outcome for result in results} == {"created"}
            assert str(results[0]) == "Namespace shop created"
            assert cluster.get("v1/ConfigMap", "here", "default") is not None
            new_results = await client.apply_manifests(MANIFEST, field_manager="m", namespace="shop")
            assert [result.outcome for result in new_results].count("configured") == 6
            assert cluster.get("v1/ConfigMap", "here", "shop") is not None

    go(main)


def test_objects_of_a_kind_that_the_file_defines_wait_until_it_is_served(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            results = await client.apply_manifests(with_definition(), field_manager="m")
            assert [result.obj.kind for result in results] == ["CustomResourceDefinition", "Book"]
            assert cluster.get(Book, "moby") is not None
            assert any("/customresourcedefinitions/books.example.com" in entry.request.target
                       for entry in cluster.log if entry.request.method == "GET")  # fmt: skip
            # The kind is served by now, so the second apply does not wait.
            start = anyio.current_time()
            await client.apply_manifests(with_definition(), field_manager="m")
            assert anyio.current_time() - start < 1

    go(main)


def test_a_definition_that_is_never_served_is_an_error_within_the_timeout(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        crd = json.loads(kp.encode(definition_of(Book)))
        crd["spec"]["versions"][0]["served"] = False
        crd["spec"]["versions"].append(
            crd["spec"]["versions"][0] | {"name": "v2", "storage": False, "served": True}
        )
        moby: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Book", "metadata": {"name": "moby"}}
        objects = [kp.decode(kp.encode(obj), kp.Dynamic) for obj in (crd, moby)]
        async with simulated(cluster) as client:
            with pytest.raises(
                ApplyError, match=r"the definition of Book \(example.com/v1\) is not installed"
            ):
                await client.apply_manifests(objects, field_manager="m", timeout=10)
            assert anyio.current_time() <= 11

    go(main)


def test_an_error_names_the_refused_object_its_position_and_the_applied_objects(go: Go) -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late}\n"
    )

    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            with pytest.raises(ApplyError, match="object 2 of the manifests, ConfigMap Bad_Name: ") as caught:
                await client.apply_manifests(text, field_manager="m")
            assert isinstance(caught.value.__cause__, kp.Invalid)
            assert [result.obj.metadata.name for result in caught.value.applied] == ["good"]
            assert caught.value.position == 2
            assert cluster.get("v1/ConfigMap", "late") is None

    go(main)


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: Pod\n", "document 2, line 5"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: [\n", "document 1"),
    ],
)
def test_a_syntax_error_names_the_line_and_nothing_is_sent(go: Go, text: str, location: str) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            with pytest.raises(kp.InvalidManifest, match=location):
                await client.apply_manifests(text, field_manager="m")
            assert cluster.log == []

    go(main)


def test_an_error_names_an_unknown_kind(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            with pytest.raises(ApplyError, match=r"Book.example.com moby: the definition of Book"):
                await client.apply_manifests([book()], field_manager="m")

    go(main)


def test_a_dry_run_stores_nothing_and_omits_objects_whose_kind_or_namespace_is_missing(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            text = f"{with_definition()}\n"
            results = await client.apply_manifests(text, field_manager="m", dry_run=True)
            assert [result.outcome for result in results] == ["created", "not sent"]
            results = await client.apply_manifests(MANIFEST, field_manager="m", dry_run=True)
            outcomes = {str(result) for result in results}
            assert "Namespace shop created" in outcomes
            assert "Deployment.apps shop/web not sent" in outcomes
            assert "ConfigMap default/here created" in outcomes
            assert cluster.get("v1/Namespace", "shop", "") is None
            assert all(
                "dryRun=All" in entry.request.target
                for entry in cluster.log
                if entry.request.method == "PATCH"
            )

    go(main)


def test_a_field_of_another_manager_is_a_conflict_without_force(go: Go) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: %s}\n"

    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            await client.apply_manifests(text % "one", field_manager="first")
            with pytest.raises(ApplyError) as caught:
                await client.apply_manifests(text % "two", field_manager="second")
            assert isinstance(caught.value.__cause__, kp.Conflict)
            [result] = await client.apply_manifests(text % "two", field_manager="second", force=True)
            assert result.obj["data"] == {"k": "two"}

    go(main)


def test_typed_objects_are_applied_and_a_field_manager_is_required(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        async with simulated(cluster) as client:
            [result] = await client.apply_manifests([book(pages=3)], field_manager="m")
            assert result.obj["spec"]["pages"] == 3
            with pytest.raises(kp.InvalidRequest, match="field_manager"):
                await client.apply_manifests([book()])

    go(main)


def test_a_file_is_applied_through_failures_of_server_and_network(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        faults = sim.Faults(
            cluster, script=[sim.Throttle(), sim.LoseResponse(), sim.RefuseConnection(), sim.Html()]
        )
        async with simulated(cluster, faults=faults) as client:
            await client.apply_manifests(f"{with_definition()}", field_manager="m")
            assert faults.script == []
            assert cluster.get(Book, "moby") is not None

    go(main)
