"""Event loops in virtual time, and a client of a simulated cluster for them."""

from __future__ import annotations

import asyncio
import random
import selectors
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from kubeproto import DeadlineExceeded
from kubeproto_sim import begin_conversation

from ..client._client import Client

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from typing import Self

    from anyio.abc import TaskGroup

    from kubeproto import Headers, RawRequest
    from kubeproto.wire import UpgradeRequest
    from kubeproto_sim import Cluster, Conversation, Faults, ServerResponse, Stream, User

    from ._access_recorder import AccessRecorder

T = TypeVar("T")

Backend = Literal["asyncio", "trio"]
BACKENDS: Final[tuple[Backend, ...]] = ("asyncio", "trio")


# Event loops in virtual time


class _VirtualSelector(selectors.DefaultSelector):
    """A selector that advances virtual time instead of waiting for the next timer."""

    elapsed = 0.0
    threads = 0  # running threads of the loop, for which it waits in real time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or (self.threads and timeout > 0):
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self.elapsed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop of asyncio whose time jumps to the next timer when there is no work."""

    def __init__(self) -> None:
        self._virtual_selector = _VirtualSelector()
        super().__init__(self._virtual_selector)

    def time(self) -> float:
        """Return the virtual seconds since the creation of the loop."""
        return self._virtual_selector.elapsed

    async def getaddrinfo(self, *args: Any, **options: Any) -> Any:
        """Look up an address in a thread."""
        with self._count_thread():
            return await super().getaddrinfo(*args, **options)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for the threads, which run in real time."""
        with self._count_thread():
            await super().shutdown_default_executor()

    @contextmanager
    def _count_thread(self) -> Generator[None]:
        self._virtual_selector.threads += 1
        try:
            yield
        finally:
            self._virtual_selector.threads -= 1


def options(backend: Backend) -> dict[str, Any]:
    """Return new backend options for `anyio.run`, so that the backend runs in virtual time."""
    if backend == "asyncio":
        return {"loop_factory": VirtualLoop}
    from trio.testing import MockClock

    return {"clock": MockClock(autojump_threshold=0)}


def run(main: Callable[..., Awaitable[T]], *args: object, backend: Backend = "asyncio") -> T:
    """Run a coroutine function in virtual time, and return its result."""
    return anyio.run(main, *args, backend=backend, backend_options=options(backend))


# A client of a simulated cluster


