"""Workers on a queue, in virtual time: who runs when, how many at once, and what a run that hangs does."""

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
    found: Backend = request.param
    return found


class Rig:
    """Workers, what they were told to do, and a diary of (time, key, what)."""

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
            hold=lambda key, writes, started, ended: False,
            concurrency=concurrency,
            limit=limit,
        )
        self.perform = perform
        self.diary: list[tuple[float, str, str]] = []
        self.errors: list[Exception | None] = []
        self.running: set[str] = set()
        self.most = 0

    async def _perform(self, work: Work[str]) -> None:
        assert work.key not in self.running, "two runs of one key at once"
        self.running.add(work.key)
        self.most = max(self.most, len(self.running))
        self.diary.append((anyio.current_time(), work.key, "begins"))
        try:
            await self.perform(work)
            self.diary.append((anyio.current_time(), work.key, "ends"))
        finally:
            self.running.discard(work.key)

    def _time_out(self, work: Work[str], error: Exception | None) -> None:
        self.diary.append((anyio.current_time(), work.key, "is cut"))
        self.errors.append(error)

    def add(self, *keys: str, after: float = 0.0) -> None:
        for key in keys:
            self.queue.add(key, anyio.current_time(), after=after)
        self.workers.wake()

    def told(self, what: str) -> list[tuple[float, str]]:
        return [(at, key) for at, key, said in self.diary if said == what]

    async def during(self, body: Callable[[], Awaitable[None]]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.workers.run)
            await anyio.sleep(0)
            await body()
            self.workers.stop()


async def nothing(work: Work[str]) -> None:
    del work


async def a_second(work: Work[str]) -> None:
    await anyio.sleep(1)


