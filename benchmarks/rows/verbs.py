"""Verbs a second, one after the other: the cost of clients for small objects.

The server is the simulated server on a port, or the real control plane if it is built. Each client reuses its
connection and types its responses as its documentation shows; kr8s and pykube-ng return dicts. The time of
the server is the same for all, so CPU time is the better measure.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from itertools import count
from typing import Any, Final, Literal

from benchmarks._contenders import FunctionProbe, kubeconfig, omitted_peer, peers
from benchmarks._hammer import Server, hammer, real, simulated
from benchmarks._measure import Contest, Probe
from benchmarks._rows import Row, Setting
from benchmarks.rows.serve import MAPS, REQUESTS_PER_SECOND, config_map
from kubeproto.config import Connection
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.objects import ObjectMeta
from kubeproto_asyncio import AsyncioTransport
from kubeproto_httpx import BlockingHttpxTransport
from kubeproto_runtime import Client
from kubeproto_runtime.blocking import BlockingClient

Verb = Literal["get", "create"]
THERE: Final = 100  # objects to read, one after the other
TEXT: Final = "x" * 100
NAMES: Final = {
    name: name
    for name in ("cloudcoil", "kr8s", "kubernetes", "kubernetes_asyncio", "kubesdk", "lightkube", "pykube_ng")
}


QUICKLY: Final = ("lightkube", "kubesdk")  # contenders of a quick run


def over(server: Server) -> Connection:
    """Return the connection of a client to a server."""
    options = server.options()
    authority, authorization = str(options["authority"]), str(options["authorization"])
    return Connection(
        server=url(server), ca=authority.encode(),
        headers=(("Authorization", authorization),) if authorization else (),
    )  # fmt: skip


def url(server: Server) -> str:
    """Return the address of a server."""
    scheme = "https" if server.options()["authority"] else "http"
    return f"{scheme}://127.0.0.1:{server.port}"


def names(verb: Verb, many: int, prefix: str, fresh: "count[int]") -> list[str]:
    """Return existing or new names."""
    if verb == "get":
        return [f"there-{index % THERE}" for index in range(many)]
    return [f"{prefix}-{next(fresh)}" for _ in range(many)]


@contextmanager
def on_asyncio(server: Server, verb: Verb, many: int) -> Generator[Callable[[], int]]:
    """Return a run of kubeproto's client on asyncio, over a reused connection."""
    fresh = count()
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        transport = runner.run(stack.enter_async_context(AsyncioTransport(over(server))))
        maps = Client(transport).api(ConfigMap, namespace="default")

        async def create(name: str) -> object:
            return await maps.create(ConfigMap(metadata=ObjectMeta(name=name), data={"text": TEXT}))

        call: Callable[[str], Awaitable[object]] = create if verb == "create" else maps.get

        async def main() -> int:
            for name in names(verb, many, "asyncio", fresh):
                await call(name)
            return many

        try:
            yield lambda: runner.run(main())
        finally:
            runner.run(stack.aclose())


@contextmanager
def blocking(server: Server, verb: Verb, many: int) -> Generator[Callable[[], int]]:
    """Return a run of kubeproto's blocking client over httpx."""
    fresh = count()
    with BlockingHttpxTransport(over(server)) as transport:
        maps = BlockingClient(transport).api(ConfigMap, namespace="default")

        def create(name: str) -> object:
            return maps.create(ConfigMap(metadata=ObjectMeta(name=name), data={"text": TEXT}))

        call: Callable[[str], object] = create if verb == "create" else maps.get

        def run() -> int:
            for name in names(verb, many, "blocking", fresh):
                call(name)
            return many

        yield run


def calls(setting: Setting, verb: Verb, *, control_plane: bool = False) -> Contest:
    """Compare kubeproto on asyncio with lightkube, and all others in the same rounds."""
    if control_plane and setting.quick:
        omitted_peer()
    many = setting.size(200, quick=50)
    server = setting.enter_context(real() if control_plane else simulated("--empty"))
    for number in range(THERE):
        hammer(server, [server.request("POST", MAPS, config_map(f"there-{number}", TEXT))], connections=1)
    options = server.options()
    token = str(options["authorization"]).removeprefix("Bearer ")
    file = setting.enter_context(kubeconfig(url(server), str(options["authority"]), token=token))

    def figure(seconds: float) -> float:
        return many / seconds

    rivals: dict[str, Probe] = {}
    for label, name in NAMES.items():
        if setting.quick and name not in QUICKLY:
            rivals[label] = omitted_peer
            continue
        rivals |= peers(
            setting, {label: name}, "verbs", many, lambda reply: figure(float(reply["seconds"])),
            verb=verb, count=many, there=THERE, prefix=name.replace("_", "-"), text=TEXT,
            kubeconfig=str(file),
        )  # fmt: skip
    baseline = rivals.pop("lightkube")
    clock = time.perf_counter
    rivals["ours, blocking"] = FunctionProbe(
        setting.enter_context(blocking(server, verb, many)), many, figure, clock=clock
    )
    ours = FunctionProbe(setting.enter_context(on_asyncio(server, verb, many)), many, figure, clock=clock)
    return Contest(ours=ours, baseline=baseline, peers=rivals)


def _row(verb: Verb, *, control_plane: bool) -> Row:
    action = "small ConfigMaps read" if verb == "get" else "small ConfigMaps created"
    place_of_server = "on the real control plane, over TLS" if control_plane else "on the simulated server"
    make: Any = partial(calls, verb=verb, control_plane=control_plane)
    return Row(
        f"verbs.{verb}{'.real' if control_plane else ''}", REQUESTS_PER_SECOND, make,
        summary=f"{action} one after the other {place_of_server}, each typed", against="lightkube",
    )  # fmt: skip


VERBS: Final[tuple[Verb, ...]] = ("get", "create")
ROWS: Final = tuple(_row(verb, control_plane=plane) for verb in VERBS for plane in (False, True))
