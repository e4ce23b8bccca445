"""Lists and pages, versions, selectors, and the formats of lists."""

from __future__ import annotations

import pytest
from asked_release import is_on

from conformance.client import (
    METADATA,
    METADATA_LIST,
    TABLE,
    Client,
    causes,
    names,
    version_of,
)
from conformance.kinds import foo, foos

# The further refusals of a release without streaming lists.
NO_STREAMING = () if is_on("WatchList") else ("sendInitialEvents",)


def test_sv_01_pages_have_the_version_of_the_first_despite_later_changes(client: Client) -> None:
    for name in "abcde":
        client.config(name)
    page = client.get(f"{client.configmaps}?limit=2")
    version, listed_names = version_of(page), names(page)
    client.config("aa")
    client.fetch("DELETE", f"{client.configmaps}/d")
    while token := page["metadata"].get("continue"):
        page = client.get(f"{client.configmaps}?limit=2&continue={token}")
        assert version_of(page) == version
        listed_names += names(page)
    assert listed_names == ["a", "b", "c", "d", "e"]


def test_sv_03_the_limit_is_ignored_at_version_zero(client: Client) -> None:
    for name in "abc":
        client.config(name)
    client.get(client.configmaps)
    listed = client.get(f"{client.configmaps}?limit=1&resourceVersion=0")
    assert (names(listed), "continue" in listed["metadata"]) == (["a", "b", "c"], False)


def test_sv_04_the_remaining_item_count_is_sent_only_without_selectors(client: Client) -> None:
    target = foos(client.namespace)
    for name in "abc":
        client.create(target, foo(name))
    assert client.get(f"{target}?limit=1")["metadata"]["remainingItemCount"] == 2
    chosen = client.get(f"{target}?limit=1&labelSelector=!x")["metadata"]
    assert chosen["continue"]
    assert "remainingItemCount" not in chosen


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("resourceVersionMatch=Exact", ["resourceVersionMatch"]),
        ("resourceVersion=0&resourceVersionMatch=Exact", ["resourceVersionMatch"]),
        ("resourceVersion=5&resourceVersionMatch=Newest", ["resourceVersionMatch"]),
        ("sendInitialEvents=false", ["sendInitialEvents"]),
        ("watch=1&sendInitialEvents=true", ["resourceVersionMatch", *NO_STREAMING]),
        ("watch=1&resourceVersion=5&resourceVersionMatch=NotOlderThan", ["resourceVersionMatch"]),
        (
            "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
            ["resourceVersionMatch", *NO_STREAMING, "resourceVersionMatch"],
        ),
    ],
)
def test_sv_05_contradictory_options_are_invalid(client: Client, query: str, fields: list[str]) -> None:
    status = client.expect_refusal("GET", f"{client.configmaps}?{query}")
    assert (status["code"], status["reason"], status["details"]["kind"]) == (422, "Invalid", "ListOptions")
    assert [field for field, _ in causes(status)] == fields


def test_an_exact_version_returns_the_past(client: Client) -> None:
    client.config("a")
    then = version_of(client.config("b"))
    client.fetch("DELETE", f"{client.configmaps}/a")
    exact = f"resourceVersion={then}&resourceVersionMatch=Exact"
    assert names(client.get(f"{client.configmaps}?{exact}")) == ["a", "b"]
    assert names(client.get(f"{client.configmaps}?resourceVersion={then}&limit=5")) == ["a", "b"]
    assert names(client.get(client.configmaps)) == ["b"]


def test_a_list_at_a_future_version_times_out(client: Client) -> None:
    answer = client.send("GET", f"{client.configmaps}?resourceVersion=9999999")
    status = answer.json
    assert (status["code"], status["reason"]) == (504, "Timeout")
    assert causes(status) == [("", "ResourceVersionTooLarge")]
    assert (status["details"]["retryAfterSeconds"], answer.header("Retry-After")) == (1, "1")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        pytest.param(
            "resourceVersion=x",
            'invalid resource version: resourceVersion: Invalid value: "x"',
            marks=pytest.mark.kubernetes("1.33"),
        ),
        ("continue=x", "invalid continue token: continue key is not valid"),
        (
            "labelSelector=a+b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("labelSelector=,", "found ',', expected: !, identifier, or 'end of string'"),
        ("labelSelector=-a", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must'),
        (
            "labelSelector=a%3Eb",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt'",
        ),
        ("fieldSelector=a", "invalid selector: 'a'; can't understand 'a'"),
        (
            "fieldSelector=a%3Db",
            '"a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
    ],
)
def test_an_unreadable_query_is_a_bad_request(client: Client, query: str, message: str) -> None:
    status = client.expect_refusal("GET", f"{client.configmaps}?{query}")
    assert (status["code"], status["reason"]) == (400, "BadRequest")
    assert status["message"].startswith(message)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("l", "ab"),
        ("!l", "c"),
        ("l%3D1", "a"),
        ("l!%3D1", "bc"),
        ("l+in+(1,2)", "ab"),
        ("l+notin+(1)", "bc"),
        ("l%3E1", "b"),
        ("l,m", "b"),
        ("", "abc"),
        ("m%3D", "b"),
    ],
)
def test_a_label_selector_selects_objects(client: Client, selector: str, expected: str) -> None:
    target = foos(client.namespace)
    for name, labels in (("a", {"l": "1"}), ("b", {"l": "2", "m": ""}), ("c", {})):
        body = foo(name)
        body["metadata"]["labels"] = labels
        client.create(target, body)
    assert names(client.get(f"{target}?labelSelector={selector}")) == list(expected)


