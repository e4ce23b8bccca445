"""History, snapshots and watches agree with each other after any writes in any order."""

from __future__ import annotations

import json
from typing import Any

from asked_examples import examples
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from raw_client import BOOKS, MERGE, RawClient, events

import kubeproto_sim as sim

NAMES = st.sampled_from("abcdef")
TITLES = st.sampled_from(["Typee", "Omoo"])
LABELS = st.sampled_from(["x", "y"])


class History(RuleBasedStateMachine):
    """Writes of any kind, with a model that records every snapshot."""

    def __init__(self) -> None:
        super().__init__()
        self.client = RawClient()
        self.snapshots: dict[int, dict[str, Any]] = {}
        self.watches: list[tuple[sim.Stream, dict[str, Any], str]] = []
        self.pages: list[tuple[str, dict[str, Any], list[str]]] = []
        self.versions: list[int] = []

    @initialize()
    def begin(self) -> None:
        self.record_snapshot()

    @property
    def cluster(self) -> sim.Cluster:
        return self.client.cluster

    def record_snapshot(self) -> None:
        version = self.cluster.version
        if version not in self.snapshots:
            listed = self.client.fetch("GET", BOOKS)
            self.snapshots[version] = {item["metadata"]["name"]: item for item in listed["items"]}
        self.versions.append(version)

    @rule(name=NAMES, title=TITLES, label=LABELS)
    def create(self, name: str, title: str, label: str) -> None:
        body = {"apiVersion": "example.io/v1", "kind": "Book", "spec": {"title": title},
                "metadata": {"name": name, "labels": {"l": label}}}  # fmt: skip
        self.client.send("POST", BOOKS, body)
        self.record_snapshot()

    @rule(name=NAMES, title=TITLES)
    def patch(self, name: str, title: str) -> None:
        self.client.send("PATCH", f"{BOOKS}/{name}", {"spec": {"title": title}}, MERGE)
        self.record_snapshot()

    @rule(name=NAMES, label=LABELS)
    def label(self, name: str, label: str) -> None:
        self.client.send("PATCH", f"{BOOKS}/{name}", {"metadata": {"labels": {"l": label}}}, MERGE)
        self.record_snapshot()

    @rule(name=NAMES, keeps=st.booleans())
    def finalize(self, name: str, keeps: bool) -> None:
        finalizers = ["x.io/a"] if keeps else None
        self.client.send("PATCH", f"{BOOKS}/{name}", {"metadata": {"finalizers": finalizers}}, MERGE)
        self.record_snapshot()

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        self.client.send("DELETE", f"{BOOKS}/{name}")
        self.record_snapshot()

    @rule(back=st.integers(0, 8))
    def watch_from(self, back: int) -> None:
        version = self.versions[-1 - min(back, len(self.versions) - 1)]
        if version < self.oldest:
            return
        watch = self.client.watch(f"{BOOKS}?resourceVersion={version}")
        self.watches.append((watch, dict(self.snapshots[version]), ""))

    @rule(label=LABELS)
    def watch_selected(self, label: str) -> None:
        watch = self.client.watch(f"{BOOKS}?labelSelector=l={label}")
        self.watches.append((watch, {}, label))

    @rule()
    def start_paging(self) -> None:
        page = self.client.fetch("GET", f"{BOOKS}?limit=1")
        if token := page["metadata"]["continue"]:
            snapshot = self.snapshots[int(page["metadata"]["resourceVersion"])]
            self.pages.append((token, snapshot, [item["metadata"]["name"] for item in page["items"]]))

    @precondition(lambda self: self.pages)
    @rule()
    def continue_paging(self) -> None:
        token, snapshot, seen_names = self.pages.pop()
        page = self.client.fetch("GET", f"{BOOKS}?limit=1&continue={token}")
        if self.client.status == 410:
            assert page["metadata"]["continue"]
            return
        for item in page["items"]:
            assert item == snapshot[item["metadata"]["name"]]
            seen_names.append(item["metadata"]["name"])
        if next_token := page["metadata"]["continue"]:
            self.pages.append((next_token, snapshot, seen_names))
        else:
            assert seen_names == sorted(snapshot)

    @rule()
    def compact(self) -> None:
        self.cluster.compact()

    @property
    def oldest(self) -> int:
        return self.cluster._state.storage.compacted

    @invariant()
    def versions_never_go_back(self) -> None:
        assert self.versions == sorted(self.versions)

    @invariant()
    def a_watch_replays_exactly_the_changes_after_its_version(self) -> None:
        now = self.snapshots.get(self.cluster.version, {})
        remaining: list[tuple[sim.Stream, dict[str, Any], str]] = []
        for watch, snapshot, label in self.watches:
            last = 0
            for change, obj in events(watch.take()):
                name, version = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
                if change == "DELETED":
                    assert name in snapshot
                    del snapshot[name]
                else:
                    assert (name in snapshot) is (change == "MODIFIED")
                    snapshot[name] = obj
                assert version > last or not label
                last = version if not label else last
            selected = {n: o for n, o in now.items() if not label or o["metadata"]["labels"]["l"] == label}
            assert snapshot == selected
            if not watch.ended:
                remaining.append((watch, snapshot, label))
        self.watches = remaining

    @invariant()
    def a_list_is_the_fold_of_the_history(self) -> None:
        storage = self.cluster._state.storage.resource("books.example.io")
        for version, snapshot in self.snapshots.items():
            if version >= self.oldest:
                objects = storage.objects_at(version)
                assert {stored.name: json.loads(stored.data) for stored in objects.values()} == snapshot


TestHistory = History.TestCase
TestHistory.settings = settings(max_examples=examples(40), stateful_step_count=40, deadline=None)
