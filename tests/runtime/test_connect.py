"""From what lies around to a client: which transport is taken, what goes with each request, what is said."""

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


def asked(**wanted: Any) -> tuple[Connection, kp.RawRequest, str]:
    """Connect so and ask one thing: over what, how, and in which namespace the client is."""
    net = Net(lambda _, request: (200, VERSION))
    namespaces: list[str] = []

    async def main() -> None:
        async with connect(transport=net.open, **wanted) as client:
            namespaces.append(client.namespace)
            await client.call(version())

    anyio.run(main)
    assert net.closed == net.opened
    [(connection, request)] = net.sent
    return connection, request, namespaces[0]


def test_the_current_context_is_taken_with_its_namespace_and_its_user() -> None:
    connection, request, namespace = asked()
    assert (connection.server, namespace) == (SERVER, "books")
    assert header(request.headers, "authorization") == "Bearer ann-token"
    assert header(connection.headers, "user-agent") == "kubeproto"


def test_what_is_wanted_otherwise_comes_before_the_files(tmp_path: Path) -> None:
    connection, request, namespace = asked(context="away", user="ann", namespace="attic")
    assert (connection.server, namespace) == ("https://far.test", "attic")
    assert header(request.headers, "authorization") == "Bearer ann-token"
    other = tmp_path / "other"
    other.write_text(KUBECONFIG.replace("current-context: home", "current-context: away"))
    assert asked(kubeconfig=other)[0].server == "https://far.test"
    assert asked(kubeconfig="~/other")[0].server == "https://far.test"


def test_user_agent_headers_and_impersonation_go_with_every_request() -> None:
    connection, _, _ = asked(user_agent="shelf/1", impersonate="carl", headers={"X-Shelf": "7"})
    assert connection.headers == (("User-Agent", "shelf/1"), ("Impersonate-User", "carl"), ("X-Shelf", "7"))
    connection, _, _ = asked(
        impersonate=Impersonation(user="carl", groups=("readers",)), headers=(("A", "1"), ("A", "2"))
    )
    assert connection.headers[1:] == (
        ("Impersonate-User", "carl"), ("Impersonate-Group", "readers"), ("A", "1"), ("A", "2"),
    )  # fmt: skip


def test_a_program_may_forbid_plugins() -> None:
    with pytest.raises(ConfigError, match="'evil' must not be started"):
        asked(user="eve", plugins=PluginPolicy(mode="DenyAll"))


def test_a_configuration_of_ones_own_is_taken_as_it_is() -> None:
    config = Config(connection=Connection(server="http://here.test"), namespace="mine")
    connection, request, namespace = asked(config=config)
    assert (connection.server, namespace) == ("http://here.test", "mine")
    assert header(request.headers, "authorization") == ""
    with pytest.raises(ConfigError, match="context cannot be combined with config"):
        asked(config=config, context="away")


@pytest.mark.parametrize(("mode", "warned"), [(0o644, 1), (0o640, 1), (0o600, 0)])
def test_a_kubeconfig_with_a_token_that_others_can_read_is_warned_of(
    kubeconfig: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: int
) -> None:
    kubeconfig.chmod(mode)
    asked()
    said = [record.getMessage() for record in caplog.records if "chmod 600" in record.getMessage()]
    assert len(said) == warned
    assert all(str(kubeconfig) in text for text in said)


