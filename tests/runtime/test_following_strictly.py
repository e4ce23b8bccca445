"""Following with `strict` and with `failures`, in both clients."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.watching import resync
from kubeproto_runtime.testing import simulated, simulated_blocking

__all__ = ["go"]


class PageSpec(kp.Fields):
    number: int


class Page(kp.Object[PageSpec, None], group="example.com", version="v1"):
    """A page."""


def misfit(name: str, number: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Page",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"number": number},
    }


def shelf() -> sim.Cluster:
    """Two pages, of which one does not fit the class: its definition came from somebody else."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "pages.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Page", "plural": "pages"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": free}}
            ],
        },
    }
    cluster = sim.Cluster(crds=[definition])
    cluster.put(misfit("a", 1))
    cluster.put(misfit("b", "two"))
    return cluster


def told(event: kp.WatchEvent[Page] | resync.SyncFailure) -> str:
    match event:
        case kp.Added(page) | kp.Modified(page) | kp.Deleted(page):
            return f"{type(event).__name__} {page.metadata.name}"
        case kp.Malformed(metadata, error):
            return f"Malformed {metadata and metadata.name}: {error}"
        case _:
            return type(event).__name__


STRICT = [
    "Added a",
    "Malformed b: Page default/b: Expected `int`, got `str` - at `$.spec.number`",
    "Bookmark",
]


def test_an_object_that_does_not_fit_its_class_comes_as_malformed_if_following_is_strict(go: Go) -> None:
    async def main() -> None:
        async with simulated(shelf()) as client, client.api(Page).follow(strict=True) as events:
            assert [told(await anext(events)) for _ in range(3)] == STRICT

    go(main)
    with simulated_blocking(shelf()) as client, client.api(Page).follow(strict=True) as events:
        assert [told(next(events)) for _ in range(3)] == STRICT


def test_without_it_the_object_says_so_when_the_part_is_read() -> None:
    with simulated_blocking(shelf()) as client, client.api(Page).follow() as events:
        heard = [next(events) for _ in range(3)]
    assert [told(event) for event in heard] == ["Added a", "Added b", "Bookmark"]
    [misfit] = [event.object for event in heard[1:2] if isinstance(event, kp.Added)]
    with pytest.raises(kp.InvalidObject, match="Page default/b: Expected `int`"):
        _ = misfit.spec


def test_an_object_that_was_read_strictly_keeps_the_text_that_it_came_with() -> None:
    cluster = shelf()
    cluster.put(misfit("c", 3) | {"extra": "kept"})
    with simulated_blocking(cluster) as client:
        with client.api(Page).follow(strict=True, field_selector="metadata.name=c") as events:
            event = next(events)
        assert isinstance(event, kp.Added)
        event.object.spec.number = 4
        client.replace(event.object)
    kept = cluster.get(Page, "c")
    assert kept is not None
    assert (kept["extra"], kept["spec"]) == ("kept", {"number": 4})


def trouble(cluster: sim.Cluster) -> sim.Faults:
    return sim.Faults(cluster, script=[sim.RefuseConnection(), sim.Fail(), sim.Throttle(2)])


def test_what_goes_wrong_comes_as_an_event_if_asked_for(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def main() -> None:
        cluster = shelf()
        async with (
            simulated(cluster, faults=trouble(cluster)) as client,
            client.api(Page).follow(failures=True) as events,
        ):
            heard = [await anext(events) for _ in range(6)]
        assert [type(event).__name__ for event in heard[:3]] == ["SyncFailure"] * 3
        assert [told(event) for event in heard[3:]] == ["Added a", "Added b", "Bookmark"]
        assert isinstance(heard[0], resync.SyncFailure)
        assert "the connection was refused" in heard[0].text

    go(main)
    cluster = shelf()
    with (
        simulated_blocking(cluster, faults=trouble(cluster)) as client,
        client.api(Page).follow(failures=True) as events,
    ):
        heard = [next(events) for _ in range(6)]
    assert [type(event).__name__ for event in heard[:3]] == ["SyncFailure"] * 3
    assert [told(event) for event in heard[3:]] == ["Added a", "Added b", "Bookmark"]


def test_a_failure_comes_before_its_backoff_is_waited_for() -> None:
    cluster = shelf()
    faults = sim.Faults(cluster, share=0.0, script=[sim.RefuseConnection()])
    with simulated_blocking(cluster, faults=faults) as client:
        begun = client.now()
        with client.api(Page).follow(failures=True) as events:
            assert isinstance(next(events), resync.SyncFailure)
            assert client.now() - begun < 0.5
