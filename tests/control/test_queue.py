"""The work queue: a row for each rule of the conformance list, by hand and under a clock of the test."""

from __future__ import annotations

import copy
import gc
import weakref
from math import inf, nan

import pytest

from kubeproto import LocalProtocolError
from kubeproto.control import LOW_PRIORITY, ExponentialBackoff, Rate, Work, WorkQueue


def queue_of(*keys: str, now: float = 0.0) -> WorkQueue[str]:
    queue = WorkQueue[str]()
    for key in keys:
        queue.add(key, now)
    return queue


def take(queue: WorkQueue[str], now: float) -> str | None:
    """Return the next key, which runs from now on."""
    work = queue.get(now)
    return None if work is None else work.key


def drained(queue: WorkQueue[str], now: float) -> list[str]:
    """Return all keys that are due, in turn, each done before the next."""
    keys: list[str] = []
    while (work := queue.get(now)) is not None:
        keys.append(work.key)
        queue.done(work.key, now)
    return keys


# A single worker for each key


def test_wq_01_rn_01_a_running_key_is_not_returned_again() -> None:
    queue = queue_of("a")
    assert take(queue, 0) == "a"
    queue.add("a", 1)
    assert take(queue, 1) is None
    assert queue.next_at(1) is None


def test_wq_02_pq_05_a_key_added_while_it_runs_is_returned_when_it_is_done() -> None:
    queue = queue_of("a")
    take(queue, 0)
    queue.add("a", 1)
    queue.done("a", 2)
    assert drained(queue, 2) == ["a"]


def test_wq_03_pq_10_the_length_counts_only_due_keys() -> None:
    queue = queue_of("a", "b")
    take(queue, 0)
    queue.add("a", 0)  # held
    queue.add("c", 0, after=5)  # delayed
    assert (len(queue), queue.running) == (1, 1)
    assert all(key in queue for key in "abc")
    assert "d" not in queue


def test_wq_04_sc_07_a_key_can_be_added_again_when_it_is_done() -> None:
    queue = queue_of("a")
    assert drained(queue, 0) == ["a"]
    queue.add("a", 1)
    assert drained(queue, 1) == ["a"]


def test_wq_05_pq_04_sc_02_three_adds_are_a_single_key() -> None:
    assert drained(queue_of("a", "a", "a"), 0) == ["a"]


def test_wq_06_rn_13_any_number_of_adds_during_a_run_cause_a_single_further_run_and_a_requeue_adds_none() -> (
    None
):
    queue = queue_of("a")
    take(queue, 0)
    queue.add("a", 1)
    queue.add("a", 1)
    queue.requeue("a", 2, after=5)
    queue.done("a", 2)
    assert drained(queue, 2) == ["a"]
    assert queue.next_at(2) is None


def test_pq_02_sc_03_a_running_key_is_skipped_and_others_are_returned() -> None:
    queue = queue_of("a", "b")
    take(queue, 0)
    queue.add("a", 0)
    assert take(queue, 0) == "b"


def test_pq_03_a_blocked_key_is_returned_as_soon_as_its_run_is_done() -> None:
    queue = queue_of("a")
    take(queue, 0)
    queue.add("a", 0)
    queue.done("a", 0)
    assert take(queue, 0) == "a"


def test_rn_05_waiting_keys_are_returned_once_each_in_order() -> None:
    assert drained(queue_of("a", "b", "a"), 0) == ["a", "b"]


def test_done_with_a_key_that_does_not_run_is_refused() -> None:
    with pytest.raises(LocalProtocolError, match="'a', which is not running"):
        queue_of("a").done("a", 0)


# Times


def test_wq_12_sc_04_a_delayed_key_is_not_returned_before_its_time() -> None:
    queue = queue_of()
    queue.add("a", 0, after=1)
    queue.add("b", 0, after=3)
    assert (queue.next_at(0), take(queue, 0.99)) == (1, None)
    assert drained(queue, 2) == ["a"]
    assert (queue.next_at(2), drained(queue, 4)) == (3, ["b"])


