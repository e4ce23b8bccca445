"""`ContainerLog`: the log of one container, through restarts and lost connections, as the machine says."""

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

from ..tasks._logged_lines import LoggedLines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from kubeproto import Api, Dynamic, Head, Headers
    from kubeproto.wire import Decoder

    from ..calls._base_client import BaseClient, Streamed

_log: Final = logging.getLogger("kubeproto.logs")

# A program may be silent for days, and so may a connection whose other end is gone: finding out costs a
# request.
_IDLE: Final = 300.0
_HEAD: Final = 60.0
_GIVE_UP: Final = 5  # failures in a row of a log that is not followed


class LogLine(Struct, frozen=True, gc=False):
    """A line of the log of a container, without its end.

    `time` is as the kubelet wrote it, in RFC 3339; empty for what the kubelet itself says. A line of more
    than a mebibyte comes in pieces, of which the last is `whole`.
    """

    namespace: str
    pod: str
    container: str
    text: bytes
    time: str = ""
    whole: bool = True


class LogStart(Struct, frozen=True, kw_only=True):
    """From where a log is read, and how much.

    `since_seconds` counts back from `begun`, on the clock of the event loop.
    """

    begun: float
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
            "since_seconds": None if seconds is None else max(1, ceil(seconds + now - self.begun)),
            "since_time": self.since_time,
            "tail_lines": self.tail_lines,
        }


class _LimitReached(Exception):
    """The limit of a log has been reached."""


class _Bytes(Struct, frozen=True):
    """Reads the bytes of a log as they come; `opening` reads a refusal."""

    opening: Any

    def open(self, request: Head, status: int, headers: Headers) -> Decoder[bytes]:
        """Return a decoder that passes the bytes on, or raises the refusal that they are."""
        return _Chunks() if 200 <= status < 300 else self.opening.open(request, status, headers)


class _Chunks:
    def feed(self, chunk: bytes) -> list[bytes]:
        return [chunk]

    def finish(self) -> list[bytes]:
        return []


def _is_log(streamed: Streamed[bytes]) -> bool:
    return 200 <= streamed.status < 300


