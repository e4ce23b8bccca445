"""Tests of `AuthorizedTransport`: headers of requests, renewals after a 401, and concurrent requests."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from credential_rig import PEM, SECRET, Clock, Net, Script, accepting, authorized, credential, get

import kubeproto as kp
from kubeproto.config import Config, Connection, CredentialsError, Identity, Plugin
from kubeproto.wire import UpgradeRequest, header
from kubeproto_runtime.credentials import AuthorizedTransport

UPGRADE: Final = UpgradeRequest("GET", "/exec", verb="exec", protocols=("v5.channel.k8s.io",))

Run = Callable[[Callable[[], Awaitable[None]]], None]


@pytest.fixture(params=["asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Run a test on each event loop."""

    def on_loop(main: Callable[[], Awaitable[None]]) -> None:
        anyio.run(main, backend=str(request.param))

    return on_loop


@pytest.mark.parametrize(
    ("identity", "authorization"),
    [
        (Identity(token="t1"), "Bearer t1"),
        (Identity(username="ann", password="pw"), "Basic YW5uOnB3"),
        (Identity(), ""),
    ],
)
def test_each_request_contains_the_credentials(run: Run, identity: Identity, authorization: str) -> None:
    async def main() -> None:
        net = Net(lambda _, request: (200, b"welcome"))
        async with authorized(net, identity) as transport:
            assert await get(transport) == (200, b"welcome")
            assert await get(transport) == (200, b"welcome")
        assert net.authorizations() == [authorization, authorization]
        assert len(net.opened) == len(net.closed) == 1

    run(main)


