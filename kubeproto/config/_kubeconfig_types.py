"""The entries of a kubeconfig, with the names that kubectl writes."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from ..wire import ConcealingStruct

# The extension of a cluster with settings for an exec plugin.
EXEC_EXTENSION: Final = "client.authentication.k8s.io/exec"


class Extension(ConcealingStruct, frozen=True, kw_only=True):
    """A setting of another tool. Its content is unknown, so it is concealed."""

    secret_fields = frozenset(("extension",))

    name: str = ""
    extension: Any = None


class KubeconfigCluster(ConcealingStruct, frozen=True, kw_only=True, rename="kebab"):
    """A server, and how to verify its identity."""

    secret_fields = frozenset(("certificate_authority_data",))

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: bytes = b""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[Extension, ...] = ()


class ExecVariable(ConcealingStruct, frozen=True, kw_only=True):
    """A variable for the environment of a plugin."""

    secret_fields = frozenset(("value",))

    name: str = ""
    value: str = ""


class Exec(ConcealingStruct, frozen=True, kw_only=True, rename="camel"):
    """A program that prints credentials."""

    secret_fields = frozenset(("args",))

    api_version: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecVariable, ...] = ()
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(ConcealingStruct, frozen=True, kw_only=True):
    """A credential provider of kubectl. The only remaining provider is ``oidc``."""

    secret_fields = frozenset(("config",))

    name: str = ""
    config: dict[str, str] = {}


class KubeconfigUser(
    ConcealingStruct,
    frozen=True,
    kw_only=True,
    rename={
        "client_certificate": "client-certificate",
        "client_certificate_data": "client-certificate-data",
        "client_key": "client-key",
        "client_key_data": "client-key-data",
        "token_file": "tokenFile",
        "impersonate": "as",
        "impersonate_uid": "as-uid",
        "impersonate_groups": "as-groups",
        "impersonate_extra": "as-user-extra",
        "auth_provider": "auth-provider",
    },
):
    """A user, with every kind of credentials in a kubeconfig."""

    secret_fields = frozenset(("client_certificate_data", "client_key_data", "token", "password"))

    client_certificate: str = ""
    client_certificate_data: bytes = b""
    client_key: str = ""
    client_key_data: bytes = b""
    token: str = ""
    token_file: str = ""
    impersonate: str = ""
    impersonate_uid: str = ""
    impersonate_groups: tuple[str, ...] = ()
    impersonate_extra: dict[str, tuple[str, ...]] = {}
    username: str = ""
    password: str = ""
    auth_provider: AuthProvider | None = None
    exec: Exec | None = None


class KubeconfigContext(Struct, frozen=True, kw_only=True):
    """A user, a server and a namespace."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class NamedCluster(Struct, frozen=True, kw_only=True):
    """A cluster under its name."""

    name: str = ""
    cluster: KubeconfigCluster = KubeconfigCluster()


class NamedUser(Struct, frozen=True, kw_only=True):
    """A user under its name."""

    name: str = ""
    user: KubeconfigUser = KubeconfigUser()


class NamedContext(Struct, frozen=True, kw_only=True):
    """A context under its name."""

    name: str = ""
    context: KubeconfigContext = KubeconfigContext()


class KubeconfigContents(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"current_context": "current-context", "api_version": "apiVersion"},
):
    """The parts of a kubeconfig that this program reads."""

    api_version: str = ""
    kind: str = ""
    clusters: tuple[NamedCluster, ...] = ()
    users: tuple[NamedUser, ...] = ()
    contexts: tuple[NamedContext, ...] = ()
    current_context: str = ""