class ContainerLog:
    """Reads the log of one container and passes its lines on; `deliver` waits until they are taken."""

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
        self._left = start.limit_bytes
        self._cursor = log_tail.LogCursor()
        self._state: log_tail.State = log_tail.Waiting()
        self._first: int | None = None  # the run that was found first
        self._plan: log_tail.OpenLog | None = None
        self._ended = False  # whether the line that the cursor holds back is complete
        self._changed = anyio.Event()
        self._logged = LoggedLines()

    @property
    def finished(self) -> bool:
        """Whether no more lines will come."""
        return isinstance(self._state, log_tail.Finished)

    def note(self, event: log_tail.RunStarted | log_tail.RunEnded | log_tail.PodDeleted) -> None:
        """Note the status of the pod."""
        if self._first is None and not isinstance(event, log_tail.PodDeleted):
            self._first = event.run
        self._advance(event)

    async def follow(self) -> None:
        """Read until the container will not run again; raise errors that waiting cannot solve."""
        try:
            await self._follow()
        except _LimitReached:
            self._advance(log_tail.PodDeleted())  # as if nothing more could come

    async def _follow(self) -> None:
        while not self.finished:
            plan, changed = self._plan, self._changed
            if plan is None:
                await changed.wait()
            elif plan.at > anyio.current_time():
                with anyio.move_on_at(plan.at):
                    await changed.wait()
            else:
                self._plan = None
                await self._perform(plan)
            if self._ended:
                self._ended = False
                await self._hand_over(self._cursor.finish())

    async def read(self) -> None:
        """Read the present log once, across lost connections."""
        with suppress(_LimitReached):
            await self._read()

    async def _read(self) -> None:
        failures = 0
        while True:
            before = self._cursor.since
            try:
                async with self._open(self._options(), follow=False) as streamed:
                    await self._pass_on(streamed)
            except TransportError as error:
                failures = 1 if self._cursor.since != before else failures + 1
                if failures > _GIVE_UP:
                    raise
                self._warn(error)
                await anyio.sleep(min(8.0, 0.25 * 2**failures))
            else:
                await self._hand_over(self._cursor.finish())
                return

    async def _perform(self, plan: log_tail.OpenLog) -> None:
        resumes = plan.resumed and (self._cursor.since is not None or self._restarted())
        options = self._options()
        try:
            async with self._open(options, follow=True) as streamed:
                if _is_log(streamed):
                    self._advance(log_tail.Opened())
                    if resumes:
                        await self._read_previous(options)
                await self._pass_on(streamed)
        except (Unauthorized, Forbidden):
            raise
        except (ApiError, TransportError, RemoteProtocolError) as error:
            self._warn(error)
            self._advance(log_tail.Failed())
        else:
            self._advance(log_tail.Closed())

    async def _read_previous(self, options: dict[str, Any]) -> None:
        """Read what was missed of the run before this one, if there is any."""
        try:
            async with self._open({**options, "previous": True}, follow=False) as streamed:
                await self._pass_on(streamed)
                await self._hand_over(self._cursor.finish())
        except ApiError as error:
            if error.code not in (400, 404):
                raise

    async def _pass_on(self, streamed: Streamed[bytes]) -> None:
        if _is_log(streamed):
            self._cursor.begin()
        async for chunks in streamed:
            for chunk in chunks:
                await self._hand_over(self._cursor.feed(chunk))

    def _open(self, options: dict[str, Any], *, follow: bool) -> AbstractAsyncContextManager[Streamed[bytes]]:
        return self._client.open(self._request(options, follow=follow), timeout=None, idle=_IDLE)

    def _request(self, options: dict[str, Any], *, follow: bool) -> StreamRequest[bytes]:
        options = {name: value for name, value in options.items() if value is not None}
        options |= {"container": self.container, "timestamps": True}
        followed = self._api.follow_log(self.pod, **options)
        head = followed if follow else self._api.log(self.pod, **options)
        return StreamRequest(
            head.method, head.target, head.headers, verb="get", opening=_Bytes(followed.opening)
        )

    def _options(self) -> dict[str, Any]:
        since = self._cursor.since
        if since is not None:
            return {"since_time": since, "previous": self._start.previous}
        if self._restarted():
            return {}
        return self._start.options(anyio.current_time())

    def _restarted(self) -> bool:
        """Whether the container has been started again since it was found."""
        run = getattr(self._state, "run", self._first)
        return self._first is not None and run is not None and run > self._first

    async def _hand_over(self, lines: list[log_tail.TimedLine]) -> None:
        if self._left is not None:
            lines, self._left = _cut(lines, self._left)
        if lines:
            place = str(self._api.namespace), self.pod, self.container
            await self._deliver(
                [LogLine(*place, line.text, line.time.decode(), line.whole) for line in lines]
            )

        if self._left == 0:
            raise _LimitReached

    def _advance(self, event: log_tail.Event) -> None:
        self._state, actions = log_tail.step(self._state, event, anyio.current_time())
        for action in actions:
            match action:
                case log_tail.OpenLog():
                    self._plan = action
                case log_tail.EndRun():
                    self._ended = True
                case log_tail.Finish():
                    self._plan = None
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def _warn(self, error: KubeprotoError) -> None:
        # A log in which nothing was written for some minutes is requested again, which is not worth a log
        # line.
        level = logging.DEBUG if isinstance(error, DeadlineExceeded) else logging.WARNING
        level = self._logged.level(level, str(error), anyio.current_time())
        _log.log(level, "the log of %s/%s: %s", self.pod, self.container, error)


def _cut(lines: list[log_tail.TimedLine], left: int) -> tuple[list[log_tail.TimedLine], int]:
    """Return as many of the lines as a limit still allows, and the rest of the limit.

    A server's `limitBytes` would count the times too, and restart after a lost connection.
    """
    kept: list[log_tail.TimedLine] = []
    for line in lines:
        size = len(line.text) + line.whole
        if size > left:
            return ([*kept, replace(line, text=line.text[:left], whole=False)] if left else kept), 0
        kept.append(line)
        left -= size
    return kept, left
