"""The connection of a program to the cluster, where the seed determines the fault of each request.

The fault of a request depends only on the seed, the program and the number of the request. So a run can be
repeated without some of its faults, and the others stay the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from kubeproto import ConnectError, RawRequest
from kubeproto_sim import (
    Both,
    Cut,
    Delay,
    Empty,
    ErrorEvent,
    Expire,
    ExpireCredentials,
    Fail,
    Faults,
    ForceConflict,
    FutureVersion,
    HalfOpen,
    Html,
    Lag,
    LoseResponse,
    RefuseConnection,
    ServerResponse,
    Throttle,
    User,
)

if TYPE_CHECKING:
    from kubeproto_sim import Fault

    from .trial import Trial

Sort: TypeAlias = Literal["read", "watch", "write"]

_SLOW: Final[tuple[str, Callable[[Random], Fault]]] = (
    "slow connection", lambda rng: Delay(rng.randint(1, 20) / 4)
)  # fmt: skip
_CUT: Final[tuple[str, Callable[[Random], Fault]]] = "cut", lambda rng: Cut(_random_position(rng))
_HALF_OPEN: Final[tuple[str, Callable[[Random], Fault]]] = (
    "half-open",
    lambda rng: HalfOpen(_random_position(rng)),
)
_ANY: Final[tuple[tuple[str, Callable[[Random], Fault]], ...]] = (
    ("429 with Retry-After", lambda rng: Throttle(rng.randint(1, 3), plain=rng.random() < 0.5)),
    ("429 without Retry-After", lambda rng: Throttle(None, plain=rng.random() < 0.5)),
    ("5xx", lambda rng: Fail(code=rng.choice((500, 503, 504)))),
    ("connection refused", lambda _: RefuseConnection()),
    ("HTML of a proxy", lambda rng: Html(rng.choice((502, 503, 504)))),
    _SLOW,
    ("expired token", lambda _: ExpireCredentials()),
)
_READS: Final[tuple[tuple[str, Callable[[Random], Fault]], ...]] = (
    _CUT,
    _CUT,
    _HALF_OPEN,
    ("an older replica", lambda rng: Lag(rng.randint(1, 5))),
    ("a version that has not come", lambda _: FutureVersion()),
    ("410 as HTTP, Expired", lambda _: Expire("http-expired")),
)
_DRAWN: Final[dict[Sort, tuple[tuple[str, Callable[[Random], Fault]], ...]]] = {
    "read": (*_ANY, *_READS),
    "watch": (
        *_ANY,
        *_READS,
        ("cut, as if at the end", lambda rng: Cut(_random_position(rng), clean=True)),
        ("410 in the stream", lambda _: Expire()),
        ("410 as HTTP, Gone", lambda _: Expire("http-gone")),
        ("an ERROR event", lambda rng: ErrorEvent(rng.choice((400, 403, 500, 504)))),
        ("an empty response", lambda _: Empty()),
    ),
    "write": (
        *_ANY,
        ("a lost response", lambda _: LoseResponse()),
        ("a lost response", lambda _: LoseResponse()),
        ("5xx after the write", lambda _: Fail(after=True)),
        ("a forced conflict", lambda _: ForceConflict()),
    ),
}
KINDS: Final = sorted({name for drawn in _DRAWN.values() for name, _ in drawn})
# Further faults of a request in transit, independent of the server.
_BESIDES: Final[dict[Sort, tuple[tuple[str, Callable[[Random], Fault]], ...]]] = {
    "read": (_SLOW, _CUT, _CUT, _HALF_OPEN),
    "watch": (_SLOW, _CUT, _CUT, _HALF_OPEN),
    "write": (_SLOW,),
}
_BREAKING: Final = frozenset(("cut", "half-open", "cut, as if at the end"))
_ALONE: Final = frozenset(("connection refused", "a lost response"))  # after these there is no response


def _random_position(rng: Random) -> int:
    """Return a position in a body: small positions as often as large ones."""
    return rng.randrange(1 << rng.randrange(12))


class _Named:
    """Prefixes the lines of a program in the common transcript."""

    def __init__(self, trial: Trial, name: str) -> None:
        self._trial = trial
        self._name = name

    def append(self, line: str) -> None:
        """Append a line of `Faults`."""
        self._trial.note(f"{self._name}: {line[12:]}")


class Network(Faults):
    """The connection of a program to the cluster, with faults."""

    def __init__(
        self, trial: Trial, name: str, *, checked: Callable[[RawRequest], None] | None = None
    ) -> None:
        super().__init__(trial.cluster)
        self.lines: Any = _Named(trial, name)
        self.name = name
        self.dead = False
        self.requests = 0
        self.leases = 0
        self.refuses_until = 0.0
        self.behind_until = 0.0
        self.answered: Callable[[RawRequest, ServerResponse], None] | None = None
        self._trial = trial
        self._checked = checked
        self._key = zlib.crc32(name.encode()) ^ (trial.plan.seed * 0x9E3779B1)
        self._broken: list[tuple[str, Any]] = []

    def respond(
        self, request: RawRequest, user: User | str | None = None, replies: Any = None
    ) -> ServerResponse:
        """Respond to a request, unless its fault prevents that."""
        trial = self._trial
        if self.dead:
            raise ConnectError("the process was killed")
        self.requests += 1
        rng = Random(self._key + self.requests * 0x2545F491)
        sort: Sort = (
            "write" if request.method != "GET" else "watch" if "watch=1" in request.target else "read"
        )
        lease = "/leases" in request.target
        if lease:
            self.leases += 1
        if self._checked is not None and sort == "write" and not lease:
            self._checked(request)
        if trial.cluster.now < self.refuses_until:
            trial.count("network down")
            raise ConnectError("the network is down")
        names = self._draw(rng, sort)
        if not names and sort != "write" and trial.cluster.now < self.behind_until:
            self.script.append(Lag(rng.randint(1, 8)))
            trial.count("the other of two servers")
        response = super().respond(request, user, replies)
        if self.answered is not None:
            self.answered(request, response)
        for name in _BREAKING.intersection(names):
            self._broken.append((name, response.body))
        return msgspec.structs.replace(response, delay=response.delay + rng.choice((0.0, 0.001, 0.005, 0.03)))

    def _draw(self, rng: Random, sort: Sort) -> list[str]:
        """Draw the faults of a request, and return their names."""
        trial = self._trial
        if trial.calm or rng.random() >= trial.plan.share:
            return []
        name, make = rng.choice(_DRAWN[sort])
        beside, make_beside = rng.choice(_BESIDES[sort])
        if trial.plan.only is not None and (self.name, self.requests) not in trial.plan.only:
            return []
        trial.struck.append((self.name, self.requests))
        fault, names = make(rng), [name]
        alone = name in _ALONE or name == beside or _BREAKING.issuperset((name, beside))
        if rng.random() < trial.plan.besides and not alone:
            fault, names = Both(make_beside(rng), fault), [name, beside]
            trial.besides += 1
        self.script.append(fault)
        for fault_name in names:
            if fault_name not in _BREAKING:
                trial.count(fault_name)
        return names

    def settle(self) -> None:
        """Count the connections that did break: a body may have ended before the planned byte."""
        for name, body in self._broken:
            if body._remaining <= 0:
                self._trial.count(name)
        self._broken.clear()
