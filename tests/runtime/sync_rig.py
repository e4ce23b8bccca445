"""What the tests of the synchronous client stand on: a cluster in virtual time, and a scripted server."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime import BlockingClient

T = TypeVar("T")


class BookSpec(kp.Fields):
    title: str = ""


class Book(kp.Object[BookSpec, None], group="example.io", version="v1", plural="books"):
    """What the tests keep on a shelf."""


def book(name: str, title: str = "", **metadata: Any) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name, **metadata), spec=BookSpec(title=title))


def client_of(cluster: sim.Cluster, faults: sim.Faults | None = None, **facts: Any) -> BlockingClient:
    """A client of a simulated cluster, in its time."""
    transport = cluster.blocking_transport() if faults is None else faults.blocking_transport()
    return BlockingClient(
        transport, clock=lambda: cluster.now, sleep=cluster.advance, rng=random.Random(1), **facts
    )


class Answer:
    """A response that was scripted, whose body is still arriving."""

    def __init__(self, status: int, headers: kp.Headers, body: Sequence[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.body)


class Scripted:
    """Gives one answer after the other, or fails, and notes when it was asked for what."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.answers = list(answers)
        self.requests: list[kp.RawRequest] = []
        self.times: list[float] = []
        self.limits: list[float | None] = []
        self.now = 1000.0

    @contextmanager
    def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[Answer]:
        self.requests.append(request)
        self.times.append(self.now)
        self.limits.append(timeout)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield answer

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds

    def client(self, **facts: Any) -> BlockingClient:
        draw = facts.pop("draw", None)
        rng = random.Random(1) if draw is None else Fixed(draw)
        return BlockingClient(self, clock=lambda: self.now, sleep=self.sleep, rng=rng, **facts)

    def waits(self) -> list[float]:
        return [round(b - a, 3) for a, b in zip(self.times, self.times[1:], strict=False)]


class Fixed(random.Random):
    """A source of randomness that always gives the same."""

    def __init__(self, draw: float) -> None:
        super().__init__()
        self.draw = draw

    def random(self) -> float:
        return self.draw


def refusal(code: int, reason: str = "", *headers: tuple[str, str]) -> Answer:
    body = b'{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": %d, "reason": "%s"}'
    return Answer(code, headers, [body % (code, reason.encode())])


def found(name: str) -> Answer:
    body = b'{"apiVersion": "example.io/v1", "kind": "Book", "metadata": {"name": "%s"}, "spec": {}}'
    return Answer(200, (("Content-Type", "application/json"),), [body % name.encode()])


def drain(source: Iterable[T], take: Callable[[T], object]) -> None:
    """Take what comes, until something is raised."""
    for one in source:
        take(one)
