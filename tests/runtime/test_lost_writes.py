"""A write that a restored backup has taken back is made again, although no cache has ever shown it."""

from __future__ import annotations

import anyio
import pytest
from msgspec.structs import replace

import kubeproto as kp
from kubeproto import sim
from kubeproto_runtime import Context, Controller
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class Count(kp.Fields):
    seen: int = 0


class Book(kp.Object[Count, Count], group="example.com", version="v1"):
    """A book whose status repeats its spec."""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_key_whose_write_was_taken_back_unseen_is_reconciled_again(backend: Backend) -> None:
    async def main() -> None:
        cluster, backups = sim.Cluster(crds=[Book]), list[sim.Snapshot]()
        cluster.put(Book(metadata=kp.ObjectMeta(name="moby"), spec=Count(seen=1)))
        async with simulated(cluster) as client:

            async def reconcile(book: Book, ctx: Context[None]) -> None:
                if book.status is not None and book.status.seen == book.spec.seen:
                    return
                backups.append(cluster.snapshot())
                cluster.lag = 100  # no cache sees what is written now
                await client.api(Book).patch_status(book, {"seen": book.spec.seen})

            client.start(Controller(client, Book).run(reconcile))
            await anyio.sleep(30)
            assert len(backups) == 1
            raised = replace(backups[0], version=cluster.version + 1000, seed=cluster.seed)
            cluster.restore(raised)
            cluster.lag = 0
            cluster.end_watches()
            restored = cluster.get(Book, "moby")
            assert restored is not None
            assert "status" not in restored
            await anyio.sleep(60)
            found = cluster.get(Book, "moby")
            assert found is not None
            assert found["status"] == {"seen": 1}

    run(main, backend=backend)
