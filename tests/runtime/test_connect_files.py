"""Reading the files of a configuration, and saving a renewed login."""

from __future__ import annotations

import json
import logging
import stat
import traceback
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.lowlevel
import pytest
from credential_rig import SERVER, Clock, Net, get
from msgspec import Struct

import kubeproto as kp
from kubeproto.config import (
    Config,
    ConfigError,
    Connection,
    Identity,
    Kubeconfig,
    Oidc,
    Overrides,
    UnreadableFile,
    credentials as c,
)
from kubeproto.wire import header
from kubeproto_runtime.client._connect import token_writer
from kubeproto_runtime.credentials import AuthorizedTransport
from kubeproto_runtime.credentials._files import LocatedConfig, Login, find_config, read_file, write_tokens

ISSUER: Final = "https://issuer.test"
RENEWED: Final = c.SaveTokens("id-2", "refresh-2")


class Home(Struct):
    """A home directory with a kubeconfig."""

    folder: Path
    config: Path

    def user(self) -> dict[str, str]:
        [user] = Kubeconfig.parse(self.config.read_bytes()).users
        assert user.user.auth_provider is not None
        return user.user.auth_provider.config


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    (tmp_path / ".kube").mkdir()
    yield Home(tmp_path, tmp_path / ".kube" / "config")
    leftovers = [path.name for path in (tmp_path / ".kube").iterdir() if path.name != "config"]
    assert set(leftovers) <= {"real"}, "a temporary file was not deleted"


YAML: Final = f"""
apiVersion: v1
kind: Config
current-context: c
x-unknown: {{preserved: true}}
contexts: [{{name: c, context: {{cluster: k, user: ann, namespace: books}}}}]
clusters: [{{name: k, cluster: {{server: "{SERVER}", certificate-authority-data: ""}}}}]
users:
- name: ann
  user:
    client-certificate: ../elsewhere/cert.pem   # a path that must not change
    client-key: ../elsewhere/key.pem
    auth-provider:
      name: oidc
      config:
        idp-issuer-url: {ISSUER}
        client-id: kubectl
        id-token: id-1
        refresh-token: refresh-1
"""


def login(home: Home) -> Login:
    return Login(str(home.config), "ann", "refresh-1")


def test_an_unreadable_file_has_a_reason(tmp_path: Path) -> None:
    assert read_file(str(tmp_path / "none")) == UnreadableFile("No such file or directory", True)
    assert read_file(str(tmp_path)) == UnreadableFile("Is a directory")
    assert read_file("a\0b") == UnreadableFile("the path contains a zero byte")
    assert read_file("/dev/zero") == UnreadableFile("it is longer than 67108864 bytes")


def test_the_kubeconfig_of_the_home_directory_is_used(home: Home) -> None:
    home.config.write_text(YAML.replace("client-certificate", "x-c").replace("client-key", "x-k"))
    located = find_config(Overrides())
    assert located.config.connection.server == SERVER
    assert located.config.namespace == "books"
    assert located.login == Login(str(home.config), "ann", "refresh-1")
    assert "refresh-1" not in repr(located)


def test_a_login_belongs_to_the_first_file_that_names_its_user(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = YAML.replace("client-certificate", "x-c").replace("client-key", "x-k")
    first, second, third = (home.folder / name for name in ("first", "second", "third"))
    first.write_text("apiVersion: v1\nkind: Config\ncurrent-context: c\n")
    second.write_text(text)
    third.write_text(text)
    monkeypatch.setenv("KUBECONFIG", f"{first}:{second}:{third}")
    located = find_config(Overrides())
    assert located.login is not None
    assert located.login.path == str(second)


def test_without_a_home_and_outside_of_a_pod_there_is_no_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ConfigError, match="there is no kubeconfig"):
        find_config(Overrides(), {"KUBECONFIG": "/no/such/file"})


def test_an_overridden_server_needs_no_cluster_and_preserves_the_login(home: Home) -> None:
    text = YAML.replace("client-certificate", "x-c").replace("client-key", "x-k")
    home.config.write_text(text.replace("cluster: k, ", ""))
    located = find_config(Overrides(server="https://other"))
    assert located.config.connection.server == "https://other"
    assert located.login == Login(str(home.config), "ann", "refresh-1")


