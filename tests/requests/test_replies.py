"""A response is the value of its request, or an error that describes the response."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from recorded import read_recording
from request_kinds import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    FOOS,
    LOOSE_CONFIG_MAPS,
    PODS,
    SERVICE_ACCOUNTS,
    ConfigMap,
    Pod,
)

import kubeproto as kp
from kubeproto.requests import Request, health, openapi_document, openapi_index, version
from kubeproto.wire import Safety

CONFIG_MAP = (
    b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"w"},"data":{"x":"1"}}'
)
STATUS = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
GZIP = (("Content-Encoding", "gzip"),)
FOOS_ANYWHERE = kp.Api(kp.Metadata[ConfigMap], namespace="w")


@pytest.mark.parametrize(
    ("headers", "body", "message"),
    [
        ((), b"", "empty"),
        ((), b" \n", "empty"),
        ((("Content-Type", "text/html"),), b"<html>Sign in</html>", "text/html, not JSON: '<html>Sign in"),
        ((), CONFIG_MAP[:-9], "its body is invalid JSON"),
        ((), b"\x1f\x8b\x08\x00", "is not JSON"),
        ((), b"[" * 100_000, "its body is invalid JSON"),
        ((), b"null", "ConfigMap"),
        ((), b'[{"kind":"ConfigMap"}]', "ConfigMap"),
        ((), STATUS, "ConfigMap"),
        ((), b'{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}', "ConfigMap"),
        (GZIP, CONFIG_MAP, "gzip"),
        (GZIP, gzip.compress(CONFIG_MAP, mtime=0)[:-5], "gzip"),
        ((("Content-Encoding", "br"),), CONFIG_MAP, "'br'"),
    ],
)
def test_the_error_for_an_invalid_body_names_the_request_and_the_content(
    headers: kp.Headers, body: bytes, message: str
) -> None:
    for api in (CONFIG_MAPS, LOOSE_CONFIG_MAPS, FOOS_ANYWHERE):
        request: Request[Any] = api.get("a", resource_version="private")
        with pytest.raises(kp.RemoteProtocolError) as caught:
            request.parse(200, headers, body)
        assert str(caught.value).startswith(
            "GET /api/v1/namespaces/w/configmaps/a: the response is 200, but "
        )
        assert message in str(caught.value) or api is not CONFIG_MAPS
        assert "private" not in str(caught.value)


def test_a_truncated_object_is_an_error_although_only_its_start_is_decoded() -> None:
    identity = '"name":"a","namespace":"w","uid":"u","resourceVersion":"7","labels":{"a":"b"}'
    body = f'{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{{identity}}},"data":{{"x":"{"y" * 9000}"}}}}'
    for api in (CONFIG_MAPS, LOOSE_CONFIG_MAPS, FOOS_ANYWHERE):
        assert api.get("a").parse(200, (), body.encode()).value.metadata.uid == "u"
        for bad in (body[:-1], body[:-200], body + "}"):
            with pytest.raises(kp.RemoteProtocolError, match="its body is invalid JSON"):
                api.get("a").parse(200, (), bad.encode())


def test_the_error_for_a_truncated_secret_does_not_quote_it() -> None:
    token = (
        b'{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","status":{"token":"s3cr3t","expir'
    )
    with pytest.raises(kp.RemoteProtocolError) as caught:
        SERVICE_ACCOUNTS.create_token("a").parse(201, (), token)
    assert "s3cr3t" not in str(caught.value)


def test_a_token_is_hidden_in_every_repr() -> None:
    recorded = read_recording("token-request-201").response
    body = recorded.content.replace(b"<jwt>", b"s3cr3t")
    reply = SERVICE_ACCOUNTS.create_token("sa1").parse(201, recorded.header_pairs, body)
    assert reply.value.status is not None
    assert reply.value.status.token == "s3cr3t"
    assert "s3cr3t" not in repr(reply)


def test_a_list_is_neither_a_table_nor_an_object() -> None:
    for body in (CONFIG_MAP, STATUS, b'{"kind":"Table","rows":[]}', b'{"items":5}', b"{}"):
        with pytest.raises(kp.RemoteProtocolError):
            CONFIG_MAPS.list().parse(200, (), body)
    with pytest.raises(kp.RemoteProtocolError):
        CONFIG_MAPS.as_table().list().parse(200, (), b'{"kind":"ConfigMapList","items":[]}')


def test_a_list_may_have_null_items() -> None:
    body = b'{"kind":"ConfigMapList","metadata":{"resourceVersion":"7"},"items":null}'
    page = CONFIG_MAPS.list().parse(200, (), body).value
    assert (page.items, page.version) == ([], "7")


def test_items_without_a_kind_get_the_kind_of_the_list() -> None:
    body = b'{"items":[{"metadata":{"name":"a"}}]}'
    for api in (CONFIG_MAPS, LOOSE_CONFIG_MAPS, FOOS_ANYWHERE):
        (item,) = api.list().parse(200, (), body).value
        assert (item.kind, item.api_version) == ("ConfigMap", "v1")


def test_a_table_may_have_null_rows() -> None:
    body = b'{"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":null,"rows":null}'
    table = CONFIG_MAPS.as_table().list().parse(200, (), body).value
    assert (table.columns, table.rows) == ((), [])


def test_rq_26_an_error_without_a_status_keeps_its_code_retry_after_and_start_of_body() -> None:
    with pytest.raises(kp.ServiceUnavailable) as caught:
        CONFIG_MAPS.list().parse(503, (("Retry-After", "7"),), b"<html>" + b"x" * 9000)
    assert caught.value.code == 503
    assert caught.value.retry_after == 7
    assert len(caught.value.status.message) < 3000


@pytest.mark.parametrize(
    "body", [gzip.compress(b'{"message":"no","status":"Failure","reason":"Forbidden"}', mtime=0), b"no gzip"]
)
def test_an_error_response_with_an_undecodable_body_is_an_error(body: bytes) -> None:
    with pytest.raises(kp.Forbidden):
        CONFIG_MAPS.get("a").parse(403, GZIP, body)


def test_rq_27_a_replace_reports_whether_it_created_the_object() -> None:
    obj = ConfigMap(metadata=kp.ObjectMeta(name="a"))
    assert CONFIG_MAPS.replace(obj).parse(201, (), CONFIG_MAP).created
    assert not CONFIG_MAPS.replace(obj).parse(200, (), CONFIG_MAP).created


def test_rq_30_a_path_has_its_parts_in_order() -> None:
    assert FOOS.status.get("f").target == "/apis/wire.test/v1/namespaces/w/foos/f/status"
    assert kp.Api(Pod, namespace=kp.ALL).list().target == "/api/v1/pods"
    assert kp.Api(Pod).get("p").target == "/api/v1/namespaces/default/pods/p"
    assert DEPLOYMENTS.scale.get("d").target == "/apis/apps/v1/namespaces/w/deployments/d/scale"


def test_rq_32_an_api_builds_any_number_of_requests() -> None:
    first, second = CONFIG_MAPS.list(limit=1), CONFIG_MAPS.get("a")
    assert CONFIG_MAPS.list(limit=1) == first
    assert first.target != second.target
    assert [first.parse(200, (), b'{"items":[]}').value.items for _ in range(2)] == [[], []]


def test_a_deletion_returns_the_object_or_a_status() -> None:
    with_status = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"status":{"phase":"Running"}}'
    assert isinstance(PODS.delete("p").parse(200, (), with_status).value, Pod)
    assert isinstance(PODS.delete("p").parse(200, (), STATUS).value, kp.Status)
    assert isinstance(PODS.delete_collection().parse(200, (), STATUS).value, kp.Status)
    with pytest.raises(kp.RemoteProtocolError):
        PODS.delete("p").parse(200, (), CONFIG_MAP)


def test_an_eviction_succeeds_with_a_success_status() -> None:
    assert PODS.evict("p").parse(201, (), STATUS).value.success
    with pytest.raises(kp.RemoteProtocolError):
        PODS.evict("p").parse(201, (), CONFIG_MAP)


def test_a_log_may_be_empty_and_contain_any_bytes() -> None:
    assert PODS.log("p").parse(204, (), b"").value == ""
    assert PODS.log("p").parse(200, (), b"half a line, \xff").value == "half a line, \ufffd"


def test_a_failed_health_check_is_a_response() -> None:
    assert health().parse(200, (), b"ok").value.healthy
    assert not health("livez").parse(500, (), b"[-]etcd failed").value.healthy
    with pytest.raises(kp.Unauthorized):
        health().parse(401, (), b"")


def test_the_version_of_a_hosted_cluster_has_numbers() -> None:
    body = b'{"major":"1","minor":"27+","gitVersion":"v1.27.3-gke.100"}'
    assert version().parse(200, (), body).value.release == (1, 27)


def test_openapi_documents_are_requested_by_their_url_in_the_index() -> None:
    apps = {"serverRelativeURL": "/openapi/v3/apis/apps/v1?hash=AB%2F"}
    body = json.dumps({"paths": {"apis/apps/v1": apps, "version": {"serverRelativeURL": "/x"}}}).encode()
    index = openapi_index().parse(200, (), body).value
    assert index == {"apis/apps/v1": "AB%2F", "version": ""}
    assert openapi_document("apis/apps/v1").target == "/openapi/v3/apis/apps/v1"
    assert openapi_document("api/v1").parse(200, (), b'{"openapi":"3.0.0"}').value == {"openapi": "3.0.0"}


@given(status=st.integers(100, 599), body=st.binary(max_size=40), coding=st.sampled_from([(), GZIP]))
def test_any_response_is_a_value_or_a_kubeproto_error(status: int, body: bytes, coding: kp.Headers) -> None:
    requests: list[Request[Any]] = [
        CONFIG_MAPS.get("a"),
        LOOSE_CONFIG_MAPS.list(),
        PODS.delete("p"),
        PODS.log("p"),
        PODS.evict("p"),
        CONFIG_MAPS.as_table().list(),
        version(),
        health(),
        openapi_index(),
    ]
    for request in requests:
        try:
            reply = request.parse(status, coding, body)
        except (kp.ApiError, kp.RemoteProtocolError):
            continue
        assert reply.status == status


NAMED = ConfigMap(metadata=kp.ObjectMeta(name="a"))
VERSIONED = ConfigMap(metadata=kp.ObjectMeta(name="a", resource_version="7"))
UNCONDITIONAL = ConfigMap(metadata=kp.ObjectMeta(name="a", resource_version="0", uid="u"))
UNNAMED = ConfigMap(metadata=kp.ObjectMeta(generate_name="a-"))
VERSION_TEST = {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}


@pytest.mark.parametrize(
    ("request_", "safety"),
    [
        (CONFIG_MAPS.get("a"), Safety.READ),
        (CONFIG_MAPS.list(), Safety.READ),
        (version(), Safety.READ),
        (CONFIG_MAPS.create(NAMED), Safety.GUARDED),
        (CONFIG_MAPS.create(UNNAMED), Safety.NOT_IDEMPOTENT),
        (CONFIG_MAPS.replace(NAMED), Safety.NOT_IDEMPOTENT),
        (CONFIG_MAPS.replace(VERSIONED), Safety.GUARDED),
        (CONFIG_MAPS.replace(UNCONDITIONAL), Safety.NOT_IDEMPOTENT),
        (CONFIG_MAPS.apply(NAMED, field_manager="m"), Safety.GUARDED),
        (CONFIG_MAPS.merge_patch("a", {"metadata": {"resourceVersion": "7"}}), Safety.GUARDED),
        (CONFIG_MAPS.merge_patch("a", {"metadata": {"uid": "u"}}), Safety.NOT_IDEMPOTENT),
        (CONFIG_MAPS.merge_patch("a", {"metadata": None}), Safety.NOT_IDEMPOTENT),
        (CONFIG_MAPS.json_patch("a", [{"op": "add", "path": "/x/-", "value": 1}]), Safety.NOT_IDEMPOTENT),
        (CONFIG_MAPS.json_patch("a", [VERSION_TEST]), Safety.GUARDED),
        (CONFIG_MAPS.delete("a"), Safety.NOT_IDEMPOTENT),
        (CONFIG_MAPS.delete("a", uid="u"), Safety.GUARDED),
        (CONFIG_MAPS.delete_collection(), Safety.NOT_IDEMPOTENT),
        (PODS.evict("p"), Safety.NOT_IDEMPOTENT),
        (PODS.evict("p", resource_version="7"), Safety.GUARDED),
        (SERVICE_ACCOUNTS.create_token("s"), Safety.NOT_IDEMPOTENT),
    ],
)
def test_a_request_has_the_safety_of_a_repetition(request_: Request[Any], safety: Safety) -> None:
    assert request_.safety is safety


def test_deletions_and_evictions_have_options_in_the_body() -> None:
    request = CONFIG_MAPS.delete(
        "a", uid="u", resource_version="7", grace_period=0, propagation="Orphan", dry_run=True
    )
    options = {
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Orphan",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
    }
    assert json.loads(request.body) == options
    assert request.target == "/api/v1/namespaces/w/configmaps/a"
    eviction = json.loads(PODS.evict("p", grace_period=0).body)
    assert eviction == {
        "kind": "Eviction",
        "apiVersion": "policy/v1",
        "metadata": {"name": "p", "namespace": "w"},
        "deleteOptions": {"gracePeriodSeconds": 0},
    }


def test_writes_of_metadata_and_dynamic_objects_contain_their_kind() -> None:
    loose = LOOSE_CONFIG_MAPS.create(kp.Dynamic(metadata=kp.ObjectMeta(name="a"), content={"data": {}}))
    assert json.loads(loose.body) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
        "data": {},
    }
    part = kp.Metadata[ConfigMap](
        kind="PartialObjectMetadata", metadata=kp.ObjectMeta(name="a", labels={"x": "1"})
    )
    applied = json.loads(FOOS_ANYWHERE.apply(part, field_manager="m").body)
    assert applied == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "a", "labels": {"x": "1"}},
    }


def test_requests_accept_the_supported_content_codings() -> None:
    def coding(request: kp.RawRequest) -> str | None:
        return dict(request.headers).get("Accept-Encoding")

    assert {coding(request) for request in (CONFIG_MAPS.get("a"), CONFIG_MAPS.list(), version())} == {"gzip"}
    assert {coding(request) for request in (CONFIG_MAPS.watch(), PODS.follow_log("p"))} == {"identity"}


def test_dynamic_items_of_a_list_keep_their_content_and_get_their_kind() -> None:
    pods = kp.Resource(group="", version="v1", kind="Pod", plural="pods")
    body = b'{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"},"spec":{"x":1}}]}'
    [pod] = kp.Api(kp.Dynamic, resource=pods).list().parse(200, (), body).value
    assert (pod.kind, pod.api_version, pod["spec"]) == ("Pod", "v1", {"x": 1})


def test_an_item_that_is_not_an_object_does_not_affect_the_others() -> None:
    body = b'{"kind":"ConfigMapList","items":[7,{"metadata":{"name":"moby"}}]}'
    page = kp.Api(ConfigMap).list().parse(200, (), body).value
    assert [problem.metadata.name for problem in page] == ["moby"]
    assert [broken.raw for broken in page.malformed] == [b"7"]