def test_wq_13_pq_09_sc_05_sc_06_the_earliest_time_wins_in_either_order() -> None:
    queue = queue_of()
    queue.add("a", 0, after=1)
    queue.add("a", 0, after=3)
    queue.add("b", 0, after=3)
    queue.add("b", 0, after=1)
    assert (take(queue, 0.5), drained(queue, 1), queue.next_at(1)) == (None, ["a", "b"], None)


def test_wq_13_an_add_without_a_delay_makes_a_delayed_key_due() -> None:
    queue = queue_of()
    queue.add("a", 0, after=100)
    queue.add("a", 1)
    assert (drained(queue, 1), queue.next_at(1), drained(queue, 200)) == (["a"], None, [])


def test_wq_13_the_earliest_time_wins_for_a_running_key_too() -> None:
    queue = queue_of("a")
    take(queue, 0)
    for delay in (9, 5, 7):
        queue.add("a", 0, after=delay)
    queue.done("a", 1)
    assert queue.next_at(1) == 5


def test_wq_14_the_earlier_key_is_returned_first_although_it_was_added_second() -> None:
    queue = queue_of()
    queue.add("a", 0, after=2)
    queue.add("b", 0, after=1)
    assert drained(queue, 1) == ["b"]


def test_wq_15_due_keys_are_returned_in_the_order_of_their_times_and_before_later_additions() -> None:
    queue = queue_of()
    for key, delay in (("c", 3), ("a", 1), ("b", 2), ("b2", 2)):
        queue.add(key, 0, after=delay)
    queue.add("d", 10)
    assert drained(queue, 10) == ["a", "b", "b2", "c", "d"]


def test_sc_08_sc_09_the_reason_is_that_of_the_earliest_request() -> None:
    queue = queue_of()
    queue.add("a", 0, after=2, reason="first")
    queue.add("a", 0, after=1, reason="second")
    queue.add("b", 0, after=1, reason="first")
    queue.add("b", 0, after=2, reason="second")
    assert queue.get(5) == Work("a", 1, 0, "second", 1)
    assert queue.get(5) == Work("b", 1, 0, "first", 1)


@pytest.mark.parametrize(("delay", "ready_at"), [(inf, 180 * 86400.0), (1e300, 180 * 86400.0), (-5.0, 0.0)])
def test_sc_15_an_excessive_delay_is_half_a_year_and_a_negative_delay_is_zero(
    delay: float, ready_at: float
) -> None:
    queue = queue_of()
    queue.add("a", 0, after=delay)
    assert queue.next_at(0) == ready_at


def test_sc_15_nan_is_not_a_delay() -> None:
    queue = queue_of()
    queue.add("a", 0, after=nan)
    assert drained(queue, 0) == ["a"]


def test_sc_15_a_clock_that_jumps_ahead_returns_all_keys_in_order_and_a_clock_set_back_only_delays() -> None:
    queue = queue_of("now", now=100)
    queue.add("b", 100, after=2)
    queue.add("a", 100, after=1)
    assert take(queue, 50) == "now"
    queue.done("now", 40)
    assert (take(queue, 50), queue.next_at(50)) == (None, 101)
    assert drained(queue, 1e9) == ["a", "b"]
    assert queue.metrics(0).work_duration_seconds.sum >= 0


# Debounce


def test_sc_10_a_debounced_key_waits_for_a_pause_of_its_events() -> None:
    queue = WorkQueue[str](debounce=2)
    queue.add("a", 0)
    assert (take(queue, 1), queue.next_at(1), drained(queue, 4)) == (None, 2, ["a"])


