"""The Store: the snapshot as bytes, changes with old and new objects, and a new snapshot in a single step."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto import InvalidObject, LocalProtocolError, ObjectMeta
from kubeproto.control import CachedObject, Change, Store, StoreFull, key_of
from kubeproto.watching import WatchEvent


class TomeSpec(kp.Fields):
    title: str = ""


class Tome(kp.Object[TomeSpec, None], group="example.io", version="v1", plural="tomes"):
    """The kind of these stores."""


Event = WatchEvent[Tome]


def make_tome(name: str, version: object, title: str = "", *, uid: str = "u", namespace: str = "") -> Tome:
    metadata = ObjectMeta(name=name, namespace=namespace, resource_version=str(version), uid=uid)
    return Tome(metadata=metadata, spec=TomeSpec(title=title))


def added(name: str, version: object, title: str = "", *, uid: str = "u") -> Event:
    return kp.Added(make_tome(name, version, title, uid=uid))


def modified(name: str, version: object, title: str = "", *, uid: str = "u") -> Event:
    return kp.Modified(make_tome(name, version, title, uid=uid))


def deleted(name: str, version: object, title: str = "") -> Event:
    return kp.Deleted(make_tome(name, version, title))


def broken(name: str, version: str, raw: bytes, *, kind: str = "MODIFIED") -> kp.Malformed:
    return kp.Malformed(ObjectMeta(name=name, resource_version=version), ValueError("no"), raw, kind)


def store_of(*objects: Tome | kp.Malformed, version: str = "10") -> Store[Tome]:
    store = Store(Tome)
    store.stage(objects)
    store.replace(version)
    return store


def relist(store: Store[Tome], *objects: Tome | kp.Malformed, version: str = "20") -> list[Change[Tome]]:
    store.stage(objects)
    return store.replace(version)


def changes_of(changes: Sequence[Change[Tome]]) -> list[tuple[str, str]]:
    return [(change.type, change.key) for change in changes]


# Events


def test_each_event_is_a_change_with_old_and_new() -> None:
    store = Store(Tome)
    [first, second, third] = store.update([added("a", 1, "x"), modified("a", 2, "y"), deleted("a", 3, "z")])
    assert (first.old_object, first.object.spec.title) == (None, "x")
    assert second.old_object is not None
    assert (second.old_object.spec.title, second.object.spec.title) == ("x", "y")
    assert third.old_object is not None
    assert (third.old_object.spec.title, third.object.spec.title, third.assumed) == ("y", "z", False)
    assert (len(store), store.version) == (0, "3")


def test_r_39_known_objects_are_modified_and_others_are_added_whatever_the_type_of_the_event() -> None:
    store = store_of(make_tome("a", 1))
    assert changes_of(store.update([added("a", 2), modified("b", 3)])) == [("MODIFIED", "a"), ("ADDED", "b")]


def test_a_deletion_of_an_unknown_object_is_ignored() -> None:
    store = Store(Tome)
    assert store.update([deleted("a", 4)]) == []
    assert store.version == "4"


def test_the_same_version_again_is_not_a_change() -> None:
    store = store_of(make_tome("a", 1))
    assert store.update([added("a", 1), modified("a", 1)]) == []


def test_an_object_without_a_version_is_always_a_change() -> None:
    store = Store(Tome)
    assert changes_of(store.update([added("a", ""), modified("a", "", "x")])) == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
    ]
    assert store.version == ""


def test_bookmarks_advance_the_version_and_failures_and_other_kinds_do_not() -> None:
    store = store_of(make_tome("a", 1))
    events: list[Event] = [
        kp.Bookmark("12"),
        kp.Bookmark(""),
        kp.WatchFailed(kp.Status()),
        kp.Unknown("NEW", b"{}"),
    ]
    assert (store.update(events), store.version, len(store)) == ([], "12", 1)


def test_w_31_an_older_version_is_accepted_and_flagged() -> None:
    store = store_of(make_tome("a", 100))
    [change] = store.update([modified("a", 99)])
    assert (change.went_back, store.version) == (True, "99")
    assert [c.went_back for c in store.update([modified("a", 100), modified("a", "x"), deleted("a", 5)])] == [
        False
    ] * 3


def test_a_key_contains_the_namespace_if_there_is_one() -> None:
    store = store_of(make_tome("a", 1, namespace="n"), make_tome("a", 2))
    assert set(store.entries()) == {"n/a", "a"} == {key_of("a", "n"), key_of("a")}
    assert "n/a" in store
    assert store.get("a", "m") is None
    first, second = store.get("a", "n"), store.get("a")
    assert first is not None
    assert second is not None
    assert (first.metadata.resource_version, second.metadata.resource_version) == ("1", "2")


def test_a_change_identifies_its_object() -> None:
    store = Store(Tome)
    [change] = store.update([kp.Added(make_tome("a", 1, namespace="n"))])
    assert change.ref == kp.ObjectRef.to(Tome, "a", "n")


# Reading


def test_each_reader_gets_its_own_object() -> None:
    store = store_of(make_tome("a", 1, "x"))
    mine, yours = store.get("a"), store.get("a")
    assert mine is not None
    assert yours is not None
    mine.spec.title = "scribbled"
    assert yours.spec.title == "x"
    assert [t.spec.title for t in store] == ["x"]


def test_readers_see_the_snapshot_at_which_they_began() -> None:
    store = store_of(make_tome("a", 1), make_tome("b", 2))
    seen_entries: list[str] = []
    for obj in store:
        seen_entries.append(obj.metadata.name)
        store.update([deleted("b", 3), added("c", 4)])
    assert seen_entries == ["a", "b"]
    assert {t.metadata.name for t in store} == {"a", "c"}


# Snapshots


def test_the_first_snapshot_is_initial_and_later_changes_are_not() -> None:
    store = Store(Tome)
    first = relist(store, make_tome("a", 1), make_tome("b", 2))
    assert [(c.type, c.key, c.initial) for c in first] == [("ADDED", "a", True), ("ADDED", "b", True)]
    assert [c.initial for c in store.update([added("c", 3)])] == [False]
    assert [c.initial for c in relist(store, make_tome("d", 9))] == [False] * 4


def test_an_empty_snapshot_is_a_snapshot() -> None:
    store = store_of()
    assert (len(store), store.version) == (0, "10")


def test_w_29_and_w_30_a_new_snapshot_reports_only_deleted_and_changed_objects() -> None:
    store = store_of(make_tome("gone", 1, "last"), make_tome("same", 2), make_tome("new", 3, "before"))
    changes = relist(store, make_tome("same", 2), make_tome("new", 13, "after"), make_tome("more", 14))
    assert changes_of(changes) == [("DELETED", "gone"), ("MODIFIED", "new"), ("ADDED", "more")]
    vanished, changed, _ = changes
    assert (vanished.assumed, vanished.new, vanished.object.spec.title) == (True, None, "last")
    assert changed.old_object is not None
    assert (changed.old_object.spec.title, changed.object.spec.title) == ("before", "after")


def test_unchanged_objects_are_replayed_on_request() -> None:
    store = store_of(make_tome("same", 2))
    store.stage([make_tome("same", 2)])
    [change] = store.replace("20", replay=True)
    assert (change.type, change.old is change.new) == ("MODIFIED", True)
    assert not change.replaced


def test_a_new_snapshot_takes_over_the_entries_that_did_not_change() -> None:
    store = store_of(make_tome("same", 2))
    old_entries = store.entry("same")
    relist(store, make_tome("same", 2))
    assert store.entry("same") is old_entries


def test_an_object_with_the_name_of_another_is_detected_by_its_uid() -> None:
    store = store_of(make_tome("a", 1, uid="one"), make_tome("b", 2, uid="two"))
    first, second = relist(store, make_tome("a", 11, uid="other"), make_tome("b", 12, uid="two"))
    assert (first.type, first.replaced, second.replaced) == ("MODIFIED", True, False)


def test_no_reader_sees_a_partial_snapshot() -> None:
    store = store_of(make_tome("a", 1))
    store.stage([make_tome("b", 2)])
    store.stage([added("c", 3)])
    assert (set(store.entries()), store.version, len(store)) == ({"a"}, "10", 1)
    store.discard()
    with pytest.raises(LocalProtocolError, match="replace without stage"):
        store.replace("11")
    assert set(store.entries()) == {"a"}


def test_a_discarded_snapshot_leaves_no_objects() -> None:
    store = store_of(make_tome("a", 1))
    store.stage([make_tome("ghost", 2)])
    store.discard()
    relist(store, make_tome("a", 1))
    assert set(store.entries()) == {"a"}


def test_w_18_a_streaming_list_accepts_changes_and_deletions_before_its_end() -> None:
    store = Store(Tome)
    store.stage([added("a", 1), added("b", 2)])
    store.stage([modified("a", 3), deleted("b", 4), deleted("never", 5), kp.Bookmark("5")])
    store.stage([broken("c", "6", b'{"type":"ADDED","object":{"spec":7}}', kind="ADDED")])
    store.stage([broken("d", "7", b"{}", kind="ADDED"), broken("d", "8", b"{}", kind="DELETED")])
    assert changes_of(store.replace("8")) == [("ADDED", "a"), ("ADDED", "c")]


# Invalid objects


def test_w_27_an_invalid_object_is_stored_unchanged() -> None:
    store = store_of(make_tome("a", 1))
    line = b'{"type":"MODIFIED","object":{"kind":"Tome","apiVersion":"example.io/v1","spec":{"title":5}}}'
    [change] = store.update([broken("a", "2", line)])
    assert (change.type, change.key, store.version) == ("MODIFIED", "a", "2")
    entry = store.entry("a")
    assert entry is not None
    assert entry == CachedObject("2", b'{"kind":"Tome","apiVersion":"example.io/v1","spec":{"title":5}}')
    with pytest.raises(InvalidObject):
        store.read(entry, strict=True)
    assert store.update([broken("a", "2", line)]) == []


def test_an_object_that_is_not_json_is_known_to_exist() -> None:
    store = store_of(make_tome("a", 1))
    assert changes_of(store.update([broken("b", "2", b'{"type":"ADDED","object":', kind="ADDED")])) == [
        ("ADDED", "b")
    ]
    assert store.entry("b") == CachedObject("2", b"")
    with pytest.raises(InvalidObject):
        store.get("b")
    assert [t.metadata.name for t in store] == ["a"]


def test_a_broken_object_is_deleted_like_any_other() -> None:
    store = store_of(make_tome("a", 1))
    assert changes_of(store.update([broken("a", "2", b"{}", kind="DELETED")])) == [("DELETED", "a")]
    assert store.update([broken("a", "3", b"{}", kind="DELETED")]) == []


def test_r_10_and_r_33_an_object_of_another_kind_is_no_change() -> None:
    store = store_of(make_tome("a", 1))
    pod = b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}}'
    table = b'{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}}'
    events: list[Event] = [broken("p", "2", pod, kind="ADDED"), broken("", "3", table, kind="ADDED")]
    assert (store.update(events), set(store.entries()), store.version) == ([], {"a"}, "3")


def test_a_broken_item_of_a_list_is_stored_unless_it_has_no_name() -> None:
    changes = relist(Store(Tome), broken("a", "1", b'{"spec":5}', kind=""), broken("", "2", b"{}", kind=""))
    assert changes_of(changes) == [("ADDED", "a")]
    assert changes[0].new == CachedObject("1", b'{"spec":5}')


def test_a_store_can_cache_only_metadata() -> None:
    store = Store(kp.Metadata[Tome])
    meta = kp.Metadata[Tome](
        kind="PartialObjectMetadata", metadata=ObjectMeta(name="a", resource_version="1")
    )
    [change] = store.update([kp.Added(meta)])
    assert change.object.metadata.name == "a"
    assert metadata_changes(store) == ["a"]


def metadata_changes(store: Store[kp.Metadata[Tome]]) -> list[str]:
    store.update([broken("a", "2", b'{"type":"MODIFIED","object":{"kind":"Anything"}}')])
    return list(store.entries())


# The complete Store


NEWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 9), st.sampled_from(["ADDED", "MODIFIED", "DELETED"]))
)


@given(st.lists(st.tuples(st.booleans(), NEWS), max_size=6))
def test_the_changes_add_up_to_the_stored_objects(
    rounds: list[tuple[bool, list[tuple[str, int, str]]]],
) -> None:
    store = Store(Tome)
    seen_entries: dict[str, CachedObject] = {}
    make = {"ADDED": added, "MODIFIED": modified, "DELETED": deleted}
    for relisted, steps in rounds:
        events = [make[kind](name, version) for name, version, kind in steps]
        if relisted:
            store.stage(events)
            changes = store.replace("9")
        else:
            changes = store.update(events)
        for change in changes:
            assert seen_entries.get(change.key) == change.old
            assert (change.old is None) == (change.type == "ADDED")
            if change.type == "DELETED":
                del seen_entries[change.key]
            else:
                assert change.new is not None
                seen_entries[change.key] = change.new
        assert store.entries() == seen_entries


def test_the_entries_are_not_tracked_by_the_garbage_collector() -> None:
    store = store_of(*(make_tome(f"t{n}", n) for n in range(1, 50)))
    import gc

    assert not gc.is_tracked(store.entries())
    assert not any(gc.is_tracked(entry) for entry in store.entries().values())


def test_an_entry_is_the_objects_json() -> None:
    store = store_of(make_tome("a", 1, "x"))
    entry = store.entry("a")
    assert entry is not None
    assert msgspec.json.decode(entry.raw)["spec"] == {"title": "x"}
    assert type(entry.raw) is bytes


def test_the_second_snapshot_is_not_initial_though_the_first_was_empty() -> None:
    store = store_of(version="5")
    assert [change.initial for change in relist(store, make_tome("a", 6), version="6")] == [False]


def test_an_unchanged_broken_object_is_not_reported_again_by_a_relist() -> None:
    store = store_of(broken("a", "7", b'{"spec":1}', kind="ADDED"))
    assert relist(store, broken("a", "7", b'{"spec":1}', kind="ADDED")) == []


def test_the_entries_that_were_handed_out_are_a_snapshot() -> None:
    store = store_of()
    old_entries = store.entries()
    store.update([added("a", 11)])
    assert len(old_entries) == 0
    assert len(store.entries()) == 1


# Changes while a new snapshot arrives


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from("amd")), max_size=12)),
    st.lists(st.booleans(), max_size=12),
)
def test_a_commit_reports_the_difference_of_two_snapshots_however_they_arrived(
    snapshots: list[list[tuple[int, int, str]]], crossed: list[bool]
) -> None:
    store: Store[Tome] = Store(Tome)
    for index, events in enumerate(snapshots):
        old_entries = store.entries()
        store.stage(())
        for number, version, kind in events:
            make = {"a": added, "m": modified, "d": deleted}[kind]
            store.stage([make(f"t{number}", version, str(version))])
        if index < len(crossed) and crossed[index]:
            store.update([modified("t0", 7)])  # the old snapshot continues to be updated
            old_entries = store.entries()
        changes = store.replace(str(100 + index))
        new_entries = store.entries()
        assert {change.key: (change.old, change.new) for change in changes} == {
            key: (old_entries.get(key), new_entries.get(key))
            for key in old_entries.keys() | new_entries.keys()
            if old_entries.get(key) is not new_entries.get(key)
        }
        assert store.size == sum(len(entry.raw) for entry in new_entries.values())
        for change in changes:
            old, new = change.key in old_entries, change.key in new_entries
            assert change.type == ("MODIFIED" if old and new else "ADDED" if new else "DELETED")


def test_an_unchanged_snapshot_keeps_its_entries_and_reports_no_change() -> None:
    store = store_of(make_tome("a", 1), make_tome("b", 2))
    old_entries = store.entries()
    assert relist(store, make_tome("b", 2), make_tome("a", 1)) == []
    assert all(store.entry(key) is entry for key, entry in old_entries.items())


# Transforms and limits


def test_a_transform_returns_the_stored_bytes_and_versions_stay() -> None:
    store = Store(Tome, transform=lambda raw: raw.replace(b"secret", b"******"))
    store.stage([make_tome("a", 1, "secret"), broken("b", "2", b'{"spec":"secret"}', kind="")])
    store.replace("10")
    [change] = store.update([modified("a", 11, "secret")])
    assert [entry.raw.count(b"******") for entry in store.entries().values()] == [1, 1]
    assert (change.object.spec.title, change.object.metadata.resource_version) == ("******", "11")
    [removed] = store.update([deleted("a", 12, "secret")])
    assert removed.object.spec.title == "******"


def test_the_error_of_a_full_store_names_the_kind_and_the_size() -> None:
    few = Store(Tome, max_objects=2)
    few.stage([make_tome("a", 1), make_tome("b", 2)])
    few.replace("2")
    with pytest.raises(StoreFull, match="the cache of Tome exceeds max_objects=2"):
        few.update([added("c", 3)])
    with pytest.raises(StoreFull, match="the cache of Tome exceeds max_objects=2"):
        few.stage([make_tome("a", 1), make_tome("b", 2), make_tome("c", 3)])
    small = Store(Tome, max_bytes=1000)
    small.update([added("a", 1)])
    with pytest.raises(StoreFull, match=r"exceeds max_bytes=1000: 2 objects take \d+ bytes"):
        small.update([added("b", 2, "x" * 1000)])


def test_the_size_is_that_of_the_stored_objects() -> None:
    store = Store(Tome)
    store.update([added("a", 1, "x"), modified("a", 2, "xxx"), added("b", 3)])
    assert store.size == sum(len(entry.raw) for entry in store.entries().values())
    store.update([deleted("a", 4), deleted("b", 5)])
    assert store.size == 0
