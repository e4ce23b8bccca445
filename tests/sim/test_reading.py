"""Lists, pages, versions, selectors and the formats of responses."""

from __future__ import annotations

import gzip
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from itertools import pairwise
from typing import Any

import pytest
from raw_client import BOOKS, CONFIGMAPS, Book, RawClient, event_names, events, names

import kubeproto_sim as sim


@pytest.fixture
def client() -> RawClient:
    return RawClient()


def test_sv_01_pages_of_a_list_have_the_same_version_without_later_changes(client: RawClient) -> None:
    for name in "abcde":
        client.config(name)
    first = client.fetch("GET", f"{CONFIGMAPS}?limit=2")
    client.config("bb")
    client.fetch("DELETE", f"{CONFIGMAPS}/d")
    later_names: list[str] = []
    page = first
    while token := page["metadata"].get("continue"):
        page = client.fetch("GET", f"{CONFIGMAPS}?limit=2&continue={token}")
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        later_names += names(page)
    assert names(first) + later_names == ["a", "b", "c", "d", "e"]


def token(version: int, start: str) -> str:
    """Return a continue token as servers write it: base64 without its padding."""
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start})
    return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def decoded(token: str) -> Any:
    return json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))


def test_sv_02_a_compacted_token_is_a_410_with_a_token_for_the_current_remainder(client: RawClient) -> None:
    for name in "abcd":
        client.config(name)
    token = client.fetch("GET", f"{CONFIGMAPS}?limit=2")["metadata"]["continue"]
    client.config("bb")
    client.cluster.compact()
    status = client.expect_refusal("GET", f"{CONFIGMAPS}?limit=2&continue={token}")
    assert (status["code"], status["reason"]) == (410, "Expired")
    fresh = status["metadata"]["continue"]
    assert decoded(fresh)["rv"] == -1
    assert names(client.fetch("GET", f"{CONFIGMAPS}?continue={fresh}")) == ["bb", "c", "d"]


def test_sv_03_the_limit_is_ignored_at_version_zero(client: RawClient) -> None:
    for name in "abc":
        client.config(name)
    listed = client.fetch("GET", f"{CONFIGMAPS}?limit=1&resourceVersion=0")
    assert names(listed) == ["a", "b", "c"]
    assert "continue" not in listed["metadata"]


@pytest.mark.parametrize("selector", ["labelSelector=x=y", "fieldSelector=metadata.namespace=default"])
def test_sv_04_the_remaining_item_count_is_omitted_with_a_selector(client: RawClient, selector: str) -> None:
    for name in "abc":
        client.config(name, labels={"x": "y"})
    assert client.fetch("GET", f"{CONFIGMAPS}?limit=1")["metadata"]["remainingItemCount"] == 2
    listed = client.fetch("GET", f"{CONFIGMAPS}?limit=1&{selector}")
    assert listed["metadata"]["continue"]
    assert "remainingItemCount" not in listed["metadata"]


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("resourceVersionMatch=Exact", ["resourceVersionMatch"]),
        ("resourceVersion=0&resourceVersionMatch=Exact", ["resourceVersionMatch"]),
        ("resourceVersion=5&resourceVersionMatch=Newest", ["resourceVersionMatch"]),
        ("continue=x&resourceVersionMatch=Exact", ["resourceVersionMatch", "resourceVersionMatch"]),
        ("sendInitialEvents=false", ["sendInitialEvents"]),
        ("watch=1&sendInitialEvents=true", ["resourceVersionMatch"]),
        ("watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan", ["resourceVersionMatch"]),
        ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", ["resourceVersionMatch"] * 2),
        ("watch=1&continue=x", ["resourceVersionMatch"]),
    ],
)
def test_sv_05_contradictory_options_are_a_422_that_names_them(
    client: RawClient, query: str, fields: list[str]
) -> None:
    status = client.expect_refusal("GET", f"{CONFIGMAPS}?{query}")
    assert status["code"] == 422
    assert (status["details"]["kind"], status["details"]["group"]) == ("ListOptions", "meta.k8s.io")
    assert [cause["field"] for cause in status["details"]["causes"]] == fields