def test_sc_11_an_event_within_the_debounce_delays_the_key_and_replaces_its_reason() -> None:
    queue = WorkQueue[str](debounce=3)
    queue.add("a", 0, reason="1")
    queue.add("a", 1, reason="2")
    assert take(queue, 3.5) is None
    assert queue.get(6.5) == Work("a", 1, 0, "2", 4)
    assert queue.next_at(6.5) is None


def test_sc_12_a_key_with_constant_events_is_returned_after_the_maximum_wait() -> None:
    queue = WorkQueue[str](debounce=2, max_wait=5)
    for now in range(5):
        queue.add("a", now)
        assert take(queue, now) is None
    assert (queue.next_at(4), drained(queue, 5)) == (5, ["a"])
    queue.add("a", 6)  # a new burst has the maximum wait again
    assert queue.next_at(6) == 8


def test_sc_12_the_default_maximum_wait_is_ten_debounces() -> None:
    queue = WorkQueue[str](debounce=2)
    for now in range(20):
        queue.add("a", now)
    assert queue.next_at(19) == 20


def test_a_maximum_wait_below_the_debounce_bounds_the_first_event_too() -> None:
    queue = WorkQueue[str](debounce=9, max_wait=3)
    queue.add("a", 0)
    assert queue.next_at(0) == 3


def test_an_exact_time_is_not_delayed_by_a_burst() -> None:
    queue = WorkQueue[str](debounce=2)
    queue.add("a", 0, after=5)
    queue.add("a", 1)
    assert queue.next_at(1) == 3
    queue.add("a", 2.9)
    assert queue.next_at(2.9) == 4.9
    queue.add("a", 4.8)  # would be 6.8 without the exact time
    assert queue.next_at(4.8) == 5


def test_a_burst_continues_while_the_key_runs() -> None:
    queue = WorkQueue[str](debounce=2, max_wait=3)
    queue.add("a", 0, after=1)
    take(queue, 1)
    queue.add("a", 1)
    queue.add("a", 2.5)
    queue.done("a", 2.6)
    assert queue.next_at(2.6) == 4


# Priorities


def test_pq_01_within_a_priority_keys_are_returned_in_order() -> None:
    assert drained(queue_of("c", "a", "b"), 0) == ["c", "a", "b"]


def test_sc_14_keys_of_the_initial_list_are_returned_after_keys_of_changes() -> None:
    queue = queue_of()
    queue.add("old", 0, priority=LOW_PRIORITY)
    queue.add("new", 1)
    assert drained(queue, 1) == ["new", "old"]


def test_pq_06_pq_07_the_highest_priority_is_retained_and_never_lowered() -> None:
    queue = queue_of()
    for priority in (1, 5, 3):
        queue.add("a", 0, priority=priority)
    queue.add("b", 0, priority=4)
    work = queue.get(0)
    assert work is not None
    assert (work.key, work.priority) == ("a", 5)


@pytest.mark.parametrize("now", [0, 9])
def test_pq_06_a_delayed_and_a_running_key_are_raised_too(now: float) -> None:
    queue = queue_of("b", "c")
    take(queue, 0)
    for key in ("a", "b"):
        queue.add(key, 0, after=5, priority=LOW_PRIORITY)
        queue.add(key, 0, after=7, priority=3)
    queue.done("b", now)
    assert drained(queue, 9) == ["a", "b", "c"] if now == 0 else ["b", "a", "c"]


def test_pq_08_a_raised_key_precedes_lower_keys_and_follows_its_equals() -> None:
    queue = queue_of()
    for key, priority in (("a", 0), ("b", 0), ("low", LOW_PRIORITY), ("high", 7)):
        queue.add(key, 0, priority=priority)
    queue.add("b", 1, priority=7)
    queue.add("low", 1, priority=0)
    assert drained(queue, 1) == ["high", "b", "a", "low"]


