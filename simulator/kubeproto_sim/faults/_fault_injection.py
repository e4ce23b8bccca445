"""`Faults`: injects failures between clients and a cluster, from a script, or at random from a seed.

::

    faults = sim.Faults(cluster, script=[sim.Cut(after=100), sim.Throttle(), sim.LoseResponse()])
    faults = sim.Faults(cluster, seed=7, share=0.1)
    client = faults.transport()

A scripted fault is used once, for the first request that it fits, in the order of the script. Random faults
affect a share of all requests, chosen by the seed, until `calm` is called. In both cases the same requests
meet the same faults, and `transcript` lists the latest 20,000 requests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Literal

import msgspec

from kubeproto import ConnectError, TransportError
from kubeproto.wire import RawRequest

from .._cluster import Cluster
from .._rejections import failure
from .._seeded_random import SeededRandom
from .._streams import Stream
from .._transports import BlockingSimTransport, SimTransport
from ..access._users import User
from ..admission._webhook_calls import PendingCalls, Replies
from ..reading._query import is_true, split_target
from ..reading._watch_streams import error_line
from ..serving._server_responses import ServerResponse, plain_response, status_response
from ._fault_types import (
    Both,
    Cut,
    Delay,
    Empty,
    ErrorEvent,
    Expire,
    ExpireCredentials,
    Fail,
    Fault,
    ForceConflict,
    FutureVersion,
    HalfOpen,
    Html,
    Lag,
    LoseResponse,
    RefuseConnection,
    RequestClass,
    Throttle,
)

_EXPIRED: Final = "too old resource version: 1 (2)"
_STALE: Final = "the object has been modified; please apply your changes to the latest version and try again"
# Lines of a transcript, each about 100 bytes: more than a test reads, and little for a long-running server.
_MAX_LINES: Final = 20_000
_PAGE: Final = "<html><head><title>502 Bad Gateway</title></head><body>bad gateway</body></html>\n"

_APPLICABLE_REQUESTS: Final[dict[type[Any], tuple[RequestClass, ...]]] = {
    Cut: ("read", "watch"), HalfOpen: ("read", "watch"), Lag: ("read", "watch"), Expire: ("read", "watch"),
    FutureVersion: ("read", "watch"), ErrorEvent: ("watch",), LoseResponse: ("write",),
    ForceConflict: ("write",),
    Empty: ("read", "watch"),
}  # fmt: skip


class Faults:
    """Injects faults between clients and a cluster."""

    def __init__(
        self, cluster: Cluster, *, script: Iterable[Fault] = (), seed: int = 0, share: float = 0.0
    ) -> None:
        self.cluster = cluster
        self.script = list(script)
        self.share = share
        self.lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._rng = SeededRandom(seed)
        self._start = cluster.now

    def transport(self, user: User | str | None = None) -> SimTransport:
        """Return an async transport with these faults."""
        return SimTransport(self.cluster, partial(self.respond, user=user))

    def blocking_transport(self, user: User | str | None = None) -> BlockingSimTransport:
        """Return a blocking transport with these faults."""
        return BlockingSimTransport(self.cluster, partial(self.respond, user=user))

    def calm(self) -> None:
        """Inject no more faults."""
        self.script.clear()
        self.share = 0.0

    @property
    def transcript(self) -> str:
        """The latest requests, one line each: the time, the request and its fault."""
        return "\n".join(self.lines)

    def respond(
        self, request: RawRequest, user: User | str | None = None, replies: Replies | None = None
    ) -> ServerResponse:
        """Respond to a request as the cluster does, or with a fault, which may be a `TransportError`."""
        rng, script, request_class = self._rng.state, list(self.script), _class_of(request)
        fault = self._next(request_class)
        line = f"{self.cluster.now - self._start:10.3f}  {request.method} {request.target}"
        respond = partial(self.cluster.respond, request, user, replies)
        try:
            response = (
                respond() if fault is None else _apply_fault(self.cluster, respond, request_class, fault)
            )
        except PendingCalls:  # the request will be repeated, and must meet the same fault
            self._rng.state, self.script = rng, script
            raise
        except TransportError:
            self.lines.append(f"{line} !! {fault}")
            raise
        self.lines.append(f"{line} -> {response.status}" if fault is None else f"{line} !! {fault}")
        return response

    def _next(self, request_class: RequestClass) -> Fault | None:
        for index, fault in enumerate(self.script):
            if _fits(fault, request_class):
                return self.script.pop(index)
        if self.share and self._rng.happens(self.share):
            return _random_fault(self._rng, request_class)
        return None


def _fits(fault: Fault, request_class: RequestClass) -> bool:
    if isinstance(fault, Both):
        return _fits(fault.outer, request_class) and _fits(fault.inner, request_class)
    return request_class in _APPLICABLE_REQUESTS.get(type(fault), ("read", "watch", "write"))


def _class_of(request: RawRequest) -> RequestClass:
    if request.method != "GET":
        return "write"
    _, query = split_target(request.target)
    return "watch" if is_true(query.get("watch")) else "read"


def _random_fault(rng: SeededRandom, request_class: RequestClass) -> Fault:
    makers = _RANDOM_FAULTS[request_class]
    return makers[rng.randrange(len(makers))](rng)


def _random_length(rng: SeededRandom) -> int:
    """Return a length at which a body is cut: short lengths as often as long ones."""
    return rng.randrange(1 << rng.randrange(14))


_Maker = Callable[[SeededRandom], Fault]
_ANY: Final[tuple[_Maker, ...]] = (
    lambda rng: Throttle(1 + rng.randrange(3), plain=rng.happens(0.5)),
    lambda _: Fail(),
    lambda _: RefuseConnection(),
    lambda _: Html(),
    lambda rng: Delay(rng.randrange(20) / 2),
)
_READS: Final[tuple[_Maker, ...]] = (
    lambda rng: Cut(_random_length(rng)),
    lambda rng: HalfOpen(_random_length(rng)),
    lambda rng: Lag(1 + rng.randrange(5)),
    lambda _: FutureVersion(),
)
_RANDOM_FAULTS: Final[dict[RequestClass, tuple[_Maker, ...]]] = {
    "read": (*_ANY, *_READS, lambda _: Expire("http-expired")),
    "watch": (
        *_ANY,
        *_READS,
        lambda rng: Cut(_random_length(rng), clean=True),
        lambda _: Expire(),
        lambda _: Expire("http-expired"),
        lambda _: Expire("http-gone"),
        lambda _: ErrorEvent(),
        lambda _: Empty(),
    ),
    "write": (*_ANY, lambda _: LoseResponse(), lambda _: Fail(after=True), lambda _: ForceConflict()),
}


def _apply_fault(
    cluster: Cluster, respond: Callable[[], ServerResponse], request_class: RequestClass, fault: Fault
) -> ServerResponse:
    """Return the response to a request with a fault."""
    match fault:
        case RefuseConnection():
            raise ConnectError("the connection was refused")
        case LoseResponse():
            respond()
            raise TransportError("the connection was reset before a response arrived")
        case Fail(after=limit, code=code):
            if limit:
                respond()
            return status_response(code, "Internal error occurred: injected by a fault", {"causes": []})
        case Throttle(seconds=seconds, plain=plain):
            return _too_many(seconds, plain=plain)
        case ForceConflict():
            return status_response(409, f"Operation cannot be fulfilled: {_STALE}")
        case Html(code=code):
            body = _PAGE.encode()
            return ServerResponse(
                code, (("Content-Type", "text/html"), ("Content-Length", str(len(body)))), body
            )
        case Empty():
            return ServerResponse(200, (("Content-Type", "application/json"), ("Content-Length", "0")), b"")
        case ExpireCredentials():
            return status_response(401, "Unauthorized")
        case Expire(form=form):
            return _expired(request_class, form)
        case FutureVersion():
            return _too_large(cluster, request_class)
        case ErrorEvent(code=code):
            return _one_line(error_line(failure(code, "injected by a fault")))
        case Delay(seconds=delay):
            response = respond()
            return msgspec.structs.replace(response, delay=response.delay + delay)
        case Lag(versions=versions):
            return _lagging(cluster, respond, versions)
        case Cut(after=limit, clean=clean):
            return _break_body(respond(), limit, "clean" if clean else "cut")
        case HalfOpen(after=limit):
            return _break_body(respond(), limit, "silent")
        case Both(outer=outer, inner=inner):
            inner_response = partial(_apply_fault, cluster, respond, request_class, inner)
            return _apply_fault(cluster, inner_response, request_class, outer)


def _too_many(seconds: int | None, *, plain: bool) -> ServerResponse:
    retry_after = () if seconds is None else (("Retry-After", str(seconds)),)
    if plain:
        headers = (*retry_after, ("X-Content-Type-Options", "nosniff"))
        return plain_response(429, "Too many requests, please try again later.\n", headers)
    details = None if seconds is None else {"retryAfterSeconds": seconds}
    response = status_response(429, "storage is (re)initializing", details)
    return msgspec.structs.replace(response, headers=(*response.headers, *retry_after))


def _expired(request_class: RequestClass, form: str) -> ServerResponse:
    status = failure(410, _EXPIRED, reason="Gone" if form == "http-gone" else "Expired")
    if request_class == "watch" and form == "in-stream":
        return _one_line(error_line(status))
    body = msgspec.json.encode(status) + b"\n"
    return ServerResponse(
        410, (("Content-Type", "application/json"), ("Content-Length", str(len(body)))), body
    )


def _too_large(cluster: Cluster, request_class: RequestClass) -> ServerResponse:
    details: dict[str, Any] = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    message = f"Timeout: Too large resource version: {cluster.version + 1}, current: {cluster.version}"
    if request_class == "watch":
        return _one_line(error_line(failure(504, message, details)))
    response = status_response(504, message, details)
    return msgspec.structs.replace(response, headers=(*response.headers, ("Retry-After", "1")), delay=3.0)


def _lagging(cluster: Cluster, respond: Callable[[], ServerResponse], versions: int) -> ServerResponse:
    """Return the response of a replica that lags; a watch catches up as soon as it is open."""
    previous_lag = cluster.lag
    cluster.lag = previous_lag + versions
    try:
        return respond()
    finally:
        cluster.lag = previous_lag


def _one_line(line: bytes) -> ServerResponse:
    headers = (("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"))
    return ServerResponse(200, headers, BrokenBody(None, line, len(line), "clean"))


def _break_body(response: ServerResponse, limit: int, ending: Ending) -> ServerResponse:
    if isinstance(response.body, bytes):
        broken = BrokenBody(None, response.body, limit, ending)
    else:
        broken = BrokenBody(response.body, b"", limit, ending)
    return msgspec.structs.replace(response, body=broken)


Ending = Literal["clean", "cut", "silent"]


class BrokenBody:
    """A body that is unchanged until it stops after a number of bytes."""

    def __init__(self, source: Stream | None, data: bytes, limit: int, ending: Ending) -> None:
        self.wake: Callable[[], None] | None = None
        self._source = source
        if source is not None:
            source.wake = self._wake_reader
        self._data = data
        self._remaining = limit
        self._ending: Ending = ending

    @property
    def ended(self) -> bool:
        """Whether no more bytes will come; a half-open stream never ends."""
        if self._remaining > 0:
            return not self._data and (self._source is None or self._source.ended)
        return self._ending == "clean"

    def take(self) -> bytes:
        """Return the bytes that have arrived; raise `TransportError` where the body is cut."""
        if self._remaining <= 0:
            if self._ending == "cut":
                raise TransportError("the connection was reset")
            return b""
        if self._source is not None:
            self._data += self._source.take()
        data, self._data = self._data[: self._remaining], b""
        self._remaining -= len(data)
        if self._remaining <= 0:
            self.close()
        return data

    def close(self) -> None:
        """Close the stream: the client has stopped reading."""
        if self._source is not None:
            self._source.close()

    def _wake_reader(self) -> None:
        if self.wake is not None:
            self.wake()
