"""What reaches a listener of a cache, and in which order: the rows of Go's queue between reflector and store.

There is no such queue here: a store changes, and those who listen are told before anything else happens. What
that queue promised holds all the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import LOW_PRIORITY, Change
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Caches, Context, Controller, Operator
from kubeproto_runtime.caches import Cache
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def config(name: str, value: str = "1") -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name), data={"value": value})


class Heard:
    """What a listener was told: a list a call, and what readers saw at that moment."""

    def __init__(self, cache: Cache[ConfigMap]) -> None:
        self.cache = cache
        self.calls: list[list[Change[ConfigMap]]] = []
        self.versions: list[tuple[str, str]] = []
        cache.listen(self)

    def __call__(self, changes: list[Change[ConfigMap]]) -> None:
        self.calls.append(changes)
        last = changes[-1].new
        self.versions.append((self.cache.version, "" if last is None else last.version))

    @property
    def told(self) -> list[str]:
        return [
            f"{change.type} {change.key.rpartition('/')[2]}{' initial' if change.initial else ''}"
            for changes in self.calls
            for change in changes
        ]

    def forget(self) -> None:
        self.calls.clear()
        self.versions.clear()


def on(backend: Backend, body: Callable[[SimulatedClient, Caches], Awaitable[None]]) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client, Caches(client) as caches:
            await body(client, caches)

    run(main, backend=backend)


def gap(client: SimulatedClient, *changes: Callable[[], Any]) -> None:
    """Let something happen while nobody watches, so that only a list can tell of it."""
    client.cluster.end_watches(ConfigMap)
    for change in changes:
        change()
    client.cluster.compact()


def edit(client: SimulatedClient, name: str, value: str) -> None:
    client.cluster.edit(ConfigMap, name, lambda obj: obj.update(data={"value": value}))


def held(cache: Cache[ConfigMap]) -> dict[str, Any]:
    keys = cache.keys()
    return {key: cache.entry(key) for key in keys}


async def synced(client: SimulatedClient, caches: Caches, *names: str) -> Heard:
    """A cache that holds these, and a listener that has heard of them."""
    for name in names:
        client.cluster.put(config(name))
    cache = caches.cache(ConfigMap, namespace="default")
    heard = Heard(cache)
    await cache.wait_synced()
    return heard


def test_f_01_changes_come_in_the_order_in_which_they_happened(backend: Backend) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        heard = await synced(client, caches)
        client.cluster.put(config("a"))
        client.cluster.put(config("b"))
        edit(client, "a", "2")
        client.cluster.remove(ConfigMap, "b")
        edit(client, "a", "3")
        await anyio.sleep(1)
        assert heard.told == ["ADDED a", "ADDED b", "MODIFIED a", "DELETED b", "MODIFIED a"]

    on(backend, body)


def test_f_02_f_08_of_a_new_snapshot_the_deletions_come_first(backend: Backend) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        heard = await synced(client, caches, "bar", "baz", "foo")
        heard.forget()
        remove, put = client.cluster.remove, client.cluster.put
        gap(
            client,
            lambda: put(config("aaa")),
            lambda: edit(client, "foo", "2"),
            lambda: remove(ConfigMap, "bar"),
            lambda: remove(ConfigMap, "baz"),
        )
        await anyio.sleep(60)
        assert sorted(heard.told[:2]) == ["DELETED bar", "DELETED baz"]
        assert sorted(heard.told[2:]) == ["ADDED aaa", "MODIFIED foo"]
        assert all(change.assumed for change in heard.calls[0][:2])

    on(backend, body)


def test_f_06_f_12_a_snapshot_that_stays_as_it_is_says_nothing_however_often_it_is_listed(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        heard = await synced(client, caches, "a", "b")
        heard.forget()
        for _ in range(2):
            gap(client)
            await anyio.sleep(60)
        gap(client, *(lambda name=name: client.cluster.remove(ConfigMap, name) for name in "ab"))
        await anyio.sleep(60)
        assert sorted(heard.told) == ["DELETED a", "DELETED b"]
        gap(client)
        await anyio.sleep(60)
        assert len(heard.told) == 2

    on(backend, body)


def test_f_15_a_cache_has_synced_also_if_its_snapshot_is_empty(backend: Backend) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        cache = caches.cache(ConfigMap, namespace="default")
        assert not cache.synced
        await cache.wait_synced(timeout=5)
        assert (cache.synced, len(cache)) == (True, 0)

    on(backend, body)


def test_f_18_only_what_the_first_snapshot_brings_is_initial(backend: Backend) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        heard = await synced(client, caches, "a", "b", "c")
        assert sorted(heard.told) == ["ADDED a initial", "ADDED b initial", "ADDED c initial"]
        client.cluster.put(config("d"))
        await anyio.sleep(1)
        assert heard.told[3:] == ["ADDED d"]

    on(backend, body)


def test_f_35_a_new_snapshot_and_single_events_lead_to_the_same(backend: Backend) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        heard = await synced(client, caches, "gone", "kept", "changed")
        heard.forget()
        steps = (
            lambda: client.cluster.remove(ConfigMap, "gone"),
            lambda: edit(client, "changed", "2"),
            lambda: client.cluster.put(config("new")),
        )
        gap(client, *steps)
        await anyio.sleep(60)
        by_list, entries = heard.told, held(heard.cache)
        async with Caches(client) as others:
            other = others.cache(ConfigMap, namespace="default")
            await other.wait_synced()
            assert held(other) == entries
        assert sorted(by_list) == ["ADDED new", "DELETED gone", "MODIFIED changed"]

    on(backend, body)


def test_f_36_what_was_missed_while_nobody_watched_is_told_once_and_is_not_initial(backend: Backend) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        heard = await synced(client, caches, "a", "same")
        heard.forget()
        gap(
            client,
            lambda: edit(client, "a", "2"),
            lambda: edit(client, "a", "3"),
            lambda: client.cluster.put(config("b")),
        )
        await anyio.sleep(60)
        assert sorted(heard.told) == ["ADDED b", "MODIFIED a"]

    on(backend, body)


def test_f_36_what_was_missed_is_as_urgent_as_what_happens_now(backend: Backend) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            client.cluster.put(config("a"))
            seen: list[tuple[str, int]] = []

            async def reconcile(obj: ConfigMap, ctx: Context[None]) -> None:
                seen.append((ctx.reason, ctx.priority))

            operator = Operator()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(client, ConfigMap).run(reconcile))
                await anyio.sleep(1)
                gap(client, lambda: edit(client, "a", "2"))
                await anyio.sleep(60)
                operator.stop()
            assert seen == [("ConfigMap listed", LOW_PRIORITY), ("ConfigMap modified", 0)]

    run(main, backend=backend)


def test_f_37_readers_have_come_as_far_as_the_change_that_a_listener_hears_of(backend: Backend) -> None:
    async def body(client: SimulatedClient, caches: Caches) -> None:
        heard = await synced(client, caches)
        for step in (
            lambda: client.cluster.put(config("a")),
            lambda: edit(client, "a", "2"),
            lambda: client.cluster.remove(ConfigMap, "a"),
        ):
            step()
            await anyio.sleep(1)
        assert len(heard.versions) == 3
        assert all(reached == told != "" for reached, told in heard.versions)

    on(backend, body)


def test_f_39_one_object_that_fails_in_a_batch_costs_none_of_the_others(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            for name in ("a", "bad", "c"):
                client.cluster.put(config(name))

            def to_keys(obj: ConfigMap) -> list[str]:
                if obj.metadata.name == "bad":
                    raise LookupError("no key for this one")
                return [f"default/of-{obj.metadata.name}"]

            keys: list[str] = []

            async def reconcile(key: str, ctx: Context[None]) -> None:
                keys.append(key)

            operator = Operator()
            controller = Controller(client, kp.Metadata[ConfigMap], name="listed", label_selector="no=body")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, controller.watches(ConfigMap, to_keys).run_keys(reconcile))
                await anyio.sleep(1)
                operator.stop()
            assert sorted(keys) == ["default/of-a", "default/of-c"]

    run(main, backend=backend)
    assert "no key for this one" in caplog.text
