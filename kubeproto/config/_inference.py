"""`infer`: finds the configuration of a client in the environment and in files, in kubectl's order.

`infer` is called repeatedly: it returns the paths of the files that it needs, is called again with their
contents, and finally returns a `Config`. It has no state::

    files: dict[str, bytes | UnreadableFile] = {}
    while isinstance(result := infer(os.environ, files, home=home), RequiredFiles):
        files |= {path: read(path) for path in result.paths}

The order: an explicit path, else the files of ``KUBECONFIG``, else the file in the home. If these select no
context, the service account of the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .._errors import ConfigError
from ..wire import ConcealedBytes, ConcealedUrl, ConcealedVariables, ConcealingStruct, Headers
from ._connection_settings import Connection
from ._identity import (
    Identity,
    Impersonation,
    UnreadableFile,
    check_user,
    identity_of,
    uses_plugin,
    uses_provider,
)
from ._kubeconfig import Choice, Kubeconfig, kubeconfig_paths
from ._kubeconfig_types import KubeconfigUser
from ._oidc import oidc_of
from ._plugin import PluginPolicy, plugin_of
from ._proxies import proxy_for
from ._server_urls import complete_server_url
from ._signing_credentials import Credentials

ALLOW_ALL: Final = PluginPolicy()

# The service account of a pod.
POD_TOKEN: Final = "/var/run/secrets/kubernetes.io/serviceaccount/token"
POD_CA: Final = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
POD_NAMESPACE: Final = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

INSECURE_WARNING: Final = (
    "insecure-skip-tls-verify is set: anyone between this machine and the server can read and change all data"
)
PLAINTEXT_WARNING: Final = "the server is used without TLS, so no credentials are sent"


class RequiredFiles(Struct, frozen=True):
    """The files to read; the content of a file that cannot be read is an `UnreadableFile`."""

    paths: tuple[str, ...]


class Overrides(ConcealingStruct, frozen=True, kw_only=True):
    """Settings that take precedence over those in the files.

    `server` is a URL that replaces the cluster's. `insecure` disables the verification of its certificate,
    and drops the CA. `token` replaces the user's token, password, plugin or auth-provider, but no
    certificate.
    """

    secret_fields = frozenset(("token",))

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


class Config(ConcealingStruct, frozen=True, kw_only=True):
    """The configuration of a client. `source` describes its origin; `warnings` are for the user."""

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
) -> RequiredFiles | Config:
    """Return the configuration of a client, or the files to read for it; raise `ConfigError` if it is
    invalid."""
    overrides = overrides or Overrides()
    environ = ConcealedVariables(environ)
    files = {
        path: ConcealedBytes(content) if isinstance(content, bytes) else content
        for path, content in files.items()
    }
    paths = (overrides.path,) if overrides.path else kubeconfig_paths(environ, home, separator=separator)
    if needs := _missing_files(paths, files):
        return needs
    configs: list[Kubeconfig] = []
    for path in paths:
        content = files[path]
        # The files of a list may be missing; an explicit path must exist.
        if isinstance(content, UnreadableFile):
            if overrides.path or not content.missing:
                raise ConfigError(f"{path} cannot be read: {content.reason}")
        else:
            configs.append(Kubeconfig.parse(content, path))
    merged = Kubeconfig.merge(configs)
    choice = merged.choose(
        context=overrides.context,
        cluster=overrides.cluster,
        user=overrides.user,
        namespace=overrides.namespace,
        server=overrides.server,
    )
    if choice:
        return _config_of_choice(_apply_overrides(choice, overrides), environ, files, overrides)
    if server := _pod_server(environ):
        needs = _missing_files((POD_TOKEN, POD_CA, POD_NAMESPACE), files)
        return needs or _config_of_pod(server, environ, files, overrides)
    problem = _describe_no_context(merged, paths) if configs else _describe_no_file(paths, environ)
    raise ConfigError(f"{problem}, and this is not a pod: KUBERNETES_SERVICE_HOST is not set")


def _describe_no_context(merged: Kubeconfig, paths: tuple[str, ...]) -> str:
    names = ", ".join(repr(context.name) for context in merged.contexts[:10])
    return f"no current context is set in {', '.join(paths)}" + (f" (it has {names})" if names else "")


def _describe_no_file(paths: tuple[str, ...], environ: Mapping[str, str]) -> str:
    names = ", ".join(paths)
    if environ.get("KUBECONFIG"):
        return f"there is no kubeconfig: KUBECONFIG is {names}, and no such file exists"
    return f"there is no kubeconfig: {names} does not exist" if names else "there is no kubeconfig"


def _apply_overrides(choice: Choice, overrides: Overrides) -> Choice:
    """Return the choice with the CA and the user's credentials overridden like in kubectl."""
    cluster, user = choice.cluster, choice.user
    if overrides.insecure:
        cluster = replace(
            cluster,
            insecure_skip_tls_verify=True,
            certificate_authority="",
            certificate_authority_data=b"",
        )
    if overrides.token:
        # The token already takes precedence over a token file, a plugin and an auth-provider.
        user = replace(user, token=overrides.token, username="", password="")
    return replace(choice, cluster=cluster, user=user)


