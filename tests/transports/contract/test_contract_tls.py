"""TLS: no request is sent to a server with a wrong certificate, and the server learns the client's
identity.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from contract_certificates import Certificates, context, pem
from contract_scripts import HELLO, chunked, dripping, responding, response_bytes, sending
from contract_secrets import SECRET, secret_variables
from contract_server import Peer, Server, abort
from contract_transports import Rig, connection_to, fetch, fetch_once, get

from kubeproto import ConnectError, Transport, TransportError
from kubeproto.config import ConfigError, Connection

Serve = Callable[..., Server]


def test_a_server_with_a_valid_certificate_is_trusted(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(responding(response_bytes(), chunked(HELLO)), context(certificates.server))

    async def twice(transport: Transport) -> list[bytes]:
        return [(await fetch(transport, get())).body for _ in range(2)]

    assert rig.run(connection_to(server, ca=certificates.trusted), twice) == [HELLO, HELLO]
    assert server.connections == 1


def test_tls_records_may_be_split_anywhere(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server = serve(dripping(chunked(HELLO)), context(certificates.server))
    assert fetch_once(rig, connection_to(server, ca=certificates.trusted)).body == HELLO


def test_without_a_closing_alert_only_a_declared_length_shows_a_truncated_body(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(sending(response_bytes(), then="reset"), context(certificates.server))
    connection = connection_to(server, ca=certificates.trusted)
    assert fetch_once(rig, connection).body == HELLO
    server = serve(sending(chunked(HELLO, end=False), then="close"), context(certificates.server))
    with pytest.raises(TransportError):
        fetch_once(rig, connection_to(server, ca=certificates.trusted))


def test_without_a_closing_alert_a_body_ends_with_the_connection(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(response_bytes(length=False))
        await abort(peer.writer)

    server = serve(script, context(certificates.server))
    assert fetch_once(rig, connection_to(server, ca=certificates.trusted)).body == HELLO


def test_the_file_of_a_ca_is_read_before_each_handshake(
    rig: Rig, serve: Serve, certificates: Certificates, tmp_path: Path
) -> None:
    path = tmp_path / "ca.crt"
    path.write_bytes(certificates.trusted)
    tls_context = context(certificates.server)
    server = serve(sending(response_bytes(HELLO, ("Connection", "close")), then="close"), tls_context)
    other = certificates.stranger.issue_cert("localhost")

    async def rotate(transport: Transport) -> None:
        assert (await fetch(transport, get())).body == HELLO
        with other.private_key_and_cert_chain_pem.tempfile() as chain:
            tls_context.load_cert_chain(chain)
        for written in (certificates.trusted, b"", b"-----BEGIN CERTIFICATE-----\nhalf of"):
            path.write_bytes(written)
            with pytest.raises(ConnectError, match="certificate"):
                await fetch(transport, get())
        path.unlink()
        with pytest.raises(ConnectError, match="certificate"):
            await fetch(transport, get())
        path.write_bytes(certificates.stranger.cert_pem.bytes())
        for _ in range(2):
            assert (await fetch(transport, get())).body == HELLO
        # The old certificate is no longer trusted.
        with certificates.server.private_key_and_cert_chain_pem.tempfile() as chain:
            tls_context.load_cert_chain(chain)
        with pytest.raises(ConnectError, match="certificate"):
            await fetch(transport, get())
        path.write_bytes(certificates.trusted)
        assert (await fetch(transport, get())).body == HELLO

    rig.run(connection_to(server, ca=certificates.trusted, ca_file=str(path)), rotate)


@pytest.mark.parametrize("fault", ["unknown CA", "another CA", "wrong name", "expired"])
def test_an_untrusted_server_gets_no_request(
    rig: Rig, serve: Serve, certificates: Certificates, fault: str
) -> None:
    server_certificates = {"wrong name": certificates.elsewhere, "expired": certificates.expired}
    ca = {"unknown CA": b"", "another CA": certificates.stranger.cert_pem.bytes()}
    server = serve(responding(response_bytes()), context(server_certificates.get(fault, certificates.server)))
    with pytest.raises(ConnectError, match="certificate"):
        fetch_once(rig, connection_to(server, ca=ca.get(fault, certificates.trusted)))
    assert server.requests == []


def test_an_untrusted_server_can_be_used_with_insecure(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(responding(response_bytes()), context(certificates.expired))
    assert fetch_once(rig, connection_to(server, insecure=True)).body == HELLO


def test_tls_server_name_is_the_name_in_the_certificate(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(responding(response_bytes()), context(certificates.elsewhere))
    connection = connection_to(server, ca=certificates.trusted, tls_server_name="kubernetes.default.svc")
    assert fetch_once(rig, connection).body == HELLO
    assert server.requests[0].header("host") == f"localhost:{server.port}"


def test_a_single_matching_ca_of_several_is_enough(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    bundle = b"# gr\xc3\xbcn\n" + certificates.stranger.cert_pem.bytes() + b"\n" + certificates.trusted
    server = serve(responding(response_bytes()), context(certificates.server))
    assert fetch_once(rig, connection_to(server, ca=bundle)).body == HELLO


def test_a_client_presents_its_certificate(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server = serve(responding(response_bytes()), context(certificates.server, clients_of=certificates.ca))
    certificate, key = pem(certificates.client)
    settings = {"ca": certificates.trusted, "client_certificate": certificate, "client_key": key}
    assert fetch_once(rig, connection_to(server, **settings)).body == HELLO


@pytest.mark.parametrize("presented", ["none", "untrusted"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_a_client_without_an_accepted_certificate_gets_an_error(
    rig: Rig, serve: Serve, certificates: Certificates, presented: str, version: ssl.TLSVersion
) -> None:
    demanding = context(certificates.server, clients_of=certificates.ca)
    demanding.maximum_version = version
    server = serve(responding(response_bytes()), demanding)
    certificate, key = pem(certificates.strange_client) if presented != "none" else (b"", b"")
    settings = {"ca": certificates.trusted, "client_certificate": certificate, "client_key": key}
    # With TLS 1.3 the client receives the alert only when it waits for the response.
    with pytest.raises(TransportError):
        fetch_once(rig, connection_to(server, **settings))
    assert server.requests == []


def test_a_key_of_another_certificate_is_refused_before_a_request(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(responding(response_bytes()), context(certificates.server))
    settings = {
        "ca": certificates.trusted,
        "client_certificate": pem(certificates.client)[0],
        "client_key": pem(certificates.strange_client)[1],
    }
    with pytest.raises(ConfigError, match="client certificate") as raised:
        fetch_once(rig, connection_to(server, **settings))
    assert "PRIVATE" not in str(raised.value)


def test_an_invalid_ca_is_refused_before_a_request(rig: Rig) -> None:
    garbage = b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n"
    with pytest.raises(ConfigError, match="CA"):
        fetch_once(rig, Connection(server="https://localhost:1", ca=garbage))


def test_a_server_without_tls_at_an_https_url(rig: Rig, serve: Serve) -> None:
    async def script(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.send(response_bytes(status="400 Bad Request"))

    server = serve(script)
    with pytest.raises(ConnectError):
        fetch_once(rig, Connection(server=f"https://localhost:{server.port}"))


@pytest.mark.parametrize("broken", ["ca", "client_key"])
def test_a_connection_with_an_invalid_certificate_is_printed_without_its_key(
    rig: Rig, certificates: Certificates, broken: str
) -> None:
    certificate, _ = pem(certificates.client)
    key = f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n".encode()
    broken_ca = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    connection = Connection(
        server="https://localhost",
        ca=broken_ca if broken == "ca" else certificates.trusted,
        client_certificate=certificate,
        client_key=key,
    )
    with pytest.raises(ConfigError) as raised:
        fetch_once(rig, connection)
    # A tool that logs variables calls the repr of the partly constructed transport as well.
    assert list(secret_variables(raised.value)) == []