def test_ct_10_a_retry_and_a_requeue_retain_the_priority_unless_they_set_another() -> None:
    queue = queue_of()
    for key in ("retried", "requeued", "other", "else"):
        queue.add(key, 0, priority=3)
        assert take(queue, 0) == key
    queue.retry("retried", 0)
    queue.requeue("requeued", 0, after=1)
    queue.retry("other", 0, priority=9)
    queue.requeue("else", 0, after=1, priority=-1)
    for key in ("retried", "requeued", "other", "else"):
        queue.done(key, 0)
    works = [queue.get(2) for _ in range(4)]
    assert [(work.key, work.priority) for work in works if work is not None] == [
        ("other", 9),
        ("retried", 3),
        ("requeued", 3),
        ("else", -1),
    ]


def test_an_event_while_it_runs_does_not_inherit_the_priority() -> None:
    queue = queue_of()
    queue.add("a", 0, priority=LOW_PRIORITY)
    take(queue, 0)
    queue.add("a", 0)
    queue.done("a", 0)
    assert queue.get(0) == Work("a", 1, 0, "", 0)


def test_sc_13_every_tenth_key_is_the_key_that_has_been_due_longest() -> None:
    queue = queue_of()
    for n in range(3):
        queue.add(f"low {n}", 0, priority=LOW_PRIORITY)
    served: list[str] = []
    for now in range(1, 40):
        queue.add(f"high {now}", now)
        key = take(queue, now)
        assert key is not None
        served.append(key)
    assert [index for index, key in enumerate(served) if key.startswith("low")] == [9, 19, 29]
    highs = [key for key in served if key.startswith("high")]
    assert highs == [f"high {n}" for n in range(1, 37)]


def test_sc_13_the_oldest_key_is_returned_whatever_keys_precede_it() -> None:
    queue = queue_of()
    queue.add("lowest", 0, priority=-2)
    queue.add("middle", 1, priority=-1)
    for n in range(30):
        queue.add(f"high {n}", 2)
    keys = drained(queue, 2)
    assert (keys[9], keys[19]) == ("lowest", "middle")


def test_a_single_priority_is_never_out_of_order_even_after_another_priority() -> None:
    queue = queue_of()
    queue.add("low", 0, priority=LOW_PRIORITY)
    queue.add("high", 0)
    assert drained(queue, 0) == ["high", "low"]
    keys = [f"{n}" for n in range(40)]
    for key in keys:
        queue.add(key, 1)
    assert drained(queue, 1) == keys


def test_only_keys_that_overtake_others_are_counted() -> None:
    queue = queue_of()
    queue.add("raised", 0, priority=LOW_PRIORITY)
    for n in range(8):
        queue.add(f"{n}", 0)
    queue.add("raised", 0, priority=0)  # the line of low priority exists, and is empty
    assert len(drained(queue, 0)) == 9
    queue.add("low", 1, priority=LOW_PRIORITY)
    queue.add("high", 2)
    assert drained(queue, 2) == ["high", "low"]


# Failures


def test_wq_16_rn_12_ct_06_failures_double_the_delay_of_a_key_until_they_are_reset() -> None:
    queue = WorkQueue[str](backoff=ExponentialBackoff(0.001, 1000))
    now, delays, attempts = 0.0, list[float](), list[int]()
    queue.add("a", now)
    for _ in range(5):
        work = queue.get(now)
        assert work is not None
        attempts.append(work.attempt)
        delays.append(queue.retry("a", now))
        queue.done("a", now)
        now = queue.next_at(now) or now
    assert (delays, attempts) == ([0.001, 0.002, 0.004, 0.008, 0.016], [1, 2, 3, 4, 5])
    assert (queue.failures("a"), queue.retry("b", now)) == (5, 0.001)
    queue.forget("a")
    assert queue.retry("a", now) == 0.001


def test_ct_07_ct_08_done_alone_neither_requeues_nor_resets_failures() -> None:
    queue = queue_of("a")
    take(queue, 0)
    queue.retry("a", 0)
    queue.done("a", 0)
    assert take(queue, 1) == "a"
    queue.done("a", 1)
    assert (queue.next_at(1), queue.failures("a")) == (None, 1)


