"""The writes for which a key waits, the caches that show them, and the times at which keys are released."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.control import (
    CachedObject,
    CacheScope,
    OwnWrite,
    OwnWrites,
)
from kubeproto.objects import StatusDetails

PODS = kp.Resource(group="", version="v1", kind="Pod", plural="pods")
NODES = "/api/v1/nodes/n"
POD = "/api/v1/namespaces/a/pods/web"


def pod(version: str = "7", **meta: Any) -> kp.Dynamic:
    metadata = kp.ObjectMeta(name="web", namespace="a", uid="u", resource_version=version, **meta)
    return kp.Dynamic(metadata=metadata)


def write(version: str = "7", **more: Any) -> OwnWrite:
    fields: dict[str, Any] = {"group": "", "plural": "pods", "key": "a/web", "uid": "u", "version": version}
    return OwnWrite(**fields | more)


def cached(version: str = "5", uid: str = "u", *, deleting: bool = False) -> CachedObject:
    ends = ',"deletionTimestamp":"2026-01-01T00:00:00Z"' if deleting else ""
    meta = f'{{"name":"web","namespace":"a","uid":"{uid}","resourceVersion":"{version}"{ends}}}'
    return CachedObject(version, b'{"metadata":%s}' % meta.encode())


ENDED = datetime(2026, 1, 1, tzinfo=UTC)
DELETED = kp.Status(status="Success", details=StatusDetails(name="web", uid="u"))


@pytest.mark.parametrize(
    ("method", "target", "value", "expected"),
    [
        ("PUT", POD, pod(), write()),
        ("PATCH", f"{POD}/status?fieldManager=me", pod(labels={"a": "b"}), write(labels={"a": "b"})),
        ("POST", "/api/v1/namespaces/a/pods", pod(), write()),
        ("PATCH", "/apis/apps/v1/namespaces/a/deployments/web/scale", pod(),
         write(group="apps", plural="deployments")),
        ("PATCH", NODES, kp.Dynamic(metadata=kp.ObjectMeta(name="n", uid="v", resource_version="8")),
         OwnWrite(group="", plural="nodes", key="n", uid="v", version="8")),
        ("PUT", "/api/v1/namespaces/a", kp.Dynamic(metadata=kp.ObjectMeta(name="a", resource_version="8")),
         OwnWrite(group="", plural="namespaces", key="a", uid="", version="8")),
        ("PUT", "/api/v1/namespaces/a/finalize",
         kp.Dynamic(metadata=kp.ObjectMeta(name="a", resource_version="8")),
         OwnWrite(group="", plural="namespaces", key="a", uid="", version="8")),
        ("PATCH", POD, pod(deletion_timestamp=ENDED, deletion_grace_period_seconds=0),
         write(deleted=True, removed=True)),
        ("PUT", POD, pod(deletion_timestamp=ENDED), write(deleted=True, removed=True)),
        ("PATCH", POD, pod(deletion_timestamp=ENDED, deletion_grace_period_seconds=30), write()),
        ("PATCH", POD, pod(deletion_timestamp=ENDED, finalizers=["example.com/f"]), write()),
        ("DELETE", POD, pod(deletion_timestamp=ENDED), write(deleted=True)),
        ("PUT", "/api/v1/namespaces/a",
         kp.Dynamic(metadata=kp.ObjectMeta(name="a", resource_version="8", deletion_timestamp=ENDED)),
         OwnWrite(group="", plural="namespaces", key="a", uid="", version="8")),
        ("DELETE", POD, DELETED, write("", deleted=True)),
        ("DELETE", POD, pod(), write(deleted=True)),
        ("DELETE", POD, kp.Status(status="Success"), None),
        ("DELETE", "/api/v1/namespaces/a/pods", DELETED, None),
        ("POST", f"{POD}/eviction", kp.Status(status="Success"), None),
        ("POST", f"{POD}/eviction", DELETED, None),
        ("GET", POD, pod(), write()),
        ("GET", POD, pod(deletion_timestamp=ENDED), write()),
        ("GET", f"{POD}/status", pod(), None),
        ("GET", "/api/v1/namespaces/a/pods", pod(), None),
        ("HEAD", POD, pod(), None),
        ("PUT", f"{POD}?dryRun=All", pod(), None),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", kp.Dynamic(), None),
        ("PUT", POD, pod(version=""), None),
        ("PUT", "/version", pod(), None),
        ("PUT", POD, b"text", None),
    ],
)  # fmt: skip
def test_a_write_is_read_from_its_response(
    method: str, target: str, value: object, expected: OwnWrite | None
) -> None:
    assert OwnWrite.from_response(method, target, value) == expected


def refusal(name: str = "web") -> kp.Status:
    return kp.Status(status="Failure", code=404, details=StatusDetails(name=name))


@pytest.mark.parametrize(
    ("target", "status", "expected"),
    [
        (POD, refusal(), write("", uid="", deleted=True, removed=True)),
        (f"{POD}?dryRun=All", refusal(), write("", uid="", deleted=True, removed=True)),
        (NODES, refusal("n"),
         OwnWrite(group="", plural="nodes", key="n", uid="", deleted=True, removed=True)),
        (POD, kp.Status(status="Failure", code=404), None),
        (POD, refusal("a"), None),
        (f"{POD}/status", refusal(), None),
        ("/api/v1/namespaces/a/pods", refusal(), None),
        ("/healthz", refusal(), None),
    ],
)  # fmt: skip
def test_an_absence_is_read_from_a_404(target: str, status: kp.Status, expected: OwnWrite | None) -> None:
    assert OwnWrite.from_not_found(target, status) == expected


@pytest.mark.parametrize(
    ("followed", "written", "entry", "expected"),
    [
        (CacheScope.of(PODS, "", "", ""), write(), None, True),
        (CacheScope.of(PODS, "a", "", ""), write(), None, True),
        (CacheScope.of(PODS, "b", "", ""), write(), None, False),
        (CacheScope.of(PODS, "b", "", ""), write(), cached(), False),
        (CacheScope(group="apps", plural="pods"), write(), None, False),
        (CacheScope(group="", plural="nodes"), write(), None, False),
        (CacheScope.of(PODS, "", "app=web", ""), write(labels={"app": "web"}), None, True),
        (CacheScope.of(PODS, "", "app=web", ""), write(labels={"app": "db"}), None, False),
        (CacheScope.of(PODS, "", "app=web", ""), write(labels={"app": "db"}), cached(), True),
        (CacheScope.of(PODS, "", "", "metadata.name=web,metadata.namespace!=b"), write(), None, True),
        (CacheScope.of(PODS, "", "", "metadata.name=db"), write(), None, False),
        (CacheScope.of(PODS, "", "", "spec.nodeName=n"), write(), None, False),
        (CacheScope.of(PODS, "", "", "spec.nodeName!=n"), write(), None, False),
        (CacheScope.of(PODS, "", "", "spec.nodeName=n"), write(), cached(), True),
        (CacheScope.of(PODS, "", "", ""), write(deleted=True), None, False),
        (CacheScope.of(PODS, "", "", ""), write(deleted=True), cached(), True),
    ],
)
def test_a_key_waits_only_for_caches_that_will_show_the_write(
    followed: CacheScope, written: OwnWrite, entry: CachedObject | None, expected: bool
) -> None:
    assert followed.will_show(written, entry) is expected


@pytest.mark.parametrize(
    ("written", "version", "entry", "expected"),
    [
        (write("7"), "6", cached("6"), False),
        (write("7"), "7", cached("7"), True),
        (write("7"), "10", cached("5"), True),
        (write("10"), "9", None, False),
        (write("x-7"), "x-9", cached("x-5"), False),
        (write("x-7"), "x-9", None, False),
        (write("x-7"), "x-9", cached("x-7"), True),
        (write("", deleted=True), "9", cached(), False),
        (write("", deleted=True), "9", None, True),
        (write("", deleted=True), "9", cached(uid="other"), True),
        (write("", deleted=True), "9", cached(deleting=True), True),
        (write("3", deleted=True), "9", cached(), False),
        (write("3", deleted=True, removed=True), "9", cached(), False),
        (write("3", deleted=True, removed=True), "9", cached(deleting=True), False),
        (write("3", deleted=True, removed=True), "9", cached(uid="other"), True),
        (write("", uid="", deleted=True, removed=True), "9", cached(uid="other"), False),
        (write("3", deleted=True, removed=True), "9", None, True),
        (write("", deleted=True), "9", CachedObject("5", b"no object"), True),
    ],
)
def test_a_cache_shows_a_write_from_its_version_on(
    written: OwnWrite, version: str, entry: CachedObject | None, expected: bool
) -> None:
    assert written.is_shown(version, entry) is expected


@pytest.mark.parametrize(
    ("written", "version", "entry", "expected"),
    [
        (write("7"), "1000", cached("5"), True),
        (write("7"), "1000", None, True),
        (write("7"), "1000", cached("7"), False),
        (write("7"), "1000", cached("9"), False),
        (write("7"), "6", cached("5"), False),
        (write("7"), "6", None, False),
        (write("x-7"), "x-9", cached("x-5"), False),
        (write("x-7"), "x-9", cached("x-7"), False),
        (write("", deleted=True), "1000", cached(), True),
        (write("", deleted=True), "1000", cached(deleting=True), False),
        (write("", deleted=True, removed=True), "1000", cached(deleting=True), True),
        (write("", deleted=True), "1000", None, False),
    ],
)
def test_an_object_that_was_relisted_during_the_run_can_be_lost(
    written: OwnWrite, version: str, entry: CachedObject | None, expected: bool
) -> None:
    assert written.is_lost(version, entry) is expected


def empty_cache(key: str) -> CachedObject | None:
    return None


def test_a_key_is_released_when_every_cache_shows_its_writes() -> None:
    waiting = OwnWrites[str]()
    assert waiting.hold("a", [(1, write("7")), (2, write("9"))], 10)
    assert ("a" in waiting, waiting.waiting, waiting.next_at()) == (True, 1, 11)
    assert waiting.progress(1, "8", empty_cache, 10.1) == []
    assert waiting.progress(2, "8", empty_cache, 10.2) == []
    assert waiting.progress(2, "9", empty_cache, 10.25) == ["a"]
    assert ("a" in waiting, waiting.next_at(), waiting.expire(99)) == (False, None, [])
    assert (waiting.waits, waiting.timeouts, waiting.seconds) == (1, 0, 0.25)


def test_a_key_without_writes_is_not_held() -> None:
    waiting = OwnWrites[str]()
    assert not waiting.hold("a", [], 10)
    assert (waiting.waits, waiting.next_at()) == (0, None)


def test_no_key_waits_longer_than_the_limit() -> None:
    waiting = OwnWrites[str](limit=2)
    waiting.hold("a", [(1, write("7"))], 10)
    waiting.hold("b", [(1, write("8"))], 11)
    assert (waiting.expire(11.9), waiting.next_at()) == ([], 12)
    assert (waiting.expire(12), waiting.next_at(), waiting.timeouts, waiting.seconds) == (["a"], 13, 1, 2)
    assert waiting.hold("a", [(1, write("7"))], 12)
    assert waiting.progress(1, "7", empty_cache, 12.5) == ["a"]
    assert waiting.expire(14) == ["b"]


def test_a_list_of_an_older_version_shows_all_writes() -> None:
    waiting = OwnWrites[str]()
    waiting.hold("a", [(1, write("70"))], 10)
    waiting.hold("b", [(1, write("x-1"))], 10)
    assert waiting.progress(1, "60", empty_cache, 10) == []
    assert waiting.progress(1, "9", empty_cache, 10) == ["a", "b"]


def test_a_deletion_is_identified_by_its_uid() -> None:
    waiting = OwnWrites[str]()
    entries: dict[str, CachedObject] = {"a/web": cached()}
    waiting.hold("a", [(1, write("", deleted=True))], 10)
    assert waiting.progress(1, "6", entries.get, 10) == []
    entries["a/web"] = cached(uid="another")
    assert waiting.progress(1, "7", entries.get, 10) == ["a"]


def test_a_write_without_an_order_is_forgotten_after_its_time() -> None:
    waiting, found = OwnWrites[str](), list[str]()
    waiting.hold("a", [(1, write("x-7"))], 10)
    assert waiting.expire(11) == ["a"]
    for version in ("x-8", "x-9"):
        assert waiting.progress(1, version, found.append, 12) == []
    assert found == ["a/web"]


def test_the_end_releases_all_keys() -> None:
    waiting = OwnWrites[str]()
    waiting.hold("a", [(1, write("7"))], 10)
    waiting.hold("b", [(1, write("", deleted=True))], 10)
    assert waiting.clear(11) == ["a", "b"]
    assert (waiting.waiting, waiting.next_at(), waiting.progress(1, "9", empty_cache, 12)) == (0, None, [])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("hold"), st.sampled_from("abc"), st.lists(st.tuples(st.integers(0, 1),
                      st.integers(1, 120)), max_size=3)),
            st.tuples(st.just("progress"), st.integers(0, 1), st.integers(0, 40)),
            st.tuples(st.just("wait"), st.floats(0, 0.9), st.none()),
        ),
        max_size=40,
    )
)  # fmt: skip
def test_a_key_waits_until_its_writes_are_visible_or_the_limit_is_reached(story: list[Any]) -> None:
    waiting, now = OwnWrites[str](), 0.0
    versions: list[int] = [1, 1]
    plain: dict[str, tuple[list[tuple[int, int]], float]] = {}
    for step, first, second in story:
        released: list[str] = []
        if step == "hold":
            pairs: list[tuple[int, int]] = second
            missing = [(cache, version) for cache, version in pairs if versions[cache] < version]
            if first not in plain:
                is_held = waiting.hold(
                    first, [(cache, write(str(version))) for cache, version in missing], now
                )
                assert is_held == bool(missing)
                if missing:
                    plain[first] = (missing, now + 1)
        elif step == "progress":
            cache = int(first)
            versions[cache] += int(second)
            released = waiting.progress(cache, str(versions[cache]), empty_cache, now)
        else:
            now += first
            released = waiting.expire(now)
        due_keys = {
            key
            for key, (missing, until) in plain.items()
            if all(versions[cache] >= version for cache, version in missing)
            or (step == "wait" and until <= now)
        }
        assert sorted(released) == sorted(due_keys)
        for key in due_keys:
            del plain[key]
        assert waiting.waiting == len(plain)
        assert waiting.next_at() == min((until for _, until in plain.values()), default=None)


@pytest.mark.parametrize(
    ("entry", "relisted", "expected_lost"),
    [
        (cached("7"), False, []),
        (cached("9"), False, []),
        (None, False, []),  # the watch has reported its deletion
        (cached("5"), False, ["k"]),
        (cached("7"), True, []),
        (cached("9"), True, []),
        (None, True, ["k"]),
        (cached("5"), True, ["k"]),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_a_write_that_is_missing_in_a_newer_cache_is_lost(
    is_late: bool, entry: CachedObject | None, relisted: bool, expected_lost: list[str]
) -> None:
    writes: OwnWrites[str] = OwnWrites(limit=1.0)
    writes.hold("k", [("pods", write("7"))], 0.0)
    if is_late:
        assert writes.expire(1.0) == ["k"]
    assert writes.outstanding
    writes.progress("pods", "6", lambda _: cached("5"), 2.0, relisted=relisted)
    assert (writes.take_lost(), writes.outstanding) == ([], True)
    writes.progress("pods", "1000", lambda _: entry, 3.0, relisted=relisted)
    assert (writes.take_lost(), writes.outstanding) == (expected_lost, False)
    assert writes.take_lost() == []


@pytest.mark.parametrize(
    ("entry", "relisted", "settled", "expected_lost"),
    [
        (cached("5"), False, False, []),
        (None, False, True, []),
        (None, True, True, []),
        (cached("5"), True, True, ["k"]),
        (cached("6", deleting=True), True, True, []),
        (cached("9", uid="other"), True, True, []),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
def test_a_deletion_is_lost_if_a_list_still_has_the_object(
    is_late: bool, entry: CachedObject | None, relisted: bool, settled: bool, expected_lost: list[str]
) -> None:
    writes: OwnWrites[str] = OwnWrites(limit=1.0)
    writes.hold("k", [("pods", write("", deleted=True))], 0.0)
    if is_late:
        assert writes.expire(1.0) == ["k"]
    released = writes.progress("pods", "1000", lambda _: entry, 3.0, relisted=relisted)
    assert released == (["k"] if settled and not is_late else [])
    assert (writes.take_lost(), writes.outstanding) == (expected_lost, not settled)
    writes.progress("pods", "1001", empty_cache, 4.0)
    assert (writes.take_lost(), writes.outstanding) == ([], False)


def test_a_repeated_deletion_is_recorded_once() -> None:
    writes: OwnWrites[str] = OwnWrites(limit=1.0)
    twice = [("pods", write("", deleted=True)), ("pods", write("", deleted=True, removed=True))]
    for time in (0.0, 5.0):
        assert writes.hold("k", twice, time)
        assert (writes.expire(time + 1.0), writes.outstanding, writes.waiting) == (["k"], True, 0)
    assert writes.hold("k", twice, 9.0)
    writes.progress("pods", "9", lambda _: cached(deleting=True), 9.1)
    assert writes.waiting == 1  # the latest write counts: the object is to be deleted
    assert writes.progress("pods", "9", empty_cache, 9.2) == ["k"]
    assert (writes.outstanding, writes.take_lost()) == (False, [])


def test_a_cleared_key_has_no_outstanding_writes() -> None:
    writes: OwnWrites[str] = OwnWrites(limit=1.0)
    writes.hold("k", [("pods", write("7")), ("pods", write("", deleted=True))], 0.0)
    writes.expire(1.0)
    was_outstanding = writes.outstanding
    writes.clear(2.0)
    assert (was_outstanding, writes.outstanding) == (True, False)
    assert writes.progress("pods", "9", lambda _: None, 3.0) == []
    assert writes.take_lost() == []
