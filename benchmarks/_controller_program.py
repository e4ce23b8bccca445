"""A controller of ours that does nothing, in a process of its own: a program as users have it, and its cost.

Run as `python -m benchmarks._controller_program`, it reads its options as one JSON line and takes its turn
for each further line, as a peer does.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any, Final, Literal

import anyio
import msgspec

import kubeproto as kp
from kubeproto.config import Connection
from kubeproto_asyncio import AsyncioTransport
from kubeproto_runtime import Client, Context, Controller, Operator

_PATIENCE: Final = 120.0  # seconds for one round
_WATCHES: Final = 100


class BookSpec(kp.Fields):
    """What a reconcile reads is typed; `sent` is when the event left, where the server says so."""

    title: str
    authors: list[str] = []
    pages: int = 0
    sent: float = 0.0


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """What the controller has."""


class Options(msgspec.Struct, frozen=True):
    """Where the server is, what is measured, and how much of it."""

    url: str
    measure: Literal["throughput", "latency", "rss", "idle"]
    count: int = 0
    seconds: float = 0.0


def throughput(options: Options) -> dict[str, float]:
    """Seconds from the first byte of the first event to the reconcile of the last object."""
    seen: set[str] = set()
    ended = 0.0

    async def main() -> None:
        done = anyio.Event()

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            nonlocal ended
            seen.add(ctx.key)
            if len(seen) == options.count:
                ended = time.monotonic()
                done.set()

        await _operate(options, reconcile, done.wait)

    anyio.run(main)
    # It brings much along that a controller does not need, and `rss` would count it.
    import urllib.request

    with urllib.request.urlopen(f"{options.url}/began") as answer:
        began: float = json.load(answer)["began"]
    return {"seconds": ended - began, "events": len(seen)}


def latency(options: Options) -> dict[str, float]:
    """Milliseconds from an event's byte to the start of its reconcile, of one half and of 99 of 100."""
    waits: list[float] = []

    async def main() -> None:
        done = anyio.Event()

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            waits.append(time.monotonic() - book.spec.sent)
            if len(waits) == options.count:
                done.set()

        await _operate(options, reconcile, done.wait)

    anyio.run(main)
    hundredths = quantiles(waits, n=100)
    return {"p50": hundredths[49] * 1000, "p99": hundredths[98] * 1000, "events": len(waits)}


def rss(options: Options) -> dict[str, float]:
    """Megabytes of this process, with all objects cached and reconciled once."""
    figure = 0.0

    async def main() -> None:
        nonlocal figure
        done, left = anyio.Event(), options.count

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            nonlocal left
            left -= 1
            if not left:
                done.set()

        async def settle() -> None:
            nonlocal figure
            await done.wait()
            await anyio.sleep(1)
            gc.collect()
            resident = int(Path("/proc/self/statm").read_text().split()[1])
            figure = resident * 4096 / 1e6

        await _operate(options, reconcile, settle)

    anyio.run(main)
    return {"rss": figure, "events": options.count}


def idle(options: Options) -> dict[str, float]:
    """Percent of a core that a hundred watches take on which nothing comes."""
    figure = 0.0

    async def main() -> None:
        async def reconcile(book: Book, ctx: Context[None]) -> None:
            raise AssertionError("there is nothing to reconcile")

        async def rest() -> None:
            nonlocal figure
            await anyio.sleep(2)
            begun, spent = time.monotonic(), time.process_time()
            await anyio.sleep(options.seconds)
            figure = 100 * (time.process_time() - spent) / (time.monotonic() - begun)

        await _operate(options, reconcile, rest, namespace=[f"library-{n}" for n in range(_WATCHES)])

    anyio.run(main)
    return {"idle": figure, "events": _WATCHES}


async def _operate(
    options: Options, reconcile: Any, until: Callable[[], Any], namespace: Any = kp.ALL
) -> None:
    async with AsyncioTransport(Connection(server=options.url)) as transport:
        operator = Operator()
        controller = Controller(Client(transport), Book, namespace=namespace)
        with anyio.fail_after(_PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, controller.run(reconcile))
                await until()
                operator.stop()


_MEASURES: Final = {"throughput": throughput, "latency": latency, "rss": rss, "idle": idle}


def main() -> None:
    options = msgspec.json.decode(sys.stdin.readline(), type=Options)
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(_MEASURES[options.measure](options)), flush=True)


if __name__ == "__main__":
    main()