class SimulatedClient(Client):
    """A client of a simulated cluster, with methods to wait."""

    def __init__(
        self, cluster: Cluster, faults: Faults | None, *, seed: int, namespace: str,
        user: User | str | None = None, recorder: AccessRecorder | None = None,
    ) -> None:  # fmt: skip
        offset = cluster.now - anyio.current_time()
        self.cluster = cluster
        self.faults = faults
        self.tasks: TaskGroup | None = None
        self._offset = offset
        respond: Callable[[RawRequest], ServerResponse] = partial((faults or cluster).respond, user=user)
        super().__init__(
            _SimulatedTransport(cluster, offset, _add_recorder(respond, recorder) if recorder else respond),
            namespace=namespace,
            wall_clock=lambda: datetime.fromtimestamp(anyio.current_time() + offset, UTC),
            rng=random.Random(seed),  # tests are deterministic
        )

    def start(self, work: Awaitable[object]) -> None:
        """Run a task concurrently until the simulation ends. An exception in the task ends the test.

        ``client.start(Controller(client, Book).run(reconcile))``
        """
        if self.tasks is None:
            raise RuntimeError("the simulation has ended")
        self.tasks.start_soon(_await, work)

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call a function after this many seconds.

        The cluster's own `later` counts from the time of its last event.
        """
        self.cluster.advance_to(anyio.current_time() + self._offset)
        self.cluster.later(seconds, action)

    async def until(
        self, condition: Callable[[], T | None], *, within: float = 60.0, every: float = 0.1
    ) -> T:
        """Wait until a condition returns a true value, and return this value.

        Raise `DeadlineExceeded` after `within` seconds.
        """
        deadline = anyio.current_time() + within
        while not (result := condition()):
            if anyio.current_time() >= deadline:
                raise DeadlineExceeded(f"the condition did not hold within {within:g} s")
            await anyio.sleep(every)
        return result


@asynccontextmanager
async def simulated(
    cluster: Cluster, *, faults: Faults | None = None, seed: int = 0, namespace: str = "default",
    user: User | str | None = None, recorder: AccessRecorder | None = None,
) -> AsyncGenerator[SimulatedClient]:  # fmt: skip
    """Provide a client of a simulated cluster, whose clock follows the clock of the event loop.

    Several clients may be open at the same time, also on the same cluster. `faults` are injected between this
    client and the cluster. `user` is the user of its requests, such as
    ``system:serviceaccount:default:operator``, for a cluster with ``authorization="RBAC"``. `recorder`
    records the permissions that its requests need. A single error of the block is raised without an exception
    group.
    """
    if faults is not None and faults.cluster is not cluster:
        raise ValueError("these faults belong to another cluster")
    client = SimulatedClient(cluster, faults, seed=seed, namespace=namespace, user=user, recorder=recorder)
    try:
        async with anyio.create_task_group() as client.tasks:
            client.tasks.start_soon(_drive_clock, cluster)
            yield client
            client.tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        error, *others = group.exceptions
        if others:
            raise
    else:
        return
    finally:
        client.tasks = None
    raise error  # outside of `except`, which would replace its `__context__` by the group


def _add_recorder(
    respond: Callable[[RawRequest], ServerResponse], recorder: AccessRecorder
) -> Callable[[RawRequest], ServerResponse]:
    def record_and_respond(request: RawRequest) -> ServerResponse:
        recorder.record(request)  # also if a fault prevents the response
        response = respond(request)
        recorder.record(request, response)
        return response

    return record_and_respond


async def _await(work: Awaitable[object]) -> None:
    await work


async def _drive_clock(cluster: Cluster) -> None:
    """Advance the cluster at each of its timers."""
    offset = cluster.now - anyio.current_time()
    previous = cluster.on_due
    wake = anyio.Event()

    def notify() -> None:
        wake.set()
        if previous is not None:
            previous()

    cluster.on_due = notify
    try:
        while True:
            cluster.advance_to(anyio.current_time() + offset)
            wake = anyio.Event()
            next_timer = cluster.next_due
            with anyio.move_on_at(inf if next_timer is None else next_timer - offset):
                await wake.wait()
    finally:
        # A driver that started later still calls this function.
        if cluster.on_due is notify:
            cluster.on_due = previous


class _SimulatedResponse:
    """A response whose body arrives in virtual time."""

    def __init__(self, response: ServerResponse, deadline: float, idle: float | None) -> None:
        self.status = response.status
        self.headers: Headers = response.headers
        self._body: bytes | Stream = response.body
        self._deadline = deadline
        self._idle = idle

    # Not a generator, because callers would have to close an unfinished generator.
    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if isinstance(self._body, bytes):
            await checkpoint()
            body, self._body = self._body, b""
            if not body:
                raise StopAsyncIteration
            return body
        # The deadline is not extended when the stream wakes this task without bytes, as a half-open
        # connection does.
        idle_deadline = inf if self._idle is None else anyio.current_time() + self._idle
        while not (data := self._body.take()):
            if self._body.ended:
                raise StopAsyncIteration
            await self._wait(self._body, min(self._deadline, idle_deadline))
        return data

    async def _wait(self, body: Stream, deadline: float) -> None:
        """Wait until the stream wakes this task. Raise `DeadlineExceeded` at the deadline."""
        arrived = anyio.Event()
        body.wake = arrived.set
        with anyio.move_on_at(deadline) as scope:
            await arrived.wait()
        body.wake = None
        if scope.cancelled_caught:
            raise DeadlineExceeded("no bytes arrived in time")


class _SimulatedSocket:
    """A WebSocket to a simulated pod, in virtual time."""

    def __init__(
        self, cluster: Cluster, conversation: Conversation, offset: float, idle: float | None
    ) -> None:
        self.protocol = conversation.protocol
        self._cluster = cluster
        self._conversation = conversation
        self._offset = offset
        self._idle = idle

    async def receive(self) -> bytes | None:
        """Wait for the next message; return None when the server has closed the connection normally."""
        await checkpoint()
        conversation = self._conversation
        deadline = inf if self._idle is None else anyio.current_time() + self._idle
        while not (message := conversation.take()):
            if conversation.ended:
                return None
            arrived = anyio.Event()
            conversation.wake = arrived.set
            with anyio.move_on_at(deadline) as scope:
                await arrived.wait()
            conversation.wake = None
            if scope.cancelled_caught:
                raise DeadlineExceeded("no message arrived in time")
        return message

    async def send(self, message: bytes) -> None:
        """Send a message."""
        await checkpoint()
        self._cluster.advance_to(anyio.current_time() + self._offset)
        self._conversation.feed(message)
        if self._cluster.on_due is not None:  # the message may have set a timer
            self._cluster.on_due()


class _SimulatedTransport:
    """Sends requests to a simulated cluster, in virtual time."""

    def __init__(
        self, cluster: Cluster, offset: float, respond: Callable[[RawRequest], ServerResponse]
    ) -> None:
        self._cluster = cluster
        self._offset = offset
        self._respond = respond

    def __repr__(self) -> str:
        return "SimulatedTransport()"

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[_SimulatedResponse]:
        """Send a request and wait for the head of its response."""
        await checkpoint()
        start = anyio.current_time()
        self._cluster.advance_to(start + self._offset)
        next_timer = self._cluster.next_due
        if request.check is not None:
            request.check()
        response = self._respond(request)
        try:
            self._cluster.advance_to(start + self._offset)
            # A new watch has timers for its bookmarks and its end; most requests do not change the timers.
            if self._cluster.on_due is not None and self._cluster.next_due != next_timer:
                self._cluster.on_due()
            limits = [limit for limit in (timeout, idle) if limit is not None]
            await anyio.sleep(min([response.delay, *limits]))
            if limits and response.delay > min(limits):
                raise DeadlineExceeded(f"no response within {min(limits):g} s")
            yield _SimulatedResponse(response, inf if timeout is None else start + timeout, idle)
        finally:
            if not isinstance(response.body, bytes):
                response.body.close()

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[_SimulatedSocket]:
        """Open a WebSocket, which is closed when the context exits."""
        await checkpoint()
        self._cluster.advance_to(anyio.current_time() + self._offset)
        conversation = begin_conversation(request, self._respond)
        if self._cluster.on_due is not None:
            self._cluster.on_due()
        try:
            yield _SimulatedSocket(self._cluster, conversation, self._offset, idle)
        finally:
            conversation.close()
