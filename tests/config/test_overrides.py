"""A server, a token, unchecked certificates in place of what a kubeconfig says, as client-go merges them."""

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
    Needs,
    Overrides,
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


def found(overrides: Overrides, environ: Mapping[str, str] | None = None, **more: bytes) -> Config:
    files = FILES | {name.replace("_", "/"): content for name, content in more.items()}
    told: dict[str, bytes | UnreadableFile] = {}
    environ = {"KUBECONFIG": "/k"} if environ is None else environ
    while isinstance(result := infer(environ, told, overrides), Needs):
        told |= {path: files.get(path, UnreadableFile("gone", missing=True)) for path in result.paths}
    return result


def test_a_server_takes_the_place_of_the_clusters_and_its_name_in_certificates_goes() -> None:
    content = found(Overrides())
    assert content.connection.tls_server_name == "kubernetes"
    config = found(Overrides(server="https://other"))
    assert (config.connection.server, config.connection.tls_server_name) == ("https://other", "")
    assert (config.connection.ca, config.connection.proxy) == (PEM.encode(), "http://proxy:3128")
    assert (config.namespace, config.identity) == ("ns", content.identity)


def test_a_server_needs_no_kubeconfig_and_no_context() -> None:
    for environ in ({}, {"KUBECONFIG": "/gone"}, POD):
        config = found(Overrides(server="https://h", token=MARK), environ)
        assert (config.connection.server, config.connection.ca) == ("https://h", b"")
        assert (config.identity, config.namespace) == (Identity(token=MARK), "default")
        assert config.source == "the given server"
    chosen = found(Overrides(server="https://h", user="file", namespace="shop"))
    assert (chosen.identity, chosen.namespace) == (Identity(token_file="/token"), "shop")
    with pytest.raises(ConfigError, match="the user 'nobody' is not in"):
        found(Overrides(server="https://h", user="nobody"))


def test_without_a_scheme_a_server_is_reached_over_http_and_gets_no_token() -> None:
    config = found(Overrides(server="localhost:8080", token=MARK), {})
    assert (config.connection.server, config.identity) == ("http://localhost:8080", Identity())
    assert config.warnings == ("the server is used without TLS, so no credentials are sent",)


def test_unchecked_certificates_leave_the_ca_out_and_are_warned_about() -> None:
    config = found(Overrides(insecure=True))
    assert (config.connection.insecure, config.connection.ca, config.connection.ca_file) == (True, b"", "")
    assert config.warnings[0].startswith("insecure-skip-tls-verify is set")


@pytest.mark.parametrize("user", ["file", "password", "plugin", "oidc"])
def test_a_token_takes_the_place_of_every_other_way_to_log_in(user: str) -> None:
    assert found(Overrides(user=user)).identity != Identity(token=MARK)
    assert found(Overrides(user=user, token=MARK)).identity == Identity(token=MARK)


def test_a_client_certificate_goes_beside_a_token_as_with_kubectl() -> None:
    identity = found(Overrides(user="certificate", token=MARK)).identity
    assert (identity.token, identity.certificate_file, identity.key_file) == (MARK, "/crt", "/key")


def test_in_a_pod_token_and_certificate_are_replaced_too() -> None:
    files = {f"{SECRETS}/token": b"t", f"{SECRETS}/ca.crt": PEM.encode(), f"{SECRETS}/namespace": b"prod"}
    told: dict[str, bytes | UnreadableFile] = dict(files)
    config = infer(POD, told, Overrides(token=MARK, insecure=True))
    assert isinstance(config, Config)
    assert config.identity == Identity(token=MARK)
    assert (config.connection.insecure, config.connection.ca, config.namespace) == (True, b"", "prod")
    assert config.warnings[0].startswith("insecure-skip-tls-verify is set")


def test_a_token_is_shown_nowhere() -> None:
    overrides = Overrides(token=MARK, server="ftp://h")
    assert MARK not in repr(overrides)
    assert MARK not in repr(found(Overrides(token=MARK)))
    with pytest.raises(ConfigError) as raised:
        found(overrides)
    assert MARK not in str(raised.value)
    trace: TracebackType | None = raised.tb.tb_next
    while trace is not None:
        for name, value in trace.tb_frame.f_locals.items():
            assert MARK not in repr(value), (trace.tb_frame.f_code.co_name, name)
        trace = trace.tb_next