def test_rn_02_workers_at_rest_are_woken_at_the_moment_of_the_add(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(nothing)

        async def body() -> None:
            await anyio.sleep(5)
            rig.add("a")
            await checkpoint()
            await checkpoint()
            await checkpoint()
            assert rig.told("ends") == [(anyio.current_time(), "a")]

        await rig.during(body)

    run(main, backend=backend)


def test_sc_01_rn_03_what_is_due_before_there_are_workers_waits_for_them_once_each(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(nothing)
        rig.add("a", "b", "a")
        await anyio.sleep(5)
        assert (rig.diary, len(rig.queue)) == ([], 2)

        async def body() -> None:
            await anyio.sleep(1)

        await rig.during(body)
        assert ([key for _, key in rig.told("ends")], len(rig.queue)) == (["a", "b"], 0)

    run(main, backend=backend)


def test_rn_01_a_key_added_while_it_runs_runs_again_and_never_at_once(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(a_second)

        async def body() -> None:
            begun = anyio.current_time()
            rig.add("a")
            await anyio.sleep(0.5)
            rig.add("a")
            rig.add("a")
            await anyio.sleep(5)
            assert [at - begun for at, _ in rig.told("begins")] == [0, 1]

        await rig.during(body)

    run(main, backend=backend)


def test_rn_06_ct_11_so_many_keys_run_at_once_and_no_more(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(a_second, concurrency=2)

        async def body() -> None:
            rig.add("a", "b", "c", "d")
            await anyio.sleep(0.5)
            assert rig.running == {"a", "b"}
            await anyio.sleep(1)
            assert rig.running == {"c", "d"}
            rig.add("a")
            await anyio.sleep(1)
            assert rig.running == {"a"}
            assert rig.most == 2

        await rig.during(body)

    run(main, backend=backend)


def test_a_delayed_key_runs_at_its_time_whichever_worker_rests(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(nothing)

        async def body() -> None:
            begun = anyio.current_time()
            rig.add("late", after=60)
            rig.add("soon", after=1.5)
            rig.add("now")
            await anyio.sleep(100)
            assert [(at - begun, key) for at, key in rig.told("begins")] == [
                (0, "now"),
                (1.5, "soon"),
                (60, "late"),
            ]

        await rig.during(body)

    run(main, backend=backend)


def test_a_rate_spaces_the_runs(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(nothing, rate=Rate(every=2.0, burst=1))

        async def body() -> None:
            begun = anyio.current_time()
            rig.add("a", "b", "c")
            await anyio.sleep(10)
            assert [(at - begun, key) for at, key in rig.told("begins")] == [(0, "a"), (2, "b"), (4, "c")]

        await rig.during(body)

    run(main, backend=backend)


def test_rn_08_a_run_that_takes_too_long_is_cut_and_its_worker_goes_on(backend: Backend) -> None:
    async def main() -> None:
        async def perform(work: Work[str]) -> None:
            await anyio.sleep(1 if work.key == "good" else 60)

        rig = Rig(perform, concurrency=1, limit=30.0)

        async def body() -> None:
            begun = anyio.current_time()
            rig.add("bad", "good")
            await anyio.sleep(40)
            rig.add("bad")
            await anyio.sleep(40)
            assert [(at - begun, key) for at, key in rig.told("is cut")] == [(30, "bad"), (70, "bad")]
            assert [(at - begun, key) for at, key in rig.told("ends")] == [(31, "good")]
            assert rig.errors == [None, None]

        await rig.during(body)

    run(main, backend=backend)


def test_a_run_that_answers_its_end_with_an_error_tells_it(backend: Backend) -> None:
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
            assert [key for _, key in rig.told("is cut")] == ["a", "b"]
            assert "cannot clean up a" in repr(rig.errors[0])

        await rig.during(body)

    run(main, backend=backend)


def test_a_run_that_will_not_end_is_stuck_and_holds_its_worker_alone(backend: Backend) -> None:
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
            assert [key for _, key in rig.told("ends")] == ["other"]
            assert sorted(rig.workers.stuck_keys(anyio.current_time())) == ["stubborn", "stubborn too"]
            await anyio.sleep(1000)
            assert rig.workers.stuck_keys(anyio.current_time()) == []
            rig.add("x", "y")
            await anyio.sleep(1)
            rig.add("z")
            await anyio.sleep(1)
            # They ended well after all, late as it was.
            ended = [key for _, key in rig.told("ends")]
            assert sorted(ended[1:3]) == ["stubborn", "stubborn too"]
            assert ended[3:] == ["x", "y", "z"]
            assert rig.told("is cut") == []

        await rig.during(body)

    run(main, backend=backend)


def test_runs_that_never_wait_leave_others_their_turn(backend: Backend) -> None:
    async def main() -> None:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                await checkpoint()
                turns += 1

        rig = Rig(nothing, concurrency=8)

        async def body() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(count)
                rig.add(*(str(number) for number in range(5000)))
                while len(rig.told("ends")) < 5000:
                    await checkpoint()
                tasks.cancel_scope.cancel()

        await rig.during(body)
        assert turns >= 5000 // 300

    run(main, backend=backend)


def test_runs_that_only_compute_need_one_worker(backend: Backend) -> None:
    async def main() -> None:
        tasks_seen: set[int] = set()

        async def perform(work: Work[str]) -> None:
            tasks_seen.add(anyio.get_current_task().id)

        rig = Rig(perform, concurrency=8)

        async def body() -> None:
            for _ in range(5):
                rig.add(*(str(number) for number in range(100)))
                await anyio.sleep(1)

        await rig.during(body)
        assert len(rig.told("ends")) == 500
        assert len(tasks_seen) == 1

    run(main, backend=backend)


def test_rn_10_workers_that_are_stopped_begin_nothing_and_finish_what_they_do(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(a_second, concurrency=2)

        async def body() -> None:
            rig.add("a", "b", "c")
            await anyio.sleep(0.5)

        await rig.during(body)
        assert sorted(key for _, key in rig.told("ends")) == ["a", "b"]
        assert rig.queue.running == 0

    run(main, backend=backend)


def test_what_a_cancellation_cuts_off_is_done_by_those_who_come_next(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(a_second, concurrency=2)
        with anyio.move_on_after(0.5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(rig.workers.run)
                await anyio.sleep(0)
                rig.add("a", "b", "c")
        assert rig.told("ends") == []

        async def body() -> None:
            await anyio.sleep(5)

        await rig.during(body)
        assert sorted(key for _, key in rig.told("ends")) == ["a", "b", "c"]

    run(main, backend=backend)


def test_what_a_cancellation_cuts_off_keeps_its_priority(backend: Backend) -> None:
    async def main() -> None:
        rig = Rig(a_second)
        rig.queue.add("listed", 0.0, priority=LOW_PRIORITY, reason="Book listed")
        with anyio.move_on_after(0.5):
            await rig.workers.run()
        rig.add("changed")
        left = [rig.queue.get(anyio.current_time()) for _ in range(2)]
        assert [(work.key, work.priority) for work in left if work] == [
            ("changed", 0),
            ("listed", LOW_PRIORITY),
        ]

    run(main, backend=backend)


def test_what_was_cancelled_together_comes_back_in_its_order(backend: Backend) -> None:
    keys = [f"{number:02}" for number in range(20)]

    async def main() -> None:
        rig = Rig(a_second, concurrency=20)
        for _ in range(5):  # the workers of each round stand elsewhere in memory
            with anyio.move_on_after(0.5):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(rig.workers.run)
                    await anyio.sleep(0)
                    if not rig.diary:
                        rig.add(*keys)
            left: list[str] = []
            while (work := rig.queue.get(anyio.current_time())) is not None:
                left.append(work.key)
            begun = [key for _, key in rig.told("begins")[-20:]]
            assert left == begun
            for key in left:
                rig.queue.done(key, anyio.current_time())
                rig.add(key)

    run(main, backend=backend)


def test_an_error_that_nobody_settles_ends_the_workers(backend: Backend) -> None:
    async def main() -> None:
        async def perform(work: Work[str]) -> None:
            await anyio.sleep(1)
            raise ArithmeticError(work.key)

        rig = Rig(perform)

        async def body() -> None:
            rig.add("a")
            await anyio.sleep_forever()

        with pytest.raises(ExceptionGroup) as raised:
            await rig.during(body)
        assert raised.group_contains(ArithmeticError)

    run(main, backend=backend)


class Chance:
    """What a run does, drawn: how long it takes, whether it fails, and whether it is cut."""

    def __init__(self, durations: list[float], failures: list[bool]) -> None:
        self.durations = self._round(durations)
        self.failures = self._round(failures)

    @staticmethod
    def _round(values: list[float] | list[bool]) -> Generator[float]:
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
    on=st.sampled_from(BACKENDS),
)
def test_whatever_is_added_and_fails_no_key_runs_twice_at_once_and_none_is_lost(
    adds: list[tuple[str, float, float]],
    durations: list[float],
    failures: list[bool],
    concurrency: int,
    on: Backend,
) -> None:
    async def main() -> None:
        chance = Chance(durations, failures)
        asked: dict[str, float] = {}
        served: dict[str, float] = {}

        async def perform(work: Work[str]) -> None:
            begun = anyio.current_time()
            if seconds := next(chance.durations):
                await anyio.sleep(seconds)
            if next(chance.failures):
                rig.queue.retry(work.key, anyio.current_time())
            else:
                rig.queue.forget(work.key)
                served[work.key] = begun

        rig = Rig(perform, concurrency=concurrency, limit=3.0)
        time_out = rig.workers._on_timeout

        def retry_timeout(work: Work[str], error: Exception | None) -> None:
            time_out(work, error)
            if min(durations) < 3:
                rig.queue.retry(work.key, anyio.current_time())
            else:  # what always takes too long would be tried forever
                served[work.key] = anyio.current_time()

        rig.workers._on_timeout = retry_timeout

        async def body() -> None:
            for key, pause, after in adds:
                await anyio.sleep(pause)
                asked[key] = anyio.current_time()
                rig.add(key, after=after)
            await anyio.sleep(3600)
            assert rig.running == set()
            assert len(rig.queue) == 0
            for key, at in asked.items():
                assert served[key] >= at

        await rig.during(body)
        assert rig.most <= concurrency

    run(main, backend=on)


def test_the_backoff_of_a_queue_is_that_of_its_retries() -> None:
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
