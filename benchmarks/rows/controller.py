"""A whole controller: from a server's socket through transport, decoder, store and queue to a reconcile.

Server and controller are processes of their own, the controller with its metrics, on asyncio. kopf handles
the same events from the same server in the same rounds, in the way that costs it least.
"""

import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, Final

import msgspec

from benchmarks import _controller_program as program
from benchmarks._controller_server import Course, controller_server
from benchmarks._controller_server import Options as ServerOptions
from benchmarks._measure import Contest, Probe, Unit, late
from benchmarks._peers import PeerProcess
from benchmarks._rows import MILLISECONDS, Goal, Row, Setting

RECONCILES_PER_SECOND: Final = Unit("reconciles/s", more_is_better=True)
MEGABYTES: Final = Unit("MB")
PERCENT: Final = Unit("% of a core")


def throughput(setting: Setting) -> Contest:
    """Reconciles a second of distinct objects, empty ones, and kopf's in the same rounds."""
    count = setting.size(19_000, quick=8_000)
    url, ours = _ours(setting, "burst", program.Options("", "throughput", count))

    def kopf() -> Probe:
        peer = setting.peers.start("kopf", "benchmarks.peers.kopf_operator", {"url": url, "count": count})
        started = setting.keep(peer)
        return lambda: count / started.round(count)

    return Contest(ours=lambda: count / ours.round(count), baseline=late(kopf))


def latency(setting: Setting, which: str) -> Contest:
    """From an event's byte to the start of its reconcile, under a thousand events a second."""
    count = setting.size(3_000, quick=1_000)
    _, ours = _ours(setting, "paced", program.Options("", "latency", count))
    return Contest(ours=_figure(ours, which))


def rss(setting: Setting) -> Contest:
    """What a process holds that caches so many objects; all of it, the interpreter included.

    As many in a quick run, for fewer would be another figure; and a new process for each round, for one that
    has lived before holds what that has left behind.
    """
    options = program.Options("", "rss", 10_000)
    url = setting.keep(controller_server(ServerOptions(options.count, "listed")))

    def once() -> float:
        with closing(_start(options, url)) as ours:
            return _figure(ours, "rss")()

    return Contest(ours=once)


def idle(setting: Setting) -> Contest:
    """What a hundred watches cost on which nothing happens."""
    seconds = setting.size(10, quick=3)
    _, ours = _ours(setting, "silent", program.Options("", "idle", seconds=seconds))
    return Contest(ours=_figure(ours, "idle"))


def _ours(setting: Setting, course: Course, options: program.Options) -> tuple[str, PeerProcess]:
    url = setting.keep(controller_server(ServerOptions(max(options.count, 1), course)))
    return url, setting.keep(closing(_start(options, url)))


def _start(options: program.Options, url: str) -> PeerProcess:
    told: Any = msgspec.to_builtins(msgspec.structs.replace(options, url=url))
    return PeerProcess([sys.executable, "-m", "benchmarks._controller_program"], told)


def _figure(ours: PeerProcess, name: str) -> Callable[[], float]:
    return lambda: float(ours.ask({"round": True})[name])


ROWS: Final = (
    Row(
        "controller.throughput",
        RECONCILES_PER_SECOND,
        throughput,
        says="empty reconciles of 19,000 distinct custom resources, from the socket on",
        against="kopf",
        goal=Goal(at_least=30),
    ),
    Row(
        "controller.latency.p50",
        MILLISECONDS,
        partial(latency, which="p50"),
        says="from an event's byte to its reconcile, at 1,000 events a second: one half are faster",
        goal=Goal(at_most=0.5, of="ours"),
    ),
    Row(
        "controller.latency.p99",
        MILLISECONDS,
        partial(latency, which="p99"),
        says="the same: 99 of 100 are faster",
        goal=Goal(at_most=2.0, of="ours"),
    ),
    Row(
        "controller.rss",
        MEGABYTES,
        rss,
        says="resident memory with 10,000 custom resources cached",
        goal=Goal(at_most=50, of="ours"),
    ),
    Row(
        "controller.idle",
        PERCENT,
        idle,
        says="the processor's time that 100 watches take on which nothing comes",
        goal=Goal(at_most=0.2, of="ours"),
    ),
)
