"""A simulated server of an older Kubernetes: the parts that it does not serve, know or do."""

from __future__ import annotations

from typing import Any, Final

import pytest
from raw_client import CONFIGMAPS, RawClient

from kubeproto.kinds import kind_table
from kubeproto_sim import Cluster, Modes
from kubeproto_sim.kinds._kubernetes_releases import release_of

OLDER: Final = tuple(kind_table().releases)
NEWEST: Final = "1.36"
PODS: Final = "/api/v1/namespaces/default/pods"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STREAMING: Final = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"


def number(release: str) -> int:
    """Return the minor version of a release."""
    return int(release.partition(".")[2])


def server(release: str) -> RawClient:
    return RawClient(Cluster(kubernetes=release))


def test_the_newest_release_is_that_of_the_generated_kinds() -> None:
    assert kind_table().kubernetes.rpartition(".")[0] == NEWEST
    assert Cluster().kubernetes == NEWEST


def test_an_unknown_release_is_refused_by_name() -> None:
    with pytest.raises(
        ValueError, match=r"Kubernetes '1\.12' cannot be simulated; the releases are 1\.30, .*1\.36"
    ):
        Cluster(kubernetes="1.12")


@pytest.mark.parametrize("release", [*OLDER, NEWEST])
def test_a_server_reports_its_release(release: str) -> None:
    client = server(release)
    version = client.fetch("GET", "/version")
    assert f"{version['major']}.{version['minor']}" == release
    assert version["gitVersion"].startswith(f"v{release}.")
    assert client.fetch("GET", "/openapi/v3/api/v1")["info"]["version"] == version["gitVersion"]


@pytest.mark.parametrize("release", OLDER)
def test_kinds_of_later_releases_are_not_served(release: str) -> None:
    client, newest = server(release), server(NEWEST)
    for missing in kind_table().releases[release].missing_resources:
        api_version, _, path = missing.rpartition("/")
        plural, subresource = path, ""
        if api_version.count("/") == 2 or api_version == "v1/pods":
            (api_version, _, plural), subresource = api_version.rpartition("/"), path
        root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        name = f"{plural}/{subresource}" if subresource else plural
        assert name in _served(newest, root)
        assert name not in _served(client, root)
        if not subresource:
            assert newest.send("GET", f"{root}/{plural}").status == 200
            assert client.send("GET", f"{root}/{plural}").status == 404


def _served(client: RawClient, root: str) -> set[str]:
    if client.send("GET", root).status == 404:
        return set()
    return {resource["name"] for resource in client.fetch("GET", root)["resources"]}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.mark.parametrize("release", ["1.30", "1.33"])
def test_a_field_of_a_later_release_is_unknown_to_the_server(release: str) -> None:
    client = server(release)
    refused = client.fetch("POST", f"{PODS}?fieldValidation=Strict", pod(hostnameOverride="other"))
    assert 'unknown field "spec.hostnameOverride"' in refused["message"]
    created = client.send("POST", PODS, pod(hostnameOverride="other"))
    assert created.status == 201
    assert ("Warning", '299 - "unknown field \\"spec.hostnameOverride\\""') in created.headers
    assert "hostnameOverride" not in client.fetch("GET", f"{PODS}/one")["spec"]
    schemas = client.fetch("GET", "/openapi/v3/api/v1")["components"]["schemas"]
    assert "hostnameOverride" not in schemas["io.k8s.api.core.v1.PodSpec"]["properties"]
    newest = server(NEWEST)
    assert newest.fetch("POST", PODS, pod(hostnameOverride="other"))["spec"]["hostnameOverride"] == "other"


@pytest.mark.parametrize("release", [*OLDER, NEWEST])
def test_streaming_lists_are_refused_by_releases_that_disable_them(release: str) -> None:
    answer = server(release).send("GET", CONFIGMAPS + STREAMING)
    assert answer.status == (200 if release in ("1.32", "1.34", "1.35", NEWEST) else 422)


def test_a_mode_determines_which_feature_gates_can_be_enabled() -> None:
    client = RawClient(Cluster(kubernetes="1.33", modes=Modes(streaming_lists=True)))
    assert client.send("GET", CONFIGMAPS + STREAMING).status == 200


@pytest.mark.parametrize("release", [*OLDER, NEWEST])
def test_a_shard_contains_all_objects_in_releases_without_shards(release: str) -> None:
    client = server(release)
    for name in "abcd":
        client.create(CONFIGMAPS, {"metadata": {"name": name}})
    shard = "shardRange(object.metadata.uid,'0x0000000000000000','0x4000000000000000')"
    listed = client.fetch("GET", f"{CONFIGMAPS}?shardSelector={shard}")
    assert (len(listed["items"]) == 4) == (release != NEWEST)


