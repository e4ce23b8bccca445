"""Tests of `connect`: the configuration, the transport, the headers of requests, and the warnings."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from credential_rig import PEM, SERVER, Net, accepting
from installed_transports import in_folder, metadata

import kubeproto as kp
import kubeproto_asyncio
import kubeproto_httpx
import kubeproto_trio
from kubeproto.config import Config, ConfigError, Connection, Impersonation, PluginPolicy
from kubeproto.requests import version
from kubeproto.wire import NO_RETRIES, header
from kubeproto_runtime import connect

KUBECONFIG: Final = f"""
apiVersion: v1
kind: Config
current-context: home
contexts:
- {{name: home, context: {{cluster: k, user: ann, namespace: books}}}}
- {{name: away, context: {{cluster: far, user: bob}}}}
clusters:
- {{name: k, cluster: {{server: "{SERVER}", insecure-skip-tls-verify: true}}}}
- {{name: far, cluster: {{server: "https://far.test"}}}}
users:
- {{name: ann, user: {{token: ann-token}}}}
- {{name: bob, user: {{token: bob-token}}}}
- {{name: eve, user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: evil,
                              interactiveMode: Never}}}}}}
"""

VERSION: Final = b'{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}'


@pytest.fixture(autouse=True)
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG)
    path.chmod(0o600)
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


def send_request(**options: Any) -> tuple[Connection, kp.RawRequest, str]:
    """Connect and send a request; return its connection, the request, and the namespace of the client."""
    net = Net(lambda _, request: (200, VERSION))
    namespaces: list[str] = []

    async def main() -> None:
        async with connect(transport=net.open, **options) as client:
            namespaces.append(client.namespace)
            await client.call(version())

    anyio.run(main)
    assert net.closed == net.opened
    [(connection, request)] = net.sent
    return connection, request, namespaces[0]


def test_the_current_context_determines_the_namespace_and_the_user() -> None:
    connection, request, namespace = send_request()
    assert (connection.server, namespace) == (SERVER, "books")
    assert header(request.headers, "authorization") == "Bearer ann-token"
    assert header(connection.headers, "user-agent") == "kubeproto"


def test_arguments_override_the_files(tmp_path: Path) -> None:
    connection, request, namespace = send_request(context="away", user="ann", namespace="attic")
    assert (connection.server, namespace) == ("https://far.test", "attic")
    assert header(request.headers, "authorization") == "Bearer ann-token"
    other = tmp_path / "other"
    other.write_text(KUBECONFIG.replace("current-context: home", "current-context: away"))
    assert send_request(kubeconfig=other)[0].server == "https://far.test"
    assert send_request(kubeconfig="~/other")[0].server == "https://far.test"


def test_user_agent_headers_and_impersonation_are_sent_with_every_request() -> None:
    connection, _, _ = send_request(user_agent="shelf/1", impersonate="carl", headers={"X-Shelf": "7"})
    assert connection.headers == (("User-Agent", "shelf/1"), ("Impersonate-User", "carl"), ("X-Shelf", "7"))
    connection, _, _ = send_request(
        impersonate=Impersonation(user="carl", groups=("readers",)), headers=(("A", "1"), ("A", "2"))
    )
    assert connection.headers[1:] == (
        ("Impersonate-User", "carl"), ("Impersonate-Group", "readers"), ("A", "1"), ("A", "2"),
    )  # fmt: skip


def test_a_program_may_forbid_plugins() -> None:
    with pytest.raises(ConfigError, match="'evil' must not be started"):
        send_request(user="eve", plugins=PluginPolicy(mode="DenyAll"))


def test_a_given_configuration_is_used_unchanged() -> None:
    config = Config(connection=Connection(server="http://here.test"), namespace="mine")
    connection, request, namespace = send_request(config=config)
    assert (connection.server, namespace) == ("http://here.test", "mine")
    assert header(request.headers, "authorization") == ""
    with pytest.raises(ConfigError, match="context cannot be combined with config"):
        send_request(config=config, context="away")


@pytest.mark.parametrize(("mode", "warnings"), [(0o644, 1), (0o640, 1), (0o600, 0)])
def test_a_kubeconfig_with_a_token_that_others_can_read_is_a_warning(
    kubeconfig: Path, caplog: pytest.LogCaptureFixture, mode: int, warnings: int
) -> None:
    kubeconfig.chmod(mode)
    send_request()
    messages = [record.getMessage() for record in caplog.records if "chmod 600" in record.getMessage()]
    assert len(messages) == warnings
    assert all(str(kubeconfig) in message for message in messages)


def test_a_kubeconfig_without_a_secret_may_be_read_by_others(
    kubeconfig: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kubeconfig.write_text(KUBECONFIG.replace("token: ann-token", "tokenFile: token"))
    kubeconfig.with_name("token").write_text("ann-token")
    kubeconfig.chmod(0o644)
    send_request()
    assert "chmod" not in caplog.text


def test_warnings_of_the_configuration_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    send_request()
    [record] = caplog.records
    assert (record.name, record.levelno) == ("kubeproto.connect", logging.WARNING)
    assert record.getMessage().startswith("the context 'home': insecure-skip-tls-verify is set")
    assert "ann-token" not in caplog.text


def test_a_client_gets_its_options() -> None:
    net = Net(accepting("nobody"))

    async def main() -> None:
        options: Any = {"retries": NO_RETRIES, "timeout": 7.0}
        async with connect(transport=net.open, client=options) as client:
            assert (client.retries, client.timeout) == (NO_RETRIES, 7.0)
            with pytest.raises(kp.Unauthorized):
                await client.call(version())

    anyio.run(main)


def find_transport(backend: str, transport: str | None = None) -> str:
    """Return the name of the installed transport that `connect` uses on this event loop."""
    nets = {name: Net(lambda _, request: (200, VERSION)) for _, name in TRANSPORTS}

    async def main() -> None:
        config = Config(connection=Connection(server=SERVER))
        async with connect(config=config, transport=transport) as client:
            await client.call(version())

    with pytest.MonkeyPatch.context() as patch:
        for module, name in TRANSPORTS:
            patch.setattr(module, name, nets[name].open)
        anyio.run(main, backend=backend)
    [used_name] = [name for name, net in nets.items() if net.opened]
    return used_name


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, *transports: tuple[str, str]) -> None:
    """Install these transports, and hide all others."""
    for backend in ("asyncio", "trio"):
        anyio.run(anyio.sleep, 0, backend=backend)  # imports the modules of the loop
    path = in_folder(folder / "site", metadata("kubeproto.transports", *transports))
    monkeypatch.setattr(sys, "path", [path])


TRANSPORTS: Final = (
    (kubeproto_asyncio, "AsyncioTransport"),
    (kubeproto_trio, "TrioTransport"),
    (kubeproto_httpx, "HttpxTransport"),
)
HALF_INSTALLED: Final = (("trio", "no_such_library:Transport"), ("httpx", "kubeproto_httpx:HttpxTransport"))


@pytest.mark.parametrize(
    ("backend", "transport"), [("asyncio", "AsyncioTransport"), ("trio", "TrioTransport")]
)
def test_the_transport_of_the_event_loop_is_preferred(backend: str, transport: str) -> None:
    assert find_transport(backend) == transport


def test_a_transport_whose_library_is_missing_is_replaced_by_httpx(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path, *HALF_INSTALLED)
    assert find_transport("trio") == "HttpxTransport"


def test_a_transport_by_name_is_used_or_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert find_transport("trio", "httpx") == "HttpxTransport"
    with pytest.raises(ConfigError, match=r"'pigeon' is not installed; installed: asyncio, httpx, trio$"):
        find_transport("trio", "pigeon")
    install(monkeypatch, tmp_path, *HALF_INSTALLED)
    with pytest.raises(
        ConfigError, match=r"No module named 'no_such_library'\): pip install 'kubeproto\[trio\]'$"
    ):
        find_transport("trio", "trio")


def test_a_transport_of_another_event_loop_is_refused_by_name() -> None:
    with pytest.raises(
        ConfigError, match=r"the transport 'trio' does not support asyncio, the running event loop$"
    ):
        find_transport("asyncio", "trio")
    with pytest.raises(ConfigError, match=r"the transport 'asyncio' does not support trio"):
        find_transport("trio", "asyncio")


def test_without_a_transport_the_error_names_the_packages_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path)
    with pytest.raises(ConfigError) as failed:
        find_transport("trio")
    assert str(failed.value) == (
        "there is no transport for trio (it is not installed): "
        "pip install 'kubeproto[trio]' or pip install 'kubeproto[httpx]'"
    )


def test_a_transport_function_is_used_without_installed_transports(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path)
    assert send_request()[2] == "books"


def test_an_unusable_certificate_is_a_configuration_error_of_the_first_request(kubeconfig: Path) -> None:
    config = Config(connection=Connection(server=SERVER, ca=PEM % b"no base64!"))

    async def main() -> None:
        async with connect(config=config) as client:
            with pytest.raises(ConfigError, match=r"the CA of .* cannot be read"):
                await client.call(version())

    anyio.run(main)
