"""No error and no result of a user's function ends an operator, or the retries of its key, by its methods.

Each callback of a controller raises each hostile error, and returns each hostile result: the operator must
continue, the key must be retried, other keys must be reconciled, and a line of the log must name the type.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import contextmanager
from itertools import pairwise
from math import nan
from traceback import format_tb
from typing import Any, Final

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
from kubeproto.control import Action, Change
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Caches, Context, Controller, LeaderElector, Operator
from kubeproto_runtime.logs import JsonFormatter, TextFormatter
from kubeproto_runtime.testing import SimulatedClient, simulated

__all__ = ["go"]


class HostileError(Exception):
    """The base of errors whose methods raise; a test looks for `Hostile` in the log."""


class HostileStr(HostileError):
    def __str__(self) -> str:
        return str(self.args[1])


class HostileRecursion(HostileError):
    def __str__(self) -> str:
        return str(self)


class HostileCancellation(HostileError):
    def __str__(self) -> str:
        raise asyncio.CancelledError


class HostileText(HostileError):
    def __str__(self) -> Any:
        return 7


class HostileRepr(HostileError):
    def __repr__(self) -> str:
        raise LookupError


class HostileNotes(HostileError):
    @property
    def __notes__(self) -> list[str]:  # type: ignore[override] # pyright: ignore[reportIncompatibleVariableOverride]
        raise LookupError


class HostileComparison(HostileError):
    __hash__ = None  # type: ignore[assignment] # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        raise LookupError


class HostileClass(HostileError):
    @property  # type: ignore[misc]
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise LookupError


class HostileApiError(kp.ApiError):
    def __init__(self) -> None:
        """Lack all attributes of the base."""

    def __str__(self) -> str:
        raise LookupError


class HostileConflict(kp.Conflict):
    def __init__(self) -> None:
        """Lack all attributes of the base."""


class HostileTransportError(kp.TransportError):
    def __str__(self) -> str:
        raise LookupError


class _Meta(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override] # pyright: ignore[reportIncompatibleVariableOverride]
        raise LookupError


class HostileName(HostileError, metaclass=_Meta):
    """An error whose class has no readable name."""


def cyclic() -> Exception:
    first, second = HostileStr(), HostileStr()
    first.__cause__, second.__cause__ = second, first
    return first


def deep() -> Exception:
    error = HostileError()
    for _ in range(1200):
        cause, error = error, HostileError()
        error.__cause__ = cause
    return error


def nested() -> Exception:
    error: Exception = HostileStr()
    for _ in range(300):
        members: list[Exception] = [error, HostileNotes()]
        error = ExceptionGroup("Hostile", members)
    return error


ERRORS: Final[dict[str, Callable[[], BaseException]]] = {
    "str": HostileStr,
    "recursion": HostileRecursion,
    "cancelled str": HostileCancellation,
    "no text": HostileText,
    "repr": HostileRepr,
    "notes": HostileNotes,
    "comparison": HostileComparison,
    "class": HostileClass,
    "api error": HostileApiError,
    "conflict": HostileConflict,
    "transport error": HostileTransportError,
    "name": HostileName,
    "cyclic": cyclic,
    "deep": deep,
    "nested": nested,
    "group": lambda: ExceptionGroup("Hostile", [HostileStr(), HostileRepr()]),
    "stray cancellation": lambda: asyncio.CancelledError("Hostile"),
}
FORMATTERS: Final = (JsonFormatter(), TextFormatter(), logging.Formatter())


class Lines(logging.Handler):
    """The lines of the log, which a handler must be able to format."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts += [formatter.format(record) for formatter in FORMATTERS]


@contextmanager
def logged() -> Generator[list[str]]:
    """Collect the lines of the package; other handlers, such as those of pytest, do not see them."""
    log, lines = logging.getLogger("kubeproto"), Lines()
    log.addHandler(lines)
    level, log.propagate = log.level, False
    log.setLevel("INFO")
    try:
        yield lines.texts
    finally:
        log.setLevel(level)
        log.propagate = True
        log.removeHandler(lines)


