"""`MergedLogs`: the lines of many containers as one iterator, in the order in which they come.

Only one chunk of each container is read ahead: a slow reader slows down the servers, and takes no memory
here. Followed pods are watched: containers that start later join, restarted ones continue, and each line is
returned exactly once.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

import anyio

from kubeproto import Added, ApiError, Bookmark, Deleted, Dynamic, InvalidRequest, KubeprotoError, Modified
from kubeproto.watching import log_tail

from .._documents import plain
from ..tasks._background import Background, spawn
from ._choosing import PODS, PodChoice, choose_pods, chosen_pods
from ._container_log import ContainerLog, LogLine, LogStart
from ._container_runs import ENDED, containers_of, run_events
from ._pods_end import PodsEnd

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from datetime import datetime
    from typing import Self

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from ..client._client import Client

    Json = dict[str, Any]

_log: Final = logging.getLogger("kubeproto.logs")

# Each container costs a connection, here and on the server. stern follows as many by default.
MAX_CONTAINERS: Final = 50


class LogReading(TypedDict, total=False):
    """Which logs are read, and from where; see `read_logs`."""

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


def read_logs(client: Client, target: str = "", **options: Unpack[LogReading]) -> MergedLogs:
    """Read the logs of pods: of one, of all that an object such as ``deploy/shop`` selects, or by labels.

    ::

        async with read_logs(client, "deploy/shop", follow=True, tail_lines=10) as lines:
            async for line in lines:
                print(line.pod, line.container, line.text.decode(errors="replace"))

    All containers are read; `container` names one, and with ``all_containers=False`` it is the one that
    kubectl would take. Without `follow` one log comes after the other. With it they come as they are written:
    pods that appear later join, containers that are restarted are followed further, and after a lost
    connection no line is repeated or dropped. It then ends when the named pod has ended, or the Job with all
    its pods; for other objects and for labels never, since pods may always be added.

    `since_seconds` or `since_time`, and `tail_lines` (of each container), bound what was written before;
    `previous` reads the run before the last restart. `limit_bytes` ends the log of each container after this
    many bytes. With `ignore_errors`, containers that cannot be read are logged, and the others are still
    read. Following more than `max_containers` is refused; containers beyond it that start later are left out
    with a warning.
    """
    return MergedLogs(client, target, options)


class MergedLogs:
    """Iterate over the `LogLine`s of many containers, inside of ``async with``."""

    def __init__(self, client: Client, target: str, options: LogReading) -> None:
        if options.get("follow") and options.get("previous"):
            raise InvalidRequest("the log of a previous run does not grow: follow=True makes no sense for it")
        self._client = client
        self._target = target
        self._options = options
        self._most = options.get("max_containers", MAX_CONTAINERS)
        self._sources: dict[tuple[str, str], ContainerLog] = {}  # by the uid of the pod, and the container
        self._tasks: dict[int, Background] = {}  # those that run, in the order in which they began
        self._begun = 0
        self._end: PodsEnd | None = None
        self._ready: deque[LogLine] = deque()
        self._failure: Exception | None = None
        self._send: MemoryObjectSendStream[list[LogLine]] | None = None
        self._receive: MemoryObjectReceiveStream[list[LogLine]] | None = None

    async def __aenter__(self) -> Self:
        options = self._options
        selector, namespace = options.get("selector", ""), options.get("namespace", "")
        choice = await choose_pods(self._client, self._target, selector, namespace)
        # A pod that does not exist is a mistake, and not something to wait for.
        pods = await chosen_pods(self._client, choice) if choice.name or not options.get("follow") else []
        self._send, self._receive = anyio.create_memory_object_stream[list[LogLine]](0)
        if not options.get("follow"):
            self._spawn(lambda: self._read(pods))
            return self
        self._end = end = PodsEnd(choice)
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
        """How many lines have been read and not been taken; it does not grow with what is written."""
        return len(self._ready)

    async def batches(self) -> AsyncGenerator[list[LogLine]]:
        """Yield lists of lines that arrived together, so that they can be written together."""
        while (batch := await self.next_batch()) is not None:
            yield batch

    async def next_batch(self) -> list[LogLine] | None:
        """Return the next lines that came together; None at the end."""
        try:
            first = await anext(self)
        except StopAsyncIteration:
            return None
        batch = [first, *self._ready]
        self._ready.clear()
        return batch

    # One after the other

    async def _read(self, pods: list[Json]) -> None:
        start = self._from()
        chosen = [(pod, name) for pod in pods for name in self._containers(pod)]
        if (named := self._options.get("container")) and pods and not chosen:
            raise InvalidRequest(f"none of the {len(pods)} pods has a container {named}")
        for pod, name in chosen:
            source = self._source(pod, name, start)
            try:
                await source.read()
            except KubeprotoError as error:
                # A container that waits to start has no log; the others are still read.
                waits = isinstance(error, ApiError) and error.code == 400 and len(chosen) > 1
                if not (waits or self._options.get("ignore_errors")):
                    raise
                _log.warning("the log of %s/%s: %s", source.pod, name, error)

    # As they are written

    async def _watch(self, choice: PodChoice, end: PodsEnd) -> None:
        api = self._client.api(Dynamic, namespace=choice.namespace, resource=PODS)
        start = self._from()
        # A log that starts later is read from its beginning.
        later = LogStart(begun=start.begun, limit_bytes=start.limit_bytes)
        synced = False
        with end.scope:
            async with api.follow(**choice.selection) as events:
                async for event in events:
                    match event:
                        case Added(obj) | Modified(obj):
                            pod: Json = plain(obj)
                            for source in self._look_at(pod, later if synced else start):
                                if synced:
                                    self._join(source)
                            end.note_pod(obj.metadata.uid, ended=pod["status"].get("phase") in ENDED)
                        case Deleted(obj):
                            self._forget(obj.metadata.uid)
                            end.note_pod(obj.metadata.uid, ended=True)
                        case Bookmark(initial_events_end=True) if not synced:
                            synced = True
                            self._follow_all()
                            end.note_synced()
                        case _:
                            pass

    def _look_at(self, pod: Json, start: LogStart) -> list[ContainerLog]:
        """Note the status of a pod; return the containers that are new and have a log."""
        events = run_events(pod)
        new: list[ContainerLog] = []
        for name in self._containers(pod):
            key = pod["metadata"]["uid"], name
            if (event := events.get(name)) is None:
                continue
            if (source := self._sources.get(key)) is None:
                source = self._sources[key] = self._source(pod, name, start)
                new.append(source)
            source.note(event)
        return new

    def _follow_all(self) -> None:
        sources = list(self._sources.values())
        if len(sources) > self._most:
            raise InvalidRequest(
                f"{len(sources)} containers match, and {self._most} are followed at once: choose fewer, or"
                " raise max_containers"
            )
        for source in sources:
            self._spawn_following(source)

    def _join(self, source: ContainerLog) -> None:
        if sum(not one.finished for one in self._sources.values()) > self._most:
            _log.warning(
                "the log of %s/%s is left out: %d containers are followed already; raise max_containers",
                source.pod, source.container, self._most,
            )  # fmt: skip
            source.note(log_tail.PodDeleted())
        else:
            self._spawn_following(source)

    def _forget(self, uid: str) -> None:
        for key in [key for key in self._sources if key[0] == uid]:
            self._sources.pop(key).note(log_tail.PodDeleted())

    # Both

    def _from(self) -> LogStart:
        options = self._options
        return LogStart(
            begun=anyio.current_time(),
            previous=options.get("previous", False),
            since_seconds=options.get("since_seconds"),
            since_time=options.get("since_time"),
            tail_lines=options.get("tail_lines"),
            limit_bytes=options.get("limit_bytes"),
        )

    def _containers(self, pod: Json) -> Sequence[str]:
        options = self._options
        everything = options.get("all_containers", True)
        return containers_of(pod, options.get("container", ""), everything=everything)

    def _source(self, pod: Json, container: str, start: LogStart) -> ContainerLog:
        api = self._client.requests(Dynamic, namespace=pod["metadata"]["namespace"], resource=PODS)
        return ContainerLog(self._client, api, pod["metadata"]["name"], container, start, self._deliver)

    async def _deliver(self, lines: list[LogLine]) -> None:
        assert self._send is not None  # nothing is read before
        await self._send.send(lines)

    def _spawn_following(self, source: ContainerLog) -> None:
        self._spawn(lambda: self._follow(source))

    async def _follow(self, source: ContainerLog) -> None:
        try:
            await source.follow()
        except KubeprotoError as error:
            if not self._options.get("ignore_errors"):
                raise
            _log.warning("the log of %s/%s: %s", source.pod, source.container, error)

    def _spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        self._begun += 1
        number = self._begun
        self._tasks[number] = spawn(lambda: self._run(number, work))

    async def _run(self, number: int, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            pass  # another task has failed, or the reader is gone
        except Exception as error:  # it is raised in the task that reads the lines, whatever it is
            self._failure = self._failure or error
        finally:
            del self._tasks[number]
            if self._send is not None and (self._failure or not self._tasks):
                self._send.close()
