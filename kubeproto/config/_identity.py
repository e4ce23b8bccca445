"""The user of a kubeconfig: its credentials and its impersonation.

Conflicting settings are resolved as kubectl resolves them. A client certificate can be combined with
anything. A token takes precedence over a token file, and either, like a password or a certificate, over a
plugin. A password and a token, or a plugin and an auth-provider, are mutually exclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from .._errors import ConfigError, CredentialsError
from ..wire import ConcealedBytes, ConcealingStruct, Headers
from ._kubeconfig_types import KubeconfigUser
from ._oidc import Oidc
from ._plugin import Plugin
from ._signing_credentials import Credentials, basic_authorization, bearer_authorization

# Former auth-providers of kubectl, and the plugins that replace them.
_REMOVED_PROVIDERS: Final = {"gcp": "gke-gcloud-auth-plugin", "azure": "kubelogin"}

# RFC 9110's token, without the percent sign, which begins an escape here.
_TOKEN_CHARACTERS: Final = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&'*+-.^_`|~"
)

_TOKEN_AND_PASSWORD: Final = "a user must have a token or a username and password, not both"
_PLUGIN_AND_PROVIDER: Final = "a user must have an exec plugin or an auth-provider, not both"


class Identity(ConcealingStruct, frozen=True, kw_only=True):
    """The user's identity and the sources of its credentials. Files are only named, and read when needed."""

    secret_fields = frozenset(("token", "password", "certificate", "key"))

    token: str = ""
    token_file: str = ""
    username: str = ""
    password: str = ""
    certificate: bytes = b""
    certificate_file: str = ""
    key: bytes = b""
    key_file: str = ""
    plugin: Plugin | None = None
    oidc: Oidc | None = None

    def __post_init__(self) -> None:
        if (self.token or self.token_file) and (self.username or self.password):
            raise ConfigError(_TOKEN_AND_PASSWORD)
        if self.plugin and self.oidc:
            raise ConfigError(_PLUGIN_AND_PROVIDER)
        if self.plugin and any(
            (self.token, self.username, self.password, self.certificate, self.key, self.files)
        ):
            raise ConfigError("the exec plugin would never be used: remove it, or the other credentials")
        if self.oidc and self.files:
            raise ConfigError("an auth-provider cannot be combined with files: read their contents first")
        if bool(self.certificate or self.certificate_file) != bool(self.key or self.key_file):
            missing = "certificate" if self.key or self.key_file else "key"
            raise ConfigError(f"the client {missing} is missing: set both certificate and key")
        for name, pem in (("certificate", self.certificate), ("key", self.key)):
            if pem and b"-----BEGIN " not in pem:
                raise ConfigError(f"the client {name} is not PEM: it has no line -----BEGIN …-----")

    @property
    def has_credentials(self) -> bool:
        """Whether there are credentials, which must be sent only to the right server."""
        return self != Identity()

    @property
    def has_inline_secret(self) -> bool:
        """Whether the configuration itself contains a secret, not only the files that it names."""
        oidc = self.oidc is not None and bool(self.oidc.refresh_token or self.oidc.id_token)
        return bool(self.token or self.password or self.key or oidc)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that contain its credentials."""
        paths = (
            "" if self.token else self.token_file,
            "" if self.certificate else self.certificate_file,
            "" if self.key else self.key_file,
        )
        return tuple(dict.fromkeys(path for path in paths if path))


# From a kubeconfig


def check_user(user: KubeconfigUser) -> None:
    """Refuse the settings that kubectl refuses, before any file is read for them."""
    if user.token and (user.username or user.password):
        raise ConfigError(_TOKEN_AND_PASSWORD)
    if user.exec and user.auth_provider:
        raise ConfigError(_PLUGIN_AND_PROVIDER)
    if user.auth_provider and user.auth_provider.name != "oidc":
        name = user.auth_provider.name
        remedy = f"; use the exec plugin {_REMOVED_PROVIDERS[name]}" if name in _REMOVED_PROVIDERS else ""
        raise ConfigError(f"the auth-provider {name!r} is no longer supported{remedy}")


def uses_plugin(user: KubeconfigUser) -> bool:
    """Return whether the plugin provides the credentials: all others take precedence over it."""
    return user.exec is not None and not (
        _has_token_or_password(user) or user.client_certificate or user.client_certificate_data
    )


def uses_provider(user: KubeconfigUser) -> bool:
    """Return whether the auth-provider provides the credentials: a token or password takes precedence."""
    return user.auth_provider is not None and not _has_token_or_password(user)


def identity_of(user: KubeconfigUser, plugin: Plugin | None, oidc: Oidc | None) -> Identity:
    """Return the identity of a checked user. Inline data takes precedence over files."""
    return Identity(
        token=user.token,
        token_file="" if user.token else user.token_file,
        username=user.username,
        password=user.password,
        certificate=user.client_certificate_data,
        certificate_file="" if user.client_certificate_data else user.client_certificate,
        key=user.client_key_data,
        key_file="" if user.client_key_data else user.client_key,
        plugin=plugin,
        oidc=oidc,
    )


def _has_token_or_password(user: KubeconfigUser) -> bool:
    return bool(user.token or user.token_file or user.username or user.password)


# Credentials


class UnreadableFile(Struct, frozen=True):
    """A file that could not be read, instead of its bytes. `missing` is true if it does not exist."""

    reason: str
    missing: bool = False


def inline_credentials(identity: Identity) -> Credentials:
    """Return the credentials that the identity itself contains."""
    return Credentials(
        authorization=bearer_authorization(identity.token) or _password_authorization(identity),
        client_certificate=identity.certificate,
        client_key=identity.key,
    )


def _password_authorization(identity: Identity) -> str:
    if not (identity.username or identity.password):
        return ""
    return basic_authorization(identity.username, identity.password)


def credentials_from_files(identity: Identity, files: Sequence[bytes | UnreadableFile]) -> Credentials:
    """Return the credentials of an identity with the contents of its `files`, in that order."""
    # Tracebacks of the errors below show the variables, so no variable may have a secret in its repr.
    files = [ConcealedBytes(content) if isinstance(content, bytes) else content for content in files]
    contents: dict[str, bytes] = {}
    for path, content in zip(identity.files, files, strict=True):
        if isinstance(content, UnreadableFile):
            raise CredentialsError(f"{path} cannot be read: {content.reason}")
        if not content.strip():
            raise CredentialsError(f"{path} is empty")
        if path != identity.token_file and b"-----BEGIN " not in content:
            raise CredentialsError(f"{path} is not PEM")
        contents[path] = content
    path = identity.token_file
    return Credentials(
        authorization=bearer_authorization(identity.token or _parse_token(contents.get(path, b""), path))
        or inline_credentials(identity).authorization,
        client_certificate=identity.certificate or bytes(contents.get(identity.certificate_file, b"")),
        client_key=identity.key or bytes(contents.get(identity.key_file, b"")),
    )


def _parse_token(content: bytes, path: str) -> str:
    token: bytes = ConcealedBytes(content.strip())
    # The characters that HTTP allows after "Bearer": other characters indicate another file, or two tokens.
    if not token.isascii() or not token.decode("ascii", "replace").isprintable() or b" " in token:
        raise CredentialsError(f"{path} does not contain a token")
    return token.decode()


# Impersonation


class Impersonation(Struct, frozen=True, kw_only=True):
    """The user that a server impersonates. The other fields require a user."""

    user: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if not self.user and (self.uid or self.groups or self.extra):
            raise ConfigError("impersonation of a uid, groups or extras requires a user: set user, too")

    @property
    def headers(self) -> Headers:
        """The headers for each request."""
        if not self.user:
            return ()
        return (
            ("Impersonate-User", self.user),
            *((("Impersonate-Uid", self.uid),) if self.uid else ()),
            *(("Impersonate-Group", group) for group in self.groups),
            *(
                (f"Impersonate-Extra-{_escape_header_name(key)}", value)
                for key, values in self.extra
                for value in values
            ),
        )


def _escape_header_name(key: str) -> str:
    """Return a key as a part of a header's name. Servers read it in lower case."""
    return "".join(
        chr(byte) if byte in _TOKEN_CHARACTERS else f"%{byte:02X}" for byte in key.lower().encode()
    )
