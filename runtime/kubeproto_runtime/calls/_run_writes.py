"""The writes of a run of a controller, which its calls record: the client and the written version.

A worker sets the context variable to a list once, for all of its runs. So a run without requests has no
overhead, and tasks and threads that a run starts use the same list.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from kubeproto import RawRequest, Status
    from kubeproto.control import OwnWrite

    ClientWrite: TypeAlias = tuple[object, OwnWrite]

current_writes: Final[ContextVar[list[ClientWrite] | None]] = ContextVar("kubeproto_writes", default=None)


def record_write(client: object, request: RawRequest, value: Any) -> None:
    """Record the version that a request of a run has written or read."""
    if (writes := current_writes.get()) is None:
        return
    from kubeproto.control import OwnWrite  # a program without a controller need not import it

    if (write := OwnWrite.from_response(request.method, request.target, value)) is not None:
        writes.append((client, write))


def record_absence(client: object, request: RawRequest, refusal: Status) -> None:
    """Record that the object of a request of a run does not exist."""
    if (writes := current_writes.get()) is None:
        return
    from kubeproto.control import OwnWrite

    if (absence := OwnWrite.from_not_found(request.target, refusal)) is not None:
        writes.append((client, absence))
