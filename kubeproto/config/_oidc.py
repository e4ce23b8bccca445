"""`Oidc`: an OpenID Connect token that is renewed at the identity provider that issued it.

A renewal takes two requests: the first returns the provider's token endpoint, which then exchanges the
refresh token. Both go to a host other than the API server, on a separate connection. Providers may replace
the refresh token each time; then the old refresh token is no longer valid.
"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode
from typing import TypeVar
from urllib.parse import quote_plus, urlencode

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .._errors import ConfigError, CredentialsError, RemoteProtocolError
from ..wire import ConcealedBytes, ConcealingStruct, Headers, RawRequest, inflate
from ._connection_settings import Connection
from ._kubeconfig_types import AuthProvider
from ._signing_credentials import basic_authorization

T = TypeVar("T")


class Oidc(ConcealingStruct, frozen=True, kw_only=True):
    """A client of an identity provider, and its tokens. `ca` is for the provider only."""

    secret_fields = frozenset(("client_secret", "id_token", "refresh_token", "ca"))

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
            raise ConfigError("the idp-issuer-url must begin with https://, because secrets are sent there")
        if not self.id_token and not self.refresh_token:
            raise ConfigError(
                "the auth-provider oidc has neither an id-token nor a refresh-token: log in first"
            )


class ProviderRequest(ConcealingStruct, frozen=True, kw_only=True):
    """Send this request on a separate connection, and report the response. It contains secrets."""

    connection: Connection
    request: RawRequest
    timeout: float = 30.0


class Discover(ProviderRequest, frozen=True, kw_only=True):
    """Request the provider's token endpoint."""


class Redeem(ProviderRequest, frozen=True, kw_only=True):
    """Request a new token."""


class Grant(ConcealingStruct, frozen=True, kw_only=True):
    """The new tokens, and when the identity token expires."""

    secret_fields = frozenset(("oidc",))

    oidc: Oidc
    expires: float | None


def oidc_of(provider: AuthProvider | None, ca: bytes) -> Oidc:
    """Return the client of a kubeconfig; `ca` is the content of its CA file."""
    inline_ca = _settings_of(provider).get("idp-certificate-authority-data", "")
    try:
        ca = b64decode("".join(inline_ca.split()), validate=True) if inline_ca else ca
    except ValueError:
        ca = b"?"
    if ca == b"?":
        raise ConfigError("the idp-certificate-authority-data is not base64")
    # The settings are in no variable: Oidc may refuse them, and tracebacks show variables.
    return Oidc(
        issuer=_settings_of(provider).get("idp-issuer-url", ""),
        client_id=_settings_of(provider).get("client-id", ""),
        client_secret=_settings_of(provider).get("client-secret", ""),
        id_token=_settings_of(provider).get("id-token", ""),
        refresh_token=_settings_of(provider).get("refresh-token", ""),
        ca=ca,
    )


def _settings_of(provider: AuthProvider | None) -> dict[str, str]:
    return provider.config if provider else {}


def discover(oidc: Oidc) -> Discover:
    """Return the first request, for the token endpoint."""
    connection = Connection(server=oidc.issuer, ca=oidc.ca, proxy=oidc.proxy)
    # The connection prefixes the path of the issuer.
    request = RawRequest("GET", "/.well-known/openid-configuration", (("Accept", "application/json"),))
    return Discover(connection=connection, request=request)


def redeem(oidc: Oidc, status: int, headers: Headers, body: bytes) -> Redeem:
    """Return the second request, by the response to the first."""
    provider = _read_response(status, headers, body, _Provider)
    if not provider.token_endpoint.startswith("https://"):
        raise CredentialsError("the identity provider has no token_endpoint that begins with https://")
    authority, _, path = provider.token_endpoint.removeprefix("https://").partition("/")
    path, _, query = path.partition("?")
    connection = Connection(server=f"https://{authority}", ca=oidc.ca, proxy=oidc.proxy)
    form = {"grant_type": "refresh_token", "refresh_token": oidc.refresh_token}
    headers = (("Accept", "application/json"), ("Content-Type", "application/x-www-form-urlencoded"))
    methods = provider.token_endpoint_auth_methods_supported or ("client_secret_basic",)
    if oidc.client_secret and "client_secret_basic" in methods:
        # RFC 6749 2.3.1: both are form-encoded before they are joined.
        authorization = basic_authorization(quote_plus(oidc.client_id), quote_plus(oidc.client_secret))
        headers += (("Authorization", authorization),)
    else:
        form["client_id"] = oidc.client_id
        if oidc.client_secret:
            form["client_secret"] = oidc.client_secret
    target = f"/{path}{f'?{query}' if query else ''}"
    return Redeem(
        connection=connection, request=RawRequest("POST", target, headers, urlencode(form).encode())
    )


def read_grant(oidc: Oidc, status: int, headers: Headers, body: bytes) -> Grant:
    """Return the tokens in the response of the token endpoint."""
    tokens = _read_response(status, headers, body, _Tokens)
    if not tokens.id_token:
        raise CredentialsError(
            "the identity provider returned no id_token: request the scope openid at the login"
        )
    refresh_token = tokens.refresh_token or oidc.refresh_token
    renewed = replace(oidc, id_token=tokens.id_token, refresh_token=refresh_token)
    return Grant(oidc=renewed, expires=token_expiry(tokens.id_token))


def token_expiry(token: str) -> float | None:
    """Return when a JWT expires, by its payload; None if it is not a JWT or has no expiry."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(payload, type=_Claims).exp
    except (ValueError, RecursionError):  # msgspec's errors are ValueErrors; JSON may be arbitrarily deep
        return None


class _Claims(Struct):
    exp: float | None = None


class _Provider(Struct):
    token_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None


class _Tokens(ConcealingStruct, frozen=True):
    secret_fields = frozenset(("id_token", "refresh_token"))

    id_token: str | None = None
    refresh_token: str | None = None


class _OAuthError(Struct):
    error: str = ""


def _read_response(status: int, headers: Headers, body: bytes, type_: type[T]) -> T:
    """Return the content of a successful response. An error quotes only OAuth's error code."""
    problem = ""
    body = ConcealedBytes(body)
    try:
        body = ConcealedBytes(inflate(headers, body))
        if status == 200:
            return msgspec.json.decode(body, type=type_)
        code = msgspec.json.decode(body, type=_OAuthError).error
        valid = code.isascii() and code.replace("_", "").isalpha() and len(code) < 40
        problem = f": {code}" if valid else ""
    except (RemoteProtocolError, ValueError, RecursionError):  # a byte that is not UTF-8 is a ValueError
        problem = " and is not valid JSON"
    raise CredentialsError(f"the response of the identity provider is {status}{problem}")
