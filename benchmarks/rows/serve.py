"""The simulated API server on a port, from outside of its process: requests, a list, and many watches."""

import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from benchmarks._data import pods
from benchmarks._hammer import Server, fan_out, hammer, simulated
from benchmarks._measure import Contest, Unit
from benchmarks._rows import EVENTS_PER_SECOND, SECONDS, Goal, Row, Setting

MAPS: Final = "/api/v1/namespaces/default/configmaps"
WATCHERS: Final = 100
REQUESTS_PER_SECOND: Final = Unit("requests/s", more_is_better=True)


def config_map(name: str, text: str) -> bytes:
    """A ConfigMap as a client writes it."""
    return msgspec.json.encode(
        {"metadata": {"name": name, "labels": {"app": "bench"}}, "data": {"text": text}}
    )


def creations(server: Server, count: int, turn: int) -> list[bytes]:
    """Requests that create objects, others in each turn."""
    return [
        server.request("POST", MAPS, config_map(f"t{turn}-{number:06}", "x" * 100)) for number in range(count)
    ]


def gets(setting: Setting) -> Contest:
    """Reading one small object after the other."""
    count = setting.size(10_000, quick=2_000)
    server = setting.keep(simulated("--empty"))
    hammer(server, creations(server, 100, 0))
    requests = [server.request("GET", f"{MAPS}/t0-{number % 100:06}") for number in range(count)]
    return Contest(ours=lambda: count / hammer(server, requests))


def writes(setting: Setting) -> Contest:
    """Creating small objects."""
    count = setting.size(5_000, quick=1_000)
    server = setting.keep(simulated("--empty"))
    turns = iter(range(1_000_000))

    def probe() -> float:
        requests = creations(server, count, next(turns))
        return count / hammer(server, requests)

    return Contest(ours=probe)


def listing(setting: Setting) -> Contest:
    """One list of all pods, in one response."""
    count = setting.size(10_000, quick=10_000)
    folder = Path(setting.keep(tempfile.TemporaryDirectory()))
    items = b",".join(_renamed(pod, number) for number, pod in enumerate(pods(count)))
    (folder / "pods.json").write_bytes(b'{"apiVersion":"v1","kind":"List","items":[%b]}' % items)
    server = setting.keep(simulated("--empty", "--load", str(folder / "pods.json")))
    request = [server.request("GET", "/api/v1/pods")]

    def probe() -> float:
        begun = time.perf_counter()
        hammer(server, request, connections=1)
        return time.perf_counter() - begun

    return Contest(ours=probe)


def _renamed(pod: bytes, number: int) -> bytes:
    obj = msgspec.json.decode(pod)
    obj["metadata"] = {
        "name": f"p{number:06}",
        "namespace": "default",
        "labels": obj["metadata"].get("labels"),
    }
    return msgspec.json.encode(obj)


def fanout(setting: Setting) -> Contest:
    """Writes of one process, seen by a hundred watches of another."""
    count = setting.size(1_000, quick=200)
    server = setting.keep(simulated("--empty"))
    turns = iter(range(1_000_000))
    target = f"{MAPS}?watch=1&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"

    def probe() -> float:
        requests = creations(server, count, next(turns))
        return WATCHERS * count / fan_out(server, target, WATCHERS, requests)

    return Contest(ours=probe)


ROWS: Final = (
    Row(
        "serve.gets",
        REQUESTS_PER_SECOND,
        gets,
        "gets over eight connections",
        goal=Goal(at_least=3000, of="ours"),
    ),
    Row(
        "serve.writes",
        REQUESTS_PER_SECOND,
        writes,
        "creations over eight connections",
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
)
