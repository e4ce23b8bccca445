"""The metrics of a controller, as Prometheus reads them."""

from __future__ import annotations

from contextlib import suppress

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, OwnWrites, WorkQueue, await_change, requeue
from kubeproto.requests import version
from kubeproto.wire import NO_RETRIES
from kubeproto_runtime import Context, Controller, Operator, Terminal
from kubeproto_runtime.reconciling._metrics import ControllerStats, ReconcileStats, exposition
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class Book(kp.KubeObject, group="example.technosophos.com", version="v1", plural="books"):
    """A book."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def samples(text: str) -> dict[str, float]:
    """What Prometheus' own client reads; HELP and TYPE stand before the first sample of a family."""
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        assert family.type in ("counter", "gauge", "histogram"), family
        assert family.documentation, family
        for sample in family.samples:
            labels = ",".join(f'{label}="{text}"' for label, text in sorted(sample.labels.items()))
            name = f"{sample.name}{{{labels}}}"
            assert name not in found, "a sample stands there twice"
            found[name] = sample.value
    return found


def test_ct_13_each_result_is_counted_in_its_class(backend: Backend) -> None:
    seen: dict[str, float] = {}

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            for name in ("fine", "again", "bad", "hopeless", "slow"):
                await client.api(Book).create(Book(metadata=kp.ObjectMeta(name=name)))

            async def reconcile(book: Book, ctx: Context[None]) -> Action:
                match ctx.name:
                    case "again":
                        return requeue(after=3600)
                    case "bad" if ctx.attempt == 1:
                        raise ValueError("bad")
                    case "hopeless":
                        raise Terminal("hopeless")
                    case "slow" if ctx.attempt == 1:
                        await anyio.sleep(60)
                    case _:
                        pass
                return await_change()

            operator = Operator()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(client, Book, timeout=10).run(reconcile))
                await anyio.sleep(60)
                seen.update(samples(operator.metrics()))
                operator.stop()

    run(main, backend=backend)
    total = "controller_runtime_reconcile_total"
    assert seen[f'{total}{{controller="book",result="success"}}'] == 3
    assert seen[f'{total}{{controller="book",result="requeue_after"}}'] == 1
    assert seen[f'{total}{{controller="book",result="error"}}'] == 3
    label = '{controller="book"}'
    assert seen[f"controller_runtime_reconcile_errors_total{label}"] == 3
    assert seen[f"controller_runtime_terminal_reconcile_errors_total{label}"] == 1
    assert seen[f"controller_runtime_reconcile_timeouts_total{label}"] == 1
    assert seen[f"controller_runtime_max_concurrent_reconciles{label}"] == 10
    assert seen[f"controller_runtime_active_workers{label}"] == 0
    assert seen[f"controller_runtime_reconcile_time_seconds_count{label}"] == 7
    assert seen[f"controller_runtime_reconcile_time_seconds_sum{label}"] == 10
    assert seen['controller_runtime_reconcile_time_seconds_bucket{controller="book",le="10.0"}'] == 7
    assert seen['controller_runtime_reconcile_time_seconds_bucket{controller="book",le="9.0"}'] == 6
    queue = '{controller="book",name="book"}'
    assert seen[f"workqueue_adds_total{queue}"] == 7
    assert seen[f"workqueue_retries_total{queue}"] == 2
    assert seen['workqueue_depth{controller="book",name="book",priority="0"}'] == 0
    assert seen[f"workqueue_work_duration_seconds_count{queue}"] == 7
    assert seen[f"workqueue_queue_duration_seconds_count{queue}"] == 7
    assert seen[f"workqueue_unfinished_work_seconds{queue}"] == 0
    assert seen[f"workqueue_longest_running_processor_seconds{queue}"] == 0
    assert seen['rest_client_requests_total{code="200",host="",method="GET"}'] >= 1


def test_figures_are_escaped_and_several_priorities_are_several_samples() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", 0.0)
    queue.add("b", 0.0, priority=-100)
    odd = ControllerStats('a"b\\c\n', 1, 0, ReconcileStats(), queue.metrics(0.0), OwnWrites())
    seen = samples(exposition([odd], {("200", "GET", "h"): 3}, {"lease": False}))
    label = 'a"b\\c\n'
    assert seen[f'workqueue_depth{{controller="{label}",name="{label}",priority="-100"}}'] == 1
    assert seen[f'workqueue_depth{{controller="{label}",name="{label}",priority="0"}}'] == 1
    assert seen['rest_client_requests_total{code="200",host="h",method="GET"}'] == 3
    assert seen['leader_election_master_status{name="lease"}'] == 0


def test_a_request_without_a_response_counts_as_an_error(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        faults = sim.Faults(cluster, script=[sim.RefuseConnection(), sim.Cut(5)])
        async with simulated(cluster, faults=faults) as client:

            async def work() -> None:
                for _ in range(3):
                    with suppress(kp.TransportError):
                        await client.fetch(version(), retries=NO_RETRIES)
                operator.stop()

            operator = Operator()
            await operator.run(work)
            requests = 'rest_client_requests_total{code="%s",host="",method="GET"}'
            seen = samples(operator.metrics())
            assert seen[requests % "<error>"] == 1
            assert seen[requests % "200"] == 2

    run(main, backend=backend)
