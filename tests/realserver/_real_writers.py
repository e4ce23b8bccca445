"""Writers that continue until each of their writes is done, in spite of failures."""

from __future__ import annotations

from random import Random
from typing import Final, TypeVar

import trio

import kubeproto as kp
from kubeproto.requests import Request
from kubeproto.wire import Broken, Garbled, ServerFailed, Throttled, TimedOut, Unreachable, classify
from kubeproto_runtime import Client

from ._real_cache import Book, book

T = TypeVar("T")

# Failures of a server that stops or starts.
PASSING: Final = (Broken, Garbled, ServerFailed, Throttled, TimedOut, Unreachable)
STARTING: Final = (401, 403, 404)  # before it has read its rights, users and kinds
PAUSE: Final = 0.1


class Writer:
    """Creates, changes and deletes its books, and counts its writes."""

    def __init__(self, client: Client, books: kp.Api[Book], names: list[str], seed: int) -> None:
        self.completed_writes = 0
        self._client = client
        self._books = books
        self._names = names
        self._random = Random(seed)

    async def run(self) -> None:
        """Create all books, mixed with changes and deletions of existing ones."""
        names: list[str] = []
        for name in self._names:
            await self._write(self._books.create(book(name)))
            names.append(name)
            for _ in range(self._random.choice((0, 1, 2))):
                changed = self._random.choice(names)
                patch = {"spec": {"pages": self.completed_writes + 2}}
                await self._write(self._books.merge_patch(changed, patch))
            if self._random.random() < 0.6:
                deleted = names.pop(self._random.randrange(len(names)))
                await self._write(self._books.delete(deleted))

    async def _write(self, request: Request[T]) -> None:
        while True:
            try:
                await self._client.call(request, timeout=20.0)
            except (kp.ApiError, kp.TransportError, kp.RemoteProtocolError) as error:
                if _was_applied(request, error):
                    break
                outcome = classify(error)
                if not isinstance(outcome, PASSING) and outcome.code not in STARTING:
                    raise
                await trio.sleep(PAUSE)
            else:
                break
        self.completed_writes += 1


def _was_applied(request: Request[T], error: Exception) -> bool:
    """Return whether an earlier attempt without a response was applied."""
    return (request.verb == "create" and isinstance(error, kp.AlreadyExists)) or (
        request.verb == "delete" and isinstance(error, kp.NotFound) and error.status.details.name != ""
    )