def test_a_kubeconfig_without_a_secret_may_be_read_by_others(
    kubeconfig: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kubeconfig.write_text(KUBECONFIG.replace("token: ann-token", "tokenFile: token"))
    kubeconfig.with_name("token").write_text("ann-token")
    kubeconfig.chmod(0o644)
    asked()
    assert "chmod" not in caplog.text


def test_warnings_of_the_configuration_are_said_once(caplog: pytest.LogCaptureFixture) -> None:
    asked()
    [record] = caplog.records
    assert (record.name, record.levelno) == ("kubeproto.connect", logging.WARNING)
    assert record.getMessage().startswith("the context 'home': insecure-skip-tls-verify is set")
    assert "ann-token" not in caplog.text


def test_a_client_takes_its_options_along() -> None:
    net = Net(accepting("nobody"))

    async def main() -> None:
        options: Any = {"retries": NO_RETRIES, "timeout": 7.0}
        async with connect(transport=net.open, client=options) as client:
            assert (client.retries, client.timeout) == (NO_RETRIES, 7.0)
            with pytest.raises(kp.Unauthorized):
                await client.call(version())

    anyio.run(main)


def chosen(backend: str, transport: str | None = None) -> str:
    """The installed transport that `connect` takes on this event loop."""
    nets = {name: Net(lambda _, request: (200, VERSION)) for _, name in TRANSPORTS}

    async def main() -> None:
        config = Config(connection=Connection(server=SERVER))
        async with connect(config=config, transport=transport) as client:
            await client.call(version())

    with pytest.MonkeyPatch.context() as patch:
        for home, name in TRANSPORTS:
            patch.setattr(home, name, nets[name].open)
        anyio.run(main, backend=backend)
    [taken] = [name for name, net in nets.items() if net.opened]
    return taken


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, *transports: tuple[str, str]) -> None:
    """Have these transports installed, and no others."""
    for backend in ("asyncio", "trio"):
        anyio.run(anyio.sleep, 0, backend=backend)  # what is imported when a loop first runs
    path = in_folder(folder / "site", metadata("kubeproto.transports", *transports))
    monkeypatch.setattr(sys, "path", [path])


TRANSPORTS: Final = (
    (kubeproto_asyncio, "AsyncioTransport"),
    (kubeproto_trio, "TrioTransport"),
    (kubeproto_httpx, "HttpxTransport"),
)
HALF_INSTALLED: Final = (("trio", "no_such_library:Transport"), ("httpx", "kubeproto_httpx:HttpxTransport"))


@pytest.mark.parametrize(("backend", "taken"), [("asyncio", "AsyncioTransport"), ("trio", "TrioTransport")])
def test_the_transport_of_the_event_loop_itself_is_taken_where_it_is_installed(
    backend: str, taken: str
) -> None:
    assert chosen(backend) == taken


def test_a_transport_whose_library_is_missing_gives_way_to_httpx(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path, *HALF_INSTALLED)
    assert chosen("trio") == "HttpxTransport"


def test_a_transport_by_name_is_that_one_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert chosen("trio", "httpx") == "HttpxTransport"
    with pytest.raises(ConfigError, match=r"'pigeon' is not installed; installed: asyncio, httpx, trio$"):
        chosen("trio", "pigeon")
    install(monkeypatch, tmp_path, *HALF_INSTALLED)
    with pytest.raises(
        ConfigError, match=r"No module named 'no_such_library'\): pip install 'kubeproto\[trio\]'$"
    ):
        chosen("trio", "trio")


def test_a_transport_of_another_event_loop_is_refused_by_name() -> None:
    with pytest.raises(
        ConfigError, match=r"the transport 'trio' does not support asyncio, the running event loop$"
    ):
        chosen("asyncio", "trio")
    with pytest.raises(ConfigError, match=r"the transport 'asyncio' does not support trio"):
        chosen("trio", "asyncio")


def test_where_no_transport_is_installed_the_error_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, tmp_path)
    with pytest.raises(ConfigError) as failed:
        chosen("trio")
    assert str(failed.value) == (
        "there is no transport for trio (it is not installed): "
        "pip install 'kubeproto[trio]' or pip install 'kubeproto[httpx]'"
    )


def test_what_makes_a_transport_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path)
    assert asked()[2] == "books"


def test_an_unusable_certificate_is_a_configuration_error_of_the_first_request(kubeconfig: Path) -> None:
    config = Config(connection=Connection(server=SERVER, ca=PEM % b"no base64!"))

    async def main() -> None:
        async with connect(config=config) as client:
            with pytest.raises(ConfigError, match=r"the CA of .* cannot be read"):
                await client.call(version())

    anyio.run(main)
