"""The configuration of a client is inferred in kubectl's order; the caller reads the files."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

import pytest

from kubeproto.config import (
    Config,
    ConfigError,
    Credentials,
    Identity,
    Impersonation,
    Overrides,
    PluginPolicy,
    RequiredFiles,
    UnreadableFile,
    infer,
)

CA: Final = b"-----BEGIN CERTIFICATE-----\nca"
CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----\ncrt"
KEY: Final = b"-----BEGIN PRIVATE KEY-----"
POD: Final = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
SECRETS: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
POD_FILES: Final[dict[str, bytes | UnreadableFile]] = {
    f"{SECRETS}/token": b"t",
    f"{SECRETS}/ca.crt": CA,
    f"{SECRETS}/namespace": b"prod\n",
}
NOT_THERE: Final = UnreadableFile("No such file or directory", missing=True)


def kubeconfig(
    user: Mapping[str, Any] | None = None,
    *,
    server: str = "https://h",
    cluster: Mapping[str, Any] | None = None,
) -> dict[str, bytes | UnreadableFile]:
    value = {
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        "current-context": "x",
    }
    return {"/k/config": json.dumps(value).encode()}


def infer_from(
    files: Mapping[str, bytes | UnreadableFile],
    overrides: Overrides | None = None,
    environ: Mapping[str, str] | None = None,
    home: str = "",
) -> tuple[Config, list[str]]:
    """Infer a configuration, and return it with the requested paths; other files are missing."""
    known_files: dict[str, bytes | UnreadableFile] = {}
    environ = {"KUBECONFIG": "/k/config"} if environ is None else environ
    while isinstance(result := infer(environ, known_files, overrides, home=home), RequiredFiles):
        assert result.paths
        assert not known_files.keys() & set(result.paths)
        known_files |= {path: files.get(path, NOT_THERE) for path in result.paths}
    return result, [*known_files]


# Order.


def test_kubeconfig_comes_before_the_pod() -> None:
    config, read = infer_from(kubeconfig(), environ=POD | {"KUBECONFIG": "/k/config"})
    assert (config.source, config.namespace, read) == ("the context 'x'", "ns", ["/k/config"])


def test_the_pod_is_used_without_a_kubeconfig_or_a_current_context() -> None:
    files = POD_FILES | {"/home/.kube/config": b"contexts: [{name: x}]"}
    for home in ("", "/elsewhere", "/home"):
        config, _ = infer_from(files, environ=POD, home=home)
        assert config.source == "the pod"
        assert (config.connection.server, config.connection.ca) == ("https://10.96.0.1:443", CA)
        assert config.connection.ca_file == f"{SECRETS}/ca.crt"
        assert config.identity == Identity(token_file=f"{SECRETS}/token")
        assert config.namespace == "prod"


def test_an_invalid_kubeconfig_is_not_ignored() -> None:
    with pytest.raises(ConfigError, match="/k/config, line 1"):
        infer_from({"/k/config": b"5"}, environ=POD | {"KUBECONFIG": "/k/config"})
    with pytest.raises(ConfigError, match="the context 'y' is not in"):
        infer_from(kubeconfig(), Overrides(context="y"), environ=POD | {"KUBECONFIG": "/k/config"})


def test_files_of_a_list_may_be_missing_but_not_unreadable() -> None:
    config, read = infer_from(kubeconfig(), environ={"KUBECONFIG": "/gone:/k/config"})
    assert (config.source, read) == ("the context 'x'", ["/gone", "/k/config"])
    files = kubeconfig() | {"/gone": UnreadableFile("Permission denied")}
    with pytest.raises(ConfigError, match="/gone cannot be read: Permission denied"):
        infer_from(files, environ={"KUBECONFIG": "/gone:/k/config"})


def test_an_explicit_path_must_exist_and_is_the_only_file() -> None:
    _, read = infer_from(kubeconfig(), Overrides(path="/k/config"), environ={"KUBECONFIG": "/other"})
    assert read == ["/k/config"]
    with pytest.raises(ConfigError, match="/typo cannot be read: No such file"):
        infer_from(kubeconfig(), Overrides(path="/typo"), environ=POD)


def test_the_error_without_any_configuration_names_the_searched_paths() -> None:
    with pytest.raises(ConfigError, match=r"there is no kubeconfig.*, and this is not a pod"):
        infer_from({}, environ={})
    with pytest.raises(
        ConfigError, match=r"no current context is set in /a \(it has 'x'\), and this is not a pod"
    ):
        infer_from({"/a": b"contexts: [{name: x}]"}, environ={"KUBECONFIG": "/a"})


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("10.0.0.1:1234", "http://10.0.0.1:1234"), ("host:1234/", "http://host:1234/"), ("host", "http://host"),
        ("[::1]:1234", "http://[::1]:1234"), ("https://host", "https://host"),
    ],
)  # fmt: skip
def test_a_server_without_a_scheme_uses_http_like_in_kubectl(server: str, url: str) -> None:
    clusters = f"clusters: [{{name: c, cluster: {{server: '{server}'}}}}]\n"
    text = f"{clusters}contexts: [{{name: x, context: {{cluster: c}}}}]\ncurrent-context: x"
    config, _ = infer_from({"/k/config": text.encode()})
    assert config.connection.server == url


def test_a_server_without_a_scheme_has_no_path() -> None:
    text = (
        b"clusters: [{name: c, cluster: {server: 'a:1/b'}}]\ncontexts: [{name: x, context: {cluster: c}}]\n"
    )
    with pytest.raises(ConfigError, match="'a:1/b' has a path and no scheme"):
        infer_from({"/k/config": text + b"current-context: x"})


# The pod.


@pytest.mark.parametrize(
    ("host", "server"), [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")]
)
def test_the_server_of_a_pod(host: str, server: str) -> None:
    config, _ = infer_from(POD_FILES, environ=POD | {"KUBERNETES_SERVICE_HOST": host})
    assert config.connection.server == server


@pytest.mark.parametrize(
    ("environ", "files", "overrides", "namespace"),
    [
        ({}, {}, Overrides(), "prod"),
        ({"POD_NAMESPACE": "mine"}, {}, Overrides(), "mine"),
        ({"POD_NAMESPACE": "mine"}, {}, Overrides(namespace="override"), "override"),
        ({}, {f"{SECRETS}/namespace": NOT_THERE}, Overrides(), "default"),
        ({}, {f"{SECRETS}/namespace": b" \n"}, Overrides(), "default"),
    ],
)
def test_the_namespace_of_a_pod_is_read_from_its_mounted_file(
    environ: dict[str, str], files: dict[str, bytes | UnreadableFile], overrides: Overrides, namespace: str
) -> None:
    assert infer_from(POD_FILES | files, overrides, environ=POD | environ)[0].namespace == namespace


def test_a_pod_without_a_token_is_an_error_and_without_a_ca_a_warning() -> None:
    with pytest.raises(ConfigError, match="this pod has no token"):
        infer_from(POD_FILES | {f"{SECRETS}/token": NOT_THERE}, environ=POD)
    config, _ = infer_from(POD_FILES | {f"{SECRETS}/ca.crt": NOT_THERE}, environ=POD)
    assert (config.connection.ca, config.connection.ca_file) == (b"", "")
    assert "ca.crt cannot be read" in config.warnings[0]


def test_an_empty_ca_file_does_not_fall_back_to_the_system() -> None:
    files = kubeconfig(cluster={"certificate-authority": "ca.crt"}) | {"/k/ca.crt": b""}
    with pytest.raises(ConfigError, match=r"the CA from /k/ca\.crt is missing"):
        infer_from(files)


# The connection.


def test_a_ca_may_be_inline_or_in_a_file_and_inline_has_priority() -> None:
    inline = {"certificate-authority-data": b64encode(CA).decode()}
    assert infer_from(kubeconfig(cluster=inline))[0].connection.ca == CA
    files = kubeconfig(cluster={"certificate-authority": "ca.crt"}) | {"/k/ca.crt": CA}
    config, read = infer_from(files)
    assert (config.connection.ca, read) == (CA, ["/k/config", "/k/ca.crt"])
    assert config.connection.ca_file == "/k/ca.crt"
    assert infer_from(kubeconfig(cluster=inline))[0].connection.ca_file == ""
    assert infer_from(kubeconfig(cluster=inline | {"certificate-authority": "gone"}))[1] == ["/k/config"]
    with pytest.raises(ConfigError, match="/k/gone cannot be read: No such file"):
        infer_from(kubeconfig(cluster={"certificate-authority": "gone"}))


def test_a_cluster_determines_the_connection() -> None:
    config, _ = infer_from(
        kubeconfig(
            server="https://h/k8s/c-1",
            cluster={"tls-server-name": "api", "disable-compression": True, "proxy-url": "http://p"},
        ),
        environ={"KUBECONFIG": "/k/config", "HTTPS_PROXY": "http://other", "NO_PROXY": "*"},
    )
    it = config.connection
    assert (it.server, it.tls_server_name, it.compression, it.proxy) == (
        "https://h/k8s/c-1",
        "api",
        False,
        "http://p",
    )


def test_the_environment_sets_a_proxy_for_kubeconfig_and_pod() -> None:
    environ = {"HTTPS_PROXY": "http://p"}
    assert (
        infer_from(kubeconfig(), environ=environ | {"KUBECONFIG": "/k/config"})[0].connection.proxy
        == "http://p"
    )
    assert infer_from(POD_FILES, environ=environ | POD)[0].connection.proxy == "http://p"
    direct = environ | {"NO_PROXY": "10.96.0.0/12"}
    assert infer_from(POD_FILES, environ=direct | POD)[0].connection.proxy == ""


def test_an_unverified_certificate_causes_a_warning() -> None:
    config, _ = infer_from(kubeconfig(cluster={"insecure-skip-tls-verify": True}))
    assert config.connection.insecure
    assert ["insecure-skip-tls-verify is set" in warning for warning in config.warnings] == [True]
    assert infer_from(kubeconfig({"token": "t"}))[0].warnings == ()


def test_a_cluster_without_a_server_is_refused() -> None:
    with pytest.raises(ConfigError, match="the cluster 'c' has no server"):
        infer_from(kubeconfig(server=""))


def test_headers_are_sent_with_every_request() -> None:
    overrides = Overrides(user_agent="me/1", headers=(("X-Tenant", "a"),))
    assert infer_from(kubeconfig(), overrides)[0].connection.headers == (
        ("User-Agent", "me/1"),
        ("X-Tenant", "a"),
    )
    assert infer_from(kubeconfig())[0].connection.headers == (("User-Agent", "kubeproto"),)


def test_a_connection_shows_the_certificate_of_the_credentials() -> None:
    config, _ = infer_from(kubeconfig())
    text = config.connection_for(Credentials(client_certificate=CERTIFICATE, client_key=KEY))
    assert (text.client_certificate, text.client_key, text.server) == (CERTIFICATE, KEY, "https://h")
    assert config.connection_for(Credentials()) == config.connection


# Identity.

DATA: Final = {
    "client-certificate-data": b64encode(CERTIFICATE).decode(),
    "client-key-data": b64encode(KEY).decode(),
}
EXEC: Final = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "command": "login",
    "interactiveMode": "Never",
}
PROVIDER: Final = {"idp-issuer-url": "https://id", "client-id": "me", "refresh-token": "r"}
OIDC: Final = {"name": "oidc", "config": PROVIDER}


@pytest.mark.parametrize(
    ("user", "identity"),
    [
        ({}, Identity()),
        ({"token": "t"}, Identity(token="t")),
        ({"token": "t", "tokenFile": "f"}, Identity(token="t")),
        ({"tokenFile": "f"}, Identity(token_file="/k/f")),
        ({"username": "a", "password": "b"}, Identity(username="a", password="b")),
        (DATA, Identity(certificate=CERTIFICATE, key=KEY)),
        (DATA | {"token": "t"}, Identity(certificate=CERTIFICATE, key=KEY, token="t")),
        (
            {"client-certificate": "crt", "client-key": "/key"},
            Identity(certificate_file="/k/crt", key_file="/key"),
        ),
        (DATA | {"client-certificate": "x", "client-key": "y"}, Identity(certificate=CERTIFICATE, key=KEY)),
        ({"token": "t", "exec": EXEC}, Identity(token="t")),
        ({"tokenFile": "f", "exec": EXEC}, Identity(token_file="/k/f")),
        (DATA | {"exec": EXEC}, Identity(certificate=CERTIFICATE, key=KEY)),
        ({"token": "t", "auth-provider": OIDC}, Identity(token="t")),
    ],
)
def test_login_methods_have_the_priorities_of_client_go(user: dict[str, Any], identity: Identity) -> None:
    assert infer_from(kubeconfig(user))[0].identity == identity


@pytest.mark.parametrize(
    ("user", "complaint"),
    [
        ({"token": "MARK", "username": "a", "password": "MARK"}, "a token or a username and password"),
        ({"tokenFile": "f", "username": "a"}, "a token or a username and password"),
        ({"exec": EXEC, "auth-provider": OIDC}, "an exec plugin or an auth-provider"),
        ({"auth-provider": {"name": "gcp"}}, "'gcp' is no longer supported; use the exec plugin gke-gcloud"),
        (
            {"auth-provider": {"name": "azure"}},
            "'azure' is no longer supported; use the exec plugin kubelogin",
        ),
        ({"auth-provider": {"name": "x"}}, "'x' is no longer supported"),
        ({"auth-provider": {"name": "oidc"}}, "needs an idp-issuer-url"),
        (
            {"auth-provider": {"name": "oidc", "config": PROVIDER | {"idp-issuer-url": "http://id"}}},
            "https://",
        ),
        (
            {"auth-provider": {"name": "oidc", "config": PROVIDER | {"idp-issuer-url": "https://i?x"}}},
            "a query",
        ),
        ({"auth-provider": {"name": "oidc", "config": PROVIDER | {"refresh-token": ""}}}, "log in first"),
        ({"client-certificate-data": DATA["client-certificate-data"]}, "the client key is missing"),
        ({"client-key": "k"}, "the client certificate is missing"),
        ({"as-groups": ["g"]}, "requires a user"),
        ({"as-uid": "1"}, "requires a user"),
        ({"as-user-extra": {"a": ["b"]}}, "requires a user"),
        ({"exec": EXEC | {"command": ""}}, "has no command"),
        ({"exec": EXEC | {"apiVersion": ""}}, "must be client.authentication.k8s.io/v1 or"),
        ({"exec": EXEC | {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}, "v1alpha1"),
        ({"exec": EXEC | {"interactiveMode": ""}}, "interactiveMode '';"),
        ({"exec": EXEC | {"interactiveMode": "Sometimes"}}, "interactiveMode 'Sometimes'"),
        ({"exec": EXEC | {"env": [{"value": "MARK"}]}}, "env variable with an empty name"),
    ],
)
def test_the_error_for_conflicting_login_methods_names_the_user(user: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as raised:
        infer_from(kubeconfig(user))
    assert str(raised.value).startswith("the user 'u': ")
    assert "MARK" not in str(raised.value)


def test_no_secret_is_sent_without_tls() -> None:
    config, _ = infer_from(kubeconfig({"token": "t", "as": "you"}, server="http://h"))
    assert config.identity == Identity()
    assert config.warnings == ("the server is used without TLS, so no credentials are sent",)
    assert ("Impersonate-User", "you") in config.connection.headers
    assert infer_from(kubeconfig({"as": "you"}, server="http://h"))[0].warnings == ()


def test_impersonation_is_set_by_the_file_or_the_program() -> None:
    user = {
        "as": "jane",
        "as-uid": "7",
        "as-groups": ["g", "h"],
        "as-user-extra": {"Acme.com/Project": ["a", "b"]},
    }
    assert infer_from(kubeconfig(user))[0].connection.headers == (
        ("User-Agent", "kubeproto"),
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "g"),
        ("Impersonate-Group", "h"),
        ("Impersonate-Extra-acme.com%2Fproject", "a"),
        ("Impersonate-Extra-acme.com%2Fproject", "b"),
    )
    override = Overrides(impersonation=Impersonation(user="joe"))
    assert ("Impersonate-User", "joe") in infer_from(kubeconfig(user), override)[0].connection.headers
    assert infer_from(kubeconfig())[0].connection.headers == (("User-Agent", "kubeproto"),)


def test_extra_keys_are_escaped_in_header_names() -> None:
    config = Impersonation(user="u", extra=(("a b%é:", ("v",)),))
    assert config.headers[1] == ("Impersonate-Extra-a%20b%25%C3%A9%3A", "v")


def test_an_impersonated_name_cannot_add_a_header() -> None:
    with pytest.raises(ConfigError, match="the header 'Impersonate-User'"):
        infer_from(kubeconfig({"as": "a\r\nImpersonate-Group: system:masters"}))


def test_a_policy_restricts_the_plugins() -> None:
    user = {"exec": EXEC | {"command": "/bin/login"}}
    for policy in (PluginPolicy(), PluginPolicy(mode="Allowlist", allowed=("/bin/login",))):
        assert infer_from(kubeconfig(user), Overrides(policy=policy))[0].identity.plugin is not None
    for policy in (PluginPolicy(mode="DenyAll"), PluginPolicy(mode="Allowlist", allowed=("login",))):
        with pytest.raises(ConfigError, match="must not be started: the policy is"):
            infer_from(kubeconfig(user), Overrides(policy=policy))


def test_a_plugin_receives_its_cluster_on_request() -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a", "x": None}}
    cluster: dict[str, Any] = {
        "certificate-authority": "ca",
        "tls-server-name": "api",
        "proxy-url": "http://p",
        "disable-compression": True,
        "extensions": [extension],
    }
    files = kubeconfig({"exec": EXEC | {"provideClusterInfo": True}}, cluster=cluster) | {"/k/ca": CA}
    plugin = infer_from(files)[0].identity.plugin
    assert plugin is not None
    assert json.loads(plugin.cluster) == {
        "server": "https://h",
        "tls-server-name": "api",
        "certificate-authority-data": b64encode(CA).decode(),
        "proxy-url": "http://p",
        "disable-compression": True,
        "config": {"audience": "a", "x": None},
    }
    files = kubeconfig({"exec": EXEC}, cluster=cluster) | {"/k/ca": CA}
    plugin = infer_from(files)[0].identity.plugin
    assert plugin is not None
    assert plugin.cluster == b""


def test_a_v1beta1_plugin_needs_no_mode_and_its_hint_is_printable() -> None:
    old = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "x", "installHint": "\x1b[1mget"}
    plugin = infer_from(kubeconfig({"exec": old}))[0].identity.plugin
    assert plugin is not None
    assert (plugin.mode, plugin.install_hint) == ("IfAvailable", "U+001B[1mget")


def test_an_oidc_user_may_refer_to_a_ca_file() -> None:
    provider = {"name": "oidc", "config": PROVIDER | {"idp-certificate-authority": "/idp"}}
    user = {"auth-provider": provider, "client-certificate": "crt", "client-key": "key"}
    files = kubeconfig(user) | {"/idp": CA, "/k/crt": CERTIFICATE, "/k/key": KEY}
    environ = {"KUBECONFIG": "/k/config", "HTTPS_PROXY": "http://p", "NO_PROXY": "h"}
    config, read = infer_from(files, environ=environ)
    assert read == ["/k/config", "/idp", "/k/crt", "/k/key"]
    assert (config.identity.certificate, config.identity.key) == (CERTIFICATE, KEY)
    assert config.identity.oidc is not None
    assert (config.identity.oidc.ca, config.identity.oidc.proxy, config.connection.proxy) == (
        CA,
        "http://p",
        "",
    )
    inline = {"idp-certificate-authority-data": b64encode(CA).decode()}
    provider = {"name": "oidc", "config": PROVIDER | inline}
    oidc = infer_from(kubeconfig({"auth-provider": provider}))[0].identity.oidc
    assert oidc is not None
    assert oidc.ca == CA