def test_an_exact_version_returns_the_past_and_a_future_version_times_out(client: RawClient) -> None:
    client.config("a")
    version = client.cluster.version
    client.config("b")
    client.fetch("DELETE", f"{CONFIGMAPS}/a")
    exact = f"resourceVersion={version}&resourceVersionMatch=Exact"
    assert names(client.fetch("GET", f"{CONFIGMAPS}?{exact}")) == ["a"]
    assert names(client.fetch("GET", f"{CONFIGMAPS}?resourceVersion={version}&limit=5")) == ["a"]
    assert names(client.fetch("GET", f"{CONFIGMAPS}?resourceVersion={version}")) == ["b"]
    status = client.expect_refusal("GET", f"{CONFIGMAPS}?resourceVersion={version + 100}")
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert client.response.delay == 3.0


@pytest.mark.parametrize(
    ("token", "code"), [("x=", 400), (token(0, "/a\0"), 400), (token(5, "/../a\0"), 400),
                        (token(10**9, "/a\0"), 504)]
)  # fmt: skip
def test_forged_tokens_are_refused(client: RawClient, token: str, code: int) -> None:
    assert client.expect_refusal("GET", f"{CONFIGMAPS}?continue={token}")["code"] == code


def test_a_token_is_read_with_and_without_the_slash_and_returns_all_items_without_a_limit(
    client: RawClient,
) -> None:
    for name in "abc":
        client.config(name)
    for start in ("/a\0", "a\0"):
        assert names(client.fetch("GET", f"{CONFIGMAPS}?continue={token(-1, start)}")) == ["b", "c"]
    everywhere = client.fetch("GET", "/api/v1/configmaps?limit=1")["metadata"]["continue"]
    assert decoded(everywhere)["start"] == "/default/a\0"


def test_selectors_select_the_matching_objects(client: RawClient) -> None:
    client.config("a", labels={"app": "x", "tier": "1"})
    client.config("b", labels={"app": "y"})
    client.config("c")
    for selector, expected in [
        ("app=x", ["a"]), ("app!=x", ["b", "c"]), ("!app", ["c"]), ("app in (x,y)", ["a", "b"]),
        ("app,tier", ["a"]), ("app notin (x)", ["b", "c"]), ("tier>0", ["a"]), ("", ["a", "b", "c"]),
    ]:  # fmt: skip
        quoted = selector.replace(" ", "%20")
        assert names(client.fetch("GET", f"{CONFIGMAPS}?labelSelector={quoted}")) == expected, selector
    for selector, expected in [
        ("metadata.name=a", ["a"]), ("metadata.name!=a", ["b", "c"]), ("metadata.namespace=other", []),
        ("metadata.name=a,metadata.name=b", []),
    ]:  # fmt: skip
        assert names(client.fetch("GET", f"{CONFIGMAPS}?fieldSelector={selector}")) == expected, selector


def test_pods_are_selected_only_by_their_own_fields(client: RawClient) -> None:
    client.pod("on-a-node", node="n1")
    client.pod("pending")
    pods = "/api/v1/namespaces/default/pods"
    assert names(client.fetch("GET", f"{pods}?fieldSelector=spec.nodeName=n1")) == ["on-a-node"]
    assert names(client.fetch("GET", f"{pods}?fieldSelector=spec.nodeName=")) == ["pending"]
    assert (
        client.expect_refusal("GET", f"{pods}?fieldSelector=spec.x=1")["message"]
        == "field label not supported: spec.x"
    )
    assert client.expect_refusal("GET", f"{CONFIGMAPS}?fieldSelector=x")["message"] == (
        "invalid selector: 'x'; can't understand 'x'"
    )


def test_sv_25_a_matching_etag_is_a_304_until_a_kind_is_added(client: RawClient) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
    first = client.send("GET", "/apis", Accept=accept)
    tag = dict(first.headers)["Etag"]
    assert client.send("GET", "/apis", Accept=accept, If_None_Match=tag).status == 304

    class Shelf(Book, group="example.io", version="v1", plural="shelves"):
        """Another kind."""

    client.cluster.define(Shelf)
    assert client.send("GET", "/apis", Accept=accept, If_None_Match=tag).status == 200