@pytest.mark.parametrize("files", ["", "/no/such/file"])
def test_no_variable_of_a_traceback_contains_the_environment(
    home: Home, monkeypatch: pytest.MonkeyPatch, files: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", files)
    monkeypatch.setenv("HTTPS_PROXY", "http://user:refresh-1@proxy")
    with pytest.raises(ConfigError, match="there is no kubeconfig") as raised:
        find_config(Overrides())
    assert variables_with("refresh-1", raised.value) == []


@pytest.mark.parametrize("as_json", [False, True])
def test_renewed_tokens_are_saved_and_all_other_fields_are_preserved(home: Home, as_json: bool) -> None:
    home.config.write_text(YAML)
    if as_json:
        home.config.write_bytes(Kubeconfig.parse(YAML.encode()).document)
    home.config.chmod(0o640)
    expected = json.loads(Kubeconfig.parse(home.config.read_bytes()).document)
    new_login = write_tokens(login(home), RENEWED)
    assert new_login == Login(str(home.config), "ann", "refresh-2")
    content = home.config.read_bytes()
    assert content.startswith(b"{") == as_json
    config = expected["users"][0]["user"]["auth-provider"]["config"]
    config["id-token"], config["refresh-token"] = "id-2", "refresh-2"
    assert json.loads(Kubeconfig.parse(content).document) == expected
    assert stat.S_IMODE(home.config.stat().st_mode) == 0o640


def test_a_symbolic_link_is_preserved(home: Home) -> None:
    real = home.config.with_name("real")
    real.write_text(YAML)
    home.config.symlink_to(real)
    write_tokens(login(home), RENEWED)
    assert home.config.is_symlink()
    assert home.user()["id-token"] == "id-2"


def test_a_file_that_another_program_writes_is_not_changed(home: Home) -> None:
    home.config.write_text(YAML)
    lock = home.config.with_name("config.lock")
    lock.touch()
    with pytest.raises(ConfigError, match="another program is writing"):
        write_tokens(login(home), RENEWED)
    assert home.config.read_text() == YAML
    assert lock.exists(), "the lock of another program was deleted"
    lock.unlink()


def test_a_newer_login_is_not_overwritten(home: Home) -> None:
    home.config.write_text(YAML.replace("refresh-1", "refresh-9"))
    with pytest.raises(ConfigError, match="has another login by now") as raised:
        write_tokens(login(home), RENEWED)
    assert variables_with("refresh-", raised.value) == []
    home.config.write_text("apiVersion: v1\nkind: Config\n")
    with pytest.raises(ConfigError, match="has another login by now"):
        write_tokens(login(home), RENEWED)


def test_an_error_names_a_kubeconfig_that_cannot_be_written(home: Home) -> None:
    with pytest.raises(ConfigError, match="config cannot be written: No such file or directory"):
        write_tokens(login(home), RENEWED)


def variables_with(text: str, error: BaseException) -> list[str]:
    """Return the variables whose repr contains a text, in the frames of this project in a traceback."""
    return [
        f"{frame.f_code.co_name}: {name}"
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_globals["__name__"].startswith("kubeproto")
        for name, value in frame.f_locals.items()
        if text in repr(value)
    ]


# Renewals with a simulated provider


def jwt(expires: float) -> str:
    claims = urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
    return f"head.{claims}.signature"


class Provider:
    """An identity provider that accepts each refresh token once, and a cluster that accepts its tokens."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.last_token = 1
        self.status = 200

    def __call__(self, connection: Connection, request: kp.RawRequest) -> tuple[int, bytes]:
        if connection.server == SERVER:
            is_authorized = header(request.headers, "authorization") == f"Bearer {self.token}"
            return (200, b"welcome") if is_authorized else (401, b"")
        self.requests.append((request.method, request.target))
        if request.method == "GET":
            return 200, json.dumps({"token_endpoint": f"{ISSUER}/token"}).encode()
        assert f"refresh_token=refresh-{self.last_token}" in request.body.decode()
        if self.status != 200:
            return self.status, b'{"error": "invalid_grant"}'
        self.last_token += 1
        tokens = {"id_token": self.token, "refresh_token": f"refresh-{self.last_token}"}
        return 200, json.dumps(tokens).encode()

    @property
    def token(self) -> str:
        return jwt(1000.0 + 1000.0 * self.last_token)


def oidc(home: Home, **options: Any) -> LocatedConfig:
    identity = Identity(
        oidc=Oidc(issuer=ISSUER, client_id="kubectl", id_token=jwt(0), refresh_token="refresh-1")
    )
    config = Config(connection=Connection(server=SERVER), identity=identity)
    return LocatedConfig(config, login(home), **options)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_login_is_renewed_at_its_provider_and_saved_each_time(home: Home, backend: str) -> None:
    home.config.write_text(YAML)
    provider, clock = Provider(), Clock()
    net, located = Net(provider), oidc(home)

    async def main() -> None:
        async with AuthorizedTransport(
            located.config, net.open, clock=clock, save_tokens=token_writer(located)
        ) as transport:
            assert await get(transport) == (200, b"welcome")
            assert home.user()["refresh-token"] == "refresh-2"
            clock.now = 2990.0
            assert await get(transport) == (200, b"welcome")
            # The old token is still valid, so the renewal runs concurrently with the request.
            with anyio.fail_after(10):
                while home.user()["refresh-token"] != "refresh-3":
                    await anyio.lowlevel.checkpoint()
        requests = [("GET", "/.well-known/openid-configuration"), ("POST", "/token")]
        assert provider.requests == requests * 2
        assert {connection.server for connection in net.opened} == {SERVER, ISSUER}
        assert sorted(map(repr, net.opened)) == sorted(map(repr, net.closed))

    anyio.run(main, backend=backend)


def test_a_login_that_cannot_be_saved_is_used_with_a_warning(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    provider, clock = Provider(), Clock()
    net, located = Net(provider), oidc(home)

    async def main() -> None:
        async with AuthorizedTransport(
            located.config, net.open, clock=clock, save_tokens=token_writer(located)
        ) as transport:
            assert await get(transport) == (200, b"welcome")

    anyio.run(main)
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert "the renewed login will be lost when this program ends" in record.getMessage()
    assert "refresh-" not in caplog.text


def test_the_error_names_a_provider_that_refuses_or_is_unreachable(home: Home) -> None:
    provider, clock = Provider(), Clock()
    provider.status = 400

    def down(connection: Connection, request: kp.RawRequest) -> tuple[int, bytes]:
        raise kp.ConnectError("connection refused")

    def endless(connection: Connection, request: kp.RawRequest) -> tuple[int, bytes]:
        return 200, b" " * (1 << 21)

    errors: list[str] = []

    async def main() -> None:
        for server in (provider, down, endless):
            located = oidc(home)
            async with AuthorizedTransport(located.config, Net(server).open, clock=clock) as transport:
                with pytest.raises(kp.KubeprotoError) as failed:
                    await get(transport)
                errors.append(str(failed.value))

    anyio.run(main)
    request = "the request to the identity provider at issuer.test"
    assert errors == [
        "the response of the identity provider is 400: invalid_grant",
        f"{request}: connection refused",
        f"{request}: the response is longer than 1048576 bytes",
    ]
