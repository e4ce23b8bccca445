"""Credentials in use: the headers of requests and the client certificate of connections."""

from __future__ import annotations

from base64 import b64encode

from ..wire import Head, header
from ._errors import CredentialsError
from ._hiding import Hiding


class Credentials(Hiding, frozen=True, kw_only=True):
    """A set of credentials. Each new one has a higher `generation`, which tells a 401 for an old one."""

    hides = frozenset(("authorization", "client_certificate", "client_key"))

    generation: int = 1
    authorization: str = ""
    client_certificate: bytes = b""
    client_key: bytes = b""

    def __post_init__(self) -> None:
        # A line end would add a header, and most tokens with one were read from a file with two lines.
        if not (self.authorization.isascii() and self.authorization.isprintable()):
            raise CredentialsError("the token or password contains a line break or another invalid character")

    @property
    def pair(self) -> tuple[bytes, bytes]:
        """The client certificate and its key: when they change, open connections still have the old ones."""
        return self.client_certificate, self.client_key

    def sign(self, head: Head) -> Head:
        """Return the request with these credentials, unless it has its own."""
        if not self.authorization or header(head.headers, "authorization"):
            return head
        return head.with_headers(("Authorization", self.authorization))

    def same_as(self, other: Credentials) -> bool:
        """Return True if these contain the same credentials."""
        return self.authorization == other.authorization and self.pair == other.pair


def bearer(token: str) -> str:
    """Return the value of Authorization for a token."""
    return f"Bearer {token}" if token else ""


def basic(username: str, password: str) -> str:
    """Return the value of Authorization for a user with a password."""
    return f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"
