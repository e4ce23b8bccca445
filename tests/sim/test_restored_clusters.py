"""The effects of a restored backup on a cluster, and the times at which controllers are idle."""

from __future__ import annotations

from asking import CONFIGMAPS, Asker

GARBAGE = "garbage-collector-controller"


def _with_an_orphan(asker: Asker) -> None:
    owner = asker.config("owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    asker.config("owned", ownerReferences=[reference])
    asker.ask("DELETE", f"{CONFIGMAPS}/owner")


def _exists(asker: Asker) -> bool:
    asker.send("GET", f"{CONFIGMAPS}/owned")
    return asker.status == 200


def test_controllers_keep_their_settings_when_a_backup_is_restored() -> None:
    asker = Asker()
    cluster = asker.cluster
    cluster.controllers[GARBAGE].slow(10)
    cluster.restore(cluster.snapshot())
    _with_an_orphan(asker)
    assert _exists(asker)
    cluster.advance(9)
    assert _exists(asker)
    cluster.advance(1)
    assert not _exists(asker)


def test_planned_events_happen_after_a_restored_backup_too() -> None:
    cluster, happened = Asker().cluster, list[float]()
    start = cluster.now
    cluster.later(10, lambda: happened.append(cluster.now - start))
    cluster.restore(cluster.snapshot())
    cluster.later(5, lambda: happened.append(cluster.now - start))
    cluster.advance(20)
    assert happened == [5, 10]


def test_a_restarted_controller_immediately_does_its_pending_work() -> None:
    asker = Asker()
    asker.cluster.controllers[GARBAGE].stop()
    _with_an_orphan(asker)
    asker.cluster.advance(60)
    assert _exists(asker)
    asker.cluster.controllers[GARBAGE].start()
    asker.cluster.settle()
    assert not _exists(asker)


def test_a_controller_that_failed_retries_in_time() -> None:
    asker = Asker()
    asker.cluster.controllers[GARBAGE].fail(2)
    _with_an_orphan(asker)
    asker.cluster.settle()
    assert _exists(asker)
    due_time = asker.cluster.next_due
    assert due_time is not None
    asker.cluster.advance_to(due_time + 0.1)
    assert not _exists(asker)
