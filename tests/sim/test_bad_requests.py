"""Requests that no correct client sends: a clear response, and no change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st
from raw_client import BOOKS, CONFIGMAPS, MERGE, RawClient

import kubeproto_sim as sim
from kubeproto.wire import RawRequest


@pytest.fixture
def raw_client() -> RawClient:
    return RawClient()


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/api/v1/namespaces/default/configmaps/..", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/.", 400),
        ("GET", "/api/v1/namespaces/../configmaps/a", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/a%25b", 400),
        ("GET", "/api/v1/namespaces/default/configmaps/a%2Fb", 404),
        ("GET", "/api/v1//configmaps", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/a%20b", 404),
        ("GET", "/api/v1/namespaces/default/configmaps/", 200),
        ("GET", "/api/v1/configmaps/a", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v1/namespaces/nowhere/configmaps", 200),
        ("GET", "/apis/none.such/v1/foos", 404),
        ("GET", "/apis/apps/v7/deployments", 404),
        ("HEAD", CONFIGMAPS, 405),
        ("OPTIONS", CONFIGMAPS, 405),
        ("POST", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/configmaps", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("PUT", CONFIGMAPS, 405),
        ("POST", f"{CONFIGMAPS}/a", 405),
        ("GET", "/api/v1/namespaces/default/finalize", 405),
        ("GET", f"{CONFIGMAPS}/a/b/c/d", 404),
        ("GET", f"{BOOKS}/a/scale", 404),
        ("GET", "/", 200),
        ("GET", "", 404),
        ("GET", "api/v1", 404),
        ("GET", "/api", 200),
        ("GET", "/healthz", 200),
        ("GET", "/readyz?verbose", 200),
        ("GET", "/openapi/v3", 200),
    ],
)
def test_every_path_has_its_response(raw_client: RawClient, method: str, target: str, status: int) -> None:
    version = raw_client.cluster.version
    assert raw_client.send(method, target).status == status
    assert raw_client.cluster.version == version


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("limit=abc", 400, 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("limit=99999999999999999999", 400, "value out of range"),
        ("limit=-1", 200, ""),
        ("limit=1&limit=abc", 200, ""),
        ("unknown=1", 200, ""),
        ("timeoutSeconds=x", 400, "strconv.ParseInt"),
        ("timeout=5", 400, "invalid timeout specified in the request URL"),
        ("timeout=5s", 200, ""),
        ("timeout=-5s", 200, ""),
        ("timeout=x", 400, "invalid timeout specified in the request URL"),
        ("resourceVersion=abc", 400, "invalid resource version"),
        ("resourceVersion=007", 504, "Too large"),
        ("labelSelector=a,", 400, "found '', expected: identifier after ','"),
        ("labelSelector=a%3Db%3Dc", 400, "expected: ',' or 'end of string'"),
        ("fieldSelector=a%3Db", 400, "is not a known field selector"),
        ("continue=%00", 400, "invalid continue token"),
        ("%00=1&=&&", 200, ""),
    ],
)
def test_every_query_has_its_response(raw_client: RawClient, query: str, status: int, message: str) -> None:
    answer = raw_client.fetch("GET", f"{CONFIGMAPS}?{query}")
    assert raw_client.status == status, answer
    assert message in answer.get("message", "")


def test_a_named_version_of_nonsense_is_a_500_on_get_and_watch(raw_client: RawClient) -> None:
    for target in (f"{CONFIGMAPS}/a?resourceVersion=x", f"{CONFIGMAPS}?watch=1&resourceVersion=x"):
        status = raw_client.expect_refusal("GET", target)
        assert (status["code"], "reason" in status) == (500, False)


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"3", "application/json", 400),
        (b"\xff\xfe", "application/json", 400),
        (b'{"metadata":3}', "application/json", 400),
        (b'{"metadata":{"name":3}}', "application/json", 400),
        (b'{"metadata":{"name":"a","labels":[]}}', "application/json", 400),
        (b'{"metadata":{"name":"a"},"data":{"a":{"b":1}}}', "application/json", 400),
        (b'{"metadata":{"name":"a"},"kind":"Pod"}', "application/json", 400),
        (b'{"metadata":{"name":"a"},"apiVersion":"v2"}', "application/json", 400),
        (b'{"metadata":{"name":"../a"}}', "application/json", 422),
        (b'{"metadata":{"name":"a","labels":{"-":"x"}}}', "application/json", 422),
        (b'{"metadata":{"name":"a","finalizers":["x"]}}', "application/json", 422),
        (b'{"metadata":{"name":"a","ownerReferences":[{"name":"x"}]}}', "application/json", 422),
        (b"{}", "text/html", 415),
        (b"a: b: c", "application/yaml", 400),
        (b"metadata: {name: a}", "application/yaml", 201),
        (b'{"metadata":{"name":"b"}}', "", 201),
        (b"[" * 100_000, "application/json", 400),
        (
            b'{"metadata":{"name":"a"},"data":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001,
            "application/json",
            400,
        ),
    ],
)
def test_every_body_has_its_response(raw_client: RawClient, body: bytes, media: str, status: int) -> None:
    version = raw_client.cluster.version
    raw_client.send("POST", CONFIGMAPS, body, media)
    assert raw_client.status == status, raw_client.response.body
    assert (raw_client.cluster.version == version) is (status != 201)


@pytest.mark.parametrize(
    ("accept", "status"),
    [("text/html", 406), ("application/*", 406), ("*/*", 200), ("", 200), ("application/json;x=y", 200),
     ("text/html,application/json", 200), ("application/json;as=Nothing;g=meta.k8s.io;v=v1", 406),
     ("application/json;as=Table;g=meta.k8s.io;v=v9,application/json", 200)],
)  # fmt: skip
def test_the_first_supported_media_type_is_used(raw_client: RawClient, accept: str, status: int) -> None:
    assert raw_client.send("GET", CONFIGMAPS, Accept=accept).status == status


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "pods/a/eviction", {"deleteOptions": 3}),
        ("POST", "pods/a/binding", {"target": []}),
        ("POST", "serviceaccounts/s/token", {"spec": []}),
        ("PUT", "finalize", {"metadata": 3}),
        ("PUT", "replicationcontrollers/r/scale", {"spec": []}),
        ("PATCH", "replicationcontrollers/r/scale", []),
        ("PATCH", "replicationcontrollers/r/scale", {"spec": []}),
    ],
)
def test_a_body_that_does_not_fit_its_subresource_is_refused(method: str, target: str, body: object) -> None:
    raw_client = RawClient(FORKED.fork())
    raw_client.cluster.put({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "s"}})
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    raw_client.cluster.put(
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": "r"},
            "spec": {"template": template},
        }
    )
    status = raw_client.expect_refusal(
        method,
        f"/api/v1/namespaces/default/{target}",
        body,
        MERGE if method == "PATCH" else "application/json",
    )
    assert status["code"] in (400, 422)


def test_a_watch_in_yaml_is_refused(raw_client: RawClient) -> None:
    assert raw_client.send("GET", f"{CONFIGMAPS}?watch=1", Accept="application/yaml").status == 406


SEGMENTS = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "namespaces",
        "default",
        "pods",
        "configmaps",
        "a",
        "status",
        "scale",
        "finalize",
        "watch",
        "example.io",
        "books",
        "..",
        "%2F",
        "%25",
        "%00",
        "",
        "exec",
        "log",
        "eviction",
        "token",
        "binding",
        "x" * 300,
    ]
)
TARGETS = st.lists(SEGMENTS, max_size=8).map(lambda parts: "/" + "/".join(parts))
QUERIES = st.one_of(
    st.just(""),
    st.text(max_size=30).map(lambda text: "?" + text),
    st.sampled_from(["?watch=1", "?limit=1", "?dryRun=All", "?resourceVersion=5", "?fieldManager=m&force=1"]),
)
BODIES = st.one_of(
    st.binary(max_size=40),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["kind", "apiVersion", "metadata", "name", "spec", "status", "data", "labels"]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode()),
)
MEDIA = st.sampled_from(
    ["", "application/json", MERGE, "application/json-patch+json", "application/strategic-merge-patch+json",
     "application/apply-patch+yaml", "application/yaml", "text/plain"]
)  # fmt: skip
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "BREW"])


@given(METHODS, TARGETS, QUERIES, BODIES, MEDIA)
def test_every_request_has_a_response_and_a_refusal_changes_nothing(
    method: str, target: str, query: str, body: bytes, media: str
) -> None:
    cluster = FORKED.fork()
    version = cluster.version
    answer = cluster.respond(RawRequest(method, target + query, (("Content-Type", media),), body))
    assert 200 <= answer.status < 600
    if answer.status >= 300:
        assert cluster.version == version
    if (
        isinstance(answer.body, bytes)
        and answer.status >= 400
        and ("Content-Type", "application/json") in answer.headers
    ):
        assert json.loads(answer.body)["kind"] == "Status"
    cluster.advance(1)


def _prepared() -> sim.Cluster:
    raw_client = RawClient()
    raw_client.config("a")
    raw_client.book("a")
    raw_client.pod("a")
    return raw_client.cluster


FORKED = _prepared()


@pytest.mark.parametrize(
    ("path", "kind", "length"), [(CONFIGMAPS, "ConfigMap", 253), ("/api/v1/namespaces", "Namespace", 63)]
)
def test_the_length_of_a_name_is_counted_in_bytes(
    raw_client: RawClient, path: str, kind: str, length: int
) -> None:
    """As by a real server, although its message says characters; it reports both broken rules."""
    text = f"must be no more than {length} characters"
    for name, is_long in (("é" * (length // 2), False), ("é" * (length // 2 + 1), True)):
        refusal = raw_client.fetch(
            "POST", path, {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
        )
        messages = [cause["message"] for cause in refusal["details"]["causes"]]
        assert any(text in message for message in messages) is is_long
        assert any("must consist of lower case alphanumeric" in message for message in messages)