def test_ct_09_a_requeue_is_exact_and_resets_failures() -> None:
    queue = queue_of("a")
    take(queue, 0)
    queue.retry("a", 0)
    queue.done("a", 0)
    take(queue, 1)
    queue.requeue("a", 1, after=5)
    queue.done("a", 2)
    assert (queue.next_at(2), queue.failures("a")) == (6, 0)


def test_a_requeue_without_a_delay_is_immediate_however_many_there_are() -> None:
    queue = queue_of(*map(str, range(5000)))
    for _ in range(15_000):
        work = queue.get(0)
        assert work is not None
        queue.requeue(work.key, 0, after=0)
        queue.done(work.key, 0)
    assert len(queue) == 5000


def test_wq_17_a_huge_number_of_failures_waits_for_the_maximum() -> None:
    assert [ExponentialBackoff()(n) for n in (0, 1, 18, 19, 5000, 10**9)] == [
        0,
        0.005,
        655.36,
        1000,
        1000,
        1000,
    ]


def test_wq_18_retries_are_fast_and_then_slow() -> None:
    queue = WorkQueue[str](backoff=lambda failures: 0.1 if failures <= 3 else 5)
    assert [queue.retry("a", 0) for _ in range(5)] == [0.1, 0.1, 0.1, 5, 5]


def test_wq_19_the_longest_of_several_waits_applies() -> None:
    doubling = ExponentialBackoff(1, 100)
    queue = WorkQueue[str](backoff=lambda failures: max(doubling(failures), 3 if failures <= 2 else 7))
    assert [queue.retry("a", 0) for _ in range(5)] == [3, 3, 7, 8, 16]


def test_wq_20_a_wait_is_bounded() -> None:
    queue = WorkQueue[str](backoff=ExponentialBackoff(1, 3))
    assert [queue.retry("a", 0) for _ in range(4)] == [1, 2, 3, 3]


def test_wq_21_pq_13_retries_of_several_keys_do_not_affect_each_other() -> None:
    queue = queue_of()
    delays = [queue.retry(key, 0) for key in "aaabab"]
    assert delays == [0.005, 0.01, 0.02, 0.005, 0.04, 0.01]
    assert drained(queue, 0.0051) == ["a", "b"]


def test_a_discarded_key_is_returned_neither_immediately_nor_at_its_time() -> None:
    queue = queue_of("ready")
    queue.add("delayed", 0, after=5)
    queue.retry("failed", 0)
    for key in ("ready", "delayed", "failed"):
        queue.discard(key)
    assert (len(queue), queue.get(0), queue.next_at(0)) == (0, None, None)
    assert (queue.get(60), queue.next_at(60)) == (None, None)
    queue.add("failed", 60)
    assert queue.get(60) == Work("failed", 1, 0, "", 60)


def test_an_event_ends_a_backoff() -> None:
    queue = queue_of()
    queue.retry("a", 0)
    queue.retry("a", 0)
    queue.add("a", 0.001)
    assert queue.get(0.001) == Work("a", 3, 0, "", 0.001)


def test_a_held_key_waits_for_its_release_and_does_not_count_as_running() -> None:
    queue = queue_of("a")
    take(queue, 0)
    queue.add("a", 1, reason="changed")
    queue.done("a", 2, hold=True)
    assert (queue.get(3), queue.next_at(3), queue.running) == (None, None, 0)
    figures = queue.metrics(9)
    assert (figures.unfinished_work_seconds, figures.work_duration_seconds.sum) == (0, 2)
    queue.release("a", 10)
    assert queue.get(10) == Work("a", 1, 0, "changed", 1)
    for key in ("a", "b"):
        with pytest.raises(LocalProtocolError, match="is not held"):
            queue.release(key, 11)


# The rate


