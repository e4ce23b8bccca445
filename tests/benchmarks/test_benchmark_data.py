"""The generated data is the same for a seed, and has the form of a server's data."""

import json
from statistics import mean
from typing import Any

import pytest

from benchmarks._data import books, config_maps, list_page, objects_of, pods, segments, watch_lines

PODS, BOOKS, MAPS = pods(200, seed=3), books(200, seed=3), config_maps(200, seed=3)


def top_level_pairs(text: bytes) -> list[tuple[str, Any]]:
    """Return the top level of an object with its keys in the order of the text."""
    return list(json.loads(text).items())


def is_sorted(value: Any) -> bool:
    """Return whether the keys are sorted at every depth."""
    return json.dumps(value) == json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("make", [pods, books, config_maps])
def test_equal_seeds_give_equal_bytes_and_different_seeds_do_not(make: Any) -> None:
    assert make(5, seed=1) == make(5, seed=1)
    assert make(5, seed=1) != make(5, seed=2)
    assert make(9, seed=1)[:5] == make(5, seed=1)


def test_objects_have_the_sizes_of_the_goals() -> None:
    assert 5600 <= mean(map(len, PODS)) <= 5900
    assert all(5500 <= len(pod) <= 6000 for pod in PODS)
    assert 640 <= mean(map(len, BOOKS)) <= 680
    assert all(620 <= len(book) <= 700 for book in BOOKS)
    assert 1500 <= mean(map(len, MAPS)) <= 1580


def test_objects_have_names_uids_and_versions_of_their_own() -> None:
    for objects in (PODS, BOOKS, MAPS):
        metadata = [json.loads(item)["metadata"] for item in objects]
        assert len({(meta["namespace"], meta["name"]) for meta in metadata}) == len(objects)
        assert len({meta["uid"] for meta in metadata}) == len(objects)
        versions = [int(meta["resourceVersion"]) for meta in metadata]
        assert versions == sorted(set(versions))


def test_a_pod_is_written_in_gos_order_with_managed_fields_last() -> None:
    for text in PODS:
        pod = json.loads(text)
        assert list(pod) == ["kind", "apiVersion", "metadata", "spec", "status"]
        assert list(pod["metadata"]) == [
            *("name", "generateName", "namespace", "uid", "resourceVersion", "generation"),
            *("creationTimestamp", "labels", "annotations", "ownerReferences", "managedFields"),
        ]
        assert len(pod["metadata"]["labels"]) == 5
        assert [container["name"] for container in pod["spec"]["containers"]] == ["app", "proxy"]
        fields = [entry["fieldsV1"] for entry in pod["metadata"]["managedFields"]]
        assert len(fields) == 2
        assert is_sorted(fields)
        assert is_sorted(pod["metadata"]["annotations"])


def test_a_config_map_is_written_in_gos_order_with_text_of_many_lines() -> None:
    for text in MAPS:
        config_map = json.loads(text)
        assert list(config_map) == ["kind", "apiVersion", "metadata", "data"]
        assert list(config_map["metadata"])[-2:] == ["labels", "managedFields"]
        assert is_sorted(config_map["metadata"]["managedFields"][0]["fieldsV1"])
        assert is_sorted(config_map["data"])
        assert config_map["data"]["app.yaml"].count("\n") == 24


@pytest.mark.parametrize("kind", ["pods", "crs", "configmaps"])
def test_objects_without_managed_fields_are_the_same_but_for_them(kind: str) -> None:
    complete, without = objects_of(kind, 9, 3), objects_of(kind, 9, 3, managed=False)
    for text, bare in zip(complete, without, strict=True):
        assert b"managedFields" not in bare
        obj = json.loads(text)
        del obj["metadata"]["managedFields"]
        assert top_level_pairs(bare) == list(obj.items())
        # Byte by byte except for the removed part, escapes and the order of keys included.
        start = text.index(b'"managedFields":[')
        assert bare.startswith(text[:start].removesuffix(b","))
        assert text.endswith(bare[-100:])


