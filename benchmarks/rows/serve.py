"""The simulated API server on a port, measured from another process, compared with a real control plane."""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from benchmarks._contenders import omitted_peer
from benchmarks._data import pods
from benchmarks._hammer import CONNECTIONS, Server, fan_out, hammer, open_watches, real, simulated
from benchmarks._measure import Contest, DeferredProbe, Further, Probe, Unit
from benchmarks._rows import EVENTS_PER_SECOND, SECONDS, Goal, Row, Setting

MAPS: Final = "/api/v1/namespaces/default/configmaps"
PODS: Final = "/api/v1/namespaces/default/pods"
SECRETS: Final = "/api/v1/namespaces/default/secrets"
WATCHERS: Final = 100
IDLE: Final = 1000
SLOW: Final = 100
REQUESTS_PER_SECOND: Final = Unit("requests/s", more_is_better=True)
REAL: Final = "control plane"


class ServerCosts:
    """The CPU time of servers in the rounds of a row, which is more stable than time on a busy machine."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._spent: dict[str, list[float]] = {}

    def measure_cpu(self, name: str, server: Server, count: int, probe: Callable[[], float]) -> Probe:
        """Return the probe, with the CPU time of its server divided by this number."""

        def probed() -> float:
            cpu_before = server.cpu()
            figure = probe()
            self._spent.setdefault(name, []).append((server.cpu() - cpu_before) / count * 1e6)
            return figure

        return probed

    def __call__(self) -> Further:
        return {
            f"µs of the server's CPU {self._unit}": {name: min(times) for name, times in self._spent.items()},
        }


def config_map(name: str, text: str) -> bytes:
    """Return a ConfigMap as a client writes it."""
    return msgspec.json.encode(
        {"metadata": {"name": name, "labels": {"app": "bench"}}, "data": {"text": text}}
    )


def creations(server: Server, count: int, turn: int) -> list[bytes]:
    """Yield requests that create new objects in each turn."""
    return [
        server.request("POST", MAPS, config_map(f"t{turn}-{number:06}", "x" * 100)) for number in range(count)
    ]


def compare_with_control_plane(
    setting: Setting, costs: ServerCosts, count: int, make: Callable[[Server], Probe]
) -> Contest:
    """Compare the simulated server with the real one, if it is built."""
    server = setting.enter_context(simulated("--empty"))

    def control_plane() -> Probe:
        control_plane_server = setting.enter_context(real())
        return costs.measure_cpu(REAL, control_plane_server, count, make(control_plane_server))

    ours = costs.measure_cpu("ours", server, count, make(server))
    return Contest(ours=ours, peers={REAL: DeferredProbe(control_plane)}, also=costs)


def gets(setting: Setting) -> Contest:
    """Measure reads of small objects, one after the other."""
    count = setting.size(10_000, quick=2_000)

    def make(server: Server) -> Probe:
        hammer(server, creations(server, 100, 0))
        requests = [server.request("GET", f"{MAPS}/t0-{number % 100:06}") for number in range(count)]
        return lambda: count / hammer(server, requests)

    return compare_with_control_plane(setting, ServerCosts("a request"), count, make)


def writes(setting: Setting) -> Contest:
    """Measure creations of small objects."""
    count = setting.size(5_000, quick=1_000)

    def make(server: Server) -> Probe:
        turns = iter(range(1_000_000))
        return lambda: count / hammer(server, creations(server, count, next(turns)))

    return compare_with_control_plane(setting, ServerCosts("a request"), count, make)


def listing(setting: Setting) -> Contest:
    """Measure a list of all pods, in a single response."""
    count = setting.size(10_000, quick=10_000)
    renamed_pods = [_renamed(pod, number) for number, pod in enumerate(pods(count))]
    folder = Path(setting.enter_context(tempfile.TemporaryDirectory()))
    (folder / "pods.json").write_bytes(
        b'{"apiVersion":"v1","kind":"List","items":[%b]}' % b",".join(renamed_pods)
    )
    costs = ServerCosts("a list")

    def probe(server: Server) -> float:
        started = time.perf_counter()
        hammer(server, [server.request("GET", "/api/v1/pods")], connections=1)
        return time.perf_counter() - started

    def control_plane() -> Probe:
        if setting.quick:  # storing that many pods takes minutes
            omitted_peer()
        server = setting.enter_context(real())
        hammer(server, [server.request("POST", PODS, pod) for pod in renamed_pods])
        names = [(f"{PODS}/p{number:06}/status", pod) for number, pod in enumerate(renamed_pods)]
        hammer(server, [server.request("PUT", target, pod) for target, pod in names])
        return costs.measure_cpu(REAL, server, 1, lambda: probe(server))

    server = setting.enter_context(simulated("--empty", "--load", str(folder / "pods.json")))
    ours = costs.measure_cpu("ours", server, 1, lambda: probe(server))
    return Contest(ours=ours, peers={REAL: DeferredProbe(control_plane)}, also=costs)


def _renamed(pod: bytes, number: int) -> bytes:
    obj = msgspec.json.decode(pod)
    obj["metadata"] = {
        "name": f"p{number:06}",
        "namespace": "default",
        "labels": obj["metadata"].get("labels"),
    }
    # A real control plane removes pods of a node that does not exist.
    obj["spec"].pop("nodeName", None)
    return msgspec.json.encode(obj)


def fanout(setting: Setting) -> Contest:
    """Measure writes of a process until a hundred watches of another process have seen them."""
    count = setting.size(1_000, quick=200)
    target = f"{MAPS}?watch=1&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"

    def make(server: Server) -> Probe:
        turns = iter(range(1_000_000))
        return lambda: (
            WATCHERS * count / fan_out(server, target, WATCHERS, creations(server, count, next(turns)))
        )

    return compare_with_control_plane(setting, ServerCosts("an event"), WATCHERS * count, make)


def watched_writes(setting: Setting) -> Contest:
    """Measure creations while many watches are idle, and others on these objects are never read."""
    count = setting.size(2_000, quick=500)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    costs, memory = ServerCosts("a request"), list[float]()

    def make(server: Server) -> Probe:
        turns = iter(range(1_000_000))
        return lambda: count / hammer(server, creations(server, count, next(turns)))

    quiet, busy = (setting.enter_context(simulated("--empty")) for _ in range(2))
    watches = open_watches(busy, f"{SECRETS}?watch=1", IDLE)
    watches += open_watches(busy, f"{MAPS}?watch=1", SLOW, buffer=4096)
    for watch in watches:
        setting.enter_context(watch)
    create = make(busy)

    def ours() -> float:
        figure = create()
        memory.append(busy.memory())
        return figure

    def also() -> Further:
        return {**costs(), "MiB of the server with watches": {"first": memory[0], "last": memory[-1]}}

    return Contest(
        ours=costs.measure_cpu("with watches", busy, count, ours),
        baseline=costs.measure_cpu("without", quiet, count, make(quiet)),
        also=also,
    )


def start(setting: Setting) -> Contest:
    """Measure the time from the start of the command to the end of the first response of a new cluster."""
    del setting
    cpu_times = list[float]()

    def probe() -> float:
        started = time.perf_counter()
        with simulated() as server:
            hammer(server, [server.request("GET", "/api/v1/namespaces")], connections=1)
            took = time.perf_counter() - started
            cpu_times.append(server.cpu())
        return took

    def python() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import asyncio, msgspec, anyio"], check=True)
        return time.perf_counter() - started

    return Contest(ours=probe, baseline=python, also=lambda: {"s of CPU": {"ours": min(cpu_times)}})


ROWS: Final = (
    Row(
        "serve.gets",
        REQUESTS_PER_SECOND,
        gets,
        f"gets over {CONNECTIONS} connections",
        goal=Goal(at_least=3000, of="ours"),
    ),
    Row(
        "serve.writes",
        REQUESTS_PER_SECOND,
        writes,
        f"creations over {CONNECTIONS} connections",
        goal=Goal(at_least=1500, of="ours"),
    ),
    Row(
        "serve.list",
        SECONDS,
        listing,
        "a list of 10,000 pods in one response",
        goal=Goal(at_most=1.0, of="ours"),
    ),
    Row("serve.fanout", EVENTS_PER_SECOND, fanout, "events delivered to 100 watches while somebody writes"),
    Row(
        "serve.watched",
        REQUESTS_PER_SECOND,
        watched_writes,
        f"creations while {IDLE} watches are idle and {SLOW} are not read",
        against="the same without watches",
    ),
    Row(
        "serve.start",
        SECONDS,
        start,
        "from the start of kubeproto serve to its first response",
        against="python importing asyncio, msgspec and anyio",
        goal=Goal(at_most=0.5, of="ours"),
    ),
)
