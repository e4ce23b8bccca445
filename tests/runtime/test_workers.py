"""Workers on a queue, in virtual time: their order, their concurrency, and runs that do not end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator

import anyio
import pytest
from anyio.lowlevel import checkpoint
from asked_examples import examples
from hypothesis import given, settings, strategies as st

from kubeproto.control import LOW_PRIORITY, ExponentialBackoff, Rate, Work, WorkQueue
from kubeproto_runtime.reconciling._workers import Workers
from kubeproto_runtime.testing import BACKENDS, Backend, run

Perform = Callable[[Work[str]], Awaitable[None]]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    selected: Backend = request.param
    return selected


class Rig:
    """Workers, and a record of (time, key, event)."""

    def __init__(
        self, perform: Perform, *, concurrency: int = 2, limit: float | None = None, rate: Rate | None = None
    ) -> None:
        self.queue: WorkQueue[str] = WorkQueue(rate=rate, backoff=ExponentialBackoff(maximum=1.0))
        self.workers = Workers(
            self.queue,
            self._perform,
            on_timeout=self._time_out,
            on_error=self._time_out,
            may_begin=None,
            hold=lambda key, writes, started_at, finished_at: False,
            concurrency=concurrency,
            limit=limit,
        )
        self.perform = perform
        self.events: list[tuple[float, str, str]] = []
        self.errors: list[Exception | None] = []
        self.running: set[str] = set()
        self.max_running = 0

    async def _perform(self, work: Work[str]) -> None:
        assert work.key not in self.running, "two concurrent runs of the same key"
        self.running.add(work.key)
        self.max_running = max(self.max_running, len(self.running))
        self.events.append((anyio.current_time(), work.key, "begins"))
        try:
            await self.perform(work)
            self.events.append((anyio.current_time(), work.key, "ends"))
        finally:
            self.running.discard(work.key)

    def _time_out(self, work: Work[str], error: Exception | None) -> None:
        self.events.append((anyio.current_time(), work.key, "timed out"))
        self.errors.append(error)

    def add(self, *keys: str, after: float = 0.0) -> None:
        for key in keys:
            self.queue.add(key, anyio.current_time(), after=after)
        self.workers.wake()

    def times(self, event: str) -> list[tuple[float, str]]:
        return [(time, key) for time, key, name in self.events if name == event]

    async def run_during(self, body: Callable[[], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.workers.run)
            await anyio.sleep(0)
            await body()
            self.workers.stop()


async def do_nothing(work: Work[str]) -> None:
    del work


async def take_a_second(work: Work[str]) -> None:
    await anyio.sleep(1)


def test_rn_02_an_added_key_wakes_an_idle_worker_immediately(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(do_nothing)

        async def body() -> None:
            await anyio.sleep(5)
            rig.add("a")
            await checkpoint()
            await checkpoint()
            await checkpoint()
            assert rig.times("ends") == [(anyio.current_time(), "a")]

        await rig.run_during(body)

    run(main, backend=backend)


def test_sc_01_rn_03_keys_that_are_due_before_the_workers_start_run_once_each(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(do_nothing)
        rig.add("a", "b", "a")
        await anyio.sleep(5)
        assert (rig.events, len(rig.queue)) == ([], 2)

        async def body() -> None:
            await anyio.sleep(1)

        await rig.run_during(body)
        assert ([key for _, key in rig.times("ends")], len(rig.queue)) == (["a", "b"], 0)

    run(main, backend=backend)


def test_rn_01_a_key_that_is_added_while_it_runs_runs_again_afterwards(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(take_a_second)

        async def body() -> None:
            started_at = anyio.current_time()
            rig.add("a")
            await anyio.sleep(0.5)
            rig.add("a")
            rig.add("a")
            await anyio.sleep(5)
            assert [time - started_at for time, _ in rig.times("begins")] == [0, 1]

        await rig.run_during(body)

    run(main, backend=backend)


def test_rn_06_ct_11_no_more_keys_run_concurrently_than_the_concurrency(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(take_a_second, concurrency=2)

        async def body() -> None:
            rig.add("a", "b", "c", "d")
            await anyio.sleep(0.5)
            assert rig.running == {"a", "b"}
            await anyio.sleep(1)
            assert rig.running == {"c", "d"}
            rig.add("a")
            await anyio.sleep(1)
            assert rig.running == {"a"}
            assert rig.max_running == 2

        await rig.run_during(body)

    run(main, backend=backend)


def test_a_delayed_key_runs_at_its_time_although_all_workers_are_idle(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(do_nothing)

        async def body() -> None:
            started_at = anyio.current_time()
            rig.add("late", after=60)
            rig.add("soon", after=1.5)
            rig.add("now")
            await anyio.sleep(100)
            assert [(time - started_at, key) for time, key in rig.times("begins")] == [
                (0, "now"),
                (1.5, "soon"),
                (60, "late"),
            ]

        await rig.run_during(body)

    run(main, backend=backend)


def test_a_rate_spaces_the_runs(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(do_nothing, rate=Rate(every=2.0, burst=1))

        async def body() -> None:
            started_at = anyio.current_time()
            rig.add("a", "b", "c")
            await anyio.sleep(10)
            assert [(time - started_at, key) for time, key in rig.times("begins")] == [
                (0, "a"),
                (2, "b"),
                (4, "c"),
            ]

        await rig.run_during(body)

    run(main, backend=backend)


def test_rn_08_a_run_that_takes_too_long_is_cancelled_and_its_worker_continues(backend: Backend) -> None:
    async def main() -> None:
        async def perform(work: Work[str]) -> None:
            await anyio.sleep(1 if work.key == "good" else 60)

        rig = Rig(perform, concurrency=1, limit=30.0)

        async def body() -> None:
            started_at = anyio.current_time()
            rig.add("bad", "good")
            await anyio.sleep(40)
            rig.add("bad")
            await anyio.sleep(40)
            assert [(time - started_at, key) for time, key in rig.times("timed out")] == [
                (30, "bad"),
                (70, "bad"),
            ]
            assert [(time - started_at, key) for time, key in rig.times("ends")] == [(31, "good")]
            assert rig.errors == [None, None]

        await rig.run_during(body)

    run(main, backend=backend)


def test_the_error_of_a_cancelled_run_is_reported(backend: Backend) -> None:
    async def main() -> None:
        async def perform(work: Work[str]) -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(anyio.sleep_forever)
                try:
                    await anyio.sleep_forever()
                finally:
                    raise ValueError(f"cannot clean up {work.key}")

        rig = Rig(perform, concurrency=1, limit=1.0)

        async def body() -> None:
            rig.add("a")
            await anyio.sleep(2)
            rig.add("b")
            await anyio.sleep(2)
            assert [key for _, key in rig.times("timed out")] == ["a", "b"]
            assert "cannot clean up a" in repr(rig.errors[0])

        await rig.run_during(body)

    run(main, backend=backend)


def test_a_cancelled_run_that_does_not_end_is_stuck_and_blocks_only_its_worker(backend: Backend) -> None:
    async def main() -> None:
        async def perform(work: Work[str]) -> None:
            if work.key.startswith("stubborn"):
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(1000)

        rig = Rig(perform, concurrency=3, limit=1.0)

        async def body() -> None:
            rig.add("stubborn", "stubborn too")
            await anyio.sleep(10)
            rig.add("other")
            assert rig.workers.stuck_keys(anyio.current_time()) == []
            await anyio.sleep(100)
            assert [key for _, key in rig.times("ends")] == ["other"]
            assert sorted(rig.workers.stuck_keys(anyio.current_time())) == ["stubborn", "stubborn too"]
            await anyio.sleep(1000)
            assert rig.workers.stuck_keys(anyio.current_time()) == []
            rig.add("x", "y")
            await anyio.sleep(1)
            rig.add("z")
            await anyio.sleep(1)
            # The stubborn runs succeeded late.
            ended = [key for _, key in rig.times("ends")]
            assert sorted(ended[1:3]) == ["stubborn", "stubborn too"]
            assert ended[3:] == ["x", "y", "z"]
            assert rig.times("timed out") == []

        await rig.run_during(body)

    run(main, backend=backend)


def test_runs_that_never_wait_yield_to_other_tasks(backend: Backend) -> None:
    async def main() -> None:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await checkpoint()
                turns += 1

        rig = Rig(do_nothing, concurrency=8)

        async def body() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(count)
                rig.add(*(str(number) for number in range(5000)))
                while len(rig.times("ends")) < 5000:
                    await checkpoint()
                tasks.cancel_scope.cancel()

        await rig.run_during(body)
        assert turns >= 5000 // 300

    run(main, backend=backend)


def test_runs_that_only_compute_need_a_single_worker(backend: Backend) -> None:
    async def main() -> None:
        task_ids: set[int] = set()

        async def perform(work: Work[str]) -> None:
            task_ids.add(anyio.get_current_task().id)

        rig = Rig(perform, concurrency=8)

        async def body() -> None:
            for _ in range(5):
                rig.add(*(str(number) for number in range(100)))
                await anyio.sleep(1)

        await rig.run_during(body)
        assert len(rig.times("ends")) == 500
        assert len(task_ids) == 1

    run(main, backend=backend)


def test_rn_10_stopped_workers_begin_no_run_and_finish_their_current_runs(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(take_a_second, concurrency=2)

        async def body() -> None:
            rig.add("a", "b", "c")
            await anyio.sleep(0.5)

        await rig.run_during(body)
        assert sorted(key for _, key in rig.times("ends")) == ["a", "b"]
        assert rig.queue.running == 0

    run(main, backend=backend)


def test_the_next_workers_repeat_cancelled_runs(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(take_a_second, concurrency=2)
        with anyio.move_on_after(0.5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(rig.workers.run)
                await anyio.sleep(0)
                rig.add("a", "b", "c")
        assert rig.times("ends") == []

        async def body() -> None:
            await anyio.sleep(5)

        await rig.run_during(body)
        assert sorted(key for _, key in rig.times("ends")) == ["a", "b", "c"]

    run(main, backend=backend)


def test_the_key_of_a_cancelled_run_keeps_its_priority(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(take_a_second)
        rig.queue.add("listed", 0.0, priority=LOW_PRIORITY, reason="Book listed")
        with anyio.move_on_after(0.5):
            await rig.workers.run()
        rig.add("changed")
        released = [rig.queue.get(anyio.current_time()) for _ in range(2)]
        assert [(work.key, work.priority) for work in released if work] == [
            ("changed", 0),
            ("listed", LOW_PRIORITY),
        ]

    run(main, backend=backend)


def test_the_keys_of_cancelled_runs_are_released_in_their_order(backend: Backend) -> None:
    keys = [f"{number:02}" for number in range(20)]

    async def main() -> None:
        rig = Rig(take_a_second, concurrency=20)
        for _ in range(5):  # the workers of each round have other addresses, by which a set would order them
            with anyio.move_on_after(0.5):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(rig.workers.run)
                    await anyio.sleep(0)
                    if not rig.events:
                        rig.add(*keys)
            released_keys: list[str] = []
            while (work := rig.queue.get(anyio.current_time())) is not None:
                released_keys.append(work.key)
            started_keys = [key for _, key in rig.times("begins")[-20:]]
            assert released_keys == started_keys
            for key in released_keys:
                rig.queue.done(key, anyio.current_time())
                rig.add(key)

    run(main, backend=backend)


def test_an_unhandled_error_ends_the_workers(backend: Backend) -> None:
    async def main() -> None:
        async def perform(work: Work[str]) -> None:
            await anyio.sleep(1)
            raise ArithmeticError(work.key)

        rig = Rig(perform)

        async def body() -> None:
            rig.add("a")
            await anyio.sleep_forever()

        with pytest.raises(ExceptionGroup) as raised:
            await rig.run_during(body)
        assert raised.group_contains(ArithmeticError)

    run(main, backend=backend)


class RandomRuns:
    """The random durations and failures of runs."""

    def __init__(self, durations: list[float], failures: list[bool]) -> None:
        self.durations = self._cycle(durations)
        self.failures = self._cycle(failures)

    @staticmethod
    def _cycle(values: list[float] | list[bool]) -> Generator[float]:
        while True:
            yield from values


@settings(max_examples=examples(100), deadline=None)
@given(
    adds=st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([0.0, 0.0, 0.7])
        ),
        min_size=1,
        max_size=30,
    ),
    durations=st.lists(st.sampled_from([0.0, 0.0, 0.2, 0.5, 5.0]), min_size=1, max_size=7),
    failures=st.lists(st.booleans(), min_size=1, max_size=5).filter(lambda drawn: not all(drawn)),
    concurrency=st.integers(1, 3),
    selected_backend=st.sampled_from(BACKENDS),
)
def test_no_key_is_lost_or_runs_twice_concurrently_whatever_fails(
    adds: list[tuple[str, float, float]],
    durations: list[float],
    failures: list[bool],
    concurrency: int,
    selected_backend: Backend,
) -> None:
    async def main() -> None:
        random_runs = RandomRuns(durations, failures)
        added_at: dict[str, float] = {}
        successful_run_at: dict[str, float] = {}

        async def perform(work: Work[str]) -> None:
            started_at = anyio.current_time()
            if seconds := next(random_runs.durations):
                await anyio.sleep(seconds)
            if next(random_runs.failures):
                rig.queue.retry(work.key, anyio.current_time())
            else:
                rig.queue.forget(work.key)
                successful_run_at[work.key] = started_at

        rig = Rig(perform, concurrency=concurrency, limit=3.0)
        time_out = rig.workers._on_timeout

        def retry_timeout(work: Work[str], error: Exception | None) -> None:
            time_out(work, error)
            if min(durations) < 3:
                rig.queue.retry(work.key, anyio.current_time())
            else:  # every run times out, and would be retried forever
                successful_run_at[work.key] = anyio.current_time()

        rig.workers._on_timeout = retry_timeout

        async def body() -> None:
            for key, pause, after in adds:
                await anyio.sleep(pause)
                added_at[key] = anyio.current_time()
                rig.add(key, after=after)
            await anyio.sleep(3600)
            assert rig.running == set()
            assert len(rig.queue) == 0
            for key, time in added_at.items():
                assert successful_run_at[key] >= time

        await rig.run_during(body)
        assert rig.max_running <= concurrency

    run(main, backend=selected_backend)


def test_the_backoff_of_a_queue_depends_on_the_retries() -> None:
    queue: WorkQueue[str] = WorkQueue(backoff=ExponentialBackoff(initial=1.0))
    for _ in range(2):
        queue.add("a", 0.0)
        assert queue.get(0.0) is not None
        queue.forget("a")
        queue.done("a", 0.0)
    queue.add("a", 0.0)
    assert queue.get(0.0) is not None
    assert queue.retry("a", 0.0, after=7.0) == 7.0
    queue.done("a", 0.0)
    work = queue.get(7.0)
    assert work is not None
    assert work.attempt == 2
    assert queue.retry("a", 7.0) == 2.0
