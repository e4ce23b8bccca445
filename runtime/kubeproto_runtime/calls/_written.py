"""What a run of a controller writes and reads, noted by the calls that it makes, with the client of each.

The worker that performs the runs puts a list into a context variable once; so a run without requests costs
nothing, and tasks and threads that a run starts use the same list.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from kubeproto import Head, Status
    from kubeproto.control import OwnWrite

    Written: TypeAlias = tuple[object, OwnWrite]  # the client, and the write

written: Final[ContextVar[list[Written] | None]] = ContextVar("kubeproto_written", default=None)


def note_write(client: object, request: Head, value: Any) -> None:
    """Note what a request has written or read, if a run has made it."""
    if (noted := written.get()) is None:
        return
    from kubeproto.control import OwnWrite  # a program without a controller need not import it

    if (write := OwnWrite.from_response(request.method, request.target, value)) is not None:
        noted.append((client, write))


def note_absence(client: object, request: Head, refusal: Status) -> None:
    """Note that the object of a request does not exist, if a run has requested it."""
    if (noted := written.get()) is None:
        return
    from kubeproto.control import OwnWrite

    if (gone := OwnWrite.from_not_found(request.target, refusal)) is not None:
        noted.append((client, gone))
