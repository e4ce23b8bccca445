"""TLS from bytes to bytes: OpenSSL at both connected, and no socket between them."""

from __future__ import annotations

import contextlib
import ssl
from typing import Any, Final

import pytest
import trustme

from kubeproto_sockets import TlsSession, TlsStack

NAME: Final = "h.example"


class Server:
    """The peer of a session."""

    def __init__(self, authority: trustme.CA) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate: Any = authority.issue_cert(NAME)
        certificate.configure_cert(context)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def encrypt(self, data: bytes) -> bytes:
        self.tls.write(data)
        return self.outgoing.read()

    def close(self) -> bytes:
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.unwrap()
        return self.outgoing.read()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def client(authority: trustme.CA, name: str = NAME) -> TlsSession:
    context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    return TlsSession(context, name)


def shake_hands(session: TlsSession, server: Server) -> None:
    complete = session.shake_hands()
    while not complete:
        server.incoming.write(session.outgoing)
        with contextlib.suppress(ssl.SSLWantReadError):
            server.tls.do_handshake()
        complete = session.shake_hands(server.outgoing.read())
    server.incoming.write(session.outgoing)
    server.tls.do_handshake()
    session.decrypt(server.outgoing.read())  # the session tickets of the server


@pytest.fixture
def connected(authority: trustme.CA) -> tuple[TlsSession, Server]:
    session, server = client(authority), Server(authority)
    shake_hands(session, server)
    return session, server


def test_many_records_are_decrypted_together(connected: tuple[TlsSession, Server]) -> None:
    session, server = connected
    records = b"".join(server.encrypt(b"event %d\n" % number) for number in range(100))
    assert session.decrypt(records) == b"".join(b"event %d\n" % number for number in range(100))


def test_records_may_be_split_anywhere(connected: tuple[TlsSession, Server]) -> None:
    session, server = connected
    records = server.encrypt(b"hello") + server.encrypt(b"world")
    assert (
        b"".join(session.decrypt(records[index : index + 1]) for index in range(len(records)))
        == b"helloworld"
    )


def test_the_server_receives_the_plaintext(connected: tuple[TlsSession, Server]) -> None:
    session, server = connected
    server.incoming.write(session.encrypt(b"x" * 100_000))
    plaintext = b""
    while len(plaintext) < 100_000:
        plaintext += server.tls.read(65536)
    assert plaintext == b"x" * 100_000


def test_a_closing_alert_closes_the_session_after_the_data_before_it(
    connected: tuple[TlsSession, Server],
) -> None:
    session, server = connected
    stack = TlsStack()
    stack.add(session)
    last = server.encrypt(b"bye") + server.close()
    assert (stack.decrypt(last[:-1]), stack.closed) == (b"bye", False)
    assert (stack.decrypt(last[-1:]), stack.closed) == (b"", True)


def test_a_wrong_name_fails_the_handshake(authority: trustme.CA) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(client(authority, "other.example"), Server(authority))


def test_a_broken_record_is_an_error(connected: tuple[TlsSession, Server]) -> None:
    session, server = connected
    record = bytearray(server.encrypt(b"hello"))
    record[-1] ^= 1
    with pytest.raises(ssl.SSLError):
        session.decrypt(bytes(record))


def test_one_session_within_another(authority: trustme.CA) -> None:
    outer, proxy = client(authority), Server(authority)
    inner, server = client(authority), Server(authority)
    shake_hands(outer, proxy)
    shake_hands(inner, server)
    stack = TlsStack()
    assert not stack
    stack.add(outer)
    stack.add(inner)
    assert stack
    assert stack.decrypt(proxy.encrypt(server.encrypt(b"hello"))) == b"hello"
    assert stack.encrypt(b"") == b""
    proxy.incoming.write(stack.encrypt(b"hello back"))
    server.incoming.write(proxy.tls.read(65536))
    assert server.tls.read(65536) == b"hello back"
