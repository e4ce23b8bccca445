"""OpenID Connect: an identity token that is renewed at the provider that issued it.

Two requests: the provider says where its token endpoint is, and that takes the refresh token. Both go to
another host than the API server's, with a connection of their own. Providers may exchange the refresh token
each time; then the old one is no longer valid.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode
from typing import TypeVar
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .._errors import RemoteProtocolError
from ..wire import Concealed, Head, Headers, inflate
from ._connection import Connection
from ._errors import ConfigError, CredentialsError
from ._hiding import Hiding
from ._kubeconfig_types import AuthProvider
from ._secrets import basic

T = TypeVar("T")


class Oidc(Hiding, frozen=True, kw_only=True):
    """A client of an identity provider, and the tokens that it has. `ca` is only for the provider."""

    hides = frozenset(("client_secret", "id_token", "refresh_token", "ca"))

    issuer: str
    client_id: str
    client_secret: str = ""
    id_token: str = ""
    refresh_token: str = ""
    ca: bytes = b""
    proxy: str = ""

    def __post_init__(self) -> None:
        if not self.issuer or not self.client_id:
            raise ConfigError("the auth-provider oidc needs an idp-issuer-url and a client-id")
        if not self.issuer.startswith("https://"):
            raise ConfigError("the idp-issuer-url must begin with https://, for secrets go there")
        if not self.id_token and not self.refresh_token:
            raise ConfigError(
                "the auth-provider oidc has neither an id-token nor a refresh-token: log in first"
            )


class Ask(Hiding, frozen=True, kw_only=True):
    """Send this request on a separate connection, and report the response. It contains secrets."""

    connection: Connection
    head: Head
    timeout: float = 30.0


class Discover(Ask, frozen=True, kw_only=True):
    """Ask the provider about itself."""


class Redeem(Ask, frozen=True, kw_only=True):
    """Ask the provider for a new identity token."""


class Grant(Hiding, frozen=True, kw_only=True):
    """The response of the provider."""

    hides = frozenset(("oidc",))

    oidc: Oidc
    expires: float | None


def oidc_of(provider: AuthProvider | None, ca: bytes) -> Oidc:
    """Return the client that a kubeconfig describes, with its CA if that is a file."""
    inline = _settings(provider).get("idp-certificate-authority-data", "")
    try:
        ca = b64decode("".join(inline.split()), validate=True) if inline else ca
    except ValueError:
        ca = b"?"
    if ca == b"?":
        raise ConfigError("the idp-certificate-authority-data is not base64")
    # Not by a variable for the settings: Oidc may refuse them, and tracebacks show variables.
    return Oidc(
        issuer=_settings(provider).get("idp-issuer-url", ""),
        client_id=_settings(provider).get("client-id", ""),
        client_secret=_settings(provider).get("client-secret", ""),
        id_token=_settings(provider).get("id-token", ""),
        refresh_token=_settings(provider).get("refresh-token", ""),
        ca=ca,
    )


def _settings(provider: AuthProvider | None) -> dict[str, str]:
    return provider.config if provider else {}


def discover(oidc: Oidc) -> Discover:
    """Return the first request, which asks for the token endpoint."""
    connection = Connection(server=oidc.issuer, ca=oidc.ca, proxy=oidc.proxy)
    # The path of the issuer is put before that when it is sent.
    head = Head("GET", "/.well-known/openid-configuration", (("Accept", "application/json"),))
    return Discover(connection=connection, head=head)


def redeem(oidc: Oidc, status: int, headers: Headers, body: bytes) -> Redeem:
    """Return the second request, given the response to the first."""
    said = _read(status, headers, body, _Provider)
    if not said.token_endpoint.startswith("https://"):
        raise CredentialsError("the identity provider has no token_endpoint that begins with https://")
    root, _, path = said.token_endpoint.removeprefix("https://").partition("/")
    path, _, query = path.partition("?")
    connection = Connection(server=f"https://{root}", ca=oidc.ca, proxy=oidc.proxy)
    form = {"grant_type": "refresh_token", "refresh_token": oidc.refresh_token}
    headers = (("Accept", "application/json"), ("Content-Type", "application/x-www-form-urlencoded"))
    methods = said.token_endpoint_auth_methods_supported or ("client_secret_basic",)
    if oidc.client_secret and "client_secret_basic" in methods:
        # RFC 6749 2.3.1: both are escaped as in a form before they are put together.
        headers += (("Authorization", basic(quote_plus(oidc.client_id), quote_plus(oidc.client_secret))),)
    else:
        form["client_id"] = oidc.client_id
        if oidc.client_secret:
            form["client_secret"] = oidc.client_secret
    target = f"/{path}{f'?{query}' if query else ''}"
    return Redeem(connection=connection, head=Head("POST", target, headers, urlencode(form).encode()))


def granted(oidc: Oidc, status: int, headers: Headers, body: bytes) -> Grant:
    """Return the tokens in the response of the token endpoint."""
    said = _read(status, headers, body, _Tokens)
    if not said.id_token:
        raise CredentialsError(
            "the identity provider gave no id_token; was the scope openid asked for at the login?"
        )
    renewed = replace(oidc, id_token=said.id_token, refresh_token=said.refresh_token or oidc.refresh_token)
    return Grant(oidc=renewed, expires=expiry(said.id_token))


def expiry(token: str) -> float | None:
    """Return when a JWT expires, by its payload; None if it does not say, or is not a JWT."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(payload, type=_Claims).exp
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors; JSON may be nested without end
        return None


class _Claims(Struct):
    exp: float | None = None


class _Provider(Struct):
    token_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None


class _Tokens(Hiding, frozen=True):
    hides = frozenset(("id_token", "refresh_token"))

    id_token: str | None = None
    refresh_token: str | None = None


class _Refusal(Struct):
    error: str = ""


def _read(status: int, headers: Headers, body: bytes, type_: type[T]) -> T:
    """Check a response of the provider. Only OAuth's own words are quoted from it."""
    problem = ""
    body = Concealed(body)
    try:
        body = Concealed(inflate(headers, body))
        if status == 200:
            return msgspec.json.decode(body, type=type_)
        word = msgspec.json.decode(body, type=_Refusal).error
        known = word.isascii() and word.replace("_", "").isalpha() and len(word) < 40
        problem = f": {word}" if known else ""
    except (RemoteProtocolError, ValueError, RecursionError):  # a byte that is not UTF-8 is a ValueError
        problem = " and makes no sense"
    raise CredentialsError(f"the response of the identity provider is {status}{problem}")
