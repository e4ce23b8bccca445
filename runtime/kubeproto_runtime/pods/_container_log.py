"""`ContainerLog`: the log of a container, through restarts and lost connections; drives `log_tail`."""

from __future__ import annotations

import logging
from contextlib import suppress
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import anyio
from msgspec import Struct
from msgspec.structs import replace

from kubeproto import (
    ApiError,
    DeadlineExceeded,
    Forbidden,
    KubeprotoError,
    RemoteProtocolError,
    TransportError,
    Unauthorized,
)
from kubeproto.requests import StreamRequest
from kubeproto.watching import log_tail

from ..tasks._error_texts import error_text
from ..tasks._logged_lines import LoggedLines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from kubeproto import Api, Dynamic, Headers, RawRequest
    from kubeproto.wire import Decoder

    from ..calls._base_client import BaseClient, ResponseStream

_log: Final = logging.getLogger("kubeproto.logs")

# Seconds. Silence may mean a silent program or a dead connection; a new request distinguishes them.
_IDLE: Final = 300.0
_MAX_FAILURES: Final = 5  # in a row, of a log that is not followed


class LogLine(Struct, frozen=True, gc=False):
    """A line of the log of a container, without its line end.

    `time` is the timestamp of the kubelet, in RFC 3339; it is empty for messages of the kubelet itself. A
    line of more than a mebibyte is returned in parts; `complete` is True for the last part.
    """

    namespace: str
    pod: str
    container: str
    text: bytes
    time: str = ""
    complete: bool = True


class LogStart(Struct, frozen=True, kw_only=True):
    """The position at which reading a log begins, and its limits.

    `since_seconds` counts back from `started`, on the clock of the event loop.
    """

    started: float
    previous: bool = False
    since_seconds: int | None = None
    since_time: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None

    def options(self, now: float) -> dict[str, Any]:
        """Return the parameters of the first request."""
        seconds = self.since_seconds
        return {
            "previous": self.previous,
            "since_seconds": None if seconds is None else max(1, ceil(seconds + now - self.started)),
            "since_time": self.since_time,
            "tail_lines": self.tail_lines,
        }


class _LimitReached(Exception):
    """The limit of a log was reached."""


class _RawReader(Struct, frozen=True):
    """Returns the bytes of a log unchanged; `opener` reads a refusal."""

    opener: Any

    def open(self, request: RawRequest, status: int, headers: Headers) -> Decoder[bytes]:
        """Return a decoder for the response, which is a log or a refusal."""
        return _RawDecoder() if 200 <= status < 300 else self.opener.open(request, status, headers)


class _RawDecoder:
    def feed(self, chunk: bytes) -> list[bytes]:
        return [chunk]

    def finish(self) -> list[bytes]:
        return []


def _is_log(streamed: ResponseStream[bytes]) -> bool:
    return 200 <= streamed.status < 300


