"""The user of a kubeconfig, with conflicting settings resolved as kubectl resolves them.

A client certificate can go with anything. A token is used before a token file, and either, like a password or
a certificate, before a plugin; a password and a token, or a plugin and an auth-provider, exclude each other.
"""

from __future__ import annotations

from typing import Final

from ._errors import ConfigError
from ._hiding import Hiding
from ._kubeconfig_types import KubeconfigUser
from ._oidc import Oidc
from ._plugin import Plugin

# What was built into kubectl once, and what its vendors offer instead.
_GONE: Final = {"gcp": "gke-gcloud-auth-plugin", "azure": "kubelogin"}


class Identity(Hiding, frozen=True, kw_only=True):
    """The user's identity and the source of its credentials. Files are named here, and read when needed."""

    hides = frozenset(("token", "password", "certificate", "key"))

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
            raise ConfigError("there is a token and a username and password; a server takes one of them")
        if self.plugin and self.oidc:
            raise ConfigError("there is an exec plugin and an auth-provider; there can be one of them")
        if self.plugin and any(
            (self.token, self.username, self.password, self.certificate, self.key, self.files)
        ):
            raise ConfigError("there is an exec plugin beside other credentials; it would never be asked")
        if self.oidc and self.files:
            raise ConfigError("there is an auth-provider beside credentials in files; read those beforehand")
        if bool(self.certificate or self.certificate_file) != bool(self.key or self.key_file):
            missing = "certificate" if self.key or self.key_file else "key"
            raise ConfigError(f"the client {missing} is missing: certificate and key go together")
        for what, pem in (("certificate", self.certificate), ("key", self.key)):
            if pem and b"-----BEGIN " not in pem:
                raise ConfigError(f"the client {what} is not PEM: it has no line -----BEGIN …-----")

    @property
    def has_secret(self) -> bool:
        """True if there is something that may be sent only to the right server."""
        return self != Identity()

    @property
    def holds_secret(self) -> bool:
        """True if a secret is in the configuration itself, and not in files that it names."""
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


def check_user(user: KubeconfigUser) -> None:
    """Refuse what kubectl refuses, before anything is read for it."""
    if user.token and (user.username or user.password):
        raise ConfigError("there is a token and a username and password; a server takes one of them")
    if user.exec and user.auth_provider:
        raise ConfigError("there is an exec plugin and an auth-provider; there can be one of them")
    if user.auth_provider and user.auth_provider.name != "oidc":
        name = user.auth_provider.name
        instead = f"; use the exec plugin {_GONE[name]}" if name in _GONE else ""
        raise ConfigError(f"the auth-provider {name!r} no longer exists{instead}")


def wants_plugin(user: KubeconfigUser) -> bool:
    """Return True if the plugin provides the credentials: everything in the file takes precedence over it."""
    return user.exec is not None and not (
        _is_named(user) or user.client_certificate or user.client_certificate_data
    )


def wants_provider(user: KubeconfigUser) -> bool:
    """Return True if the auth-provider provides the credentials: a token or a password takes precedence."""
    return user.auth_provider is not None and not _is_named(user)


def identity_of(user: KubeconfigUser, plugin: Plugin | None, oidc: Oidc | None) -> Identity:
    """Return the identity of a checked user. Inline data comes before files."""
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


def _is_named(user: KubeconfigUser) -> bool:
    return bool(user.token or user.token_file or user.username or user.password)