def test_sv_26_lists_and_watches_are_served_as_tables_and_as_metadata(client: RawClient) -> None:
    client.config("a")
    meta = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    [item] = client.fetch("GET", CONFIGMAPS, Accept=meta)["items"]
    assert item["kind"] == "PartialObjectMetadata"
    assert "data" not in item
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    listed = client.fetch("GET", CONFIGMAPS, Accept=table)
    assert [column["name"] for column in listed["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert [row["cells"] for row in listed["rows"]] == [["a", 1, "0s"]]
    full_table = client.fetch("GET", f"{CONFIGMAPS}?includeObject=Object", Accept=table)
    assert full_table["rows"][0]["object"]["data"] == {"a": "1"}
    watch = client.watch(f"{CONFIGMAPS}?allowWatchBookmarks=true&includeObject=None", Accept=table)
    client.config("b")
    (_, first_event), (_, bookmark), (_, second_event) = events(watch.take())
    assert first_event["columnDefinitions"]
    assert second_event["columnDefinitions"] is None
    assert second_event["rows"][0]["object"] is None
    marked = bookmark["rows"][0]["object"]["metadata"]["annotations"]
    assert marked == {"k8s.io/initial-events-end": "true"}
    one_only = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    assert client.fetch("GET", CONFIGMAPS, Accept=one_only)["code"] == 406
    assert event_names(client.watch(CONFIGMAPS, Accept=one_only).take()) == [("ADDED", "a"), ("ADDED", "b")]


def test_sv_27_large_responses_are_a_single_gzip_member_and_streams_are_many() -> None:
    client = RawClient(sim.Cluster(modes=sim.Modes(compress_watches=True)))
    client.config("a", {"a": "x" * 200_000})
    answer = client.send("GET", CONFIGMAPS, Accept_Encoding="gzip")
    assert isinstance(answer.body, bytes)
    assert dict(answer.headers)["Content-Encoding"] == "gzip"
    assert names(json.loads(gzip.decompress(answer.body))) == ["a"]
    for other in ("*", "GZIP", "gzip;q=0", "deflate"):
        assert "Content-Encoding" not in dict(client.send("GET", CONFIGMAPS, Accept_Encoding=other).headers)
    watch = client.watch(f"{CONFIGMAPS}?allowWatchBookmarks=true", Accept_Encoding="gzip, deflate")
    assert dict(client.response.headers)["Content-Encoding"] == "gzip"
    first = watch.take()
    client.config("b")
    second = watch.take()
    assert event_names(gzip.decompress(first))[0] == ("ADDED", "a")
    assert event_names(gzip.decompress(second)) == [("ADDED", "b")]
    assert len(event_names(gzip.decompress(first + second))) == 3
    late = client.watch(f"{CONFIGMAPS}?resourceVersion={client.cluster.version}", Accept_Encoding="gzip")
    assert "Content-Encoding" not in dict(client.response.headers)
    assert late.take() == b""


def test_a_get_may_request_yaml_and_browsers_get_indented_json(client: RawClient) -> None:
    client.config("a")
    answer = client.send("GET", f"{CONFIGMAPS}/a", Accept="application/yaml")
    assert isinstance(answer.body, bytes)
    assert answer.body.startswith(b"apiVersion: v1\n")
    for headers in ({"User_Agent": "curl/8"}, {}):
        query = "" if headers else "?pretty=true"
        answer = client.send("GET", f"{CONFIGMAPS}/a{query}", **headers)
        assert isinstance(answer.body, bytes)
        assert answer.body.startswith(b'{\n  "kind": "ConfigMap",\n')


def test_a_lagging_cache_returns_an_older_version_and_catches_up(client: RawClient) -> None:
    client.book("a")
    watch = client.watch(BOOKS)
    assert event_names(watch.take()) == [("ADDED", "a")]
    client.cluster.lag = 1
    client.book("b")
    listed: Any = client.fetch("GET", f"{BOOKS}?resourceVersion=0")
    assert names(listed) == ["a"]
    assert int(listed["metadata"]["resourceVersion"]) == client.cluster.version - 1
    assert watch.take() == b""
    client.cluster.lag = 0
    assert event_names(watch.take()) == [("ADDED", "b")]


def test_shards_divide_a_collection_completely_and_are_returned_in_its_metadata(client: RawClient) -> None:
    for name in "abcdefgh":
        client.config(name)
    bounds = ("0x0000000000000000", "0x8000000000000000", "0x10000000000000000")
    halves: list[list[str]] = []
    for start, end in pairwise(bounds):
        selector = f"shardRange(object.metadata.uid,'{start}','{end}')"
        listed = client.fetch("GET", f"{CONFIGMAPS}?shardSelector={selector}")
        normal = f"shardRange(object.metadata.uid, '{start}', '{end}')"
        assert listed["metadata"]["shardInfo"]["selector"] == normal
        halves.append(names(listed))
    assert sorted(halves[0] + halves[1]) == list("abcdefgh")
    assert all(halves)
    assert client.expect_refusal("GET", f"{CONFIGMAPS}?shardSelector=all")["code"] == 500
