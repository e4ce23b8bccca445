"""Credentials in hand: what a request says about who asks, and what a connection shows for it."""

from __future__ import annotations

from base64 import b64encode

from ..wire import Head, header
from ._errors import CredentialsError
from ._hiding import Hiding


class Credentials(Hiding, frozen=True, kw_only=True):
    """What proves who asks. Each new set has a higher `generation`, so that an old 401 can be told."""

    hides = frozenset(("authorization", "client_certificate", "client_key"))

    generation: int = 1
    authorization: str = ""
    client_certificate: bytes = b""
    client_key: bytes = b""

    def __post_init__(self) -> None:
        # A line end would add a header, and most tokens with one were read from a file with two lines.
        if not (self.authorization.isascii() and self.authorization.isprintable()):
            raise CredentialsError("the token or password holds a line end or another strange character")

    @property
    def pair(self) -> tuple[bytes, bytes]:
        """The client certificate and its key: when they change, open connections still show the old ones."""
        return self.client_certificate, self.client_key

    def sign(self, head: Head) -> Head:
        """The request with these credentials, unless it has its own."""
        if not self.authorization or header(head.headers, "authorization"):
            return head
        return head.with_headers(("Authorization", self.authorization))

    def same_as(self, other: Credentials) -> bool:
        """True if these prove nothing that the others do not."""
        return self.authorization == other.authorization and self.pair == other.pair


def bearer(token: str) -> str:
    """The value of Authorization for a token."""
    return f"Bearer {token}" if token else ""


def basic(username: str, password: str) -> str:
    """The value of Authorization for a user with a password."""
    return f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"
