"""`MergedLogs`: the lines of many containers as a single iterator, in the order of their arrival.

Only a single chunk of each container is read ahead, so that a slow reader slows down the servers and does not
fill the memory. Pods are watched if their logs are followed: containers that start later are added, restarted
containers continue, and each line is returned exactly once.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import anyio

from kubeproto import Added, ApiError, Bookmark, Deleted, Dynamic, InvalidRequest, KubeprotoError, Modified
from kubeproto.watching import log_tail

from .._documents import to_builtins
from ..tasks._background import Background, spawn
from ._container_log import ContainerLog, LogLine, LogStart
from ._container_runs import FINISHED_PHASES, containers_of, events_of_runs
from ._pod_choice import PODS, PodChoice, choose_pods, chosen_pods
from ._pods_end import PodsEnd

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from datetime import datetime
    from typing import Self

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from ..client._client import Client

    Json = dict[str, Any]

_log: Final = logging.getLogger("kubeproto.logs")

# Each container needs a connection, of the client and of the server. stern has the same default.
MAX_CONTAINERS: Final = 50


class ReadLogsOptions(TypedDict, total=False):
    """The options of `read_logs`."""

    selector: str
    namespace: str
    container: str
    all_containers: bool
    follow: bool
    previous: bool
    since_seconds: int
    since_time: datetime
    tail_lines: int
    limit_bytes: int
    ignore_errors: bool
    max_containers: int


def read_logs(client: Client, target: str = "", **options: Unpack[ReadLogsOptions]) -> MergedLogs:
    """Read the logs of pods: of a named pod, of all pods of an object such as ``deploy/shop``, or by labels.

    ::

        async with read_logs(client, "deploy/shop", follow=True, tail_lines=10) as lines:
            async for line in lines:
                print(line.pod, line.container, line.text.decode(errors="replace"))

    All containers are read by default: `container` is the name of a single container, and
    ``all_containers=False`` reads kubectl's default container. Without `follow` the logs are read one after
    the other. With `follow`, lines are returned as they are written: pods that appear later are added,
    restarted containers continue, and after a lost connection no line is repeated or dropped. Iteration ends
    with the named pod, or with the Job and all its pods. For other objects and for labels it never ends,
    since pods may always be added.

    `since_seconds` or `since_time`, and `tail_lines` (of each container), limit the existing lines;
    `previous` reads the run before the last restart. `limit_bytes` ends the log of each container after this
    many bytes. With `ignore_errors`, containers that cannot be read are logged, and the others are still
    read. Following more than `max_containers` is an error; more containers that start later are skipped with
    a warning.
    """
    return MergedLogs(client, target, options)


class MergedLogs:
    """Iterate over the `LogLine`s of many containers, inside of ``async with``."""

    def __init__(self, client: Client, target: str, options: ReadLogsOptions) -> None:
        if options.get("follow") and options.get("previous"):
            raise InvalidRequest("the log of a previous run does not grow: use either follow or previous")
        self._client = client
        self._target = target
        self._options = options
        self._max_containers = options.get("max_containers", MAX_CONTAINERS)
        self._sources: dict[tuple[str, str], ContainerLog] = {}  # by the uid of the pod, and the container
        self._tasks: dict[int, Background] = {}  # the running tasks by their number
        self._task_count = 0
        self._ready: deque[LogLine] = deque()
        self._failure: Exception | None = None
        self._send: MemoryObjectSendStream[list[LogLine]] | None = None
        self._receive: MemoryObjectReceiveStream[list[LogLine]] | None = None

    async def __aenter__(self) -> Self:
        options = self._options
        selector, namespace = options.get("selector", ""), options.get("namespace", "")
        choice = await choose_pods(self._client, self._target, selector, namespace)
        # A pod that does not exist is an error, also when its log is followed.
        pods = await chosen_pods(self._client, choice) if choice.name or not options.get("follow") else []
        self._send, self._receive = anyio.create_memory_object_stream[list[LogLine]](0)
        if not options.get("follow"):
            self._spawn(lambda: self._read(pods))
            return self
        end = PodsEnd(choice)
        self._spawn(lambda: self._watch(choice, end))
        if end.awaits_job:
            self._spawn(lambda: end.follow_job(self._client))
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        for task in list(self._tasks.values()):
            await task.stop()
        for stream in (self._send, self._receive):
            if stream is not None:
                stream.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> LogLine:
        if self._receive is None:
            raise RuntimeError("logs are read inside of `async with read_logs(…) as lines:`")
        while not self._ready:
            try:
                self._ready += await self._receive.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                if self._failure is None:
                    raise StopAsyncIteration from None
                raise self._failure from None
        return self._ready.popleft()

    @property
    def waiting(self) -> int:
        """The number of lines that were read and not yet returned; a slow reader does not increase it."""
        return len(self._ready)

    async def batches(self) -> AsyncGenerator[list[LogLine]]:
        """Yield lists of lines that arrived together, so that they can be written together."""
        while (batch := await self.next_batch()) is not None:
            yield batch

    async def next_batch(self) -> list[LogLine] | None:
        """Return the next lines that arrived together; None at the end."""
        try:
            first = await anext(self)
        except StopAsyncIteration:
            return None
        batch = [first, *self._ready]
        self._ready.clear()
        return batch

    # Without follow: one log after the other

    async def _read(self, pods: list[Json]) -> None:
        start = self._log_start()
        containers = [(pod, name) for pod in pods for name in self._containers(pod)]
        if (container := self._options.get("container")) and pods and not containers:
            raise InvalidRequest(f"none of the {len(pods)} pods has a container {container}")
        for pod, name in containers:
            source = self._create_source(pod, name, start)
            try:
                await source.read()
            except KubeprotoError as error:
                # A container that waits to start has no log; the others are still read.
                is_waiting = isinstance(error, ApiError) and error.code == 400 and len(containers) > 1
                if not (is_waiting or self._options.get("ignore_errors")):
                    raise
                _log.warning("the log of %s/%s: %s", source.pod, name, error)

    # With follow

    async def _watch(self, choice: PodChoice, end: PodsEnd) -> None:
        api = self._client.api(Dynamic, namespace=choice.namespace, resource=PODS)
        start = self._log_start()
        # The log of a container that starts later is read from its beginning.
        later_start = LogStart(started=start.started, limit_bytes=start.limit_bytes)
        synced = False
        with end.scope:
            async with api.follow(**choice.selection) as events:
                async for event in events:
                    match event:
                        case Added(obj) | Modified(obj):
                            pod: Json = to_builtins(obj)
                            for source in self._update(pod, later_start if synced else start):
                                if synced:
                                    self._add_source(source)
                            end.update_pod(
                                obj.metadata.uid, ended=pod["status"].get("phase") in FINISHED_PHASES
                            )
                        case Deleted(obj):
                            self._remove_pod(obj.metadata.uid)
                            end.update_pod(obj.metadata.uid, ended=True)
                        case Bookmark(initial_events_end=True) if not synced:
                            synced = True
                            self._follow_all()
                            end.mark_synced()
                        case _:
                            pass

    def _update(self, pod: Json, start: LogStart) -> list[ContainerLog]:
        """Process the status of a pod; return the new containers that have a log."""
        events = events_of_runs(pod)
        new: list[ContainerLog] = []
        for name in self._containers(pod):
            key = pod["metadata"]["uid"], name
            if (event := events.get(name)) is None:
                continue
            if (source := self._sources.get(key)) is None:
                source = self._sources[key] = self._create_source(pod, name, start)
                new.append(source)
            source.update(event)
        return new

    def _follow_all(self) -> None:
        sources = list(self._sources.values())
        if len(sources) > self._max_containers:
            raise InvalidRequest(
                f"{len(sources)} containers match, and max_containers is {self._max_containers}:"
                " select fewer, or raise max_containers"
            )
        for source in sources:
            self._spawn_follower(source)

    def _add_source(self, source: ContainerLog) -> None:
        if sum(not source.finished for source in self._sources.values()) > self._max_containers:
            _log.warning(
                "the log of %s/%s is skipped: %d containers are followed already; raise max_containers",
                source.pod, source.container, self._max_containers,
            )  # fmt: skip
            source.update(log_tail.PodDeleted())
        else:
            self._spawn_follower(source)

    def _remove_pod(self, uid: str) -> None:
        for key in [key for key in self._sources if key[0] == uid]:
            self._sources.pop(key).update(log_tail.PodDeleted())

    # In both cases
    def _log_start(self) -> LogStart:
        options = self._options
        return LogStart(
            started=anyio.current_time(),
            previous=options.get("previous", False),
            since_seconds=options.get("since_seconds"),
            since_time=options.get("since_time"),
            tail_lines=options.get("tail_lines"),
            limit_bytes=options.get("limit_bytes"),
        )

    def _containers(self, pod: Json) -> Sequence[str]:
        options = self._options
        all_containers = options.get("all_containers", True)
        return containers_of(pod, options.get("container", ""), all_containers=all_containers)

    def _create_source(self, pod: Json, container: str, start: LogStart) -> ContainerLog:
        api = self._client.requests(Dynamic, namespace=pod["metadata"]["namespace"], resource=PODS)
        return ContainerLog(self._client, api, pod["metadata"]["name"], container, start, self._deliver)

    async def _deliver(self, lines: list[LogLine]) -> None:
        assert self._send is not None  # no task runs before
        await self._send.send(lines)

    def _spawn_follower(self, source: ContainerLog) -> None:
        self._spawn(lambda: self._follow(source))

    async def _follow(self, source: ContainerLog) -> None:
        try:
            await source.follow()
        except KubeprotoError as error:
            if not self._options.get("ignore_errors"):
                raise
            _log.warning("the log of %s/%s: %s", source.pod, source.container, error)

    def _spawn(self, function: Callable[[], Awaitable[None]]) -> None:
        self._task_count += 1
        number = self._task_count
        self._tasks[number] = spawn(lambda: self._run(number, function))

    async def _run(self, number: int, function: Callable[[], Awaitable[None]]) -> None:
        try:
            await function()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # another task has failed, or the block has exited
        except Exception as error:  # raised in the task that reads the lines
            self._failure = self._failure or error
        finally:
            del self._tasks[number]
            if self._send is not None and (self._failure or not self._tasks):
                self._send.close()