def test_a_rate_bounds_the_returned_keys_after_a_burst() -> None:
    queue = WorkQueue[str](rate=Rate(0.5, burst=3))
    for n in range(6):
        queue.add(f"{n}", 10)
    assert drained(queue, 10) == ["0", "1", "2"]
    assert (queue.next_at(10), drained(queue, 10.4)) == (10.5, [])
    assert drained(queue, 10.5) == ["3"]
    assert drained(queue, 11.5) == ["4", "5"]


def test_a_rate_allows_no_more_than_a_burst_after_any_pause_and_survives_a_clock_that_is_set_back() -> None:
    queue = WorkQueue[str](rate=Rate(1, burst=2))
    for n in range(9):
        queue.add(f"{n}", 0)
    assert drained(queue, 1e6) == ["0", "1"]
    assert (queue.next_at(5), drained(queue, 6)) == (6, ["2"])


# The end


def test_wq_07_a_drain_waits_until_every_run_is_done() -> None:
    queue = queue_of("a", "b")
    take(queue, 0)
    queue.drain(1)
    assert (queue.finished, take(queue, 1)) == (False, "b")
    queue.done("a", 2)
    assert (queue.finished, take(queue, 2)) == (False, None)
    queue.done("b", 2)
    assert queue.finished


def test_wq_08_pq_11_a_stop_is_immediate_whatever_keys_run_and_wait() -> None:
    queue = queue_of("a", "b")
    queue.add("c", 0, after=1)
    take(queue, 0)
    queue.stop()
    assert (queue.finished, take(queue, 9), queue.next_at(9), len(queue)) == (True, None, None, 0)
    queue.done("a", 9)


def test_wq_09_a_stop_releases_a_drain() -> None:
    queue = queue_of("a", "b")
    take(queue, 0)
    queue.drain(0)
    assert not queue.finished
    queue.stop()
    assert queue.finished


def test_wq_10_a_drain_includes_keys_that_were_added_during_their_run() -> None:
    queue = queue_of("a")
    take(queue, 0)
    queue.add("a", 0)
    queue.drain(0)
    queue.done("a", 1)
    assert (queue.finished, drained(queue, 1), queue.finished) == (False, ["a"], True)


def test_a_drain_accepts_no_keys_and_drops_delayed_keys() -> None:
    queue = queue_of("runs", "fails")
    queue.add("late", 0, after=50)
    queue.add("ready", 0, after=5)
    take(queue, 0)
    take(queue, 0)
    queue.add("runs", 1, after=50)
    queue.drain(6)
    queue.add("new", 6)
    assert queue.retry("fails", 6) == 0.005
    queue.requeue("fails", 6, after=0)
    queue.done("fails", 6)
    queue.done("runs", 6)
    assert (drained(queue, 6), queue.finished, queue.next_at(99)) == (["ready"], True, None)
    assert not any(key in queue for key in ("late", "new", "fails", "runs"))


# Costs and metrics


class Key:
    """A key whose release a weak reference detects."""


def remembered(refs: list[weakref.ref[Key]]) -> Key:
    key = Key()
    refs.append(weakref.ref(key))
    return key


def work_off(queue: WorkQueue[Key], now: float, count: int) -> None:
    for _ in range(count):
        work = queue.get(now)
        if work is not None:
            queue.done(work.key, now)


def test_wq_11_a_finished_key_is_released_from_memory() -> None:
    queue, refs = WorkQueue[Key](), list[weakref.ref[Key]]()
    for n in range(3):
        queue.add(remembered(refs), 0, priority=n)
    work_off(queue, 0, 3)
    gc.collect()
    assert [ref() for ref in refs] == [None] * 3


