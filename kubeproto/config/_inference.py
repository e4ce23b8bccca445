"""From environment and files to what a client needs: in kubectl's order, with a driver to read the files.

`infer` is called repeatedly: it returns which files it needs, is given their contents, and returns a `Config`
in the end. It keeps nothing in between::

    files: dict[str, bytes | UnreadableFile] = {}
    while isinstance(found := infer(os.environ, files, home=home), Needs):
        files |= {path: read(path) for path in found.paths}

The order: an explicit path, else the files of ``KUBECONFIG``, else the one in the home. If no context is
chosen in those, then the pod that this may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..wire import Concealed, Headers
from ._connection import Connection
from ._errors import ConfigError
from ._files import UnreadableFile
from ._hiding import ConcealedUrl, ConcealedVariables, Hiding
from ._identity import Identity, check_user, identity_of, wants_plugin, wants_provider
from ._impersonation import Impersonation
from ._in_cluster import CA, NAMESPACE, TOKEN, namespace_of_pod, server_of_pod
from ._kubeconfig import Choice, Kubeconfig, kubeconfig_paths, merge_kubeconfigs, read_kubeconfig
from ._kubeconfig_types import KubeconfigUser
from ._oidc import oidc_of
from ._plugin import PluginPolicy, plugin_of
from ._proxies import proxy_for
from ._secrets import Credentials
from ._urls import complete_server

ALLOW_ALL: Final = PluginPolicy()

INSECURE: Final = (
    "insecure-skip-tls-verify is set: anyone between here and the server can read and change all"
)
PLAIN: Final = "the server is reached without TLS, so no credentials are sent"


class Needs(Struct, frozen=True):
    """These files are to be read; one that cannot be read is given as `UnreadableFile`."""

    paths: tuple[str, ...]


class Overrides(Hiding, frozen=True, kw_only=True):
    """Settings that override those in the files.

    `server` is a URL, in place of the cluster's. `insecure` leaves its certificate unchecked, and the CA out.
    `token` takes the place of the user's token, password, plugin or auth-provider; a certificate stays.
    """

    hides = frozenset(("token",))

    path: str = ""
    context: str = ""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    impersonation: Impersonation | None = None
    user_agent: str = ""
    headers: Headers = ()
    policy: PluginPolicy = ALLOW_ALL
    server: str = ""
    insecure: bool = False
    token: str = ""


class Config(Hiding, frozen=True, kw_only=True):
    """What a client needs. `source` says where it comes from, `warnings` what its user should know."""

    connection: Connection
    identity: Identity = Identity()
    namespace: str = "default"
    source: str = ""
    warnings: tuple[str, ...] = ()

    def connection_for(self, credentials: Credentials) -> Connection:
        """Return the connection with the client certificate of these credentials, if they have one."""
        certificate, key = credentials.pair
        return replace(self.connection, client_certificate=certificate, client_key=key)


def infer(
    environ: Mapping[str, str],
    files: Mapping[str, bytes | UnreadableFile],
    overrides: Overrides | None = None,
    *,
    home: str = "",
    separator: str = ":",
) -> Needs | Config:
    """Return what a client needs, or the files to read for it. A mistake in them is a `ConfigError`."""
    overrides = overrides or Overrides()
    environ = ConcealedVariables(environ)
    files = {path: _concealed(content) for path, content in files.items()}
    paths = (overrides.path,) if overrides.path else kubeconfig_paths(environ, home, separator=separator)
    if needs := _needs(paths, files):
        return needs
    configs: list[Kubeconfig] = []
    for path in paths:
        content = files[path]
        # A list may name files that do not exist yet; an explicit path may not.
        if isinstance(content, UnreadableFile):
            if overrides.path or not content.missing:
                raise ConfigError(f"{path} cannot be read: {content.why}")
        else:
            configs.append(read_kubeconfig(content, path))
    merged = merge_kubeconfigs(configs)
    choice = merged.choose(
        context=overrides.context,
        cluster=overrides.cluster,
        user=overrides.user,
        namespace=overrides.namespace,
        server=overrides.server,
    )
    if choice:
        return _from_choice(_overridden(choice, overrides), environ, files, overrides)
    if server := server_of_pod(environ):
        return _needs((TOKEN, CA, NAMESPACE), files) or _from_pod(server, environ, files, overrides)
    known = ", ".join(repr(context.name) for context in merged.contexts[:10])
    looked = f"no context is chosen in {', '.join(paths)}" if configs else _no_file(tuple(paths), environ)
    there = f" (there is {known})" if known else ""
    raise ConfigError(f"{looked}{there}, and this is not a pod: KUBERNETES_SERVICE_HOST is not set")


def _no_file(paths: tuple[str, ...], environ: Mapping[str, str]) -> str:
    said = ", ".join(paths)
    if environ.get("KUBECONFIG"):
        return f"there is no kubeconfig: $KUBECONFIG names {said}, and no such file exists"
    return f"there is no kubeconfig: no {said} exists" if said else "there is no kubeconfig"


def _overridden(choice: Choice, overrides: Overrides) -> Choice:
    """Return the choice with what is wanted in place of the CA and of the user's credentials, as kubectl."""
    cluster, user = choice.cluster, choice.user
    if overrides.insecure:
        cluster = replace(
            cluster,
            insecure_skip_tls_verify=True,
            certificate_authority="",
            certificate_authority_data=b"",
        )
    if overrides.token:
        # A token takes precedence over a file of one, a plugin and an auth-provider as it is.
        user = replace(user, token=overrides.token, username="", password="")
    return replace(choice, cluster=cluster, user=user)


