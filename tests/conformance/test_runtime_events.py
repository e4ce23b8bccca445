"""Events of events.k8s.io/v1 that a controller recorded, as either server returns them."""

from __future__ import annotations

from typing import Any

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, poll_until, rig, ship
from kubeproto.kinds.core_v1 import Namespace
from kubeproto_runtime import Client, recording

__all__ = ["rig"]

EVENTS = kp.Resource("events.k8s.io", "v1", "Event", "events")


async def describe_event(client: Client) -> list[dict[str, Any]]:
    """What the server shows of the events in the namespace of this client."""
    listed = await client.api(kp.Dynamic, resource=EVENTS).list()
    return [dict(event.content) | {"name": event.metadata.name} for event in listed.items]


def test_repeated_occurrences_are_counted_in_a_single_event_and_another_reason_is_another_event(
    rig: Rig,
) -> None:
    async def main(client: Client) -> None:
        pequod = await client.api(Ship).create(ship())
        controller = "example.com/fleet"
        async with recording(client, controller=controller, instance="fleet-0") as events:
            assert events.record(pequod, "Sighted", "a spout", action="Lookout")
            [alone] = await poll_until(lambda: describe_event(client))
            assert "series" not in alone
            for _ in range(2):
                assert events.record(pequod, "Sighted", "a spout", action="Lookout")
            assert events.record(pequod, "Struck", "a whale", warning=True)

            async def all_told() -> list[dict[str, Any]]:
                recorded = await describe_event(client)
                counts = [event.get("series", {}).get("count", 1) for event in recorded]
                return recorded if sorted(counts) == [1, 3] else []

            first, second = sorted(await poll_until(all_told), key=lambda event: str(event["reason"]))
        assert first["name"] == alone["name"]
        assert first["eventTime"] == alone["eventTime"] <= first["series"]["lastObservedTime"]
        regarding = {
            "apiVersion": "runtime.example.com/v1", "kind": "Ship", "name": "pequod",
            "namespace": rig.namespace, "uid": pequod.metadata.uid,
        }  # fmt: skip
        assert first["regarding"].items() >= regarding.items()
        assert (first["type"], first["action"], first["note"]) == ("Normal", "Lookout", "a spout")
        assert (first["reportingController"], first["reportingInstance"]) == (controller, "fleet-0")
        assert (second["type"], second["reason"], second["note"]) == ("Warning", "Struck", "a whale")
        assert "series" not in second

    rig.run(main, Ship)


def test_an_event_about_a_cluster_scoped_object_is_recorded_in_default(rig: Rig) -> None:
    async def main(client: Client) -> None:
        here = await client.api(Namespace).get(rig.namespace)
        async with recording(client, controller="example.com/fleet", instance="fleet-0") as events:
            assert events.record(here, "Entered", "a gam")
        listed = await client.api(kp.Dynamic, resource=EVENTS, namespace="default").list()
        regarding = [event for event in listed.items if event["regarding"]["name"] == rig.namespace]
        assert [event["reason"] for event in regarding] == ["Entered"]

    rig.run(main)


def test_forbidden_events_are_dropped_without_a_failure(rig: Rig) -> None:
    async def main(client: Client) -> None:
        pequod = await client.api(Ship).create(ship())
        async with (
            rig.client("nobody") as nobody,
            recording(nobody, controller="example.com/fleet", instance="fleet-0") as events,
        ):
            assert events.record(pequod, "Sighted", "a spout")
            await poll_until(lambda: events.recorder.failed)
            assert (events.recorder.sent, events.recorder.failed) == (0, 1)
        assert await describe_event(client) == []

    rig.run(main, Ship)
