"""TLS between bytes and bytes: OpenSSL at both ends, and no socket between them."""

from __future__ import annotations

import contextlib
import ssl
from typing import Any, Final

import pytest
import trustme

from kubeproto_h11 import Session, Sessions

NAME: Final = "h.example"


class Server:
    """The other end."""

    def __init__(self, authority: trustme.CA) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate: Any = authority.issue_cert(NAME)
        certificate.configure_cert(context)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)

    def says(self, data: bytes) -> bytes:
        self.tls.write(data)
        return self.outgoing.read()

    def leaves(self) -> bytes:
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.unwrap()
        return self.outgoing.read()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def client(authority: trustme.CA, name: str = NAME) -> Session:
    context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    return Session(tls, incoming, outgoing, more=ssl.SSLWantReadError, done=ssl.SSLZeroReturnError)


def agree(session: Session, server: Server) -> None:
    agreed = session.shake_hands()
    while not agreed:
        server.incoming.write(session.outgoing)
        with contextlib.suppress(ssl.SSLWantReadError):
            server.tls.do_handshake()
        agreed = session.shake_hands(server.outgoing.read())
    server.incoming.write(session.outgoing)
    server.tls.do_handshake()
    session.decrypt(server.outgoing.read())  # what the server says after it: tickets


@pytest.fixture
def ends(authority: trustme.CA) -> tuple[Session, Server]:
    made = client(authority), Server(authority)
    agree(*made)
    return made


def test_many_records_come_out_as_one_piece(ends: tuple[Session, Server]) -> None:
    session, server = ends
    records = b"".join(server.says(b"event %d\n" % number) for number in range(100))
    assert session.decrypt(records) == b"".join(b"event %d\n" % number for number in range(100))


def test_records_may_be_cut_anywhere(ends: tuple[Session, Server]) -> None:
    session, server = ends
    records = server.says(b"hello") + server.says(b"world")
    assert b"".join(session.decrypt(records[at : at + 1]) for at in range(len(records))) == b"helloworld"


def test_what_is_said_is_heard(ends: tuple[Session, Server]) -> None:
    session, server = ends
    server.incoming.write(session.encrypt(b"x" * 100_000))
    heard = b""
    while len(heard) < 100_000:
        heard += server.tls.read(65536)
    assert heard == b"x" * 100_000


def test_a_farewell_ends_the_session_after_what_was_said_before_it(ends: tuple[Session, Server]) -> None:
    session, server = ends
    stack = Sessions()
    stack.add(session)
    last = server.says(b"bye") + server.leaves()
    assert (stack.decrypt(last[:-1]), stack.ended) == (b"bye", False)
    assert (stack.decrypt(last[-1:]), stack.ended) == (b"", True)


def test_a_wrong_name_is_found_in_the_handshake(authority: trustme.CA) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        agree(client(authority, "other.example"), Server(authority))


def test_a_broken_record_is_an_error(ends: tuple[Session, Server]) -> None:
    session, server = ends
    record = bytearray(server.says(b"hello"))
    record[-1] ^= 1
    with pytest.raises(ssl.SSLError):
        session.decrypt(bytes(record))


def test_one_session_within_another(authority: trustme.CA) -> None:
    outer, proxy = client(authority), Server(authority)
    inner, server = client(authority), Server(authority)
    agree(outer, proxy)
    agree(inner, server)
    stack = Sessions()
    assert not stack
    stack.add(outer)
    stack.add(inner)
    assert stack
    assert stack.decrypt(proxy.says(server.says(b"hello"))) == b"hello"
    assert stack.encrypt(b"") == b""
    proxy.incoming.write(stack.encrypt(b"hello back"))
    server.incoming.write(proxy.tls.read(65536))
    assert server.tls.read(65536) == b"hello back"
