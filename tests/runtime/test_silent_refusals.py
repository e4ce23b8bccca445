"""A refusal whose body does not come to its end is given up, however long a watch may be silent."""

from __future__ import annotations

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.watching import resync
from kubeproto_runtime.caches import Caches
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bookmarks", [True, False])
def test_a_watch_that_was_refused_is_opened_again_although_the_refusal_never_ends(
    backend: Backend, bookmarks: bool
) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        cluster.modes = sim.Modes(bookmarks=bookmarks)
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            caches = Caches(client)
            cache = caches.cache(ConfigMap, settings=resync.Settings(streaming=False))
            async with caches:
                await anyio.sleep(1500)  # a server without bookmarks is known by then
                faults.script += [sim.Both(sim.HalfOpen(7), sim.Fail(code=504))]
                cluster.end_watches()
                await anyio.sleep(5)
                assert not faults.script
                await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="a")))
                await anyio.sleep(12)
                assert cache.get("a", "default") is not None

    run(main, backend=backend)