def test_wq_11_keys_that_change_their_position_forever_use_little_memory() -> None:
    queue, refs = WorkQueue[Key](), list[weakref.ref[Key]]()
    low = Key()
    queue.add(low, 0, priority=LOW_PRIORITY)

    def hurry(key: Key, now: float) -> None:
        queue.add(key, now, after=600, priority=LOW_PRIORITY)
        queue.add(key, now, priority=LOW_PRIORITY)  # removed from the heap, still in the line
        queue.add(key, now, priority=0)  # removed from the line

    for now in range(2000):
        hurry(remembered(refs), now)
        work_off(queue, now, 2)
        queue.add(low, now, priority=LOW_PRIORITY)
    gc.collect()
    assert sum(ref() is not None for ref in refs) < 300


def test_wq_11_a_key_discarded_before_its_time_is_released_from_memory() -> None:
    queue, refs = WorkQueue[Key](), list[weakref.ref[Key]]()

    def delay_and_discard(key: Key) -> None:
        queue.add(key, 0, after=600)
        queue.discard(key)

    for _ in range(1000):
        delay_and_discard(remembered(refs))
    gc.collect()
    assert sum(ref() is not None for ref in refs) < 100


def test_wq_11_a_raised_and_finished_key_is_released_by_its_former_line() -> None:
    queue, refs = WorkQueue[Key](), list[weakref.ref[Key]]()

    def list_and_raise(key: Key) -> None:
        queue.add(key, 0, priority=LOW_PRIORITY)
        queue.add(key, 0, priority=0)

    stays = [Key() for _ in range(200)]
    for key in stays:
        queue.add(key, 0, priority=LOW_PRIORITY)
    for _ in range(1000):
        list_and_raise(remembered(refs))
    work_off(queue, 0, 1115)  # every tenth key has low priority
    gc.collect()
    assert queue.metrics(0).depth == {LOW_PRIORITY: 85}
    assert sum(ref() is not None for ref in refs) < 300


def test_pq_12_metrics_count_due_keys_by_priority_and_each_time_that_a_key_became_due() -> None:
    queue = queue_of("a", "b")
    queue.add("b", 0)
    queue.add("low", 0, priority=LOW_PRIORITY)
    queue.add("late", 0, after=5)
    metrics = queue.metrics(0)
    assert (metrics.depth, metrics.adds_total, metrics.retries_total) == ({0: 2, LOW_PRIORITY: 1}, 3, 0)
    queue.add("low", 1, priority=0)
    assert (queue.metrics(1).depth, queue.metrics(1).adds_total) == ({0: 3}, 3)
    assert queue.metrics(5).depth == {0: 4}
    take(queue, 6)
    queue.retry("a", 8)
    take(queue, 8)
    running = queue.metrics(9)
    assert (running.unfinished_work_seconds, running.longest_running_processor_seconds) == (4, 3)
    assert (running.retries_total, running.adds_total, running.depth) == (1, 4, {0: 2})
    queue.done("a", 10)
    finished_keys = queue.metrics(10)
    assert (finished_keys.work_duration_seconds.count, finished_keys.work_duration_seconds.sum) == (1, 4)
    assert (finished_keys.queue_duration_seconds.count, finished_keys.queue_duration_seconds.sum) == (2, 14)
    assert finished_keys.unfinished_work_seconds == 2


def test_metrics_use_the_buckets_of_gos_controllers() -> None:
    queue = queue_of("none", "short", "long", "endless")
    for key, seconds in (("none", 0), ("short", 0.002), ("long", 100), ("endless", 5000)):
        assert take(queue, 0) == key
        queue.done(key, seconds)
    spent = queue.metrics(0).work_duration_seconds
    counts = dict(zip(spent.bounds, spent.counts, strict=False))
    assert (spent.bounds[0], spent.bounds[-1], len(spent.counts)) == (1e-8, 1000, 13)
    assert (counts[1e-8], counts[0.01], counts[100.0], spent.counts[-1]) == (1, 1, 1, 1)