def test_a_request_with_its_own_authorization_is_sent_unchanged(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N"))
        net = Net(accepting("nobody"))
        async with authorized(net, script.identity) as transport:
            assert await get(transport, ("authorization", "Bearer theirs")) == (401, b"who?")
            with pytest.raises(kp.Unauthorized):
                async with transport.upgrade(UPGRADE.with_headers(("Authorization", "Bearer theirs"))):
                    pass
        assert net.authorizations() == ["Bearer theirs"] * 2
        assert len(script.pids) == 1, "the credentials of the request were renewed"

    run(main)


def test_an_upgrade_request_with_credentials_is_still_an_upgrade_request(run: Run) -> None:
    async def main() -> None:
        net = Net(lambda _, request: (101, b""))
        async with authorized(net, Identity(token="t1")) as transport, transport.send(UPGRADE):
            pass
        [(_, request)] = net.sent
        assert isinstance(request, UpgradeRequest)
        assert header(request.headers, "authorization") == "Bearer t1"

    run(main)


def test_a_refused_upgrade_is_sent_once_more(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N"))
        net = Net(accepting("t2"))
        async with authorized(net, script.identity) as transport:
            async with transport.upgrade(UPGRADE) as socket:
                assert await socket.receive() == b"a message"
                assert net.answering == 1
            assert net.answering == 0
            net.server = accepting("nobody")
            with pytest.raises(kp.Unauthorized):
                async with transport.upgrade(UPGRADE):
                    pass
        assert net.authorizations() == ["Bearer t1", "Bearer t2", "Bearer t2"]
        assert {type(request) for _, request in net.sent} == {UpgradeRequest}

    run(main)


def test_an_upgrade_over_a_transport_without_websockets_is_an_error(run: Run) -> None:
    class TransportWithoutUpgrade:
        send = None

    @asynccontextmanager
    async def opener(connection: Connection) -> AsyncGenerator[Any]:
        yield TransportWithoutUpgrade()

    async def main() -> None:
        async with AuthorizedTransport(
            Config(connection=Connection(server="http://a.test")), opener
        ) as transport:
            with pytest.raises(kp.LocalProtocolError, match="has no WebSockets, which exec needs"):
                async with transport.upgrade(UPGRADE):
                    pass

    run(main)


def test_a_token_file_is_read_again_after_a_minute(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        token, clock = tmp_path / "token", Clock()
        token.write_text("t1\n")
        net = Net(accepting("t1", "t2"))
        async with authorized(net, Identity(token_file=str(token)), clock=clock) as transport:
            await get(transport)
            token.write_text("t2\n")
            clock.now += 59
            await get(transport)
            clock.now += 2
            await get(transport)
        assert net.authorizations() == ["Bearer t1", "Bearer t1", "Bearer t2"]

    run(main)


def test_a_token_file_that_is_replaced_early_costs_one_401_and_one_more_request(
    run: Run, tmp_path: Path
) -> None:
    async def main() -> None:
        token, clock = tmp_path / "token", Clock()
        token.write_text("t1")
        net = Net(accepting("t1"))
        async with authorized(net, Identity(token_file=str(token)), clock=clock) as transport:
            await get(transport)
            token.write_text("t2")
            net.server = accepting("t2")
            clock.now += 5
            assert await get(transport) == (200, b"welcome")
            assert await get(transport) == (200, b"welcome")
        assert net.authorizations() == ["Bearer t1", "Bearer t1", "Bearer t2", "Bearer t2"]

    run(main)


def test_a_401_without_other_credentials_reaches_the_caller_with_its_body(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        net = Net(accepting("other"))
        async with authorized(net, Identity(token=SECRET)) as transport:
            for _ in range(3):
                assert await get(transport) == (401, b"who?")
        assert len(net.sent) == 3

    run(main)
    [record] = caplog.records  # logged once, although every request is refused
    assert (record.name, record.levelno) == ("kubeproto.credentials", logging.WARNING)
    assert "the server rejected the credentials" in record.getMessage()
    assert SECRET not in caplog.text


def test_a_refused_stream_is_opened_once_more(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N"))
        net = Net(accepting("t2"))
        async with (
            authorized(net, script.identity) as transport,
            transport.send(kp.RawRequest("GET", "/api/v1/pods?watch=true")) as incoming,
        ):
            assert incoming.status == 200
            assert net.answering == 1, "the refused response is still open"
        assert net.authorizations() == ["Bearer t1", "Bearer t2"]

    run(main)


def test_ten_concurrent_requests_run_the_plugin_once(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N", expirationTimestamp="1970-01-01T00:33:20Z"))
        clock, net = Clock(), Net(accepting("t1"))
        async with authorized(net, script.identity, clock=clock) as transport:
            await run_concurrently(*[lambda: get(transport)] * 10)
            assert len(script.pids) == 1
            assert len(net.opened) == 1
            clock.now, net.server = 3000.0, accepting("t2")  # all expired
            await run_concurrently(*[lambda: get(transport)] * 10)
        assert len(script.pids) == 2
        assert net.authorizations() == ["Bearer t1"] * 10 + ["Bearer t2"] * 10

    run(main)


def test_ten_401s_run_the_plugin_once_and_each_request_is_sent_once_more(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N"))
        net = Net(accepting("t1"))
        clock = Clock()
        async with authorized(net, script.identity, clock=clock) as transport:
            await get(transport)
            net.server = accepting("t2")
            clock.now += 10
            net.sent.clear()
            responses = await run_concurrently(*[lambda: get(transport)] * 10)
        assert responses == [(200, b"welcome")] * 10
        assert len(script.pids) == 2
        assert net.authorizations().count("Bearer t2") == 10
        assert net.authorizations().count("Bearer t1") <= 10

    run(main)


def test_all_requests_that_wait_for_a_failing_plugin_raise_its_error(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def main() -> None:
        script = Script(tmp_path, SECRET, code=3, waits=True)
        net = Net(accepting("t1"))
        errors: list[str] = []
        async with authorized(net, script.identity) as transport, anyio.create_task_group() as tasks:

            async def send() -> None:
                with pytest.raises(CredentialsError) as failed:
                    await get(transport)
                errors.append(str(failed.value))

            for _ in range(5):
                tasks.start_soon(send)
            await script.started()
            script.go.touch()
        assert errors == [f"the plugin {str(script.path)!r} exited with 3"] * 5
        assert len(script.pids) == 1
        assert not net.sent

    run(main)
    assert [record.getMessage()[-13:] for record in caplog.records] == ["exited with 3"]
    assert SECRET not in caplog.text
    assert SECRET not in "".join(capfd.readouterr())


def test_a_cancelled_request_does_not_cancel_the_renewal_that_it_started(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N"), waits=True)
        net = Net(accepting("t1"))
        responses: list[Any] = []
        async with authorized(net, script.identity) as transport, anyio.create_task_group() as tasks:
            for _ in range(3):  # like reconciles with a deadline
                with anyio.move_on_after(0.05):
                    await get(transport)

            async def send() -> None:
                responses.append(await get(transport))

            await script.started()
            for _ in range(3):
                tasks.start_soon(send)
            script.go.touch()
        assert responses == [(200, b"welcome")] * 3
        assert len(script.pids) == 1

    run(main)


def test_closing_a_transport_ends_its_renewal_and_the_waiting_requests(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N"), waits=True)
        net = Net(accepting("t1"))
        errors: list[str] = []
        async with anyio.create_task_group() as tasks:
            async with authorized(net, script.identity) as transport:

                async def send() -> None:
                    with pytest.raises(kp.LocalProtocolError, match="closed") as caught:
                        await get(transport)
                    errors.append(str(caught.value))

                tasks.start_soon(send)
                await script.started()
            assert not is_running(script.pids[0])
        assert len(errors) == 1
        assert len(script.pids) == 1

    run(main)


def test_a_valid_token_is_used_during_its_renewal(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        clock = Clock()
        expiration = "1970-01-01T00:20:00Z"
        script = Script(tmp_path, credential(token="t$N", expirationTimestamp=expiration))
        net = Net(accepting("t1"))
        async with authorized(net, script.identity, clock=clock) as transport:
            clock.now = 600.0
            assert await get(transport) == (200, b"welcome")
            waiting = Script(tmp_path, credential(token="t$N", expirationTimestamp=expiration), waits=True)
            clock.now = 1150.0  # the renewal is due, and the token is valid for fifty more seconds
            with anyio.fail_after(30):
                for _ in range(3):
                    assert await get(transport) == (200, b"welcome")
                await waiting.started(2)
                assert await get(transport) == (200, b"welcome")
        assert len(script.pids) == 2

    run(main)


def test_a_closed_transport_sends_nothing_and_opens_nothing(run: Run) -> None:
    async def main() -> None:
        net = Net(accepting("t"))
        async with authorized(net, Identity(token="t")) as transport:
            assert await get(transport) == (200, b"welcome")
        with pytest.raises(kp.LocalProtocolError, match="this client is closed"):
            await get(transport)
        with pytest.raises(kp.LocalProtocolError, match="this client is closed"):
            async with transport.upgrade(UPGRADE):
                pass
        assert len(net.opened) == len(net.closed) == 1

    run(main)


def test_a_plugin_may_take_longer_than_the_timeout_of_a_request(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        script = Script(tmp_path, credential(token="t$N"), waits=True)
        net = Net(accepting("t1"))

        async def send_with_short_timeout(transport: AuthorizedTransport) -> int:
            async with transport.send(kp.RawRequest("GET", "/version"), timeout=0.001) as incoming:
                return incoming.status

        async with authorized(net, script.identity) as transport, anyio.create_task_group() as tasks:

            async def send() -> None:
                assert await send_with_short_timeout(transport) == 200

            tasks.start_soon(send)
            await script.started()
            await anyio.sleep(0.01)
            script.go.touch()

    run(main)


def test_a_new_client_certificate_opens_a_new_transport_and_open_responses_continue(
    run: Run, tmp_path: Path
) -> None:
    async def main() -> None:
        certificate, key, clock = tmp_path / "c.pem", tmp_path / "k.pem", Clock()
        certificate.write_bytes(PEM % b"one")
        key.write_bytes(PEM % b"key one")
        net = Net(lambda connection, request: (200, connection.client_certificate[28:31]))
        identity = Identity(certificate_file=str(certificate), key_file=str(key))
        async with authorized(net, identity, clock=clock) as transport:
            net.gate = anyio.Event()
            async with transport.send(kp.RawRequest("GET", "/watch")) as watching:
                chunks = aiter(watching)
                assert await anext(chunks) == b"one"
                certificate.write_bytes(PEM % b"two")
                key.write_bytes(PEM % b"key two")
                clock.now += 61
                gate, net.gate = net.gate, None
                assert await get(transport) == (200, b"two")
                assert await get(transport) == (200, b"two")
                assert [len(net.opened), len(net.closed)] == [2, 0], "a response was interrupted"
                gate.set()
                assert [chunk async for chunk in chunks] == [b"the end"]
            assert net.closed == [net.opened[0]], "the old transport was not closed after its last response"
            assert await get(transport) == (200, b"two")
        assert net.closed == net.opened

    run(main)


def test_a_replaced_transport_without_open_responses_is_closed(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        certificate, key, clock = tmp_path / "c.pem", tmp_path / "k.pem", Clock()
        certificate.write_bytes(PEM % b"one")
        key.write_bytes(PEM % b"key one")
        net = Net(lambda connection, request: (200, connection.client_certificate[28:31]))
        identity = Identity(certificate_file=str(certificate), key_file=str(key))
        async with authorized(net, identity, clock=clock) as transport:
            assert await get(transport) == (200, b"one")
            certificate.write_bytes(PEM % b"two")
            clock.now += 61
            assert await get(transport) == (200, b"two")
            assert net.closed == [net.opened[0]]

    run(main)


def test_the_client_certificate_of_a_plugin_is_used(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        pem = credential(
            clientCertificateData=(PEM % b"of the plugin").decode(), clientKeyData=(PEM % b"its key").decode()
        )
        # The here-document of the script removes backslashes.
        script = Script(tmp_path, pem.replace("\\", "\\\\"))
        net = Net(lambda connection, request: (200, connection.client_certificate))
        async with authorized(net, script.identity) as transport:
            assert await get(transport) == (200, PEM % b"of the plugin")

    run(main)


def test_without_tls_no_credentials_are_read_or_sent(run: Run) -> None:
    async def main() -> None:
        net = Net(lambda _, request: (200, b""))
        async with AuthorizedTransport(
            Config(connection=Connection(server="http://cluster.test")), net.open
        ) as transport:
            await get(transport)
        assert net.authorizations() == [""]

    run(main)


def test_no_secret_is_in_the_repr() -> None:
    net = Net(accepting())
    transport = authorized(net, Identity(token=SECRET, certificate=PEM % b"x", key=PEM % SECRET.encode()))
    assert SECRET not in repr(transport)


def test_a_missing_plugin_is_named(run: Run) -> None:
    async def main() -> None:
        net = Net(accepting())
        identity = Identity(plugin=Plugin(command="/no/such/login", install_hint="apt install login"))
        async with authorized(net, identity) as transport:
            with pytest.raises(
                CredentialsError,
                match=r"the program ./no/such/login', .* does not exist; apt install login",
            ):
                await get(transport)

    run(main)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def run_concurrently(*functions: Callable[[], Awaitable[Any]]) -> list[Any]:
    results: list[Any] = []

    async def run_function(function: Callable[[], Awaitable[Any]]) -> None:
        results.append(await function())

    async with anyio.create_task_group() as tasks:
        for function in functions:
            tasks.start_soon(run_function, function)
    return results
