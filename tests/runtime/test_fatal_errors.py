"""An error that ends a process ends an operator from any callback, as it was raised, and frees the lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Caches, Context, Controller, LeaderElector, Operator
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class Fatal(BaseException):
    """An error that is no `Exception`."""


CALLBACKS: Final = ("reconcile", "when", "mapper", "transform", "on_error", "observe", "part")


def config(name: str) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, Fatal])
@pytest.mark.parametrize("armed_at", [0, 3], ids=["during the first lists", "later"])
@pytest.mark.parametrize("callback", CALLBACKS)
def test_a_fatal_error_of_a_callback_ends_the_operator_alone(
    callback: str, armed_at: float, error: type[BaseException], backend: Backend
) -> None:
    cluster = sim.Cluster()

    def at(name: str, default: Any = None) -> Any:
        if name == callback and anyio.current_time() >= armed_at:
            raise error("out of a callback")
        return default

    async def reconcile(subject: ConfigMap, ctx: Context[None]) -> None:
        await anyio.sleep(0.1)
        if callback == "on_error":
            raise ValueError
        at("reconcile")

    async def part() -> None:
        at("part")
        await anyio.sleep(5)
        cluster.put(config("b"))
        at("part")
        await anyio.sleep_forever()

    async def main() -> None:
        cluster.put(config("a"))
        async with simulated(cluster) as client:
            controller = Controller(
                client, ConfigMap,
                when=lambda change: at("when", True), transform=lambda raw: at("transform", raw),
            ).watches(ConfigMap, lambda obj: at("mapper", []))  # fmt: skip
            running = controller.run(
                reconcile,
                on_error=lambda failure, ctx: at("on_error"),
                observe=lambda result: at("observe"),
            )
            operator = Operator(election=LeaderElector(client, name="books", identity="me"))
            with anyio.fail_after(60):
                await operator.run(part, running)

    with pytest.raises(error, match="out of a callback"):  # and no group
        run(main, backend=backend)
    lease = cluster.get(Lease, "books")
    assert lease is None or lease["spec"].get("holderIdentity", "") == ""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, Fatal, ValueError])
def test_caches_raise_the_error_that_ended_them_alone(error: type[BaseException], backend: Backend) -> None:
    async def main(fail: Callable[[bytes], bytes]) -> None:
        async with simulated(sim.Cluster()) as client, Caches(client) as caches:
            client.cluster.put(config("a"))
            caches.cache(ConfigMap, transform=fail).listen(listen)
            await caches.cache(Lease).wait_synced()
            await caches.cache(ConfigMap, label_selector="other", transform=fail).wait_synced()
            await anyio.sleep_forever()

    def listen(changes: list[Any]) -> None:
        raise error

    def passing(raw: bytes) -> bytes:
        return raw

    with pytest.raises(RuntimeError if error is ValueError else error):
        run(main, passing, backend=backend)
