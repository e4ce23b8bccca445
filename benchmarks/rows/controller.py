"""A complete controller: from a server's socket through transport, decoder, Store and queue to a reconcile.

Server and controller are separate processes, the controller with its metrics, on asyncio. kopf handles
the same events of the same server in the same rounds, in its cheapest form; so do controllers of controller-
runtime, with a single worker by default, and of kube-rs. All of them type their cached objects except kopf,
which has dicts.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from statistics import median, quantiles
from typing import Any, Final

import msgspec

from benchmarks import _controller_program as program
from benchmarks._contenders import Peer, ProcessProbe, peers
from benchmarks._controller_server import FLOOD, PACE, Course, Options as ServerOptions, controller_server
from benchmarks._measure import ROUNDS, Contest, Further, MeteredProbe, MissingRequirement, Probe, Unit
from benchmarks._peers import PeerProcess
from benchmarks._rows import EVENTS_PER_SECOND, LATENCY, MEGABYTES, MILLISECONDS, Goal, Row, Setting

RECONCILES_PER_SECOND: Final = Unit("reconciles/s", more_is_better=True)
PERCENT: Final = Unit("% of a core")


COMPILED: Final = {"controller-runtime": "client_go", "kube-rs": "kube_rs"}
SLOW_PACE: Final = 100.0
FAST_PACE: Final = 5_000.0


def throughput(setting: Setting) -> Contest:
    """Measure empty reconciles of distinct objects per second, of kubeproto and others in the same rounds."""
    count = setting.size(19_000, quick=2_000)
    url, begin = _ours(setting, ServerOptions(count, "burst"), program.Options("", "throughput", count))

    def figure(reply: Any) -> float:
        return count / float(reply["seconds"])

    rivals = peers(setting, {"kopf": "kopf", **COMPILED}, "throughput", count, figure, url=url, count=count)
    return Contest(ours=ProcessProbe(begin, count, figure, "ours"), baseline=rivals.pop("kopf"), peers=rivals)


def hot(setting: Setting) -> Contest:
    """Measure the events a second of ten objects, most of which are superseded before their reconcile."""
    count = setting.size(40_000, quick=10_000)
    _, begin = _ours(setting, ServerOptions(count, "hot"), program.Options("", "hot", count))
    runs = list[int]()

    def figure(reply: Any) -> float:
        runs.append(reply["runs"])
        return count / float(reply["seconds"])

    return Contest(
        ours=ProcessProbe(begin, count, figure, "ours"),
        also=lambda: {"reconciles a round": {"ours": median(runs)}},
    )


def latency(setting: Setting, percentile: float, pace: float = PACE, course: Course = "paced") -> Contest:
    """Measure the time from an event's byte to the start of its reconcile, at this rate.

    Rows that differ only in `percentile` use the same rounds if they are measured in one run.
    """
    measured: dict[str, LatencySamples] = setting.shared.setdefault(
        f"latency, {course}, {pace:g} a second", {}
    )
    if not measured:
        measured |= paced(setting, pace, course)
    probes = {name: waits.probe(percentile) for name, waits in measured.items()}

    def also() -> Further:
        tenths = {
            name: quantiles(waits.all(), n=1000, method="inclusive")
            for name, waits in measured.items()
            if waits.all()
        }
        return {
            f"{LATENCY} {percent:g} %": {
                name: tenth[round(percent * 10) - 1] for name, tenth in tenths.items()
            }
            for percent in (10, 25, 50, 75, 90, 95, 99, 99.9)
        }

    rounds_before = len(measured["ours"].rounds)
    rounds = rounds_before - 1 if rounds_before else ROUNDS
    return Contest(ours=probes.pop("ours"), peers=probes, also=also, rounds=rounds)


def paced(setting: Setting, pace: float, course: Course) -> dict[str, "LatencySamples"]:
    """Start the contenders of a row of latencies."""
    count = setting.size(3_000, quick=400) if pace != SLOW_PACE else setting.size(300, quick=60)
    if course == "flooded":
        count = setting.size(500, quick=100)
    total_events = count * (FLOOD + 1) if course == "flooded" else count
    url, begin = _ours(
        setting, ServerOptions(count, course, pace=pace), program.Options("", "latency", count)
    )
    names = (
        {"kopf": "kopf", **COMPILED} if pace != FAST_PACE else COMPILED
    )  # kopf cannot follow at 5,000 a second
    contenders = {
        "ours": LatencySamples(
            lambda figure: ProcessProbe(begin, count, figure, "ours", total_events=total_events)
        )
    }
    for label, name in names.items():
        contenders[label] = LatencySamples(partial(_rival, setting, name, count, total_events, url))
    return contenders


def _rival(
    setting: Setting, name: str, count: int, total_events: int, url: str, figure: Callable[[Any], float]
) -> Probe:
    return Peer(setting, name, "latency", count, figure, total_events=total_events, url=url, count=count)


class LatencySamples:
    """The latencies of a contender by round: measured by the first row, and reused by others."""

    def __init__(self, make: Callable[[Callable[[Any], float]], Probe]) -> None:
        """Store `make`, which takes a function from reply to seconds, and returns the probe."""
        self.rounds: list[list[float]] = []
        self._make = make
        self._probe: Probe | None = None

    def probe(self, percent: float) -> Probe:
        """Return a probe of this percentile, which measures or repeats the measured rounds."""

        def figure(waits: Sequence[float]) -> float:
            return float(quantiles(waits, n=1000, method="inclusive")[round(percent * 10) - 1])

        def record(answer: Any) -> float:
            self.rounds.append(answer["waits"])
            return figure(answer["waits"])

        if self._probe is None:
            self._probe = self._make(record)
            return self._probe
        return RepeatedProbe([figure(waits) for waits in self.rounds], self._probe)

    def all(self) -> list[float]:
        """Return the latencies after the round that warms up."""
        return [wait for waits in self.rounds[1:] for wait in waits]


class RepeatedProbe:
    """A probe that repeats the figures of earlier rounds."""

    def __init__(self, figures: Sequence[float], measured: Probe) -> None:
        self._figures = iter(figures)
        self._measured = measured

    def __call__(self) -> float:
        for figure in self._figures:
            return figure
        raise MissingRequirement("it was not measured where these rounds were")

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Return the CPU time of the measured rounds."""
        return self._measured.cpu_times if isinstance(self._measured, MeteredProbe) else None


