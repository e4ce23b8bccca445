"""A blocking transport with credentials: what threads see that ask at once, and how it is found."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from credential_rig import PEM, SECRET, SERVER, Clock, Script, Server, accepting, credential
from installed_transports import in_folder, metadata, on_path
from sync_rig import Answer

import kubeproto as kp
import kubeproto_httpx
from kubeproto.config import Config, ConfigError, Connection, CredentialsError, Identity, Oidc
from kubeproto.requests import version
from kubeproto.wire import header
from kubeproto_runtime import connect_blocking
from kubeproto_runtime.blocking import BlockingAuthorizedTransport


class Net:
    """All transports that were made, and what was sent over them."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.sent: list[tuple[Connection, kp.RawRequest]] = []
        self.opened: list[Connection] = []
        self.closed: list[Connection] = []

    @contextmanager
    def open(self, connection: Connection) -> Generator[Any]:
        self.opened.append(connection)
        threading.Event().wait(0.05)  # as TLS does, so that others come meanwhile
        yield Over(self, connection)
        self.closed.append(connection)

    def authorizations(self) -> list[str]:
        return [header(request.headers, "authorization") for _, request in self.sent]


class Over:
    """One transport."""

    def __init__(self, net: Net, connection: Connection) -> None:
        self.net = net
        self.connection = connection

    @contextmanager
    def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[Answer]:
        self.net.sent.append((self.connection, request))
        status, body = self.net.server(self.connection, request)
        yield Answer(status, (), [body])


def authorized(net: Net, identity: Identity, **facts: Any) -> BlockingAuthorizedTransport:
    config = Config(connection=Connection(server=SERVER), identity=identity)
    return BlockingAuthorizedTransport(config, net.open, **facts)


def get(transport: BlockingAuthorizedTransport, *headers: tuple[str, str]) -> tuple[int, bytes]:
    with transport.send(kp.RawRequest("GET", "/version", headers)) as incoming:
        return incoming.status, b"".join(incoming)


def at_once(ask: Callable[[], Any], times: int = 10) -> list[Any]:
    """What so many threads get, or what they meet, that begin at the same moment."""
    barrier = threading.Barrier(times)

    def one() -> Any:
        barrier.wait(30)
        try:
            return ask()
        except CredentialsError as error:
            return str(error)

    with ThreadPoolExecutor(times) as threads:
        return [future.result(60) for future in [threads.submit(one) for _ in range(times)]]


def test_ten_threads_at_once_run_one_plugin_and_open_one_transport(tmp_path: Path) -> None:
    script = Script(tmp_path, credential(token="t$N", expirationTimestamp="1970-01-01T00:33:20Z"))
    clock, net = Clock(), Net(accepting("t1"))
    with authorized(net, script.identity, clock=clock) as transport:
        assert at_once(lambda: get(transport)) == [(200, b"welcome")] * 10
        assert (len(script.pids), len(net.opened)) == (1, 1)
        clock.now, net.server = 3000.0, accepting("t2")  # all expired
        assert at_once(lambda: get(transport)) == [(200, b"welcome")] * 10
    assert len(script.pids) == 2
    assert net.closed == net.opened


def test_ten_401s_run_one_plugin_and_each_request_is_sent_once_more(tmp_path: Path) -> None:
    script = Script(tmp_path, credential(token="t$N"))
    clock, net = Clock(), Net(accepting("t1"))
    with authorized(net, script.identity, clock=clock) as transport:
        get(transport)
        net.server = accepting("t2")
        clock.now += 10
        assert at_once(lambda: get(transport)) == [(200, b"welcome")] * 10
    assert len(script.pids) == 2


def test_all_threads_that_wait_for_a_plugin_that_fails_are_told_why(tmp_path: Path) -> None:
    script = Script(tmp_path, SECRET, code=3)
    clock, net = Clock(), Net(accepting())
    with authorized(net, script.identity, clock=clock) as transport:
        said = at_once(lambda: get(transport))
    assert said == [f"the plugin {str(script.path)!r} exited with 3"] * 10
    assert len(script.pids) == 1
    assert not net.sent


def test_a_401_that_nothing_can_mend_reaches_the_caller_with_its_body() -> None:
    net = Net(accepting("other"))
    with authorized(net, Identity(token="t1")) as transport:
        assert get(transport) == (401, b"who?")
        assert get(transport, ("Authorization", "Bearer other")) == (200, b"welcome")
    assert net.authorizations() == ["Bearer t1", "Bearer other"]


def test_another_client_certificate_makes_another_transport_and_open_answers_go_on(tmp_path: Path) -> None:
    certificate, key, clock = tmp_path / "c.pem", tmp_path / "k.pem", Clock()
    certificate.write_bytes(PEM % b"one")
    key.write_bytes(PEM % b"key one")
    net = Net(lambda connection, request: (200, connection.client_certificate[28:31]))
    identity = Identity(certificate_file=str(certificate), key_file=str(key))
    with authorized(net, identity, clock=clock) as transport:
        with transport.send(kp.RawRequest("GET", "/watch")) as watching:
            certificate.write_bytes(PEM % b"two")
            key.write_bytes(PEM % b"key two")
            clock.now += 61
            assert get(transport) == (200, b"two")
            assert (len(net.opened), len(net.closed)) == (2, 0), "a response was cut off"
            assert list(watching) == [b"one"]
        assert net.closed == [net.opened[0]], "the old transport is to be closed after its last answer"
        assert get(transport) == (200, b"two")
    assert net.closed == net.opened


