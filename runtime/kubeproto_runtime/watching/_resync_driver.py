"""`ResyncDriver`: performs the actions of the resync machine, and passes objects to a sink.

    machine ── SendList, SendWatch ──► transport ──► decoder ──┬── objects ──► sink
       ▲                                                       │
       └─────────────── a summary of each chunk ───────────────┘

The machine makes the decisions. `advance` sends the planned request, or reads the next slice of the open
response, so that a task (`run`) or the consumer of an iterator can drive it. No cancel scope is open between
two calls.

If the machine abandons a response, the response is closed, and its remaining bytes are dropped.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import anyio

from kubeproto import DeadlineExceeded, KubeObject, TransportError
from kubeproto.watching import resync
from kubeproto.wire import REFUSAL_TIME

from ..calls._outcome_errors import OUTCOMES, OutcomeError, outcome_of
from ..tasks._decoding_turns import SLICE
from ._resync_exchanges import ListExchange, Parts, ResyncExchange, WatchExchange
from ._sinks import Planned, Sink, SinkDriver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from kubeproto import Api

    from ..calls._base_client import BaseClient

K = TypeVar("K", bound=KubeObject)

_SETTINGS: Final = resync.Settings()


class ResyncDriver(SinkDriver, Generic[K]):
    """Keeps one sink in sync with the server while `run` runs, or `advance` is called.

    `selection` has the parameters that list and watch share: selectors, and a shard. `on_live` is called when
    a watch begins to keep the sink in sync, and when that ends.
    """

    def __init__(
        self,
        client: BaseClient,
        api: Api[K],
        sink: Sink,
        *,
        settings: resync.Settings = _SETTINGS,
        version: str = "",
        selection: dict[str, Any] | None = None,
        on_live: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(client.server, sink, settings, version, selection, on_live)
        self._client = client
        self._api = api
        self._send_at = 0.0
        self._response: _OpenResponse | None = None
        self._scope = anyio.CancelScope()
        self._running = False

    async def run(self) -> None:
        """Follow until stopped or cancelled; after a cancellation it can be run again."""
        if self._running:
            raise RuntimeError("this ResyncDriver is running already")
        self._running = True
        try:
            self.begin()
            while self._planned is not None or self._response is not None:
                with anyio.CancelScope() as self._scope:
                    while self._planned is not None or self._response is not None:
                        await self.advance()
        finally:
            self._running = False
            await self.pause()

    def begin(self) -> None:
        """Plan the first request or, after a pause, the request that continues at the last version."""
        if isinstance(self.state, resync.Idle):
            self.state = self._server.apply_to(self.state)
            self._step(resync.Started(), [], anyio.current_time())

    async def advance(self) -> None:
        """Send the planned request, or read the next slice of the open response."""
        try:
            response = self._response
            parts = await (self._send() if response is None else self._receive(response))
            for batch, event in parts:
                if self._response is None or self._response.dropped:
                    break
                if isinstance(event, resync.Listed | resync.Closed | resync.Failed):
                    await self._finish(self._response, event)
                else:
                    self._step(event, batch, anyio.current_time())
            if self._response is not None and self._response.dropped:
                await self._close()
        except OUTCOMES as error:
            await self._close(error)
            # If the machine abandoned the response before the error, it has planned another request.
            if self._planned is None and not isinstance(self.state, resync.Idle | resync.Ended):
                self._step(resync.Failed(outcome_of(error)), [], anyio.current_time())
        except BaseException as error:
            await self._close(error)
            raise

    @property
    def waiting(self) -> bool:
        """Whether the next request is planned, and no response is open."""
        return self._planned is not None and self._response is None

    async def pause(self) -> None:
        """Close the open response. `begin` continues from here."""
        await self._close()
        if not isinstance(self.state, resync.Idle | resync.Ended):
            self._step(resync.Paused(), [], anyio.current_time())

    def refresh(self) -> None:
        """Relist. Readers see the old snapshot until the new snapshot is complete."""
        if not isinstance(self.state, resync.Idle | resync.Ended):
            self._interrupt(resync.Refreshed())

    def stop(self) -> None:
        """Stop following: `run` returns."""
        if not isinstance(self.state, resync.Ended):
            self._interrupt(resync.Stopped())

    @property
    def sync_status(self) -> resync.SyncStatus:
        """The time of the last byte, the version, and the reason if the sink is out of sync."""
        return resync.sync_status(self.state, anyio.current_time())

    def _interrupt(self, event: resync.Event) -> None:
        """Pass an event of the program to the machine, and wake the task that waits for the server."""
        previous = self.state
        self._step(event, [], anyio.current_time())
        if self.state is not previous:
            self._scope.cancel()

    def _plan(self, planned: Planned) -> None:
        # The time is drawn once: after a cancellation, the next call waits until the same time.
        self._planned = planned
        self._send_at = self._client.random.uniform(planned.earliest, planned.latest)

    def _drop(self) -> None:
        if self._response is not None:
            self._response.dropped = True

    async def _send(self) -> Parts:
        """Send the planned request at its time, and wait for the head of the response."""
        planned, client = self._planned, self._client
        assert planned is not None
        await anyio.sleep_until(self._send_at)
        await client.admit()
        if self._planned is not planned:
            return ()  # an interrupt has planned another request while this task was scheduled
        self._planned = None
        exchange: ResyncExchange
        if isinstance(planned, resync.SendList):
            exchange = ListExchange(self._api, planned, self._selection)
        else:
            seconds = client.random.randint(*planned.seconds)
            exchange = WatchExchange(self._api, planned, self._selection, seconds)
        response = self._response = _OpenResponse(exchange)
        with client.outgoing(exchange.request, client.transport) as outgoing:
            sending = client.transport.send(outgoing.request, idle=exchange.idle, timeout=exchange.timeout)
            incoming = await response.stack.enter_async_context(sending)
            outgoing.record_response(incoming.status)
        response.chunks = aiter(incoming)
        # Otherwise the garbage collector would close a generator, and trio warns about that.
        if (close := getattr(response.chunks, "aclose", None)) is not None:
            response.stack.push_async_callback(close)
        return exchange.open(incoming.status, incoming.headers, anyio.current_time())

    async def _receive(self, response: _OpenResponse) -> Parts:
        """Return the parts of the next slice of a response, or of its end."""
        exchange, slices = response.exchange, response.slices
        if not slices:
            try:
                if exchange.refused:
                    chunk = await _next_error_chunk(response)
                else:
                    chunk = await anext(response.chunks)
            except StopAsyncIteration:
                return exchange.finish()
            except TransportError:
                if not exchange.refused:
                    raise
                return exchange.finish()  # the received part of an error has the reason
            # In slices: decoding megabytes in one step would block the event loop.
            slices += [chunk[start : start + SLICE] for start in range(0, len(chunk), SLICE)] or [chunk]
            slices.reverse()
        data = slices.pop()
        await self._client.turns.take(len(data))
        if response.dropped:  # while this task waited
            return ()
        parts = exchange.feed(data)
        end = () if slices else exchange.check_progress(anyio.current_time())
        return [*parts, *end] if end else parts

    async def _finish(self, response: _OpenResponse, outcome: resync.Event) -> None:
        """Close a response, then report its outcome, unless the machine abandons it meanwhile."""
        close_error = await self._close()
        if not response.dropped:
            outcome = outcome if close_error is None else resync.Failed(outcome_of(close_error))
            self._step(outcome, [], anyio.current_time())

    async def _close(self, error: BaseException | None = None) -> OutcomeError | None:
        """Close the open response, complete or not; return the error of closing it."""
        response = self._response
        if response is None:
            return None
        try:
            with anyio.CancelScope(shield=True):
                # Without `async with`, because a response is open across several calls of `advance`. The
                # transport needs the error to decide whether it resets or reuses the connection.
                await response.stack.__aexit__(None if error is None else type(error), error, None)
        except OUTCOMES as close_error:
            # A context manager may raise the error that it received again: closing has not failed then.
            return None if close_error is error else close_error
        except BaseException as close_error:
            if close_error is not error:
                raise
        finally:
            self._response = None
        return None


class _OpenResponse:
    """The response to an exchange. `dropped` is True if the machine has abandoned it."""

    __slots__ = ("chunks", "dropped", "exchange", "slices", "stack")

    def __init__(self, exchange: ResyncExchange) -> None:
        self.exchange = exchange
        self.stack = AsyncExitStack()
        self.slices: list[bytes] = []  # of the last chunk, the next one at the end
        self.dropped = False
        self.chunks: AsyncIterator[bytes]


async def _next_error_chunk(response: _OpenResponse) -> bytes:
    """Return the next chunk of an error response. A watch may be silent for ten minutes, an error may not."""
    with anyio.move_on_after(REFUSAL_TIME):
        return await anext(response.chunks)
    method = response.exchange.request.method
    raise DeadlineExceeded(f"{method}: the error response was silent for {REFUSAL_TIME:g} s")