def rss(setting: Setting) -> Contest:
    """Measure the resident memory of a process with cached objects, the interpreter included.

    A quick run uses as many objects, since fewer give another figure, and each round a new process, since a
    used one keeps memory.
    """
    options = program.Options("", "rss", 10_000)
    url = setting.enter_context(controller_server(ServerOptions(options.count, "listed")))

    def once() -> float:
        with closing(_start(options, url)) as ours:
            return float(ours.run_round(options.count)["rss"])

    def theirs(name: str) -> Probe:
        def peer() -> float:
            with setting.peers.start(name, "rss", url=url, count=options.count) as started:
                return float(started.run_round(options.count)["rss"])

        return peer

    # It hardly varies.
    rivals = {label: theirs(name) for label, name in COMPILED.items()}
    return Contest(ours=once, peers=rivals, rounds=setting.size(3, quick=1))


def idle(setting: Setting) -> Contest:
    """Measure the cost of a hundred silent watches."""
    seconds = setting.size(10, quick=1)
    _, begin = _ours(setting, ServerOptions(1, "silent"), program.Options("", "idle", seconds=seconds))
    ours = ProcessProbe(begin, program.WATCHES, lambda reply: float(reply["idle"]), "ours")
    return Contest(
        ours=ours, rounds=setting.size(3, quick=1)
    )  # it hardly varies, and takes its seconds in real time


def _ours(
    setting: Setting, server: ServerOptions, options: program.Options
) -> tuple[str, Callable[[], PeerProcess]]:
    url = setting.enter_context(controller_server(server))
    return url, lambda: setting.enter_context(closing(_start(options, url)))


def _start(options: program.Options, url: str) -> PeerProcess:
    arguments: Any = msgspec.to_builtins(msgspec.structs.replace(options, url=url))
    return PeerProcess([sys.executable, "-m", "benchmarks._controller_program"], arguments)


def _latency(name: str, percentile: float, summary: str, goal: Goal | None, pace: float = PACE) -> Row:
    return Row(
        f"controller.latency.{name}",
        MILLISECONDS,
        partial(latency, percentile=percentile, pace=pace),
        summary=f"from an event's byte to its reconcile, at {pace:,.0f} events a second: {summary}",
        goal=goal,
    )


ROWS: Final = (
    Row(
        "controller.throughput",
        RECONCILES_PER_SECOND,
        throughput,
        summary="empty reconciles of 19,000 distinct custom resources, from the socket on",
        against="kopf",
        goal=Goal(at_least=40),
    ),
    Row(
        "controller.hot",
        EVENTS_PER_SECOND,
        hot,
        summary="events of ten objects that change all the time, until the last state of each was reconciled",
    ),
    _latency("p50", 50, "one half are faster", Goal(at_most=0.5, of="ours")),
    _latency("p99", 99, "99 of 100 are faster", Goal(at_least=1.0, of="controller-runtime")),
    _latency("p999", 99.9, "999 of 1,000 are faster", Goal(at_least=1.0, of="controller-runtime")),
    _latency("100.p99", 99, "99 of 100 are faster", None, SLOW_PACE),
    _latency("5000.p99", 99, "99 of 100 are faster", None, FAST_PACE),
    Row(
        "controller.fairness",
        MILLISECONDS,
        partial(latency, percentile=99, pace=FAST_PACE, course="flooded"),
        summary="the same at 5,000 events a second, 20 in 21 of one object: 99 of 100 others are faster",
    ),
    Row(
        "controller.rss",
        MEGABYTES,
        rss,
        summary="resident memory with 10,000 custom resources cached",
        goal=Goal(at_most=50, of="ours"),
    ),
    Row(
        "controller.idle",
        PERCENT,
        idle,
        summary="the processor's time that 100 watches take on which nothing comes",
        goal=Goal(at_most=0.2, of="ours"),
    ),
)