class Victim:
    """A controller one of whose functions calls the bait for the book `moby`."""

    def __init__(self, callback: str, bait: Callable[[], Any]) -> None:
        self.callback = callback
        self.bait = bait
        self.runs: list[str] = []

    def at(self, callback: str, subject: object, default: object) -> Any:
        return self.bait() if self.callback == callback and "moby" in str(subject) else default

    async def reconcile(self, obj: Book, ctx: Context[None]) -> Any:
        self.runs.append(ctx.name)
        if self.callback in ("on_error", "backoff") and ctx.name == "moby":
            raise ValueError
        if self.callback == "waiting reconcile":
            await anyio.sleep(0.001)
        return self.at("waiting reconcile", ctx.name, self.at("reconcile", ctx.name, None))

    async def triggers(self) -> AsyncGenerator[Any]:
        if self.callback == "trigger":
            yield self.bait()
        await anyio.sleep_forever()

    def when(self, change: Change[Book]) -> Any:
        return self.at("when", change.key, True)

    def transform(self, raw: bytes) -> Any:
        return self.at("transform", raw, raw)

    def back_off(self, failures: int) -> Any:
        return self.bait()

    def run(self, client: SimulatedClient) -> Any:
        options: dict[str, Any] = {
            "when": self.when,
            "transform": self.transform,
        }
        if self.callback == "backoff":
            options["backoff"] = self.back_off
        controller = Controller(client, Book, **options)
        controller.watches(ConfigMap, lambda obj: self.at("mapper", obj.metadata.name, []))
        return controller.triggered_by(self.triggers()).run(
            self.reconcile,
            on_error=lambda error, ctx: self.at("on_error", ctx.name, None),
            on_invalid=lambda error, ctx: self.at("on_invalid", ctx.name, None),
            observe=lambda result: self.at("observe", result.ref.name, None),
        )


def survive(go: Go, callback: str, bait: Callable[[], Any]) -> tuple[list[str], str]:
    """Run the victim, and return the names of its runs and the log."""
    victim = Victim(callback, bait)

    async def main() -> None:
        cluster = library()
        for name in ("moby", "omoo"):
            cluster.put(book(name))
            cluster.put(ConfigMap(metadata=kp.ObjectMeta(name=name)))
        if callback == "on_invalid":
            cluster.edit(Book, "moby", lambda obj: obj["spec"].update(title=7))
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            operator = Operator(election=LeaderElector(client, name="books", identity="me"))
            tasks.start_soon(operator.run, victim.run(client))
            await anyio.sleep(20)
            cluster.put(book("typee"))
            await anyio.sleep(5)
            assert operator.healthy()[0]
            operator.debug()
            operator.metrics()
            operator.stop()

    return victim.runs, run_logged(go, main)


def run_logged(go: Go, main: Callable[[], Awaitable[None]]) -> str:
    """Run on an event loop, and return the log."""
    place = ""
    with logged() as lines:
        try:
            go(main)
        except AssertionError:
            raise
        except BaseException as error:  # pytest cannot show it
            place = "".join(format_tb(error.__traceback__)) + repr(
                type.__dict__["__name__"].__get__(type(error))
            )
    assert not place, place
    return "\n".join(lines)


CALLBACKS: Final = (
    "reconcile", "waiting reconcile", "on_error", "on_invalid", "observe", "when", "mapper", "transform",
    "backoff",
)  # fmt: skip
# Other failing callbacks are only logged.
RETRIED: Final = ("reconcile", "waiting reconcile", "on_error", "backoff")


def raising(error: Callable[[], BaseException]) -> Callable[[], Any]:
    def bait() -> Any:
        raise error()

    return bait


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.parametrize("callback", CALLBACKS)
def test_no_error_of_a_callback_ends_the_operator_by_its_methods(
    go: Go, callback: str, error: Callable[[], BaseException]
) -> None:
    runs, log = survive(go, callback, raising(error))
    assert {"omoo", "typee"} <= set(runs)
    assert runs.count("moby") > 1 if callback in RETRIED else runs.count("moby") == (callback != "on_invalid")
    assert names_error(log)


class HostileKey(str):
    def __hash__(self) -> int:
        raise LookupError

    def __eq__(self, other: object) -> bool:
        raise LookupError

    def __str__(self) -> str:
        raise LookupError


