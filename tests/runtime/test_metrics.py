"""The figures of a controller, as Prometheus reads them, and its spans."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from opentelemetry.trace import INVALID_SPAN

import kubeproto as kp
from kubeproto import sim
from kubeproto.control import Action, OwnWrites, WorkQueue, await_change, requeue
from kubeproto_runtime import Context, Controller, Operator, Terminal
from kubeproto_runtime.calls import Meter, MeteredTransport
from kubeproto_runtime.reconciling._metrics import ControllerStats, ReconcileStats, exposition
from kubeproto_runtime.reconciling._tracing import find_tracer
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class Book(kp.KubeObject, group="example.technosophos.com", version="v1", plural="books"):
    """A book."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def samples(text: str) -> dict[str, float]:
    """What a page says, each line read; HELP and TYPE stand before the first sample of a family."""
    found: dict[str, float] = {}
    described: set[str] = set()
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, _ = line.split(" ", 3)
            assert word in ("HELP", "TYPE")
            described.add(name)
        else:
            name, _, value = line.rpartition(" ")
            family = name.partition("{")[0]
            bare = family.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
            assert family in described or bare in described
            assert name not in found, "a sample stands there twice"
            found[name] = float(value)
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
    label = 'a\\"b\\\\c\\n'
    assert seen[f'workqueue_depth{{controller="{label}",name="{label}",priority="-100"}}'] == 1
    assert seen[f'workqueue_depth{{controller="{label}",name="{label}",priority="0"}}'] == 1
    assert seen['rest_client_requests_total{code="200",host="h",method="GET"}'] == 3
    assert seen['leader_election_master_status{name="lease"}'] == 0


def test_a_request_without_an_answer_counts_as_an_error(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        faults = sim.Faults(cluster, script=[sim.RefuseConnection(), sim.Cut(5)])
        async with simulated(cluster, faults=faults) as client:
            meter = Meter()
            counting = MeteredTransport(client.transport)
            counting.meters.append(meter)
            for _ in range(3):
                try:
                    async with counting.send(kp.Head("GET", "/version", ()), timeout=5) as incoming:
                        [piece async for piece in incoming]
                except kp.TransportError:
                    await checkpoint()
        assert meter.requests == {("<error>", "GET", ""): 1, ("200", "GET", ""): 2}

    run(main, backend=backend)


class Recorder:
    """A tracer and its provider, which note the spans."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, dict[str, Any]]] = []
        self.open = 0

    def get_tracer(self, name: str, *_args: object, **_options: object) -> Recorder:
        assert name == "kubeproto_runtime"
        return self

    @contextmanager
    def start_as_current_span(self, name: str, *_args: object, **options: Any) -> Generator[Any]:
        self.spans.append((name, options["attributes"]))
        self.open += 1
        try:
            yield INVALID_SPAN
        finally:
            self.open -= 1


def test_a_reconcile_is_a_span_once_the_program_has_set_up_opentelemetry(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    open_spans: list[int] = []

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            await client.api(Book).create(Book(metadata=kp.ObjectMeta(name="a")))

            async def reconcile(book: Book, ctx: Context[None]) -> Action | None:
                open_spans.append(recorder.open)
                if len(open_spans) == 1:
                    # As `set_tracer_provider` does, which can be called only once in a process.
                    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", recorder)
                    return requeue(after=2)
                if len(open_spans) == 2:
                    raise ValueError("once")
                return None

            operator = Operator()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(client, Book).run(reconcile))
                await anyio.sleep(5)
                operator.stop()

    run(main, backend=backend)
    assert (open_spans, recorder.open) == ([0, 1, 1], 0)
    assert [(name, said["k8s.object.name"], said["reconcile.attempt"]) for name, said in recorder.spans] == [
        ("reconcile Book", "a", 1),
        ("reconcile Book", "a", 2),
    ]


def test_a_span_that_nobody_records_is_not_begun() -> None:
    found = find_tracer()
    assert found is not None
    context: Any = SimpleNamespace()  # of which nothing is read
    assert found.span(context, 0.0) is None


def test_without_opentelemetry_there_is_no_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    assert find_tracer() is None