@pytest.mark.kubernetes(gate="CustomResourceFieldSelectors")
def test_a_field_selector_selects_by_name_and_by_the_fields_of_a_definition(client: Client) -> None:
    target = foos(client.namespace)
    client.create(target, foo("a", color="red"))
    client.create(target, foo("b", color="blue"))
    assert names(client.get(f"{target}?fieldSelector=metadata.name%3Db")) == ["b"]
    assert names(client.get(f"{target}?fieldSelector=spec.color%3Dred")) == ["a"]
    everywhere = f"/apis/suite.test/v1/foos?fieldSelector=metadata.namespace%3D{client.namespace}"
    assert names(client.get(everywhere)) == ["a", "b"]
    status = client.expect_refusal("GET", f"{target}?fieldSelector=spec.size%3D3")
    assert (status["code"], status["message"]) == (400, "field label not supported: spec.size")


def test_sv_26_a_list_is_served_as_a_table_with_the_printer_columns(client: Client) -> None:
    client.create(foos(client.namespace), foo("a", size=7))
    table = client.get(foos(client.namespace), Accept=TABLE)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    columns = [(column["name"], column["type"], column["priority"]) for column in table["columnDefinitions"]]
    assert columns == [
        ("Name", "string", 0),
        ("Color", "string", 0),
        ("Size", "integer", 1),
        ("Age", "date", 0),
    ]
    [row] = table["rows"]
    assert row["cells"][:3] == ["a", "red", 7]
    assert row["object"]["kind"] == "PartialObjectMetadata"


def test_sv_26_a_list_is_served_as_metadata_only(client: Client) -> None:
    client.create(foos(client.namespace), foo("a"))
    listed = client.get(foos(client.namespace), Accept=METADATA_LIST)
    assert listed["kind"] == "PartialObjectMetadataList"
    assert [(item["kind"], item["metadata"]["name"], "spec" in item) for item in listed["items"]] == [
        ("PartialObjectMetadata", "a", False)
    ]
    assert client.get(f"{foos(client.namespace)}/a", Accept=METADATA)["metadata"]["name"] == "a"
    nothing = client.get(f"{foos(client.namespace)}?labelSelector=nope", Accept=METADATA_LIST)
    assert nothing["items"] is None


def test_an_unsupported_media_type_is_not_acceptable(client: Client) -> None:
    client.config("a")
    for target, accept in (
        (client.configmaps, "text/html"),
        (client.configmaps, METADATA),
        (f"{client.configmaps}/a", METADATA_LIST),
    ):
        status = client.expect_refusal("GET", target, Accept=accept)
        assert (status["code"], status["reason"]) == (406, "NotAcceptable")


def test_lists_of_custom_resources_contain_fields_that_built_in_lists_omit(client: Client) -> None:
    client.config("a")
    client.create(foos(client.namespace), foo("a"))
    [plain] = [item for item in client.get(client.configmaps)["items"] if item["metadata"]["name"] == "a"]
    assert "kind" not in plain
    [custom] = client.get(foos(client.namespace))["items"]
    assert custom["kind"] == "Foo"


SHARD = "shardSelector=shardRange(object.metadata.uid,'0x{:016x}','0x{:016x}')"
HALF, END = 1 << 63, 1 << 64


@pytest.mark.kubernetes(gate="ShardedListAndWatch")
def test_shards_of_a_list_contain_each_object_once_and_built_in_kinds_return_the_shard(
    client: Client,
) -> None:
    target = foos(client.namespace)
    for number in range(12):
        client.create(target, foo(f"a{number:02}"))
    listed_names: list[str] = []
    for start, end in ((0, HALF), (HALF, END)):
        query = SHARD.format(start, end).replace("'", "%27")
        listed_names += names(client.get(f"{target}?{query}"))
        info = client.get(f"{client.configmaps}?{query}")["metadata"]["shardInfo"]
        assert f"'0x{start:016x}'" in info["selector"]
    assert sorted(listed_names) == [f"a{number:02}" for number in range(12)]


@pytest.mark.kubernetes(gate="ShardedListAndWatch")
def test_an_unreadable_shard_selector_is_a_500_without_a_reason(client: Client) -> None:
    status = client.expect_refusal("GET", f"{client.configmaps}?shardSelector=nonsense")
    assert (status["code"], "reason" in status) == (500, False)
    assert status["message"].startswith("invalid shard selector")
