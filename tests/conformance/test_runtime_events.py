"""Events of events.k8s.io/v1, as either server shows what a controller has recorded."""

from __future__ import annotations

from typing import Any

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, rig, ship, until
from kubeproto.kinds.core_v1 import Namespace
from kubeproto_runtime import Client, recording

__all__ = ["rig"]

EVENTS = kp.Resource("events.k8s.io", "v1", "Event", "events")


async def told(client: Client) -> list[dict[str, Any]]:
    """What the server shows of the events in the namespace of this client."""
    listed = await client.api(kp.Dynamic, resource=EVENTS).list()
    return [dict(event.content) | {"name": event.metadata.name} for event in listed.items]


def test_what_happens_again_counts_in_one_event_and_another_reason_is_another(rig: Rig) -> None:
    async def main(client: Client) -> None:
        pequod = await client.api(Ship).create(ship())
        controller = "example.com/fleet"
        async with recording(client, controller=controller, instance="fleet-0") as events:
            assert events.record(pequod, "Sighted", "a spout", action="Lookout")
            [alone] = await until(lambda: told(client))
            assert "series" not in alone
            for _ in range(2):
                assert events.record(pequod, "Sighted", "a spout", action="Lookout")
            assert events.record(pequod, "Struck", "a whale", warning=True)

            async def all_told() -> list[dict[str, Any]]:
                found = await told(client)
                counts = [event.get("series", {}).get("count", 1) for event in found]
                return found if sorted(counts) == [1, 3] else []

            first, second = sorted(await until(all_told), key=lambda event: str(event["reason"]))
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


def test_an_event_about_what_has_no_namespace_is_told_in_default(rig: Rig) -> None:
    async def main(client: Client) -> None:
        here = await client.api(Namespace).get(rig.namespace)
        async with recording(client, controller="example.com/fleet", instance="fleet-0") as events:
            assert events.record(here, "Entered", "a gam")
        listed = await client.api(kp.Dynamic, resource=EVENTS, namespace="default").list()
        about = [event for event in listed.items if event["regarding"]["name"] == rig.namespace]
        assert [event["reason"] for event in about] == ["Entered"]

    rig.run(main)


def test_events_that_are_forbidden_are_dropped_and_fail_nobody(rig: Rig) -> None:
    async def main(client: Client) -> None:
        pequod = await client.api(Ship).create(ship())
        async with (
            rig.client("nobody") as nobody,
            recording(nobody, controller="example.com/fleet", instance="fleet-0") as events,
        ):
            assert events.record(pequod, "Sighted", "a spout")
            await until(lambda: events.recorder.failed)
            assert (events.recorder.sent, events.recorder.failed) == (0, 1)
        assert await told(client) == []

    rig.run(main, Ship)
