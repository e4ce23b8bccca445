"""The exchange of a list or a watch, without I/O: converts its response to events of the resync machine.

A driver sends `request` and calls `open` with the head of the response, `feed` with its bytes, and `finish`
at its end. Each returns parts: an event of the machine, and its objects or watch events. An outcome
(`Listed`, `Closed`, `Failed`) is the last part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from kubeproto import KubeObject, WatchFailed
from kubeproto.watching import ListDecoder, WatchDecoder, resync
from kubeproto.wire import TimedOut, classify, is_enough

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Api, Headers, RawRequest

K = TypeVar("K", bound=KubeObject)

Parts: TypeAlias = "Sequence[tuple[list[Any], resync.Event]]"


class ResyncExchange:
    """The base of `ListExchange` and `WatchExchange`."""

    def __init__(self, request: RawRequest, idle: float | None, timeout: float) -> None:
        self.request = request
        self.idle = idle
        self.timeout = timeout
        self.refused = False
        self._status = 0
        self._size = 0
        self._progressed = False  # an object was completed since the last check
        self._progressed_at = 0.0  # when a check noticed that, or when the head came

    def open(self, status: int, headers: Headers, now: float) -> Parts:
        """Process the head of the response."""
        self._status, self.refused = status, not 200 <= status < 300
        self._progressed_at = now
        return ()

    def feed(self, data: bytes) -> Parts:
        """Process the next bytes of the body."""
        raise NotImplementedError

    def finish(self) -> Parts:
        """Process the end of the body, or of the readable part of an error."""
        raise NotImplementedError

    def check_progress(self, now: float) -> Parts:
        """Return the end of a response without progress, although bytes arrive; () if there is progress."""
        if self._progressed:
            self._progressed_at, self._progressed = now, False
        elif self.refused and is_enough(self._status, self._size, now - self._progressed_at):
            return self.finish()
        elif self.idle is not None and now - self._progressed_at >= self.idle:
            request = f"{self.request.method} {self.request.target.partition('?')[0]}"
            reason = f"{request}: bytes arrived, but no object in {self.idle:g} s"
            return [([], resync.Failed(TimedOut(reason)))]
        return ()


class ListExchange(ResyncExchange, Generic[K]):
    """A page of a list."""

    def __init__(self, api: Api[K], planned: resync.SendList, selection: dict[str, Any]) -> None:
        request = api.list(
            resource_version=planned.version,
            resource_version_match="NotOlderThan" if planned.match else "",
            limit=planned.limit,
            continue_=planned.token,
            **selection,
        )
        super().__init__(request, planned.idle, planned.timeout)
        self._kind = api.kind
        self._first = ""

    def open(self, status: int, headers: Headers, now: float) -> Parts:
        """Process the head of the response."""
        self._decoder = ListDecoder(self._kind, status=status, headers=headers)
        return super().open(status, headers, now)

    def feed(self, data: bytes) -> Parts:
        """Process the next bytes of the body."""
        self._size += len(data)
        return self._received(self._decoder.feed(data))

    def finish(self) -> Parts:
        """Process the end of the body, or of the readable part of an error."""
        parts = self._received(self._decoder.finish())
        if isinstance(parts[-1][1], resync.Failed):
            return parts
        metadata = self._decoder.metadata
        listed = resync.Listed(metadata.resource_version, metadata.continue_, 0, self._first)
        return [*parts, ([], listed)]

    def _received(self, items: list[Any]) -> Parts:
        if items and isinstance(failed := items[-1], WatchFailed):
            return [([], resync.Failed(classify(failed.status)))]
        if items:
            self._progressed = True
            self._first = self._first or first_name(items)
        return [(items, resync.Received(len(items)))]


class WatchExchange(ResyncExchange, Generic[K]):
    """A watch, which may begin with a streaming list; `seconds` is how long the server may keep it open."""

    def __init__(
        self, api: Api[K], planned: resync.SendWatch, selection: dict[str, Any], seconds: int
    ) -> None:
        request = api.watch(
            resource_version=planned.version,
            send_initial_events=planned.initial or None,
            timeout_seconds=seconds,
            **selection,
        )
        super().__init__(request, planned.idle, seconds + planned.grace)
        self._kind = api.kind

    def open(self, status: int, headers: Headers, now: float) -> Parts:
        """Process the head of the response."""
        super().open(status, headers, now)
        # `checked`: the sink stores all objects, so each line is decoded completely now.
        self._decoder = WatchDecoder(self._kind, status=status, headers=headers, checked=True)
        return () if self.refused else [([], resync.Opened())]

    def feed(self, data: bytes) -> Parts:
        """Process the next bytes of the body."""
        events = self._decoder.feed(data)
        self._size += len(data)
        if self.refused:
            return ()  # the error body must be complete before its reason is known
        if events:
            self._progressed = True
        return resync.digest(events)

    def finish(self) -> Parts:
        """Process the end of the body, or of the readable part of an error."""
        # Without events there is no part: a silent watch would seem alive after `Received(0)`.
        parts = resync.digest(events) if (events := self._decoder.finish()) else []
        if parts and isinstance(parts[-1][1], resync.Failed):
            return parts
        return [*parts, ([], resync.Closed())]


def first_name(items: Sequence[Any]) -> str:
    """Return the namespace and name of the first object of a page; "" if there is no object, or no name."""
    metadata = items[0].metadata if items else None
    return "" if metadata is None else f"{metadata.namespace}/{metadata.name}"