class HostileValue:
    """A result whose methods raise, as those of a proxy do that refers to nothing."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise LookupError

    def __bool__(self) -> bool:
        raise LookupError

    def __repr__(self) -> str:
        raise LookupError

    def __str__(self) -> str:
        raise LookupError

    def __float__(self) -> float:
        raise LookupError

    def __eq__(self, other: object) -> bool:
        raise LookupError

    def __hash__(self) -> int:
        raise LookupError

    def __iter__(self) -> Any:
        raise LookupError

    @property
    def __await__(self) -> Any:
        raise LookupError


class HostileNumber(int):
    def __repr__(self) -> str:
        raise LookupError


def broken_action(after: Any, priority: Any = None) -> Action:
    return Action(after, priority)


HOSTILE_KEYS: Final[list[Any]] = [None, 7, [], HostileKey("default/moby"), "", "/"]
RESULTS: Final[list[tuple[str, Callable[[], Any]]]] = [
    *((callback, HostileValue) for callback in (*CALLBACKS, "trigger")),
    *((callback, lambda: HostileNumber(7)) for callback in ("reconcile", "on_error", "trigger")),
    *(
        (callback, lambda broken=broken: broken)
        for callback in ("reconcile", "waiting reconcile", "on_error")
        for broken in (
            broken_action(nan), broken_action("soon"), broken_action(-1.0), broken_action(HostileNumber(7)),
            broken_action(1.0, "high"), broken_action(1.0, nan), broken_action(None, HostileValue()),
        )
    ),
    *(("backoff", lambda delay=delay: delay) for delay in (nan, -1.0, "soon", None)),
    *(("transform", lambda raw=raw: raw) for raw in (None, "text", 7, bytearray(b"{}"), b"no JSON")),
    *(
        ("mapper", lambda keys=keys: keys)
        for keys in (None, 7, [7], [None], [HostileValue()], "default/omoo", [HostileKey("default/moby")])
    ),
    *(("trigger", lambda key=key: key) for key in HOSTILE_KEYS),
]  # fmt: skip


@pytest.mark.parametrize(("callback", "result"), RESULTS)
def test_no_result_of_a_callback_ends_the_operator(go: Go, callback: str, result: Callable[[], Any]) -> None:
    runs, _ = survive(go, callback, result)
    assert {"omoo", "typee"} <= set(runs)


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_no_error_of_an_index_or_of_on_leader_ends_the_program_by_its_methods(
    go: Go, error: Callable[[], BaseException]
) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("moby"))
        async with simulated(cluster) as client, Caches(client) as caches:
            cache = caches.cache(Book)
            await cache.wait_synced()
            cache.add_index("hostile", lambda obj: raising(error)())
            cache.add_index("values", lambda obj: [HostileKey(obj.metadata.name)])
            cache.add_index("wrong", lambda obj: [HostileValue()])  # type: ignore[list-item] # pyright: ignore
            elector = LeaderElector(client, name="books", identity="me", on_leader=lambda _: raising(error)())
            led: list[float] = []

            async def work() -> None:
                cluster.put(book("omoo"))
                await anyio.sleep(60)
                led.append(anyio.current_time())

            await elector.run(work)
            assert led
            assert set(cache.failed_in("hostile")) == {"default/moby", "default/omoo"}
            assert set(cache.failed_in("wrong")) == {"default/moby", "default/omoo"}
            assert cache.index_values("values") == ["moby", "omoo"]

    assert names_error(run_logged(go, main))


def names_error(log: str) -> bool:
    """Return whether a log names the type of the error."""
    return "Hostile" in log or "ExceptionGroup, whose traceback cannot be formatted" in log


class HostileTransport:
    """A transport of the user's whose first requests fail with an error that has no text."""

    def __init__(self, transport: Any, failures: int) -> None:
        self.transport = transport
        self.failures = failures

    def send(self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None) -> Any:
        self.failures -= 1
        if self.failures >= 0:
            raise HostileTransportError
        return self.transport.send(request, timeout=timeout, idle=idle)


def test_an_error_of_a_transport_without_a_text_is_retried(go: Go) -> None:
    runs: list[str] = []

    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        runs.append(ctx.name)

    async def main() -> None:
        cluster = library()
        cluster.put(book("moby"))
        async with simulated(cluster) as client:
            client.transport = HostileTransport(client.transport, 5)
            client.start(Controller(client, Book).run(reconcile))
            await anyio.sleep(60)

    assert "HostileTransportError" in run_logged(go, main)
    assert runs == ["moby"]


def test_an_on_invalid_that_fails_is_retried_with_a_growing_delay(go: Go) -> None:
    calls: list[float] = []

    def on_invalid(error: kp.InvalidObject, ctx: Context[None]) -> None:
        calls.append(anyio.current_time())
        if len(calls) < 12:
            raise ValueError

    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        """Is not called."""

    async def main() -> None:
        cluster = library()
        cluster.put(book("moby"))
        cluster.edit(Book, "moby", lambda obj: obj["spec"].update(title=7))
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).run(reconcile, on_invalid=on_invalid))
            await anyio.sleep(60)

    run_logged(go, main)
    assert len(calls) == 12
    delays = [later - earlier for earlier, later in pairwise(calls)]
    assert delays == sorted(delays)
    assert delays[-1] > 1
