"""The cost of a cache: to list and store a snapshot, to detect that a new snapshot is equal, and to hold it.

Objects pass from 64 KiB pieces of pages through the resync machine into a Store, without a network. The
baseline reads the same pages with `json.loads` and stores the dicts.
"""

import gc
import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any, Final

import kubeproto as kp
from benchmarks._cached import PAGES, list_into_cache, measure_first_list, measure_relist, metadata_of
from benchmarks._data import books, list_page, pods
from benchmarks._measure import Contest, Further, Probe
from benchmarks._rows import GROWTH, KILOBYTES, MILLISECONDS, SECONDS, Goal, Row, Setting
from benchmarks._stopwatch import Stopwatch, hide_existing_objects
from benchmarks.growth import POINTS, Point, point
from kubeproto.kinds.core_v1 import Pod
from kubeproto.watching import read_page

SEED: Final = 7
CACHES: Final = 50


class Book(kp.Object[dict[str, Any], dict[str, Any]], group="example.technosophos.com", version="v1"):
    """Return the custom resources of 660 bytes."""


def dicts(objects: Sequence[bytes]) -> Callable[[], list[Any]]:
    """Return the baseline: `json.loads` of the same pages."""
    size = -(-len(objects) // PAGES)
    bodies = [list_page(objects[start : start + size]) for start in range(0, len(objects), size)]
    return lambda: [json.loads(body)["items"] for body in bodies]


def seconds(setting: Setting) -> Contest:
    """List ten thousand pods, fewer in a quick run."""
    count = setting.size(10_000, quick=3_000)
    objects = pods(count, SEED)
    ours, theirs = Stopwatch(list_into_cache(objects, Pod)), Stopwatch(dicts(objects))
    return Contest(ours=lambda: ours() * 10_000 / count, baseline=lambda: theirs() * 10_000 / count)


def kilobytes(count: int, make: Callable[[], object]) -> Probe:
    """Return a probe of the memory that Python allocates for an object."""

    def probe() -> float:
        gc.collect()
        tracemalloc.start()
        try:
            cached = make()
            gc.collect()
            memory, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        del cached
        return memory / count / 1000

    return probe


def cached_objects(
    setting: Setting, kind: Any, make: Callable[[int], list[bytes]], **options: Any
) -> Contest:
    """Compare the memory of an object with that of its dicts."""
    count = setting.size(2_000, quick=500)
    objects = make(count)
    ours, theirs = list_into_cache(objects, kind, **options), dicts(objects)
    for make_once in (ours, theirs):  # warm up, so that objects created once are not counted
        make_once()
    return Contest(ours=kilobytes(count, ours), baseline=kilobytes(count, theirs))


def relist(setting: Setting) -> Contest:
    """Stream a hundred thousand unchanged custom resources again, fewer in a quick run."""
    count = setting.size(100_000, quick=10_000)
    objects = books(count, SEED)
    gaps: list[float] = []

    def ours() -> float:
        took, gap = measure_relist(objects, Book)
        gaps.append(gap)
        return took * 100_000 / count

    def also() -> Further:
        return {"ms that others wait": {"at most": max(gaps[1:]) * 1000}}

    return Contest(ours=ours, also=also)


def gap(setting: Setting) -> Contest:
    """Measure the wait during a relist, always of 100,000 objects, since the wait grows with their number."""
    objects = books(setting.size(100_000, quick=100_000), SEED)
    return Contest(ours=lambda: measure_relist(objects, Book)[1] * 1000)


def longest_first_list_step(setting: Setting) -> Contest:
    """Measure the longest step of a first list on its way to a controller."""
    objects = books(setting.size(100_000, quick=20_000), SEED)
    return Contest(ours=lambda: measure_first_list(objects, Book) * 1000)


def storm(setting: Setting) -> Contest:
    """Measure the CPU seconds until fifty caches that expire at the same time are in sync again."""
    objects = books(setting.size(1_000, quick=200), SEED)
    gaps: list[float] = []

    def ours() -> float:
        took, gap = measure_relist(objects, Book, caches=CACHES)
        gaps.append(gap)
        return took

    return Contest(ours=ours, also=lambda: {"ms that others wait": {"at most": max(gaps[1:]) * 1000}})


def listed_pods(setting: Setting) -> Contest:
    """Measure the memory of a program that stores a list of 10,000 pods as it was read."""
    count = setting.size(10_000, quick=1_000)
    body = list_page(pods(count, SEED))
    return Contest(
        # The objects are views of the body, which therefore stays in memory.
        ours=kilobytes(count, lambda: read_page(bytes(memoryview(body)), Pod)),
        baseline=kilobytes(count, lambda: json.loads(body)),
    )


def pause(setting: Setting) -> Contest:
    """Measure the longest pause by the garbage collector while a list of 10,000 pods is read and stored."""
    body = list_page(pods(setting.size(10_000, quick=2_000), SEED))
    return Contest(
        ours=longest_pause(lambda: read_page(body, Pod)), baseline=longest_pause(lambda: json.loads(body))
    )


def cache_pause(setting: Setting) -> Contest:
    """Measure the longest pause by the garbage collector while 10,000 pods are listed in pages and cached."""
    objects = pods(setting.size(10_000, quick=2_000), SEED)
    return Contest(ours=longest_pause(list_into_cache(objects, Pod)), baseline=longest_pause(dicts(objects)))


def longest_pause(make: Callable[[], object]) -> Probe:
    """Return the CPU milliseconds of the longest run of the garbage collector, or 0."""

    def probe() -> float:
        longest, started = 0.0, 0.0

        def note(phase: str, _: object) -> None:
            nonlocal longest, started
            if phase == "start":
                started = time.thread_time()
            else:
                longest = max(longest, time.thread_time() - started)

        with hide_existing_objects():
            gc.callbacks.append(note)
            try:
                cached = make()
            finally:
                gc.callbacks.remove(note)
        del cached
        return longest * 1000

    return probe


def growth(setting: Setting) -> Contest:
    """Measure a cache of metadata up to a million objects, each point in a separate process."""
    points = list[Point]()

    def ours() -> float:
        points[:] = [point(count) for count in (POINTS if not setting.quick else POINTS[:1])]
        return points[-1].megabytes / points[-1].objects * 1000

    def also() -> Further:
        return {
            f"{GROWTH} MB": {str(point.objects): point.megabytes for point in points},
            f"{GROWTH} s of CPU": {str(point.objects): point.seconds for point in points},
        }

    return Contest(ours=ours, also=also)


def pods_of(count: int) -> list[bytes]:
    """Return the pods of these rows."""
    return pods(count, SEED)


def make_metadata(count: int) -> list[bytes]:
    """Return their metadata, as a server sends it alone."""
    return metadata_of(pods(count, SEED))


ROWS: Final = (
    Row(
        "cache.growth",
        KILOBYTES,
        growth,
        summary="memory of an object in a cache of the metadata of a million pods (100,000 when quick)",
        once=True,
    ),
    Row(
        "cache.relist.storm",
        SECONDS,
        storm,
        summary=f"{CACHES} caches of 1,000 custom resources expire at the same time and relist (CPU time)",
    ),
    Row(
        "list.pods.kb",
        KILOBYTES,
        listed_pods,
        summary="memory of a pod in a list of 10,000 that is kept",
        against="dicts",
    ),
    Row(
        "list.pods.pause",
        MILLISECONDS,
        pause,
        summary="the longest run of the garbage collector while a list of 10,000 pods is read and kept",
        against="json.loads into dicts",
    ),
    Row(
        "cache.pods.pause",
        MILLISECONDS,
        cache_pause,
        summary="the longest run of the garbage collector while 10,000 pods are listed in pages and cached",
        against="json.loads into dicts",
    ),
    Row(
        "cache.pods.seconds",
        SECONDS,
        seconds,
        summary="10,000 pods of 5.7 KB listed in pages and cached, without managed fields",
        against="json.loads into dicts",
        goal=Goal(at_least=7.2, summary="0.25 s where json.loads needs 1.8"),
    ),
    Row(
        "cache.pods.kb",
        KILOBYTES,
        lambda setting: cached_objects(setting, Pod, pods_of, managed_fields=True),
        summary="memory of a cached pod of 5.7 KB",
        against="dicts",
        goal=Goal(at_most=6.5, of="ours"),
    ),
    Row(
        "cache.pods.dropped.kb",
        KILOBYTES,
        lambda setting: cached_objects(setting, Pod, pods_of),
        summary="memory of a cached pod without its managed fields",
        against="dicts with them",
        goal=Goal(at_most=4.8, of="ours"),
    ),
    Row(
        "cache.metadata.kb",
        KILOBYTES,
        lambda setting: cached_objects(setting, kp.Metadata[Pod], make_metadata),
        summary="memory of the metadata of a pod",
        against="dicts",
        goal=Goal(at_most=1.2, of="ours"),
    ),
    Row(
        "cache.relist.seconds",
        SECONDS,
        relist,
        summary="100,000 unchanged objects of 660 B streamed anew, which tells nobody anything",
        goal=Goal(at_most=3.0, of="ours"),
    ),
    Row(
        "cache.relist.gap",
        MILLISECONDS,
        gap,
        summary="the longest that another task waits meanwhile",
        goal=Goal(at_most=20.0, of="ours"),
    ),
    Row(
        "controller.list.gap",
        MILLISECONDS,
        longest_first_list_step,
        summary="the longest wait of another task while a first list of 100,000 objects reaches a controller",
    ),
)