def test_a_duration_is_counted_in_its_bucket_whatever_preceded_it() -> None:
    seconds = (0.002, 0.005, 3e-9, 0.002, 5000.0, 0.002, 0.01, 2000.0, 0.0, 0.01, 1e-8, 0.5, 0.02, -1.0, 0.0)
    queue = WorkQueue[int]()
    for key, spent in enumerate(seconds):
        queue.add(key, 0)
        assert queue.get(0) is not None
        queue.done(key, spent)
    metrics = queue.metrics(0).work_duration_seconds
    expected = [0] * len(metrics.counts)
    for spent in seconds:
        expected[sum(bound < spent for bound in metrics.bounds)] += 1
    assert list(metrics.counts) == expected
    assert metrics.sum == pytest.approx(sum(max(0.0, spent) for spent in seconds))


def test_keys_that_are_added_together_are_returned_as_if_added_singly() -> None:
    together, single = queue_of("a", "c", "late"), queue_of("a", "c", "late")
    for queue in (together, single):
        assert take(queue, 0) == "a"
        queue.add("later", 0, after=1)
    keys = ["b", "a", "c", "b", "d"]
    together.add_each(keys, 2, priority=7, reason="news")
    for key in keys:
        single.add(key, 2, priority=7, reason="news")
    for queue in (together, single):
        assert drained(queue, 2) == ["b", "c", "d", "late", "later"]
        queue.done("a", 2)
        work = queue.get(2)
        assert work is not None
        assert (work.key, work.priority, work.reason) == ("a", 7, "news")
    assert together.metrics(2) == single.metrics(2)


def test_keys_that_are_added_together_wait_for_a_debounce_and_not_during_a_drain() -> None:
    queue = WorkQueue[str](debounce=5)
    queue.add_each(["a", "b"], 0)
    assert (drained(queue, 4), drained(queue, 5)) == ([], ["a", "b"])
    queue.drain(6)
    queue.add_each(["c"], 6)
    assert (drained(queue, 20), queue.finished) == ([], True)


# Information for people


def test_the_time_of_a_key_is_reported_unless_it_waits_for_its_run() -> None:
    queue = queue_of("now", now=2.0)
    queue.add("later", 2.0, after=30.0)
    assert (queue.ready_at("now"), queue.ready_at("later"), queue.ready_at("nothing")) == (2.0, 32.0, None)
    assert take(queue, 3.0) == "now"
    assert queue.ready_at("now") is None
    queue.add("now", 4.0)
    assert queue.ready_at("now") is None  # when its run ends
    queue.done("now", 5.0)
    assert queue.ready_at("now") is not None


def test_keys_that_are_not_due_yet_are_counted_until_they_are() -> None:
    queue = queue_of("now")
    for number in range(3):
        queue.add(f"later-{number}", 0.0, after=10.0 * (number + 1))
    assert [queue.count_delayed(now) for now in (0.0, 10.0, 20.0, 30.0)] == [3, 2, 1, 0]


def test_the_oldest_key_is_the_one_that_has_been_due_for_longest_in_any_priority() -> None:
    queue = WorkQueue[str]()
    assert queue.oldest_age(100.0) == 0.0
    queue.add("low", 1.0, priority=LOW_PRIORITY)
    queue.add("high", 5.0)
    assert queue.oldest_age(11.0) == 10.0
    queue.add("delayed", 1.0, after=50.0)
    assert queue.oldest_age(61.0) == 60.0
    assert drained(queue, 61.0)[0] == "high"
    assert queue.oldest_age(70.0) == 0.0
    queue.add("high", 80.0)
    queue.add("low", 90.0, priority=LOW_PRIORITY)
    assert queue.oldest_age(100.0) == 20.0


def test_a_copy_of_a_queue_is_independent() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", 0.0)
    twin = copy.deepcopy(queue)
    twin.add("b", 0.0)
    assert [work.key for work in iter(lambda: twin.get(0.0), None)] == ["a", "b"]
    assert [work.key for work in iter(lambda: queue.get(0.0), None)] == ["a"]
