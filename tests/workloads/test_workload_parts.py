"""The parts of controllers: indexes, shares, hashes, orders and texts."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import Selector
from kubeproto_sim.storage._storage import StoredEvent, StoredRecord
from kubeproto_sim.workloads.deployments._deployment_revisions import annotate
from kubeproto_sim.workloads.deployments._deployment_sizes import round_half_away, sizes_in_proportion
from kubeproto_sim.workloads.jobs._job_indexes import pending_indexes, read_indexes, write_indexes
from kubeproto_sim.workloads.loops._controller_indexes import LabelIndex, OwnerIndex, SelectorIndex
from kubeproto_sim.workloads.loops._pod_control import slow_start_batches, template_hash
from kubeproto_sim.workloads.objects._deletion_order import in_order_of_deletion
from kubeproto_sim.workloads.objects._replica_counts import resolve_percentage
from kubeproto_sim.workloads.services._service_endpoints import go_timestamp

NAMES = st.sampled_from(["a", "b", "c"])
LABELS = st.dictionaries(NAMES, st.sampled_from(["1", "2"]), max_size=3)


# Texts and numbers.


@pytest.mark.parametrize(
    ("indexes", "text"),
    [
        ([], ""),
        ([3], "3"),
        ([0, 1], "0,1"),
        ([0, 1, 2], "0-2"),
        ([1, 3, 4, 5, 7], "1,3-5,7"),
        ([5, 4, 4], "4,5"),
    ],
)
def test_three_indexes_in_a_row_are_a_range(indexes: list[int], text: str) -> None:
    assert write_indexes(indexes) == text


@given(st.sets(st.integers(0, 40)), st.integers(0, 50))
def test_the_parsed_indexes_are_the_written_ones_below_the_completions(
    indexes: set[int], completions: int
) -> None:
    assert read_indexes(write_indexes(indexes), completions) == {
        index for index in indexes if index < completions
    }


@given(st.text("0123456789,-x", max_size=12))
def test_any_text_can_be_read_as_indexes(text: str) -> None:
    assert all(0 <= index < 20 for index in read_indexes(text, 20))


@given(st.sets(st.integers(0, 20)), st.integers(0, 30), st.integers(0, 30))
def test_the_first_uncompleted_indexes_are_pending(completed: set[int], count: int, completions: int) -> None:
    pending = pending_indexes(completed, count, completions)
    assert pending == [index for index in range(completions) if index not in completed][:count]


@given(st.integers(0, 100), st.integers(0, 1000))
def test_a_share_is_rounded_up_or_down(percent: int, of: int) -> None:
    assert resolve_percentage(f"{percent}%", of, round_up=True) == ceil(percent * of / 100)
    assert resolve_percentage(f"{percent}%", of, round_up=False) == floor(percent * of / 100)
    assert resolve_percentage(percent, of, round_up=True) == percent
    assert resolve_percentage(None, of, round_up=True) == 0


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.4, 0), (0.5, 1), (1.5, 2), (-0.4, 0), (-0.5, -1), (-1.6, -2)]
)
def test_halves_are_rounded_away_from_zero(value: float, rounded: int) -> None:
    assert round_half_away(value) == rounded


@given(st.integers(0, 600))
def test_batches_double_and_add_up(count: int) -> None:
    sizes = slow_start_batches(count)
    assert sum(sizes) == count
    assert sizes[:-1] == [2**exponent for exponent in range(len(sizes) - 1)]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "1970-01-01T00:00:00Z"), (1.5, "1970-01-01T00:00:01.5Z"), (0.001, "1970-01-01T00:00:00.001Z")],
)
def test_a_precise_time_has_as_many_digits_as_it_needs(seconds: float, text: str) -> None:
    assert go_timestamp(seconds) == text


def test_a_hash_depends_on_the_value_and_on_collisions_alone() -> None:
    hash_ = template_hash({"a": 1, "b": [2]})
    assert hash_ == template_hash({"b": [2], "a": 1})
    assert (
        len(
            {
                hash_,
                template_hash({"a": 1}),
                template_hash({"a": 1, "b": [2]}, 1),
                template_hash({"a": 1, "b": [2]}, 2),
            }
        )
        == 4
    )
    assert set(hash_) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_the_history_of_a_revision_drops_the_oldest_entries_when_it_is_too_long() -> None:
    deployment = {"metadata": {"annotations": {"note": "new", "deployment.kubernetes.io/revision": "9"}}}
    replicaset: dict[str, Any] = {"metadata": {"annotations": {"deployment.kubernetes.io/revision": "1"}}}
    for revision in range(2, 700):
        assert annotate(deployment, replicaset, revision)
    annotations = replicaset["metadata"]["annotations"]
    history = annotations["deployment.kubernetes.io/revision-history"].split(",")
    assert annotations["deployment.kubernetes.io/revision"] == "699"
    assert annotations["note"] == "new"
    assert history[-1] == "698"
    assert len(",".join(history)) <= 2000
    assert len(history) < 698
    assert not annotate(deployment, replicaset, 699)


# Indexes against a plain search.


def stored(name: str, labels: dict[str, str], owner: str) -> StoredRecord:
    data = b'{"controller":true}' if owner else b"{}"
    return StoredRecord(
        f"ns/{name}", "ns", name, f"uid-{name}", 1, data, labels or None, (owner,) if owner else ()
    )


OBJECTS = st.dictionaries(st.sampled_from("pqrs"), st.tuples(LABELS, st.sampled_from(["", "x", "y"])))


@given(st.lists(OBJECTS, max_size=6), LABELS)
def test_indexes_agree_with_a_search_after_any_changes(
    states: list[Any], required_labels: dict[str, str]
) -> None:
    owners, labels = OwnerIndex(), LabelIndex()
    objects: dict[str, StoredRecord] = {}
    for state in states:
        next_objects = {name: stored(name, *properties) for name, properties in state.items()}
        for name in {*objects, *next_objects}:
            old, new = objects.get(name), next_objects.get(name)
            if new is None:
                assert old is not None
                event = StoredEvent("DELETED", old, old)
            else:
                event = StoredEvent("MODIFIED" if old else "ADDED", new, old)
            owners.on_event(event)
            labels.on_event(event)
        objects = next_objects
    for index, by_label in ((owners, labels), (owners.copy(), labels.copy())):
        for owner in ("x", "y"):
            assert set(index.owned(owner)) == {each.key for each in objects.values() if owner in each.owners}
        assert set(index.orphans("ns")) == {each.key for each in objects.values() if not each.owners}
        assert index.orphans("other") == []
        matching = {
            each.key for each in objects.values() if Selector.of(required_labels).matches(each.labels or {})
        }
        assert matching <= set(by_label.candidates("ns", Selector.of(required_labels)))


def selector(labels: dict[str, str], extra: str) -> Selector:
    return Selector.of(labels) & Selector.parse(extra)


SELECTORS = st.builds(selector, LABELS, st.sampled_from(["", "a", "!b"]))


@given(st.lists(st.tuples(st.sampled_from("pqrs"), st.none() | SELECTORS), max_size=8), LABELS)
def test_selectors_are_found_by_their_labels(
    changes: list[tuple[str, Selector | None]], labels: dict[str, str]
) -> None:
    index, selectors = SelectorIndex(), dict[str, Selector]()
    for key, new in changes:
        if new is None:
            index.drop(key)
            selectors.pop(key, None)
        else:
            index.put(key, "ns", new)
            selectors[key] = new
    matching = {key for key, each in selectors.items() if each.matches(labels)}
    keys = index.matching("ns", labels)
    assert (set(keys), len(keys)) == (matching, len(matching))
    assert set(index.copy().matching("ns", labels)) == matching
    assert index.matching("other", labels) == []


# Orders and proportions.


def pod(name: str, **changes: Any) -> dict[str, Any]:
    """Return a pod on a node that is a hundred seconds old, running, and ready for ten seconds."""
    meta: dict[str, Any] = {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    since = changes.pop("ready", "2026-01-01T00:01:30Z")
    status: dict[str, Any] = {"phase": changes.pop("phase", "Running")}
    if since:
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": since}]
    if "restarts" in changes:
        status["containerStatuses"] = [{"restartCount": changes.pop("restarts")}]
    if "cost" in changes:
        meta["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": changes.pop("cost")}
    meta |= {"creationTimestamp": changes.pop("created", meta["creationTimestamp"])}
    return {"metadata": meta, "spec": {"nodeName": changes.pop("node", "n")}, "status": status}


NOW = 1_767_225_700.0


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (pod("z", node=""), pod("a", node="n", phase="Pending", ready="")),
        (pod("z", phase="Pending", ready=""), pod("a", ready="")),
        (pod("z", ready=""), pod("a")),
        (pod("z", cost="-5"), pod("a")),
        (pod("z"), pod("a", cost="7")),
        (pod("z", node="crowded"), pod("a", node="n")),
        (pod("z", ready="2026-01-01T00:01:39Z"), pod("a")),
        (pod("z", restarts=3), pod("a", restarts=1)),
        (pod("z", created="2026-01-01T00:01:20Z"), pod("a")),
        (pod("a"), pod("z")),
        (pod("a", cost="many"), pod("z")),
    ],
)
def test_the_least_useful_pod_is_deleted_first(first: dict[str, Any], then: dict[str, Any]) -> None:
    crowd = [pod("other", node="crowded"), pod("another", node="crowded")]
    for pods in ([first, then], [then, first]):
        assert in_order_of_deletion(pods, crowd, NOW)[0] is first


@given(st.lists(st.integers(1, 20), min_size=2, max_size=5), st.integers(0, 60), st.integers(0, 5))
def test_proportions_add_up_to_the_allowed_number(sizes: list[int], replicas: int, surge: int) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": 1}
    deployment = {
        "spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    }
    annotations = {"deployment.kubernetes.io/max-replicas": str(sum(sizes))}
    sets: list[dict[str, Any]] = [
        {
            "metadata": {
                "name": f"s{number}",
                "creationTimestamp": f"2026-01-01T00:00:0{number}Z",
                "annotations": annotations,
            },
            "spec": {"replicas": size},
        }
        for number, size in enumerate(sizes)
    ]
    new_sizes = sizes_in_proportion(deployment, sets)
    assert {each["metadata"]["name"] for each, _ in new_sizes} == {each["metadata"]["name"] for each in sets}
    assert all(size >= 0 for _, size in new_sizes)
    assert sum(size for _, size in new_sizes) == (replicas + surge if replicas else 0)