class ContainerLog:
    """Reads the log of a container and delivers its lines; `deliver` waits for a reader."""

    def __init__(
        self,
        client: BaseClient,
        api: Api[Dynamic],
        pod: str,
        container: str,
        start: LogStart,
        deliver: Callable[[list[LogLine]], Awaitable[None]],
    ) -> None:
        self.pod = pod
        self.container = container
        self._client = client
        self._api = api
        self._start = start
        self._deliver = deliver
        self._bytes_left = start.limit_bytes
        self._cursor = log_tail.LogCursor()
        self._state: log_tail.State = log_tail.Waiting()
        self._first_run: int | None = None  # the run of the container when reading began
        self._plan: log_tail.OpenLog | None = None
        self._run_ended = False  # if True, the last line in the cursor is complete
        self._changed = anyio.Event()
        self._logged = LoggedLines()

    @property
    def finished(self) -> bool:
        """Whether no more lines will come."""
        return isinstance(self._state, log_tail.Finished)

    def update(self, event: log_tail.RunStarted | log_tail.RunEnded | log_tail.PodDeleted) -> None:
        """Process a change of the pod."""
        if self._first_run is None and not isinstance(event, log_tail.PodDeleted):
            self._first_run = event.run
        self._step(event)

    async def follow(self) -> None:
        """Read until the container will not run again. Raise errors that a retry would repeat."""
        try:
            await self._follow()
        except _LimitReached:
            self._step(log_tail.PodDeleted())  # as if no more lines could follow

    async def _follow(self) -> None:
        while not self.finished:
            plan, changed = self._plan, self._changed
            if plan is None:
                await changed.wait()
            elif plan.open_at > anyio.current_time():
                with anyio.move_on_at(plan.open_at):
                    await changed.wait()
            else:
                self._plan = None
                await self._perform(plan)
            if self._run_ended:
                self._run_ended = False
                await self._deliver_lines(self._cursor.finish())

    async def read(self) -> None:
        """Read the current log once, across lost connections."""
        with suppress(_LimitReached):
            await self._read()

    async def _read(self) -> None:
        failures = 0
        while True:
            since = self._cursor.since
            try:
                async with self._open(self._options(), follow=False) as streamed:
                    await self._deliver_stream(streamed)
            except TransportError as error:
                failures = 1 if self._cursor.since != since else failures + 1
                if failures > _MAX_FAILURES:
                    raise
                self._warn(error)
                await anyio.sleep(min(8.0, 0.25 * 2**failures))
            else:
                await self._deliver_lines(self._cursor.finish())
                return

    async def _perform(self, plan: log_tail.OpenLog) -> None:
        resumes = plan.resumed and (self._cursor.since is not None or self._restarted())
        options = self._options()
        try:
            async with self._open(options, follow=True) as streamed:
                if _is_log(streamed):
                    self._step(log_tail.Opened())
                    if resumes:
                        await self._read_previous(options)
                await self._deliver_stream(streamed)
        except (Unauthorized, Forbidden):
            raise
        except (ApiError, TransportError, RemoteProtocolError) as error:
            self._warn(error)
            self._step(log_tail.Failed())
        else:
            self._step(log_tail.Closed())

    async def _read_previous(self, options: dict[str, Any]) -> None:
        """Read the missed lines of the previous run, if it has a log."""
        try:
            async with self._open({**options, "previous": True}, follow=False) as streamed:
                await self._deliver_stream(streamed)
                await self._deliver_lines(self._cursor.finish())
        except ApiError as error:
            if error.code not in (400, 404):
                raise

    async def _deliver_stream(self, streamed: ResponseStream[bytes]) -> None:
        if _is_log(streamed):
            self._cursor.begin()
        async for chunks in streamed:
            for chunk in chunks:
                await self._deliver_lines(self._cursor.feed(chunk))

    def _open(
        self, options: dict[str, Any], *, follow: bool
    ) -> AbstractAsyncContextManager[ResponseStream[bytes]]:
        return self._client.open(self._request(options, follow=follow), timeout=None, idle=_IDLE)

    def _request(self, options: dict[str, Any], *, follow: bool) -> StreamRequest[bytes]:
        options = {name: value for name, value in options.items() if value is not None}
        options |= {"container": self.container, "timestamps": True}
        followed = self._api.follow_log(self.pod, **options)
        request = followed if follow else self._api.log(self.pod, **options)
        return StreamRequest(
            request.method, request.target, request.headers, verb="get", opener=_RawReader(followed.opener)
        )

    def _options(self) -> dict[str, Any]:
        since = self._cursor.since
        if since is not None:
            return {"since_time": since, "previous": self._start.previous}
        if self._restarted():
            return {}
        return self._start.options(anyio.current_time())

    def _restarted(self) -> bool:
        """Return whether the container has been restarted since the start."""
        run = getattr(self._state, "run", self._first_run)
        return self._first_run is not None and run is not None and run > self._first_run

    async def _deliver_lines(self, lines: list[log_tail.TimedLine]) -> None:
        if self._bytes_left is not None:
            lines, self._bytes_left = _limit_lines(lines, self._bytes_left)
        if lines:
            source = str(self._api.namespace), self.pod, self.container
            await self._deliver(
                [LogLine(*source, line.text, line.time.decode(), line.complete) for line in lines]
            )
        if self._bytes_left == 0:
            raise _LimitReached

    def _step(self, event: log_tail.Event) -> None:
        self._state, actions = log_tail.step(self._state, event, anyio.current_time())
        for action in actions:
            match action:
                case log_tail.OpenLog():
                    self._plan = action
                case log_tail.EndRun():
                    self._run_ended = True
                case log_tail.Finish():
                    self._plan = None
        self._changed.set()
        self._changed = anyio.Event()

    def _warn(self, error: KubeprotoError) -> None:
        # A silent log is requested again every five minutes, which needs no warning.
        level = logging.DEBUG if isinstance(error, DeadlineExceeded) else logging.WARNING
        level = self._logged.level(level, error_text(error), anyio.current_time())
        _log.log(level, "the log of %s/%s: %s", self.pod, self.container, error)


def _limit_lines(lines: list[log_tail.TimedLine], bytes_left: int) -> tuple[list[log_tail.TimedLine], int]:
    """Return the lines within a limit, and the remaining number of bytes.

    A server's `limitBytes` would count the timestamps too, and begin again after a lost connection.
    """
    for index, line in enumerate(lines):
        size = len(line.text) + line.complete
        if size > bytes_left:
            truncated = [replace(line, text=line.text[:bytes_left], complete=False)] if bytes_left else []
            return lines[:index] + truncated, 0
        bytes_left -= size
    return lines, bytes_left
