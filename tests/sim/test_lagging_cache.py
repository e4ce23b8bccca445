"""Lists and watches of a server whose watch cache is behind its storage."""

from __future__ import annotations

from asking import CONFIGMAPS, MERGE, Asker, events, names, told

_STREAMING = f"{CONFIGMAPS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


def _lagging(by: int) -> Asker:
    """Return a client of a server with two ConfigMaps whose watch cache is behind."""
    asker = Asker()
    asker.config("a")
    asker.config("b")
    asker.cluster.lag = by
    return asker


def test_a_list_of_the_latest_version_is_at_that_version_despite_any_lag() -> None:
    asker = _lagging(1)
    latest = asker.ask("GET", CONFIGMAPS)
    assert (names(latest), latest["metadata"]["resourceVersion"]) == (["a", "b"], str(asker.cluster.version))
    cached = asker.ask("GET", f"{CONFIGMAPS}?resourceVersion=0")
    assert (names(cached), cached["metadata"]["resourceVersion"]) == (["a"], str(asker.cluster.version - 1))


def test_a_page_of_the_latest_version_continues_with_the_objects_of_that_version() -> None:
    asker = _lagging(2)
    first = asker.ask("GET", f"{CONFIGMAPS}?limit=1")
    assert names(first) == ["a"]
    asker.ask("DELETE", f"{CONFIGMAPS}/b")
    second = asker.ask("GET", f"{CONFIGMAPS}?limit=1&continue={first['metadata']['continue']}")
    assert names(second) == ["b"]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_streaming_list_ends_at_the_version_of_its_objects_and_repeats_no_event() -> None:
    asker = _lagging(1)
    version = str(asker.cluster.version)
    asker.cluster.compact()
    watch = asker.watch(_STREAMING)
    assert told(watch.take()) == [("ADDED", "a"), ("ADDED", "b"), ("BOOKMARK", version)]
    asker.cluster.lag = 0
    assert watch.take() == b""
    asker.config("c")
    assert told(watch.take()) == [("ADDED", "c")]


def test_a_streaming_list_loses_no_event_to_a_compaction_ahead_of_the_cache() -> None:
    asker = _lagging(3)
    asker.cluster.compact(asker.cluster.version - 1)
    watch = asker.watch(_STREAMING)
    asker.ask("PATCH", f"{CONFIGMAPS}/a", {"data": {"a": "2"}}, MERGE)
    asker.ask("DELETE", f"{CONFIGMAPS}/b")
    received = watch.take()
    asker.cluster.lag = 0
    last: dict[str, str] = {}
    for change, obj in events(received + watch.take()):
        if change != "BOOKMARK":
            last[obj["metadata"]["name"]] = f"{change} {obj['data']['a']}"
    assert last == {"a": "MODIFIED 2", "b": "DELETED 1"}


def test_a_bookmark_names_no_version_before_an_event_that_was_sent() -> None:
    asker = Asker()
    watch = asker.watch(f"{CONFIGMAPS}?resourceVersion={asker.cluster.version}&allowWatchBookmarks=true")
    asker.config("a")
    asker.config("b")
    assert told(watch.take()) == [("ADDED", "a"), ("ADDED", "b")]
    asker.cluster.lag = 1
    asker.cluster.advance(60)
    assert told(watch.take()) == [("BOOKMARK", str(asker.cluster.version))]


def test_a_cache_that_lags_by_everything_is_at_the_first_version_and_not_at_zero() -> None:
    asker = _lagging(1000)
    cached = asker.ask("GET", f"{CONFIGMAPS}?resourceVersion=0")
    assert (names(cached), cached["metadata"]["resourceVersion"]) == ([], "1")


def test_a_watch_whose_unread_events_were_compacted_ends_without_a_bookmark() -> None:
    asker = Asker()
    watch = asker.watch(f"{CONFIGMAPS}?resourceVersion={asker.cluster.version}&allowWatchBookmarks=true")
    asker.config("a")
    asker.cluster.compact()
    asker.cluster.advance(60)
    assert (watch.take(), watch.ended) == (b"", True)
