"""Events: told in the background, in series, through trouble, and never to the cost of who records them."""

from __future__ import annotations

import logging
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ObjectReference
from kubeproto_runtime import Client, Events, recording
from kubeproto_runtime.testing import simulated

__all__ = ["go"]

MOBY = Book(metadata=kp.ObjectMeta(name="moby", namespace="default", uid="u1"), spec=book().spec)


def recording_in(client: Client) -> AbstractAsyncContextManager[Events]:
    return recording(client, controller="example.com/shelves", instance="pod-1")


def told(cluster: sim.Cluster) -> list[dict[str, Any]]:
    return cluster.objects("events.k8s.io/v1/Event")


def test_e_01_what_happens_again_is_one_event_that_counts(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, recording_in(client) as events:
            for _ in range(3):
                assert events.record(MOBY, "Shelved", "on row 7", action="Shelve")
                await anyio.sleep(10)
            assert events.record(MOBY, "Lost", "nowhere", warning=True)
        [first, second] = sorted(told(cluster), key=lambda event: event["type"])
        assert (first["reason"], first["action"], first["note"]) == ("Shelved", "Shelve", "on row 7")
        assert first["series"]["count"] == 3
        assert first["eventTime"] == "2026-01-01T00:00:00.000000Z"
        assert first["series"]["lastObservedTime"] == "2026-01-01T00:00:20.000000Z"
        assert first["reportingController"] == "example.com/shelves"
        assert first["regarding"]["uid"] == "u1"
        assert (second["type"], second["action"]) == ("Warning", "Lost")
        assert repr(events) == "<events, 4 sent, 0 suppressed>"

    go(main)


def test_recording_takes_no_time_and_no_request_of_the_caller(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            events = Events(client, controller="example.com/shelves", instance="pod-1")
            for _ in range(100):
                events.record(MOBY, "Shelved")
            assert cluster.log == []
            assert anyio.current_time() == 0.0

    go(main)


def test_what_no_server_would_take_is_logged_and_nobody_fails(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            events = Events(client, controller="example.com/shelves", instance="pod-1")
            assert not events.record(MOBY, "")
            assert not events.record(MOBY, "x" * 1000)

    go(main)
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2


def test_e_06_too_many_are_too_many(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, recording_in(client) as events:
            for number in range(30):
                events.record(MOBY, f"Reason{number}")
        assert len(told(cluster)) == 25
        assert events.recorder.suppressed == 5

    go(main)


def test_events_are_told_through_trouble_and_told_once(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        script: list[sim.Fault] = [
            sim.LoseResponse(),
            sim.RefuseConnection(),
            sim.Throttle(),
            sim.Html(),
            sim.Fail(after=True),
        ]
        faults = sim.Faults(cluster, script=script)
        async with simulated(cluster, faults=faults) as client, recording_in(client) as events:
            for number in range(3):
                events.record(MOBY, f"Reason{number}")
            await anyio.sleep(300)
            assert faults.script == []
            assert sorted(event["reason"] for event in told(cluster)) == ["Reason0", "Reason1", "Reason2"]
            assert events.recorder.failed == 0

    go(main)


def test_e_04_an_event_that_was_deleted_is_created_anew(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, recording_in(client) as events:
            events.record(MOBY, "Shelved")
            await anyio.sleep(1)
            [event] = told(cluster)
            cluster.remove("events.k8s.io/v1/Event", event["metadata"]["name"])
            events.record(MOBY, "Shelved")
            await anyio.sleep(1)
            [event] = told(cluster)
            assert event["series"]["count"] == 2

    go(main)


def test_what_was_recorded_last_is_told_after_the_end_even_if_that_is_a_cancellation(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            with anyio.move_on_after(1):
                async with recording_in(client) as events:
                    try:
                        await anyio.sleep_forever()
                    finally:
                        events.record(MOBY, "Interrupted")
            assert [event["reason"] for event in told(cluster)] == ["Interrupted"]
            assert anyio.current_time() == 1.0

    go(main)


def test_what_is_recorded_last_is_retried_while_there_is_time(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.RefuseConnection()])
        async with simulated(cluster, faults=faults) as client, recording_in(client) as events:
            events.record(MOBY, "Shelved")
        assert len(told(cluster)) == 1

    go(main)


def test_what_was_cancelled_while_it_was_sent_is_sent_by_the_next_run(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Delay(1000)])
        async with simulated(cluster, faults=faults) as client:
            events = Events(client, controller="example.com/shelves", instance="pod-1")
            events.record(MOBY, "Shelved")
            with anyio.move_on_after(1):
                await events.run()
            assert events.recorder.sent == 0
            events.stop()
            await events.run()
            assert events.recorder.sent == 1
            posts = [one.request for one in cluster.log if one.request.method == "POST"]
            assert len(posts) == 2
            assert posts[0] == posts[1]

    go(main)


def test_a_server_that_does_not_answer_holds_the_end_up_for_two_seconds_at_most(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.Delay(1000)] * 100)
        async with simulated(cluster, faults=faults) as client, recording_in(client) as events:
            events.record(MOBY, "Shelved")
            await anyio.sleep(1)
        assert anyio.current_time() == 3.0

    go(main)


def test_an_event_may_be_about_a_reference_and_relate_to_another_object(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, recording_in(client) as events:
            node = ObjectReference(api_version="v1", kind="Node", name="n1")
            events.record(node, "Dusty", related=MOBY)
        [event] = told(cluster)
        assert event["regarding"]["kind"] == "Node"
        assert event["related"]["name"] == "moby"
        assert event["metadata"]["namespace"] == "default"

    go(main)
