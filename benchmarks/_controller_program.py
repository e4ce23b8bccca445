"""A controller of kubeproto with an empty reconcile, in a separate process.

Run as `python -m benchmarks._controller_program`, it reads its options as a JSON line and runs a round for
each further line, like a peer.
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import anyio
import msgspec

import kubeproto as kp
from benchmarks._controller_server import HOT
from kubeproto.config import Connection
from kubeproto_asyncio import AsyncioTransport
from kubeproto_runtime import Client, Context, Controller, Operator

_PATIENCE: Final = 120.0  # seconds for a round
WATCHES: Final = 100


class BookSpec(kp.Fields):
    """The typed spec; `sent` is the time at which the server sent the event."""

    title: str
    authors: list[str] = []
    pages: int = 0
    sent: float = 0.0


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """The objects of the controller."""


class Options(msgspec.Struct, frozen=True):
    """Options: the address of the server, the measurement and its size."""

    url: str
    measure: Literal["throughput", "hot", "latency", "rss", "idle"]
    count: int = 0
    seconds: float = 0.0


def throughput(options: Options) -> dict[str, Any]:
    """Return the seconds from the first byte of the first event to the reconcile of the last object."""
    keys: set[str] = set()
    finished_at = 0.0

    async def main() -> None:
        finished = anyio.Event()

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            nonlocal finished_at
            keys.add(ctx.key)
            if len(keys) == options.count:
                finished_at = time.monotonic()
                finished.set()

        await _operate(options, reconcile, finished.wait)

    cpu_times = _run_with_cpu_times(lambda: anyio.run(main))
    return {"seconds": finished_at - _start_time(options), "events": len(keys), **cpu_times}


def hot(options: Options) -> dict[str, Any]:
    """Return the same for a few objects that change repeatedly, until all last states are reconciled."""
    last: set[str] = set()
    finished_at, runs = 0.0, 0

    async def main() -> None:
        finished = anyio.Event()

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            nonlocal finished_at, runs
            runs += 1
            if book.spec.sent:
                last.add(ctx.key)
            if len(last) == HOT:
                finished_at = time.monotonic()
                finished.set()

        await _operate(options, reconcile, finished.wait)

    cpu_times = _run_with_cpu_times(lambda: anyio.run(main))
    return {"seconds": finished_at - _start_time(options), "events": options.count, "runs": runs, **cpu_times}


def _run_with_cpu_times(run: Callable[[], None]) -> dict[str, float]:
    usage_before = resource.getrusage(resource.RUSAGE_SELF)
    run()
    usage_after = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "user": usage_after.ru_utime - usage_before.ru_utime,
        "system": usage_after.ru_stime - usage_before.ru_stime,
    }


def _start_time(options: Options) -> float:
    # It imports much that a controller does not need, and `rss` would count it.
    import urllib.request

    with urllib.request.urlopen(f"{options.url}/began") as answer:
        started: float = json.load(answer)["began"]
    return started


def latency(options: Options) -> dict[str, Any]:
    """Return the milliseconds from the byte of each object's first event to the start of its reconcile."""
    waits: dict[str, float] = {}

    async def main() -> None:
        finished = anyio.Event()

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            waits.setdefault(ctx.key, (time.monotonic() - book.spec.sent) * 1000)
            if len(waits) == options.count:
                finished.set()

        await _operate(options, reconcile, finished.wait)

    cpu_times = _run_with_cpu_times(lambda: anyio.run(main))
    return {"waits": list(waits.values()), "events": len(waits), **cpu_times}


def rss(options: Options) -> dict[str, float]:
    """Return the megabytes of this process with all objects cached and reconciled once."""
    figure = 0.0

    async def main() -> None:
        nonlocal figure
        finished, remaining = anyio.Event(), options.count

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            nonlocal remaining
            remaining -= 1
            if not remaining:
                finished.set()

        async def settle() -> None:
            nonlocal figure
            await finished.wait()
            await anyio.sleep(1)
            gc.collect()
            resident = int(Path("/proc/self/statm").read_text().split()[1])
            figure = resident * 4096 / 1e6

        await _operate(options, reconcile, settle)

    anyio.run(main)
    return {"rss": figure, "events": options.count}


def idle(options: Options) -> dict[str, float]:
    """Return the share of a core, in percent, that a hundred silent watches take."""
    figure = 0.0

    async def main() -> None:
        async def reconcile(book: Book, ctx: Context[None]) -> None:
            raise AssertionError("there is nothing to reconcile")

        async def measure() -> None:
            nonlocal figure
            await anyio.sleep(2)
            started, cpu_times = time.monotonic(), time.process_time()
            await anyio.sleep(options.seconds)
            figure = 100 * (time.process_time() - cpu_times) / (time.monotonic() - started)

        await _operate(options, reconcile, measure, namespace=[f"library-{n}" for n in range(WATCHES)])

    anyio.run(main)
    return {"idle": figure, "events": WATCHES}


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


_MEASURES: Final = {"throughput": throughput, "hot": hot, "latency": latency, "rss": rss, "idle": idle}


def main() -> None:
    options = msgspec.json.decode(sys.stdin.readline(), type=Options)
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        print(json.dumps(_MEASURES[options.measure](options)), flush=True)


if __name__ == "__main__":
    main()