def test_a_client_is_connected_as_the_asynchronous_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        '{"apiVersion": "v1", "kind": "Config", "current-context": "c",'
        '"contexts": [{"name": "c", "context": {"cluster": "k", "user": "ann", "namespace": "books"}}],'
        f'"clusters": [{{"name": "k", "cluster": {{"server": "{SERVER}"}}}}],'
        '"users": [{"name": "ann", "user": {"token": "t1"}}]}'
    )
    net = Net(lambda _, request: (200, b'{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}'))
    with connect_blocking(kubeconfig=kubeconfig, transport=net.open, impersonate="carl") as client:
        assert client.namespace == "books"
        assert client.call(version()).value.minor == "36"
    [(connection, _)] = net.sent
    assert header(connection.headers, "impersonate-user") == "carl"
    assert net.authorizations() == ["Bearer t1"]
    assert net.closed == net.opened


def test_httpx_is_what_threads_use_and_the_error_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def install(value: str) -> None:
        folder = tmp_path / value.partition(":")[0]
        on_path(monkeypatch, in_folder(folder, metadata("kubeproto.blocking_transports", ("httpx", value))))

    net = Net(lambda _, request: (200, b'{"major": "1", "minor": "36", "gitVersion": "v1.36.0"}'))
    monkeypatch.setattr(kubeproto_httpx, "BlockingHttpxTransport", net.open)
    config = Config(connection=Connection(server=SERVER))
    install("kubeproto_httpx:BlockingHttpxTransport")
    with connect_blocking(config=config) as client:
        assert client.call(version()).value.minor == "36"
    assert len(net.opened) == 1
    install("no_such_library:Transport")
    with pytest.raises(ConfigError) as failed, connect_blocking(config=config):
        pass
    assert str(failed.value) == (
        "there is no transport for threads (No module named 'no_such_library'): "
        "pip install 'kubeproto[httpx]'"
    )


def test_a_closed_transport_sends_nothing_and_opens_nothing_for_threads_either() -> None:
    net = Net(lambda connection, request: (200, b"welcome"))
    with authorized(net, Identity(token="t")) as transport:
        assert get(transport) == (200, b"welcome")
    with pytest.raises(kp.LocalProtocolError, match="this client is closed"):
        get(transport)
    assert len(net.opened) == len(net.closed) == 1


@pytest.mark.parametrize("error", [RuntimeError("bug"), kp.ConnectError("no")])
def test_a_renewal_that_raises_ends_the_requests_that_wait(error: Exception) -> None:
    """A provider's transport may raise anything; who waits gets an error, and not silence."""

    def broken(connection: Connection, request: kp.RawRequest) -> tuple[int, bytes]:
        raise error

    oidc = Oidc(issuer="https://issuer.test", client_id="me", refresh_token="r")
    met: list[CredentialsError] = []

    def ask() -> None:
        try:
            get(transport)
        except CredentialsError as error:
            met.append(error)

    with authorized(Net(broken), Identity(oidc=oidc)) as transport:
        asking = threading.Thread(target=ask, daemon=True)  # a test that hangs would not say what is wrong
        asking.start()
        asking.join(30)
    assert len(met) == 1


def test_threads_use_a_token_that_is_still_valid_while_another_is_fetched(tmp_path: Path) -> None:
    clock, soon = Clock(), "1970-01-01T00:20:00Z"
    script = Script(tmp_path, credential(token="t$N", expirationTimestamp=soon))
    net = Net(accepting("t1", "t2"))
    config = Config(connection=Connection(server=SERVER), identity=script.identity)
    with BlockingAuthorizedTransport(config, net.open, clock=clock) as transport:
        clock.now = 600.0
        get(transport)
        later = credential(token="t$N", expirationTimestamp="1970-01-01T01:00:00Z")
        waiting = Script(tmp_path, later, waits=True)
        clock.now = 1150.0  # due, and valid for fifty seconds more
        # Two threads of the test, and one that renews; the plugin ends only after all have been answered.
        with ThreadPoolExecutor(2) as pool:
            for answered in [pool.submit(get, transport) for _ in range(4)]:
                answered.result(timeout=30)
        assert net.authorizations() == ["Bearer t1"] * 5
        renewals = [one for one in threading.enumerate() if one.name == "kubeproto-renewal"]
        waiting.go.touch()
        for renewal in renewals:
            renewal.join(30)
        get(transport)
    assert (len(renewals), len(script.pids)) == (1, 2)
    assert net.authorizations()[-1] == "Bearer t2"
