"""What a server sends, read so that its mistakes are told from those of handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kubeproto import RemoteProtocolError

R = TypeVar("R")


class UnreadableReview(Exception):
    """A body that is not a review; the message may be sent to the client."""


def review_in(body: bytes, read: Callable[[bytes], R]) -> R:
    """Return the review in a body.

    A handler may raise `RemoteProtocolError` too, of an object or a request of its own: that is a bug or a
    failure of the handler, whose message does not belong in a response.
    """
    try:
        return read(body)
    except RemoteProtocolError as error:
        raise UnreadableReview(str(error)) from error
