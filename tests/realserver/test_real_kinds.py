"""The package's data about the kinds of each release match a server of that release."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from asked_release import NEWEST, RELEASE
from kind_samples import class_of

from kubeproto.kinds import kind_table
from kubeproto.objects import decode, encode, to_plain
from kubeproto.wire import RawRequest
from kubeproto_httpx import BlockingHttpxTransport
from kubeproto_runtime import BlockingClient
from realserver import RealServer
from tools.kinds._kind_table import table_of
from tools.kinds._release_differences import difference

from .kinds import description_of

JSON: Final = (("Accept", "application/json"),)
BINDINGS: Final = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
AUTOSCALERS: Final = "namespaces/default/horizontalpodautoscalers"
# Objects without a field that only newer schemas require. The first word is the type.
WITHOUT: Final[dict[str, tuple[str, dict[str, Any], int]]] = {
    "admissionregistration_v1.ValidatingAdmissionPolicyBinding.spec": (BINDINGS, {}, 422),
    "admissionregistration_v1.ValidatingAdmissionPolicyBindingSpec.policyName": (
        BINDINGS, {"spec": {"validationActions": ["Deny"]}}, 422,
    ),
    "admissionregistration_v1.ValidatingAdmissionPolicyBindingSpec.validationActions": (
        BINDINGS, {"spec": {"policyName": "policy"}}, 422,
    ),
    "authentication_v1.TokenReviewSpec.token": (
        "/apis/authentication.k8s.io/v1/tokenreviews", {"spec": {}}, 400,
    ),
    "autoscaling_v1.HorizontalPodAutoscaler.spec": (f"/apis/autoscaling/v1/{AUTOSCALERS}", {}, 422),
    "autoscaling_v2.HorizontalPodAutoscaler.spec": (f"/apis/autoscaling/v2/{AUTOSCALERS}", {}, 422),
    "batch_v1.CronJob.spec": ("/apis/batch/v1/namespaces/default/cronjobs", {}, 422),
    "networking_v1.IPAddress.spec": ("/apis/networking.k8s.io/v1/ipaddresses", {}, 422),
}  # fmt: skip


def test_the_table_matches_the_kinds_of_this_release(real_server: RealServer) -> None:
    with BlockingHttpxTransport(real_server.connection) as transport:
        server_table = table_of(description_of(transport))
    if RELEASE == NEWEST:
        assert (server_table.resources, server_table.types) == (kind_table().resources, kind_table().types)
    else:
        assert difference(kind_table(), server_table) == kind_table().releases[RELEASE]


def test_every_object_of_a_new_cluster_round_trips_through_the_typed_classes(
    real_server: RealServer,
) -> None:
    read = 0
    with BlockingHttpxTransport(real_server.connection) as transport:
        for builtin in kind_table().resources:
            resource = builtin.resource
            if "list" not in resource.verbs or is_missing(f"{resource.api_version}/{resource.plural}"):
                continue
            root = "apis" if resource.group else "api"
            request = RawRequest("GET", f"/{root}/{resource.api_version}/{resource.plural}", JSON)
            with transport.send(request, timeout=60.0) as incoming:
                listed = json.loads(b"".join(incoming))
            for item in listed["items"]:
                original = without_nulls({"kind": resource.kind, "apiVersion": resource.api_version, **item})
                typed = decode(json.dumps(original).encode(), class_of(builtin.type), strict=True)
                assert json.loads(encode(to_plain(typed))) == original
                read += 1
    assert read > 150  # roles, priority classes, flow schemas


def is_missing(resource: str) -> bool:
    """Return whether the tested release lacks a resource."""
    return RELEASE in kind_table().releases and resource in kind_table().releases[RELEASE].missing_resources


def without_nulls(value: Any) -> Any:
    """Return a value without null members, which mean the same as absent ones."""

    def drop_null_members(members: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in members.items() if value is not None}

    return json.loads(json.dumps(value), object_hook=drop_null_members)


def test_a_document_with_an_outdated_hash_is_the_current_document(real_server: RealServer) -> None:
    request = RawRequest("GET", "/openapi/v3/api/v1?hash=AB", (("Accept", "application/json"),))
    with BlockingHttpxTransport(real_server.connection) as transport:
        with transport.send(request) as incoming:
            assert (incoming.status, b"".join(incoming)) == (301, b"")
            headers = {name.lower(): value for name, value in incoming.headers}
        client = BlockingClient(transport)
        digest = client.openapi_index()["api/v1"]
        assert headers["location"] == f"/openapi/v3/api/v1?hash={digest}"
        assert client.openapi_document("api/v1", hash="AB") == client.openapi_document("api/v1")


def test_each_newly_required_field_is_tested() -> None:
    assert {path for builtin in kind_table().releases.values() for path in builtin.optional_fields} == set(
        WITHOUT
    )


@pytest.mark.parametrize("field", WITHOUT)
def test_a_newly_required_field_was_already_required_by_older_servers(
    real_server: RealServer, field: str
) -> None:
    path, body, status = WITHOUT[field]
    _, _, plural = path.rpartition("/")
    api_version = path.removeprefix("/apis/").removesuffix(f"/{plural}").removesuffix("/namespaces/default")
    if is_missing(f"{api_version}/{plural}"):
        return  # the release does not serve it
    request = RawRequest(
        "POST",
        path,
        (("Content-Type", "application/json"),),
        json.dumps({"metadata": {"name": "x"}, **body}).encode(),
    )
    with (
        BlockingHttpxTransport(real_server.connection) as transport,
        transport.send(request, timeout=60.0) as incoming,
    ):
        assert incoming.status == status
