"""`Credentials`: the Authorization header of requests and the client certificate of connections."""

from __future__ import annotations

from base64 import b64encode

from .._errors import CredentialsError
from ..wire import ConcealingStruct, RawRequest, header


class Credentials(ConcealingStruct, frozen=True, kw_only=True):
    """Credentials in use. Renewed credentials have a higher `generation`, which identifies those of a 401."""

    secret_fields = frozenset(("authorization", "client_certificate", "client_key"))

    generation: int = 1
    authorization: str = ""
    client_certificate: bytes = b""
    client_key: bytes = b""

    def __post_init__(self) -> None:
        # A line break would add a header. Most such tokens come from a file with two lines.
        if not (self.authorization.isascii() and self.authorization.isprintable()):
            raise CredentialsError("the token or password contains a line break or another invalid character")

    @property
    def pair(self) -> tuple[bytes, bytes]:
        """The client certificate and its key. When they change, open connections still use the old pair."""
        return self.client_certificate, self.client_key

    def sign(self, request: RawRequest) -> RawRequest:
        """Return the request with these credentials, unless it has an Authorization header."""
        if not self.authorization or header(request.headers, "authorization"):
            return request
        return request.with_headers(("Authorization", self.authorization))

    def same_as(self, other: Credentials) -> bool:
        """Return whether both contain the same credentials, whatever their generation."""
        return self.authorization == other.authorization and self.pair == other.pair


def bearer_authorization(token: str) -> str:
    """Return the value of Authorization for a token."""
    return f"Bearer {token}" if token else ""


def basic_authorization(username: str, password: str) -> str:
    """Return the value of Authorization for a user with a password."""
    return f"Basic {b64encode(f'{username}:{password}'.encode()).decode()}"