def _from_choice(
    choice: Choice,
    environ: Mapping[str, str],
    files: Mapping[str, bytes | UnreadableFile],
    overrides: Overrides,
) -> Needs | Config:
    cluster, user = choice.cluster, choice.user
    if not cluster.server:
        raise ConfigError(f"the cluster {choice.cluster_name!r} has no server")
    ca_file = "" if cluster.certificate_authority_data else cluster.certificate_authority
    if needs := _needs((ca_file,), files):
        return needs
    server = ConcealedUrl(complete_server(cluster.server))
    connection = Connection(
        server=str(server),
        ca=cluster.certificate_authority_data or _content(ca_file, files),
        ca_file=ca_file,
        tls_server_name=cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
        proxy=cluster.proxy_url or proxy_for(server, environ),
        compression=not cluster.disable_compression,
    )
    try:
        check_user(user)
        # Nothing secret is sent in the clear, so no secret is obtained for it either.
        identity = (
            _identity(choice, connection, environ, files, overrides) if connection.secure else Identity()
        )
        impersonation = overrides.impersonation or _impersonation(user)
    except ConfigError as error:
        raise ConfigError(f"the user {choice.user_name!r}: {error}") from None
    if isinstance(identity, Needs):
        return identity
    warnings = (INSECURE,) if connection.insecure and connection.secure else ()
    if not connection.secure and user != KubeconfigUser(impersonate=user.impersonate):
        warnings = (*warnings, PLAIN)
    return Config(
        connection=replace(connection, headers=_headers(overrides, impersonation)),
        identity=identity,
        namespace=choice.namespace or "default",
        source=_source(choice),
        warnings=warnings,
    )


def _source(choice: Choice) -> str:
    if choice.context:
        return f"the context {choice.context!r}"
    if choice.cluster_name:
        return f"the cluster {choice.cluster_name!r}"
    return "the server that is asked for"


def _identity(
    choice: Choice,
    connection: Connection,
    environ: Mapping[str, str],
    files: Mapping[str, bytes | UnreadableFile],
    overrides: Overrides,
) -> Needs | Identity:
    user = choice.user
    if user.exec and wants_plugin(user):
        plugin = plugin_of(user.exec, choice.cluster, connection.ca, overrides.policy)
        return identity_of(user, plugin, None)
    if not wants_provider(user):
        return identity_of(user, None, None)
    provider = user.auth_provider.config if user.auth_provider else {}
    ca_file = provider.get("idp-certificate-authority", "")
    if provider.get("idp-certificate-authority-data"):
        ca_file = ""
    # The provider renews the token and not the certificate, so that is read once, and now.
    certificate_file = "" if user.client_certificate_data else user.client_certificate
    key_file = "" if user.client_key_data else user.client_key
    if needs := _needs((ca_file, certificate_file, key_file), files):
        return needs
    read = replace(
        user,
        client_certificate_data=user.client_certificate_data or _content(certificate_file, files),
        client_key_data=user.client_key_data or _content(key_file, files),
    )
    ca = _content(ca_file, files)
    del provider  # holds tokens, and the next line may raise
    oidc = oidc_of(user.auth_provider, ca)
    return identity_of(read, None, replace(oidc, proxy=proxy_for(oidc.issuer, environ)))


def _from_pod(
    server: str, environ: Mapping[str, str], files: Mapping[str, bytes | UnreadableFile], overrides: Overrides
) -> Config:
    token, ca = files[TOKEN], b"" if overrides.insecure else files[CA]
    if isinstance(token, UnreadableFile) and not overrides.token:
        raise ConfigError(f"there is no kubeconfig, and this pod has no token: {TOKEN}: {token.why}")
    without_ca = f"{CA} cannot be read, so the server must have a certificate that the system trusts"
    unchecked = (without_ca,) if isinstance(ca, UnreadableFile) else ()
    return Config(
        connection=Connection(
            server=server,
            ca=b"" if isinstance(ca, UnreadableFile) else bytes(ca),
            ca_file="" if isinstance(ca, UnreadableFile) or not ca else CA,
            insecure=overrides.insecure,
            proxy=proxy_for(server, environ),
            headers=_headers(overrides, overrides.impersonation or Impersonation()),
        ),
        identity=Identity(token=overrides.token) if overrides.token else Identity(token_file=TOKEN),
        namespace=overrides.namespace or namespace_of_pod(environ, files[NAMESPACE]),
        source="the pod",
        warnings=(INSECURE,) if overrides.insecure else unchecked,
    )


def _impersonation(user: KubeconfigUser) -> Impersonation:
    return Impersonation(
        user=user.impersonate,
        uid=user.impersonate_uid,
        groups=user.impersonate_groups,
        extra=tuple(user.impersonate_extra.items()),
    )


def _headers(overrides: Overrides, impersonation: Impersonation) -> Headers:
    return (("User-Agent", overrides.user_agent or "kubeproto"), *impersonation.headers, *overrides.headers)


def _needs(paths: Iterable[str], files: Mapping[str, bytes | UnreadableFile]) -> Needs | None:
    missing = tuple(path for path in paths if path and path not in files)
    return Needs(missing) if missing else None


def _content(path: str, files: Mapping[str, bytes | UnreadableFile]) -> bytes:
    if not path:
        return b""
    content = files[path]
    if isinstance(content, UnreadableFile):
        raise ConfigError(f"{path} cannot be read: {content.why}")
    return bytes(content)


def _concealed(content: bytes | UnreadableFile) -> bytes | UnreadableFile:
    return Concealed(content) if isinstance(content, bytes) else content