def _config_of_choice(
    choice: Choice,
    environ: Mapping[str, str],
    files: Mapping[str, bytes | UnreadableFile],
    overrides: Overrides,
) -> RequiredFiles | Config:
    cluster, user = choice.cluster, choice.user
    if not cluster.server:
        raise ConfigError(f"the cluster {choice.cluster_name!r} has no server")
    ca_file = "" if cluster.certificate_authority_data else cluster.certificate_authority
    if needs := _missing_files((ca_file,), files):
        return needs
    server = ConcealedUrl(complete_server_url(cluster.server))
    connection = Connection(
        server=str(server),
        ca=cluster.certificate_authority_data or _file_content(ca_file, files),
        ca_file=ca_file,
        tls_server_name=cluster.tls_server_name,
        insecure=cluster.insecure_skip_tls_verify,
        proxy=cluster.proxy_url or proxy_for(server, environ),
        compression=not cluster.disable_compression,
    )
    try:
        check_user(user)
        # Secrets are never sent without TLS, so none are obtained then.
        identity = (
            _identity_of_choice(choice, connection, environ, files, overrides)
            if connection.secure
            else Identity()
        )
        impersonation = overrides.impersonation or _impersonation_of(user)
    except ConfigError as error:
        raise ConfigError(f"the user {choice.user_name!r}: {error}") from None
    if isinstance(identity, RequiredFiles):
        return identity
    warnings = (INSECURE_WARNING,) if connection.insecure and connection.secure else ()
    if not connection.secure and user != KubeconfigUser(impersonate=user.impersonate):
        warnings = (*warnings, PLAINTEXT_WARNING)
    return Config(
        connection=replace(connection, headers=_request_headers(overrides, impersonation)),
        identity=identity,
        namespace=choice.namespace or "default",
        source=_describe_source(choice),
        warnings=warnings,
    )


def _describe_source(choice: Choice) -> str:
    if choice.context:
        return f"the context {choice.context!r}"
    if choice.cluster_name:
        return f"the cluster {choice.cluster_name!r}"
    return "the given server"


def _identity_of_choice(
    choice: Choice,
    connection: Connection,
    environ: Mapping[str, str],
    files: Mapping[str, bytes | UnreadableFile],
    overrides: Overrides,
) -> RequiredFiles | Identity:
    user = choice.user
    if user.exec and uses_plugin(user):
        plugin = plugin_of(user.exec, choice.cluster, connection.ca, overrides.policy)
        return identity_of(user, plugin, None)
    if not uses_provider(user):
        return identity_of(user, None, None)
    settings = user.auth_provider.config if user.auth_provider else {}
    ca_file = settings.get("idp-certificate-authority", "")
    if settings.get("idp-certificate-authority-data"):
        ca_file = ""
    # The provider renews the token and not the certificate, which is therefore read only once.
    certificate_file = "" if user.client_certificate_data else user.client_certificate
    key_file = "" if user.client_key_data else user.client_key
    if needs := _missing_files((ca_file, certificate_file, key_file), files):
        return needs
    inlined_user = replace(
        user,
        client_certificate_data=user.client_certificate_data or _file_content(certificate_file, files),
        client_key_data=user.client_key_data or _file_content(key_file, files),
    )
    ca = _file_content(ca_file, files)
    del settings  # contains tokens, and the next line may raise
    oidc = oidc_of(user.auth_provider, ca)
    return identity_of(inlined_user, None, replace(oidc, proxy=proxy_for(oidc.issuer, environ)))


def _pod_server(environ: Mapping[str, str]) -> str:
    """Return the URL of the server, or "" if this is not a pod."""
    host = environ.get("KUBERNETES_SERVICE_HOST", "")
    port = environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        return ""
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def _pod_namespace(environ: Mapping[str, str], content: bytes | UnreadableFile) -> str:
    if environ.get("POD_NAMESPACE"):
        return environ["POD_NAMESPACE"]
    text = b"" if isinstance(content, UnreadableFile) else content.strip()
    return text.decode("ascii", "replace") or "default"


def _config_of_pod(
    server: str, environ: Mapping[str, str], files: Mapping[str, bytes | UnreadableFile], overrides: Overrides
) -> Config:
    token, ca = files[POD_TOKEN], b"" if overrides.insecure else files[POD_CA]
    if isinstance(token, UnreadableFile) and not overrides.token:
        raise ConfigError(f"there is no kubeconfig, and this pod has no token: {POD_TOKEN}: {token.reason}")
    no_ca = f"{POD_CA} cannot be read, so the server needs a certificate that the system trusts"
    ca_warnings = (no_ca,) if isinstance(ca, UnreadableFile) else ()
    return Config(
        connection=Connection(
            server=server,
            ca=b"" if isinstance(ca, UnreadableFile) else bytes(ca),
            ca_file="" if isinstance(ca, UnreadableFile) or not ca else POD_CA,
            insecure=overrides.insecure,
            proxy=proxy_for(server, environ),
            headers=_request_headers(overrides, overrides.impersonation or Impersonation()),
        ),
        identity=Identity(token=overrides.token) if overrides.token else Identity(token_file=POD_TOKEN),
        namespace=overrides.namespace or _pod_namespace(environ, files[POD_NAMESPACE]),
        source="the pod",
        warnings=(INSECURE_WARNING,) if overrides.insecure else ca_warnings,
    )


def _impersonation_of(user: KubeconfigUser) -> Impersonation:
    return Impersonation(
        user=user.impersonate,
        uid=user.impersonate_uid,
        groups=user.impersonate_groups,
        extra=tuple(user.impersonate_extra.items()),
    )


def _request_headers(overrides: Overrides, impersonation: Impersonation) -> Headers:
    return (("User-Agent", overrides.user_agent or "kubeproto"), *impersonation.headers, *overrides.headers)


def _missing_files(paths: Iterable[str], files: Mapping[str, bytes | UnreadableFile]) -> RequiredFiles | None:
    missing = tuple(path for path in paths if path and path not in files)
    return RequiredFiles(missing) if missing else None


def _file_content(path: str, files: Mapping[str, bytes | UnreadableFile]) -> bytes:
    if not path:
        return b""
    content = files[path]
    if isinstance(content, UnreadableFile):
        raise ConfigError(f"{path} cannot be read: {content.reason}")
    return bytes(content)
