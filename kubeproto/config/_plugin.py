"""`Plugin`: an exec plugin, its input, and the credentials in its output."""

from __future__ import annotations

from typing import Any, Final, Literal, cast

import msgspec
from msgspec import Struct

from .._errors import ConfigError, CredentialsError
from ..wire import ConcealedBytes, ConcealingStruct
from ._kubeconfig_types import EXEC_EXTENSION, Exec, KubeconfigCluster
from ._located_documents import convert_located, parse_documents
from ._signing_credentials import Credentials, bearer_authorization

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
MODES: Final = ("Never", "IfAvailable", "Always")

# Seconds. A login at a slow identity provider takes about ten; client-go waits forever.
TIMEOUT: Final = 120.0
# A person has to find the telephone with the second factor.
INTERACTIVE_TIMEOUT: Final = 600.0


class PluginPolicy(Struct, frozen=True, kw_only=True):
    """The programs that a kubeconfig may start: all, none, or the `allowed` commands, compared literally."""

    mode: Literal["AllowAll", "DenyAll", "Allowlist"] = "AllowAll"
    allowed: tuple[str, ...] = ()

    def allows(self, command: str) -> bool:
        """Return whether a plugin with this command may be started."""
        return self.mode == "AllowAll" or (self.mode == "Allowlist" and command in self.allowed)


class Plugin(ConcealingStruct, frozen=True, kw_only=True):
    """A program that prints credentials. `cluster` is JSON with the server's settings, for the plugin."""

    secret_fields = frozenset(("args", "env", "cluster"))

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = VERSIONS[0]
    mode: str = "IfAvailable"
    install_hint: str = ""
    cluster: bytes = b""

    def is_interactive(self, *, has_terminal: bool) -> bool:
        """Return whether it may talk to a person; raise `ConfigError` if it must and there is no terminal."""
        if self.mode == "Always" and not has_terminal:
            raise ConfigError(f"the plugin {self.command!r} is interactive, and there is no terminal")
        return has_terminal and self.mode != "Never"


def plugin_of(entry: Exec, cluster: KubeconfigCluster, ca: bytes, policy: PluginPolicy) -> Plugin:
    """Return the plugin of a kubeconfig; raise `ConfigError` if it is invalid or the policy forbids it."""
    if not entry.command:
        raise ConfigError("the exec plugin has no command")
    name = f"the exec plugin {entry.command!r}"
    if not policy.allows(entry.command):
        raise ConfigError(f"{name} must not be started: the policy is {policy.mode}")
    if entry.api_version not in VERSIONS:
        raise ConfigError(
            f"{name} has the apiVersion {entry.api_version!r}; it must be {' or '.join(VERSIONS)}"
        )
    # The mode is mandatory in v1; in older versions this is the default.
    mode = entry.interactive_mode or ("IfAvailable" if entry.api_version == VERSIONS[1] else "")
    if mode not in MODES:
        raise ConfigError(f"{name} has the interactiveMode {mode!r}; it must be one of {', '.join(MODES)}")
    if any(not variable.name or "=" in variable.name for variable in entry.env):
        raise ConfigError(f"{name} has an env variable with an empty name, or with '=' in its name")
    return Plugin(
        command=entry.command,
        args=entry.args,
        env=tuple((variable.name, variable.value) for variable in entry.env),
        api_version=entry.api_version,
        mode=mode,
        install_hint=_escape_control_characters(entry.install_hint),
        cluster=_encode_cluster(cluster, ca) if entry.provide_cluster_info else b"",
    )


def exec_info(plugin: Plugin, *, interactive: bool) -> str:
    """Return the value of KUBERNETES_EXEC_INFO, the input of the plugin."""
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.cluster:
        spec = {"cluster": msgspec.Raw(plugin.cluster), **spec}
    info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()


def read_output(stdout: bytes, plugin: Plugin) -> tuple[Credentials, float | None]:
    """Return the credentials that a plugin printed, and when they expire. Errors never quote the output."""
    stdout = ConcealedBytes(stdout)  # keeps the secret out of the variables of a frame
    result = _read_output(stdout, plugin)
    if isinstance(result, str):
        raise CredentialsError(result)
    return result


def _read_output(stdout: bytes, plugin: Plugin) -> tuple[Credentials, float | None] | str:
    """Like `read_output`, but return the problem: tracebacks of an error would show the variables."""
    source = f"the output of the plugin {plugin.command!r}"
    try:
        documents = parse_documents(stdout, source)
        if len(documents) != 1 or documents[0].value is None:
            return f"{source} is not a single document"
        output = cast("_Output", convert_located(documents[0].value, _Output, documents[0], source))
        return _read_credentials(output, plugin, source)
    except (ConfigError, CredentialsError) as error:
        return str(error)


class _Status(ConcealingStruct, frozen=True, kw_only=True, rename="camel"):
    secret_fields = frozenset(("token", "client_certificate_data", "client_key_data"))

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _Output(Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


def _read_credentials(output: _Output, plugin: Plugin, source: str) -> tuple[Credentials, float | None]:
    if output.kind != "ExecCredential":
        raise ConfigError(f"{source} is not an ExecCredential")
    if output.api_version != plugin.api_version:
        raise ConfigError(f"{source} must have the configured apiVersion {plugin.api_version}")
    status = output.status or _Status()
    certificate, key = status.client_certificate_data or "", status.client_key_data or ""
    if bool(certificate) != bool(key):
        raise ConfigError(f"{source} has a client certificate without a key, or a key without a certificate")
    if not status.token and not certificate:
        raise ConfigError(f"{source} has neither a token nor a client certificate")
    if certificate and not ("-----BEGIN " in certificate and "-----BEGIN " in key):
        raise ConfigError(f"{source} has a client certificate or key that is not PEM")
    credentials = Credentials(
        authorization=bearer_authorization(status.token or ""),
        client_certificate=certificate.encode(),
        client_key=key.encode(),
    )
    return credentials, _parse_expiration(status.expiration_timestamp, source)


def _parse_expiration(text: str | None, source: str) -> float | None:
    from ..objects import parse_time

    if not text:
        return None
    try:
        return parse_time(text).timestamp()
    except (ValueError, OverflowError):
        pass
    raise ConfigError(f"{source} has an expirationTimestamp that is not a time")


def _encode_cluster(cluster: KubeconfigCluster, ca: bytes) -> bytes:
    settings = next((entry.extension for entry in cluster.extensions if entry.name == EXEC_EXTENSION), None)
    fields: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": ca,  # msgspec writes base64
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": settings,
    }
    return msgspec.json.encode({key: value for key, value in fields.items() if value})


def _escape_control_characters(text: str) -> str:
    """Return a hint that cannot control the terminal."""
    return "".join(
        character if character.isprintable() or character in "\n\t" else f"U+{ord(character):04X}"
        for character in text
    )
