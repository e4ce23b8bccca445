"""Workers and runs are compared with plain ones: the same runs at the same times in the same order."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import count
from random import Random
from typing import Any, Final

import anyio
import pytest
from anyio.lowlevel import checkpoint
from asked_examples import examples
from hypothesis import given, settings, strategies as st
from msgspec import Struct
from plain_workers import PlainWorkers, plain_perform

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import ExponentialBackoff, Rate, Work, WorkQueue, await_change, requeue
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Context, Controller, Operator, Terminal
from kubeproto_runtime.reconciling import Result, _controller_runner, _workers
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated

KEYS: Final = "abcde"


class Scenario(Struct, frozen=True):
    """Requests of keys over time, and the outcomes of the runs of each key in their order.

    Times are random floats: no two coincide, and so the order of the runs is determined.
    """

    adds: list[tuple[float, str, float, int]]  # the pause before, the key, its delay and priority
    outcomes: dict[str, list[tuple[str, float, str, float]]]  # how a run waits and for how long, how it ends
    concurrency: int
    limit: float | None
    rate: Rate | None
    backlog: int  # keys that are requested before the workers start
    cancelled_at: float | None
    lost_at: float | None
    stopped_at: float


def never_hold(*_: object) -> bool:
    return False


def scenario_of(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    random = Random(seed)

    def outcome() -> tuple[str, float, str, float]:
        waits = random.choice(["none", "none", "no wait", "checkpoint", "sleep", "sleep", "sleep"])
        ends = random.choice(["success", "success", "retry", "requeue", "add"])
        return waits, random.choice([0.1, 1.0, 9.0]) * random.random(), ends, 3 * random.random()

    cancelled = random.random() < 0.2
    return Scenario(
        [
            (
                random.choice([0.01, 0.1, 2.0]) * random.random(),
                random.choice(KEYS),
                random.choice([0.0, 0.0, 2.0]) * random.random(),
                random.choice([0, 0, -100]),
            )
            for _ in range(random.randint(1, 40))
        ],
        {key: [outcome() for _ in range(5)] for key in KEYS},
        random.randint(1, 4),
        # Runs that begin together after a cancellation would be cancelled together.
        None if cancelled else random.choice([None, 3.0]),
        random.choice([None, None, Rate(every=0.7, burst=2)]),
        random.choice([0, 0, 3]),
        random.uniform(1, 20) if cancelled else None,
        random.uniform(5, 40) if random.random() < 0.2 else None,
        random.uniform(10, 60),
    )


class Log:
    """The begins and ends of runs; it refuses two runs of one key, and too many at once."""

    def __init__(self, concurrency: int) -> None:
        self.lines: list[tuple[float, str, str, int, str]] = []
        self.running: set[str] = set()
        self._concurrency = concurrency

    def begin(self, key: str, attempt: int, reason: str) -> None:
        assert key not in self.running, f"two runs of {key} at once"
        self.running.add(key)
        assert len(self.running) <= self._concurrency
        self._write("begins", key, attempt, reason)

    def end(self, key: str, outcome: str) -> None:
        self.running.remove(key)
        self._write(outcome, key, 0, "")

    def _write(self, what: str, key: str, attempt: int, reason: str) -> None:
        self.lines.append((round(anyio.current_time(), 6), what, key, attempt, reason))


def play(scenario: Scenario, make: Callable[..., Any], backend: Backend) -> Log:
    """Return the runs of these workers."""
    log = Log(scenario.concurrency)
    queue: WorkQueue[str] = WorkQueue(rate=scenario.rate, backoff=ExponentialBackoff(maximum=1.0))
    runs = {key: count() for key in KEYS}
    leads = True

    def finish(work: Work[str], ends: str, delay: float) -> None:
        now = anyio.current_time()
        match ends:
            case "success":
                queue.forget(work.key)
            case "retry":
                queue.retry(work.key, now)
            case "requeue":
                queue.requeue(work.key, now, after=delay)
            case _:
                queue.add(work.key, now, after=delay)
        log.end(work.key, ends)

    def perform(work: Work[str]) -> Coroutine[Any, Any, None] | None:
        log.begin(work.key, work.attempt, work.reason)
        outcomes = scenario.outcomes[work.key]
        waits, seconds, ends, delay = outcomes[next(runs[work.key]) % len(outcomes)]
        if waits == "none":
            finish(work, ends, delay)
            return None

        async def rest() -> None:
            try:
                if waits == "checkpoint":
                    await checkpoint()
                elif waits == "sleep":
                    await anyio.sleep(seconds)
            except anyio.get_cancelled_exc_class():
                log.end(work.key, "is cancelled")
                raise
            finish(work, ends, delay)

        return rest()

    def time_out(work: Work[str], error: Exception | None) -> None:
        assert error is None
        queue.retry(work.key, anyio.current_time())

    def fail(work: Work[str], error: Exception) -> None:
        pytest.fail(f"{work.key}: {error!r}")

    workers = make(
        queue,
        perform,
        on_timeout=time_out,
        on_error=fail,
        may_begin=lambda: leads,
        hold=never_hold,
        concurrency=scenario.concurrency,
        limit=scenario.limit,
    )

    def request(add: tuple[float, str, float, int]) -> None:
        _, key, delay, priority = add
        queue.add(key, anyio.current_time(), after=delay, priority=priority, reason="added")
        workers.wake()

    async def add() -> None:
        for item in scenario.adds[scenario.backlog :]:
            await anyio.sleep(item[0])
            request(item)

    async def lose_lease() -> None:
        nonlocal leads
        await anyio.sleep(scenario.lost_at or 0.0)
        leads = False

    async def stop() -> None:
        await anyio.sleep(scenario.stopped_at)
        workers.stop()

    async def main() -> None:
        for item in scenario.adds[: scenario.backlog]:
            request(item)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(add)
            tasks.start_soon(stop)
            if scenario.lost_at is not None:
                tasks.start_soon(lose_lease)
            if scenario.cancelled_at is not None:
                with anyio.move_on_after(scenario.cancelled_at):
                    await workers.run()
            await workers.run()
            assert log.running == set()
            assert queue.running == 0
            tasks.cancel_scope.cancel()

    run(main, backend=backend)
    return log


@settings(max_examples=examples(300), deadline=None)
@given(seed=st.integers(0, 10**9), backend=st.sampled_from(BACKENDS))
def test_workers_run_what_plain_workers_run(seed: int, backend: Backend) -> None:
    scenario = scenario_of(seed)
    fast, plain = (play(scenario, make, backend) for make in (_workers.Workers, PlainWorkers))
    assert sorted(fast.lines) == sorted(plain.lines)  # at one moment, runs may begin and end in any order


class Reconciler:
    """A reconcile whose calls differ, by a table for each object: coroutines, other awaitables, mistakes."""

    def __init__(self, random: Random, backend: Backend) -> None:
        bodies = [self.succeed, self.wait, self.yield_once, self.fail, self.fail_later, self.clean_up]
        wrong = [self.raise_at_once, self.return_nothing, self.return_awaitable, self.return_five]
        stray = [self.cancelled, self.cancelled_later] if backend == "asyncio" else []
        self.random = random
        self.table = {
            key: [random.choice([*bodies, *bodies, *wrong, *stray]) for _ in range(6)] for key in KEYS
        }
        self.delays = {key: [3 * random.random() for _ in range(6)] for key in KEYS}
        self.calls = {key: count() for key in KEYS}
        self.running: set[str] = set()

    def __call__(self, obj: ConfigMap, ctx: Context[None]) -> Any:
        number = next(self.calls[ctx.name]) % 6
        return self.table[ctx.name][number](ctx, self.delays[ctx.name][number])

    async def succeed(self, ctx: Context[None], delay: float) -> Any:
        return await_change() if delay < 1 else None

    async def wait(self, ctx: Context[None], delay: float) -> Any:
        assert ctx.name not in self.running, f"two runs of {ctx.name} at once"
        self.running.add(ctx.name)
        try:
            await anyio.sleep(delay)
        finally:
            self.running.remove(ctx.name)
        return requeue(after=delay)

    async def yield_once(self, ctx: Context[None], delay: float) -> Any:
        await checkpoint()

    async def fail(self, ctx: Context[None], delay: float) -> Any:
        raise ValueError(ctx.name) if delay < 2 else Terminal(ctx.name)

    async def fail_later(self, ctx: Context[None], delay: float) -> Any:
        await anyio.sleep(delay)
        raise ValueError(ctx.name)

    async def clean_up(self, ctx: Context[None], delay: float) -> Any:
        try:
            await anyio.sleep(delay)
        except anyio.get_cancelled_exc_class():
            raise ValueError("cannot clean up") from None

    async def return_five(self, ctx: Context[None], delay: float) -> Any:
        return 5

    def raise_at_once(self, ctx: Context[None], delay: float) -> Any:
        raise ValueError(ctx.name)

    def return_nothing(self, ctx: Context[None], delay: float) -> Any:
        return None

    def return_awaitable(self, ctx: Context[None], delay: float) -> Any:
        class Awaitable:
            def __await__(self) -> Any:
                yield from checkpoint().__await__()
                return requeue(after=delay)

        return Awaitable()

    async def cancelled(self, ctx: Context[None], delay: float) -> Any:
        raise anyio.get_cancelled_exc_class()

    async def cancelled_later(self, ctx: Context[None], delay: float) -> Any:
        await anyio.sleep(delay)
        raise anyio.get_cancelled_exc_class()


def reconcile(seed: int, backend: Backend) -> tuple[list[Any], list[str]]:
    """Return the results of the runs of a controller, and its counts."""
    random, cluster, results = Random(seed), sim.Cluster(), list[Any]()
    reconciler = Reconciler(random, backend)
    timeout = random.choice([None, 1.5])
    changes = [(random.random(), random.choice(KEYS), random.random() < 0.2) for _ in range(20)]

    def observe(result: Result) -> None:
        error = "" if result.error is None else f"{result.error!r} from {result.error.__cause__!r}"
        moment = round(anyio.current_time(), 6)
        results.append((moment, result.ref.name, result.reason, result.attempt, result.after or -1.0, error))

    async def main() -> None:
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            operator, concurrency = Operator(), random.randint(1, 3)
            controller = Controller(client, ConfigMap, concurrency=concurrency, timeout=timeout)
            tasks.start_soon(operator.run, controller.run(reconciler, observe=observe))
            for pause, name, deleted in changes:
                await anyio.sleep(pause)
                if deleted and cluster.get(ConfigMap, name) is not None:
                    cluster.remove(ConfigMap, name)
                elif not deleted:
                    label = {"at": f"{anyio.current_time():.6f}"}
                    cluster.put(ConfigMap(metadata=kp.ObjectMeta(name=name, labels=label)))
            await anyio.sleep(30)
            metrics.extend(
                line
                for line in operator.metrics().splitlines()
                if line.startswith("controller_runtime_reconcile_") and "_total{" in line
            )
            operator.stop()

    metrics: list[str] = []
    run(main, backend=backend)
    return results, metrics


@settings(max_examples=examples(100), deadline=None)
@given(seed=st.integers(0, 10**9), backend=st.sampled_from(BACKENDS))
def test_a_controller_reports_what_one_with_plain_runs_reports(seed: int, backend: Backend) -> None:
    fast = reconcile(seed, backend)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_controller_runner, "Workers", PlainWorkers)
        patch.setattr(_controller_runner.ControllerRunner, "_perform", plain_perform)
        plain = reconcile(seed, backend)
    assert sorted(fast[0]) == sorted(plain[0])
    assert fast[1] == plain[1]
