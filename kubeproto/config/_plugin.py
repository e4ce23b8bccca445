"""Exec plugins: what such a program gets as input, and what its output means."""

from __future__ import annotations

from typing import Any, Final, Literal, cast

import msgspec
from msgspec import Struct

from ..wire import Concealed
from ._documents import read_text, shape
from ._errors import ConfigError, CredentialsError
from ._hiding import Hiding
from ._kubeconfig_types import EXEC_EXTENSION, Exec, KubeconfigCluster
from ._secrets import Credentials, bearer

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
MODES: Final = ("Never", "IfAvailable", "Always")

# Logging in at a slow identity provider takes some ten seconds; Go's client waits forever.
TIMEOUT: Final = 120.0
# A person has to find the telephone with the second factor.
INTERACTIVE_TIMEOUT: Final = 600.0


class PluginPolicy(Struct, frozen=True, kw_only=True):
    """Which programs a kubeconfig may start: all, none, or those whose command is listed word for word."""

    mode: Literal["AllowAll", "DenyAll", "Allowlist"] = "AllowAll"
    allowed: tuple[str, ...] = ()

    def allows(self, command: str) -> bool:
        """Return True if a plugin with this command may be started."""
        return self.mode == "AllowAll" or (self.mode == "Allowlist" and command in self.allowed)


class Plugin(Hiding, frozen=True, kw_only=True):
    """A program that prints credentials. `cluster` is what it is told about the server, as JSON."""

    hides = frozenset(("args", "env", "cluster"))

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    api_version: str = VERSIONS[0]
    mode: str = "IfAvailable"
    install_hint: str = ""
    cluster: bytes = b""

    def can_ask(self, *, terminal: bool) -> bool:
        """Return True if it may talk to a person. One that must is refused where there is none."""
        if self.mode == "Always" and not terminal:
            raise ConfigError(f"the plugin {self.command!r} is interactive, and there is no terminal")
        return terminal and self.mode != "Never"


def plugin_of(entry: Exec, cluster: KubeconfigCluster, ca: bytes, policy: PluginPolicy) -> Plugin:
    """Return the plugin that a kubeconfig describes, if it has one that may be started."""
    if not entry.command:
        raise ConfigError("the exec plugin has no command")
    name = f"the exec plugin {entry.command!r}"
    if not policy.allows(entry.command):
        raise ConfigError(f"{name} may not be started: the policy is {policy.mode}")
    if entry.api_version not in VERSIONS:
        raise ConfigError(
            f"{name} has the apiVersion {entry.api_version!r}; it must be {' or '.join(VERSIONS)}"
        )
    # v1 made the mode mandatory; older versions leave it out and mean this.
    mode = entry.interactive_mode or ("IfAvailable" if entry.api_version == VERSIONS[1] else "")
    if mode not in MODES:
        raise ConfigError(f"{name} has the interactiveMode {mode!r}; it must be one of {', '.join(MODES)}")
    if any(not variable.name or "=" in variable.name for variable in entry.env):
        raise ConfigError(f"{name} has an env variable without a name, or with '=' in it")
    return Plugin(
        command=entry.command,
        args=entry.args,
        env=tuple((variable.name, variable.value) for variable in entry.env),
        api_version=entry.api_version,
        mode=mode,
        install_hint=_harmless(entry.install_hint),
        cluster=_described(cluster, ca) if entry.provide_cluster_info else b"",
    )


def exec_info(plugin: Plugin, *, interactive: bool) -> str:
    """Return the value of KUBERNETES_EXEC_INFO: what the plugin may need to know."""
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.cluster:
        spec = {"cluster": msgspec.Raw(plugin.cluster), **spec}
    said = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return msgspec.json.encode(said).decode()


def read_output(stdout: bytes, plugin: Plugin) -> tuple[Credentials, float | None]:
    """Return the credentials that a plugin printed, and when they expire. Other output is never quoted."""
    stdout = Concealed(stdout)
    found = _read_output(stdout, plugin)
    if isinstance(found, str):
        raise CredentialsError(found)
    return found


def _read_output(stdout: bytes, plugin: Plugin) -> tuple[Credentials, float | None] | str:
    """The same, or what is wrong: an error that left this function would show its variables."""
    what = f"the output of the plugin {plugin.command!r}"
    try:
        documents = read_text(stdout, what)
        if len(documents) != 1 or documents[0].value is None:
            return f"{what} is not one document"
        said = cast("_Output", shape(documents[0].value, _Output, documents[0], what))
        return _credentials(said, plugin, what)
    except (ConfigError, CredentialsError) as error:
        return str(error)


class _Status(Hiding, frozen=True, kw_only=True, rename="camel"):
    hides = frozenset(("token", "client_certificate_data", "client_key_data"))

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _Output(Struct, frozen=True, kw_only=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


def _credentials(said: _Output, plugin: Plugin, what: str) -> tuple[Credentials, float | None]:
    if said.kind != "ExecCredential":
        raise ConfigError(f"{what} is not an ExecCredential")
    if said.api_version != plugin.api_version:
        raise ConfigError(
            f"{what} has another apiVersion than {plugin.api_version}, which it is configured with"
        )
    status = said.status or _Status()
    certificate, key = status.client_certificate_data or "", status.client_key_data or ""
    if bool(certificate) != bool(key):
        raise ConfigError(
            f"{what} has a client certificate without its key, or a key without its certificate"
        )
    if not status.token and not certificate:
        raise ConfigError(f"{what} has neither a token nor a client certificate")
    if certificate and not ("-----BEGIN " in certificate and "-----BEGIN " in key):
        raise ConfigError(f"{what} has a client certificate or key that is not PEM")
    credentials = Credentials(
        authorization=bearer(status.token or ""),
        client_certificate=certificate.encode(),
        client_key=key.encode(),
    )
    return credentials, _time(status.expiration_timestamp, what)


def _time(text: str | None, what: str) -> float | None:
    from ..objects import parse_time

    if not text:
        return None
    try:
        return parse_time(text).timestamp()
    except (ValueError, OverflowError):
        pass
    raise ConfigError(f"{what} has an expirationTimestamp that is not a time")


def _described(cluster: KubeconfigCluster, ca: bytes) -> bytes:
    settings = next((found.extension for found in cluster.extensions if found.name == EXEC_EXTENSION), None)
    said: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": ca,  # msgspec writes base64
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": settings,
    }
    return msgspec.json.encode({key: value for key, value in said.items() if value})


def _harmless(text: str) -> str:
    """Return a hint with escape sequences made visible, so that it cannot control the terminal."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else f"U+{ord(sign):04X}" for sign in text)
