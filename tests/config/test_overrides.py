"""Overrides replace server, token and verification of a kubeconfig as in client-go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final

import pytest

from kubeproto.config import (
    Config,
    ConfigError,
    Identity,
    Overrides,
    RequiredFiles,
    UnreadableFile,
    infer,
)

MARK: Final = "hunter" + "2"
PEM: Final = "-----BEGIN CERTIFICATE-----\nx"
CLUSTER: Final[dict[str, Any]] = {
    "server": "https://h:6443",
    "certificate-authority": "/ca.crt",
    "tls-server-name": "kubernetes",
    "proxy-url": "http://proxy:3128",
}
CONFIG: Final[dict[str, Any]] = {
    "clusters": [{"name": "c", "cluster": CLUSTER}],
    "users": [
        {"name": "file", "user": {"tokenFile": "/token"}},
        {"name": "password", "user": {"username": "ann", "password": "p"}},
        {"name": "plugin", "user": {"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": "login", "interactiveMode": "Never",
        }}},
        {"name": "oidc", "user": {"auth-provider": {"name": "oidc", "config": {
            "idp-issuer-url": "https://login", "client-id": "c", "refresh-token": "r",
        }}}},
        {"name": "certificate", "user": {"client-certificate": "/crt", "client-key": "/key"}},
    ],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "file", "namespace": "ns"}}],
    "current-context": "x",
}  # fmt: skip
FILES: Final[dict[str, bytes]] = {"/k": json.dumps(CONFIG).encode(), "/ca.crt": PEM.encode()}
POD: Final = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
SECRETS: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


def infer_with(overrides: Overrides, environ: Mapping[str, str] | None = None, **more: bytes) -> Config:
    files = FILES | {name.replace("_", "/"): content for name, content in more.items()}
    known_files: dict[str, bytes | UnreadableFile] = {}
    environ = {"KUBECONFIG": "/k"} if environ is None else environ
    while isinstance(result := infer(environ, known_files, overrides), RequiredFiles):
        known_files |= {path: files.get(path, UnreadableFile("gone", missing=True)) for path in result.paths}
    return result


def test_a_server_override_replaces_the_server_and_the_tls_server_name() -> None:
    content = infer_with(Overrides())
    assert content.connection.tls_server_name == "kubernetes"
    config = infer_with(Overrides(server="https://other"))
    assert (config.connection.server, config.connection.tls_server_name) == ("https://other", "")
    assert (config.connection.ca, config.connection.proxy) == (PEM.encode(), "http://proxy:3128")
    assert (config.namespace, config.identity) == ("ns", content.identity)


def test_a_server_override_needs_no_kubeconfig_and_no_context() -> None:
    for environ in ({}, {"KUBECONFIG": "/gone"}, POD):
        config = infer_with(Overrides(server="https://h", token=MARK), environ)
        assert (config.connection.server, config.connection.ca) == ("https://h", b"")
        assert (config.identity, config.namespace) == (Identity(token=MARK), "default")
        assert config.source == "the given server"
    chosen = infer_with(Overrides(server="https://h", user="file", namespace="shop"))
    assert (chosen.identity, chosen.namespace) == (Identity(token_file="/token"), "shop")
    with pytest.raises(ConfigError, match="the user 'nobody' is not in"):
        infer_with(Overrides(server="https://h", user="nobody"))


def test_a_server_override_without_a_scheme_uses_http_without_the_token() -> None:
    config = infer_with(Overrides(server="localhost:8080", token=MARK), {})
    assert (config.connection.server, config.identity) == ("http://localhost:8080", Identity())
    assert config.warnings == ("the server is used without TLS, so no credentials are sent",)


def test_insecure_omits_the_ca_and_causes_a_warning() -> None:
    config = infer_with(Overrides(insecure=True))
    assert (config.connection.insecure, config.connection.ca, config.connection.ca_file) == (True, b"", "")
    assert config.warnings[0].startswith("insecure-skip-tls-verify is set")


@pytest.mark.parametrize("user", ["file", "password", "plugin", "oidc"])
def test_a_token_override_replaces_every_other_login_method(user: str) -> None:
    assert infer_with(Overrides(user=user)).identity != Identity(token=MARK)
    assert infer_with(Overrides(user=user, token=MARK)).identity == Identity(token=MARK)


def test_a_client_certificate_is_kept_with_a_token_override_like_in_kubectl() -> None:
    identity = infer_with(Overrides(user="certificate", token=MARK)).identity
    assert (identity.token, identity.certificate_file, identity.key_file) == (MARK, "/crt", "/key")


def test_overrides_replace_token_and_ca_in_a_pod() -> None:
    files = {f"{SECRETS}/token": b"t", f"{SECRETS}/ca.crt": PEM.encode(), f"{SECRETS}/namespace": b"prod"}
    known_files: dict[str, bytes | UnreadableFile] = dict(files)
    config = infer(POD, known_files, Overrides(token=MARK, insecure=True))
    assert isinstance(config, Config)
    assert config.identity == Identity(token=MARK)
    assert (config.connection.insecure, config.connection.ca, config.namespace) == (True, b"", "prod")
    assert config.warnings[0].startswith("insecure-skip-tls-verify is set")


def test_a_token_override_is_never_shown() -> None:
    overrides = Overrides(token=MARK, server="ftp://h")
    assert MARK not in repr(overrides)
    assert MARK not in repr(infer_with(Overrides(token=MARK)))
    with pytest.raises(ConfigError) as raised:
        infer_with(overrides)
    assert MARK not in str(raised.value)
    trace: TracebackType | None = raised.tb.tb_next
    while trace is not None:
        for name, value in trace.tb_frame.f_locals.items():
            assert MARK not in repr(value), (trace.tb_frame.f_code.co_name, name)
        trace = trace.tb_next