@pytest.mark.parametrize("release", [*OLDER, NEWEST])
def test_selectable_fields_of_a_definition_are_dropped_where_the_gate_was_off(release: str) -> None:
    client = server(release)
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
        "selectableFields": [{"jsonPath": ".title"}],
    }  # fmt: skip
    spec = {"group": "example.com", "names": {"kind": "Book", "plural": "books"}, "scope": "Namespaced"}
    name = {"name": "books.example.com"}
    definition = client.create(DEFINITIONS, {"metadata": name, "spec": {**spec, "versions": [version]}})
    client.cluster.advance(10)
    assert ("selectableFields" in definition["spec"]["versions"][0]) == (release != "1.30")
    answer = client.send("GET", "/apis/example.com/v1/books?fieldSelector=title%3DMoby")
    assert answer.status == (400 if release == "1.30" else 200)


def test_a_fork_and_a_restored_snapshot_are_of_the_same_release() -> None:
    cluster = Cluster(kubernetes="1.30")
    twin = cluster.fork()
    assert twin.kubernetes == "1.30"
    assert RawClient(twin).send("GET", "/apis/networking.k8s.io/v1/ipaddresses").status == 404


def test_an_older_release_begins_with_the_objects_of_a_new_cluster_too() -> None:
    older = RawClient(Cluster(kubernetes="1.30", populated=True, controllers=True))
    older.cluster.advance(60)
    assert older.fetch("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin")["rules"]


def test_an_older_release_lacks_the_behaviour_of_later_ones() -> None:
    older, newest = server("1.30"), server(NEWEST)
    services = "/api/v1/namespaces/default/services?fieldSelector=spec.type%3DClusterIP"
    assert (older.send("GET", services).status, newest.send("GET", services).status) == (400, 200)
    endpoints = "/api/v1/namespaces/default/endpoints"
    assert not any(name == "Warning" for name, _ in older.send("GET", endpoints).headers)
    assert any(name == "Warning" for name, _ in newest.send("GET", endpoints).headers)


@pytest.mark.parametrize("release", [*OLDER, NEWEST])
def test_the_kubelets_of_a_cluster_are_of_its_release(release: str) -> None:
    client = server(release)
    client.cluster.nodes(1)
    client.cluster.advance(1)
    [node] = client.fetch("GET", "/api/v1/nodes")["items"]
    version = kind_table().releases[release].kubernetes if release in OLDER else kind_table().kubernetes
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{version}"


@pytest.mark.parametrize("release", [*OLDER, NEWEST])
def test_a_pod_has_a_generation_and_shows_it_in_its_status_as_the_release_does(release: str) -> None:
    client = server(release)
    client.cluster.nodes(1)
    client.create(PODS, pod())
    client.cluster.advance(10)
    created = client.fetch("GET", f"{PODS}/one")
    assert created["status"]["phase"] == "Running"
    assert ("generation" in created["metadata"]) == (number(release) >= 33)
    parts = [created["status"], *created["status"]["conditions"]]
    assert {"observedGeneration" in part for part in parts} == {number(release) >= 34}


@pytest.mark.parametrize("release", [*OLDER, NEWEST])
def test_a_field_behind_a_gate_that_is_off_is_dropped_without_a_warning(release: str) -> None:
    client = server(release)
    resize = [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]
    mount = {"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"}
    container = {"name": "c", "image": "i", "resizePolicy": resize, "volumeMounts": [mount]}
    body = pod(hostUsers=False, containers=[container], volumes=[{"name": "v", "emptyDir": {}}])
    answer = client.send("POST", f"{PODS}?fieldValidation=Strict", body)
    assert answer.status == 201
    assert not any(name == "Warning" for name, _ in answer.headers)
    spec = client.fetch("GET", f"{PODS}/one")["spec"]
    assert ("hostUsers" in spec) == (number(release) >= 33)
    assert ("resizePolicy" in spec["containers"][0]) == (number(release) >= 33)
    assert ("recursiveReadOnly" in spec["containers"][0]["volumeMounts"][0]) == (number(release) >= 31)


def test_each_gated_field_is_known_to_an_older_release_and_preserved_by_the_newest() -> None:
    for name in release_of("1.30").gated_fields:
        type_, _, wire = name.rpartition(".")
        assert wire in kind_table().types[type_].fields
        knowing = [release for release in OLDER if name not in kind_table().releases[release].missing_fields]
        assert any(name in release_of(release).gated_fields for release in knowing), name
    assert not release_of(NEWEST).gated_fields