def test_managed_fields_of_a_pod_take_their_share_and_hold_no_array() -> None:
    for text in PODS:
        managed = text[text.index(b',"managedFields":[') : text.index(b',"spec":')]
        assert 1500 <= len(managed) <= 2000
        assert managed.count(b"]") == 1


def test_text_is_escaped_as_go_escapes_it() -> None:
    assert all(character not in pod for pod in PODS for character in (b"<", b">", b"&"))
    assert all(b"\\u003e" in pod and b'\\"' in pod for pod in PODS)


def test_every_key_of_a_custom_resource_is_sorted() -> None:
    assert all(is_sorted(json.loads(book)) for book in BOOKS)
    book = json.loads(BOOKS[0])
    assert (book["apiVersion"], book["kind"]) == ("example.technosophos.com/v1", "Book")
    assert isinstance(book["spec"]["title"], str)
    assert isinstance(book["spec"]["authors"], list)


@pytest.mark.parametrize("objects", [PODS, BOOKS, MAPS])
def test_a_watch_stream_has_a_line_per_object_and_bookmarks_between(objects: list[bytes]) -> None:
    lines = watch_lines(objects, bookmarks=0.1).splitlines()
    events = [json.loads(line) for line in lines]
    items = [event["object"] for event in events if event["type"] != "BOOKMARK"]
    assert items == [json.loads(item) for item in objects]
    assert {event["type"] for event in events} == {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}
    assert 5 <= len(events) - len(items) <= 40
    assert all(line.startswith(b'{"type":"') for line in lines)


def test_bookmarks_can_be_omitted_and_other_seeds_have_another_order() -> None:
    assert b"BOOKMARK" not in watch_lines(PODS, bookmarks=0)
    assert watch_lines(PODS, seed=1) == watch_lines(PODS, seed=1)
    assert watch_lines(PODS, seed=1) != watch_lines(PODS, seed=2)


def test_a_bookmark_has_the_form_of_a_server_for_its_kind() -> None:
    _, of_pods = watch_lines(PODS[:1], bookmarks=1).splitlines()
    _, of_books = watch_lines(BOOKS[:1], bookmarks=1).splitlines()
    assert of_pods == (
        b'{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"100000"},'
        b'"spec":{"containers":null},"status":{}}}'
    )
    assert of_books == (
        b'{"type":"BOOKMARK","object":{"apiVersion":"example.technosophos.com/v1","kind":"Book",'
        b'"metadata":{"resourceVersion":"100000"}}}'
    )


def test_segments_are_the_stream_split_regardless_of_its_lines() -> None:
    stream = watch_lines(PODS)
    pieces = segments(stream)
    assert b"".join(pieces) == stream
    assert {len(segment) for segment in pieces[:-1]} == {65536}
    assert all(type(segment) is bytes for segment in pieces)
    assert not all(segment.endswith(b"\n") for segment in pieces[:-1])


def test_a_list_of_pods_has_metadata_first_and_items_without_their_kind() -> None:
    page = top_level_pairs(list_page(PODS, more=5))
    assert [key for key, _ in page] == ["kind", "apiVersion", "metadata", "items"]
    body = dict(page)
    assert (body["kind"], body["apiVersion"]) == ("PodList", "v1")
    assert list(body["metadata"]) == ["resourceVersion", "continue", "remainingItemCount"]
    assert all(list(item) == ["metadata", "spec", "status"] for item in body["items"])
    assert [{"kind": "Pod", "apiVersion": "v1"} | item for item in body["items"]] == [
        json.loads(pod) for pod in PODS
    ]


def test_a_list_of_custom_resources_is_sorted_with_metadata_after_the_items() -> None:
    page = list_page(BOOKS)
    assert [key for key, _ in top_level_pairs(page)] == ["apiVersion", "items", "kind", "metadata"]
    body = json.loads(page)
    assert is_sorted(body)
    assert body["kind"] == "BookList"
    assert body["metadata"] == {"resourceVersion": "100199"}
    assert body["items"] == [json.loads(book) for book in BOOKS]
    assert is_sorted(json.loads(list_page(BOOKS, more=5)))
