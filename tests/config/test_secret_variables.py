"""No variable in a traceback contains a secret, as tools print tracebacks with variables."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from kubeproto import KubeprotoError
from kubeproto.config import (
    ConfigError,
    Connection,
    Kubeconfig,
    Overrides,
    RequiredFiles,
    infer,
    proxy_for,
)

MARK: Final = "hunter" + "2"
B64: Final = b64encode(MARK.encode()).decode()


def kubeconfig(user: dict[str, Any], **more: Any) -> bytes:
    document = {
        "clusters": [{"name": "c", "cluster": {"server": "https://h"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    } | more
    return json.dumps(document).encode()


def infer_config(content: bytes, overrides: Overrides | None = None, **environ: str) -> None:
    leaks: Any = None
    contents: dict[str, Any] = {"/k": content}
    leaks = infer({"KUBECONFIG": "/k", **environ}, contents, overrides)
    assert not isinstance(leaks, RequiredFiles)


OIDC: Final = {
    "idp-issuer-url": "http://plain",
    "client-id": "i",
    "refresh-token": MARK,
    "client-secret": MARK,
}
BROKEN: Final[dict[str, Callable[[], object]]] = {
    "no YAML": lambda: Kubeconfig.parse(f"users: [{MARK}".encode()),
    "a wrong type": lambda: Kubeconfig.parse(kubeconfig({"token": MARK, "exec": 1})),
    "a name twice": lambda: Kubeconfig.parse(
        kubeconfig({}, users=[{"name": "u", "user": {"token": MARK}}, {"name": "u", "user": {}}])
    ),
    "another kind": lambda: Kubeconfig.parse(kubeconfig({"token": MARK}, kind="Secret")),
    "inferred": lambda: infer_config(kubeconfig({"token": MARK, "exec": 1})),
    "two ways to log in": lambda: infer_config(
        kubeconfig({"token": MARK, "username": "u", "password": MARK})
    ),
    "a provider in plain text": lambda: infer_config(
        kubeconfig({"auth-provider": {"name": "oidc", "config": OIDC}})
    ),
}


# Each URL is refused for another reason, and contains a password at a valid position or after a typing error.
URLS: Final = (
    f"https://u:{MARK}@h",
    f"https://u:{MARK}@h:0",
    f"https://u:{MARK}@h:x",
    f"https://u:{MARK}@[h",
    f"https://u:{MARK}@h /",
    f"https://u:{MARK}@a..b",
    f"https://u:{MARK}@h?x",
    f"https://h?token={MARK}",
    f"https://u:{MARK}@",
    f"ftp://u:{MARK}@h",
    f"u:{MARK}@h/p",
)
URL_PLACES: Final[dict[str, Callable[[str], object]]] = {
    "a connection": lambda url: Connection(server=url),
    "a connection's proxy": lambda url: Connection(server="https://h", proxy=f"{url}/path"),
    "a kubeconfig": lambda url: infer_config(
        kubeconfig({}, clusters=[{"name": "c", "cluster": {"server": url}}])
    ),
    "a kubeconfig's proxy": lambda url: infer_config(
        kubeconfig({}, clusters=[{"name": "c", "cluster": {"server": "https://h", "proxy-url": f"{url}/x"}}])
    ),
    "a kubeconfig with another mistake": lambda url: infer_config(
        kubeconfig({"exec": 1}, clusters=[{"name": "c", "cluster": {"server": url}}])
    ),
    "an override": lambda url: infer_config(kubeconfig({}), Overrides(server=url)),
    "an override beside a user that is not there": lambda url: Kubeconfig.merge([]).choose(
        server=url, user="nobody"
    ),
    "a proxy of the environment": lambda url: infer_config(kubeconfig({}), HTTPS_PROXY=f"{url}/x"),
    "an environment with a proxy that is not asked for": lambda url: infer_config(
        kubeconfig({"exec": 1}), HTTP_PROXY=url
    ),
    "a proxy for a server": lambda url: proxy_for("https://h", {"https_proxy": f"{url}/x"}),
    "a server with a proxy": lambda url: proxy_for(url, {}),
    "an issuer": lambda url: infer_config(
        kubeconfig({"auth-provider": {"name": "oidc", "config": OIDC | {"idp-issuer-url": url}}})
    ),
}


@pytest.mark.parametrize("frame_name", URL_PLACES)
@pytest.mark.parametrize("url", URLS)
def test_no_variable_of_a_traceback_holds_the_password_of_a_url(frame_name: str, url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        URL_PLACES[frame_name](url)
    assert list(find_leaks(raised.value)) == []


@given(scheme=st.sampled_from(["https", "http", "socks5"]) | st.text(), user=st.text(), host=st.text())
@pytest.mark.parametrize(
    "frame_name", ["a connection", "a connection's proxy", "a proxy for a server", "an override"]
)
def test_no_broken_url_shows_its_password(frame_name: str, scheme: str, user: str, host: str) -> None:
    config_error: ConfigError | None = None
    try:
        URL_PLACES[frame_name](f"{scheme}://{user}:{MARK}@{host}")
    except ConfigError as error:
        config_error = error
    assert list(find_leaks(config_error)) == []


@pytest.mark.parametrize("source", BROKEN)
def test_no_variable_of_a_traceback_holds_a_secret_of_a_kubeconfig(source: str) -> None:
    with pytest.raises(ConfigError) as raised:
        BROKEN[source]()
    assert list(find_leaks(raised.value)) == []


def find_leaks(error: BaseException | None) -> Iterator[str]:
    """Yield variables with the secret in all frames of an error and its causes, except frames of tests."""
    while error is not None:
        if MARK in str(error):
            yield str(error)
        traceback: TracebackType | None = error.__traceback__
        while traceback is not None:
            frame, traceback = traceback.tb_frame, traceback.tb_next
            if "/tests/" in frame.f_code.co_filename:
                continue
            for name, value in frame.f_locals.items():
                if any(marker in repr(value) for marker in (MARK, B64)):
                    yield f"{frame.f_code.co_name}: {name}"
        error = error.__cause__ or error.__context__


def test_an_exec_field_in_a_cluster_is_ignored() -> None:
    content = kubeconfig({}, clusters=[{"name": "c", "cluster": {"server": "https://h", "exec": "x"}}])
    assert Kubeconfig.parse(content, "/home/k").clusters[0].cluster.server == "https://h"


@pytest.mark.parametrize("nested", ["[" * 500 + "]" * 500, '{"a":' * 500 + "1" + "}" * 500])
@pytest.mark.parametrize("key", ["extensions", "users", "x"])
def test_values_nested_too_deep_are_refused(key: str, nested: str) -> None:
    with pytest.raises(ConfigError, match="200 deep"):
        Kubeconfig.parse(f'{{"{key}":{nested}}}'.encode(), "/k")


@pytest.mark.parametrize("name", ["..x", ".x", "a..b", "x" * 64, ("x" * 60 + ".") * 5])
def test_a_name_that_no_resolver_accepts_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="tls-server-name"):
        Connection(server="https://h", tls_server_name=name)
    with pytest.raises(ConfigError):
        Connection(server=f"https://{name}")


@pytest.mark.parametrize("name", ["h", "h.", "a.b.c", "x" * 63, "10.0.0.1", "fd00::1"])
def test_names_that_resolvers_accept_are_accepted(name: str) -> None:
    assert Connection(server="https://h", tls_server_name=name).tls_name == name


def test_no_variable_of_a_traceback_holds_the_output_of_a_plugin() -> None:
    from kubeproto.config import Plugin
    from kubeproto.config._plugin import read_output

    result = {"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1"}
    for status in ({"token": MARK, "expirationTimestamp": "soon"}, {"token": MARK, "clientKeyData": MARK}):
        with pytest.raises(KubeprotoError) as raised:
            read_output(json.dumps(result | {"status": status}).encode(), Plugin(command="p"))
        assert list(find_leaks(raised.value)) == []
