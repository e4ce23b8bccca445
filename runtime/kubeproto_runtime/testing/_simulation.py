"""Loops whose clock jumps, and a client of a simulated cluster for them."""

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

    from kubeproto import Head, Headers
    from kubeproto.wire import UpgradeRequest
    from kubeproto_sim import Cluster, Conversation, Faults, ServerResponse, Stream, User

    from ._access_recorder import AccessRecorder

T = TypeVar("T")

Backend = Literal["asyncio", "trio"]
BACKENDS: Final[tuple[Backend, ...]] = ("asyncio", "trio")


# Loops whose clock jumps


class _Jumping(selectors.DefaultSelector):
    """A selector that never waits: where a loop would sleep until its next timer, time jumps."""

    passed = 0.0
    threads = 0  # at work for the loop: what they do takes no virtual time

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or (self.threads and timeout > 0):
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self.passed += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop of asyncio whose time stands still while there is work, and jumps when there is none."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.passed

    async def getaddrinfo(self, *args: Any, **options: Any) -> Any:
        """Look up an address, which a thread does."""
        with self._thread():
            return await super().getaddrinfo(*args, **options)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for the threads, which end at their own time."""
        with self._thread():
            await super().shutdown_default_executor()

    @contextmanager
    def _thread(self) -> Generator[None]:
        self._jumping.threads += 1
        try:
            yield
        finally:
            self._jumping.threads -= 1


def options(backend: Backend) -> dict[str, Any]:
    """Return the options of a backend for anyio, so that it runs in virtual time; new each time."""
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
        respond: Callable[[Head], ServerResponse] = partial((faults or cluster).respond, user=user)
        super().__init__(
            _SimulatedTransport(cluster, offset, _recorded(respond, recorder) if recorder else respond),
            namespace=namespace,
            wall=lambda: datetime.fromtimestamp(anyio.current_time() + offset, UTC),
            rng=random.Random(seed),  # the same test does the same each time
        )

    def start(self, work: Awaitable[object]) -> None:
        """Run something beside the test, until the simulation ends; what it raises ends the test.

        ``client.start(Controller(client, Book).run(reconcile))``
        """
        if self.tasks is None:
            raise RuntimeError("this simulation is over")
        self.tasks.start_soon(_await, work)

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call a function after this many seconds from now.

        The cluster's own `later` counts from the last time that it had something to do.
        """
        self.cluster.advance_to(anyio.current_time() + self._offset)
        self.cluster.later(seconds, action)

    async def until(
        self, condition: Callable[[], T | None], *, within: float = 60.0, every: float = 0.1
    ) -> T:
        """Let time pass until a condition holds, and return its value; `DeadlineExceeded` names the time."""
        end = anyio.current_time() + within
        while not (found := condition()):
            if anyio.current_time() >= end:
                raise DeadlineExceeded(f"the condition did not hold within {within:g} s")
            await anyio.sleep(every)
        return found


@asynccontextmanager
async def simulated(
    cluster: Cluster, *, faults: Faults | None = None, seed: int = 0, namespace: str = "default",
    user: User | str | None = None, recorder: AccessRecorder | None = None,
) -> AsyncGenerator[SimulatedClient]:  # fmt: skip
    """A client of a simulated cluster, whose clock goes with that of the event loop.

    Several may be open at once, on one cluster too. `faults` are injected between this client and the
    cluster. `user` is whose requests these are, such as ``system:serviceaccount:default:operator``, for a
    cluster with ``authorization="RBAC"``. `recorder` notes which rights its requests need. A single error
    inside is raised without a group around it.
    """
    if faults is not None and faults.cluster is not cluster:
        raise ValueError("these faults belong to another cluster")
    client = SimulatedClient(cluster, faults, seed=seed, namespace=namespace, user=user, recorder=recorder)
    try:
        async with anyio.create_task_group() as client.tasks:
            client.tasks.start_soon(_drive, cluster)
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
    raise error  # outside, so that its context stays what it was


def _recorded(
    respond: Callable[[Head], ServerResponse], recorder: AccessRecorder
) -> Callable[[Head], ServerResponse]:
    def recording(head: Head) -> ServerResponse:
        recorder.note(head)  # even if a fault swallows it
        response = respond(head)
        recorder.note(head, response)
        return response

    return recording


async def _await(work: Awaitable[object]) -> None:
    await work


