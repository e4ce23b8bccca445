"""Lists and watches of a server whose watch cache is behind its storage."""

from __future__ import annotations

from raw_client import CONFIGMAPS, MERGE, RawClient, event_names, events, names

_STREAMING = f"{CONFIGMAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def _lagging(by: int) -> RawClient:
    """Return a client of a server with two ConfigMaps whose watch cache is behind."""
    raw_client = RawClient()
    raw_client.config("a")
    raw_client.config("b")
    raw_client.cluster.lag = by
    return raw_client


def test_a_list_of_the_latest_version_is_at_that_version_despite_any_lag() -> None:
    raw_client = _lagging(1)
    latest = raw_client.fetch("GET", CONFIGMAPS)
    assert (names(latest), latest["metadata"]["resourceVersion"]) == (
        ["a", "b"],
        str(raw_client.cluster.version),
    )
    cached = raw_client.fetch("GET", f"{CONFIGMAPS}?resourceVersion=0")
    assert (names(cached), cached["metadata"]["resourceVersion"]) == (
        ["a"],
        str(raw_client.cluster.version - 1),
    )


def test_a_page_of_the_latest_version_continues_with_the_objects_of_that_version() -> None:
    raw_client = _lagging(2)
    first = raw_client.fetch("GET", f"{CONFIGMAPS}?limit=1")
    assert names(first) == ["a"]
    raw_client.fetch("DELETE", f"{CONFIGMAPS}/b")
    second = raw_client.fetch("GET", f"{CONFIGMAPS}?limit=1&continue={first['metadata']['continue']}")
    assert names(second) == ["b"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_streaming_list_ends_at_the_version_of_its_objects_and_repeats_no_event() -> None:
    raw_client = _lagging(1)
    version = str(raw_client.cluster.version)
    raw_client.cluster.compact()
    watch = raw_client.watch(_STREAMING)
    assert event_names(watch.take()) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", version)]
    raw_client.cluster.lag = 0
    assert watch.take() == b""
    raw_client.config("c")
    assert event_names(watch.take()) == [("ADDED", "c")]


def test_a_streaming_list_loses_no_event_to_a_compaction_ahead_of_the_cache() -> None:
    raw_client = _lagging(3)
    raw_client.cluster.compact(raw_client.cluster.version - 1)
    watch = raw_client.watch(_STREAMING)
    raw_client.fetch("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "2"}}, MERGE)
    raw_client.fetch("DELETE", f"{CONFIGMAPS}/b")
    received = watch.take()
    raw_client.cluster.lag = 0
    last: dict[str, str] = {}
    for change, obj in events(received + watch.take()):
        if change != "BOOKMARK":
            last[obj["metadata"]["name"]] = f"{change} {obj['data']['a']}"
    assert last == {"a": "MODIFIED 2", "b": "DELETED 1"}


def test_a_bookmark_names_no_version_before_an_event_that_was_sent() -> None:
    raw_client = RawClient()
    watch = raw_client.watch(
        f"{CONFIGMAPS}?resourceVersion={raw_client.cluster.version}&allowWatchBookmarks=true"
    )
    raw_client.config("a")
    raw_client.config("b")
    assert event_names(watch.take()) == [("ADDED", "a"), ("ADDED", "b")]
    raw_client.cluster.lag = 1
    raw_client.cluster.advance(60)
    assert event_names(watch.take()) == [("BOOKMARK", str(raw_client.cluster.version))]


def test_a_cache_that_lags_by_everything_is_at_the_first_version_and_not_at_zero() -> None:
    raw_client = _lagging(1000)
    cached = raw_client.fetch("GET", f"{CONFIGMAPS}?resourceVersion=0")
    assert (names(cached), cached["metadata"]["resourceVersion"]) == ([], "1")


def test_a_watch_whose_unread_events_were_compacted_ends_without_a_bookmark() -> None:
    raw_client = RawClient()
    watch = raw_client.watch(
        f"{CONFIGMAPS}?resourceVersion={raw_client.cluster.version}&allowWatchBookmarks=true"
    )
    raw_client.config("a")
    raw_client.cluster.compact()
    raw_client.cluster.advance(60)
    assert (watch.take(), watch.ended) == (b"", True)
