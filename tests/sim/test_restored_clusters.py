"""The effects of a restored backup on a cluster, and the times at which controllers are idle."""

from __future__ import annotations

from raw_client import CONFIGMAPS, RawClient

GARBAGE = "garbage-collector-controller"


def _with_an_orphan(client: RawClient) -> None:
    owner = client.config("owner")
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    client.config("owned", ownerReferences=[reference])
    client.fetch("DELETE", f"{CONFIGMAPS}/owner")


def _exists(client: RawClient) -> bool:
    client.send("GET", f"{CONFIGMAPS}/owned")
    return client.status == 200


def test_controllers_keep_their_settings_when_a_backup_is_restored() -> None:
    client = RawClient()
    cluster = client.cluster
    cluster.controllers[GARBAGE].slow(10)
    cluster.restore(cluster.snapshot())
    _with_an_orphan(client)
    assert _exists(client)
    cluster.advance(9)
    assert _exists(client)
    cluster.advance(1)
    assert not _exists(client)


def test_planned_events_happen_after_a_restored_backup_too() -> None:
    cluster, happened = RawClient().cluster, list[float]()
    start = cluster.now
    cluster.later(10, lambda: happened.append(cluster.now - start))
    cluster.restore(cluster.snapshot())
    cluster.later(5, lambda: happened.append(cluster.now - start))
    cluster.advance(20)
    assert happened == [5, 10]


def test_a_restarted_controller_immediately_does_its_pending_work() -> None:
    client = RawClient()
    client.cluster.controllers[GARBAGE].stop()
    _with_an_orphan(client)
    client.cluster.advance(60)
    assert _exists(client)
    client.cluster.controllers[GARBAGE].start()
    client.cluster.settle()
    assert not _exists(client)


def test_a_controller_that_failed_retries_in_time() -> None:
    client = RawClient()
    client.cluster.controllers[GARBAGE].fail(2)
    _with_an_orphan(client)
    client.cluster.settle()
    assert _exists(client)
    due_time = client.cluster.next_due
    assert due_time is not None
    client.cluster.advance_to(due_time + 0.1)
    assert not _exists(client)