async def _drive(cluster: Cluster) -> None:
    """Advance the cluster whenever something is due."""
    offset = cluster.now - anyio.current_time()
    before = cluster.on_due
    wake = anyio.Event()

    def told() -> None:
        wake.set()
        if before is not None:
            before()

    cluster.on_due = told
    try:
        while True:
            cluster.advance_to(anyio.current_time() + offset)
            wake = anyio.Event()
            due = cluster.due
            with anyio.move_on_at(float("inf") if due is None else due - offset):
                await wake.wait()
    finally:
        if cluster.on_due is told:  # a driver that came later calls this one, and keeps doing so
            cluster.on_due = before


class _Incoming:
    """A response whose body arrives as time passes."""

    def __init__(self, response: ServerResponse, deadline: float, idle: float | None) -> None:
        self.status = response.status
        self.headers: Headers = response.headers
        self._body: bytes | Stream = response.body
        self._deadline = deadline
        self._idle = idle

    # Not a generator: one that is left in the middle would have to be closed by its user.
    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if isinstance(self._body, bytes):
            await checkpoint()
            body, self._body = self._body, b""
            if not body:
                raise StopAsyncIteration
            return body
        # Counted from here: a stream that wakes this task without bytes, as a half-open one does, is silent.
        idle = inf if self._idle is None else anyio.current_time() + self._idle
        while not (data := self._body.take()):
            if self._body.ended:
                raise StopAsyncIteration
            await self._wait(self._body, min(self._deadline, idle))
        return data

    async def _wait(self, body: Stream, end: float) -> None:
        """Wait until there may be bytes, but no longer than is allowed."""
        came = anyio.Event()
        body.wake = came.set
        with anyio.move_on_at(end) as scope:
            await came.wait()
        body.wake = None
        if scope.cancelled_caught:
            raise DeadlineExceeded("no more bytes came in time")


class _SimulatedSocket:
    """Messages to and from a simulated pod, as time passes."""

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
        end = inf if self._idle is None else anyio.current_time() + self._idle
        while not (message := conversation.take()):
            if conversation.ended:
                return None
            came = anyio.Event()
            conversation.wake = came.set
            with anyio.move_on_at(end) as scope:
                await came.wait()
            conversation.wake = None
            if scope.cancelled_caught:
                raise DeadlineExceeded("no message came in time")
        return message

    async def send(self, message: bytes) -> None:
        """Send a message."""
        await checkpoint()
        self._cluster.advance_to(anyio.current_time() + self._offset)
        self._conversation.feed(message)
        if self._cluster.on_due is not None:  # the command may be waiting for a time now
            self._cluster.on_due()


class _SimulatedTransport:
    """Carries requests to a simulated cluster and lets them take their time."""

    def __init__(self, cluster: Cluster, offset: float, respond: Callable[[Head], ServerResponse]) -> None:
        self._cluster = cluster
        self._offset = offset
        self._respond = respond

    def __repr__(self) -> str:
        return "SimulatedTransport()"

    @asynccontextmanager
    async def send(
        self, head: Head, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[_Incoming]:
        """Send a request and wait for the head of its response."""
        await checkpoint()
        begun = anyio.current_time()
        self._cluster.advance_to(begun + self._offset)
        due = self._cluster.due
        if head.check is not None:
            head.check()
        response = self._respond(head)
        try:
            self._cluster.advance_to(begun + self._offset)
            # The bookmarks and the end of a watch that is open now; most requests change nothing of this.
            if self._cluster.on_due is not None and self._cluster.due != due:
                self._cluster.on_due()
            limits = [limit for limit in (timeout, idle) if limit is not None]
            await anyio.sleep(min([response.delay, *limits]))
            if limits and response.delay > min(limits):
                raise DeadlineExceeded(f"no response within {min(limits):g} s")
            yield _Incoming(response, float("inf") if timeout is None else begun + timeout, idle)
        finally:
            if not isinstance(response.body, bytes):
                response.body.close()

    @asynccontextmanager
    async def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[_SimulatedSocket]:
        """Send a request that becomes a WebSocket, which is closed when the context is left."""
        await checkpoint()
        self._cluster.advance_to(anyio.current_time() + self._offset)
        conversation = begin_conversation(request, self._respond)
        if self._cluster.on_due is not None:
            self._cluster.on_due()
        try:
            yield _SimulatedSocket(self._cluster, conversation, self._offset, idle)
        finally:
            conversation.close()
