"""Certificates for the servers and clients of the suite: good, strange, for elsewhere, and of long ago."""

from __future__ import annotations

import datetime
import ssl
from typing import Final, NamedTuple

import trustme

LONG_AGO: Final = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Certificates(NamedTuple):
    ca: trustme.CA
    stranger: trustme.CA
    server: trustme.LeafCert
    elsewhere: trustme.LeafCert
    expired: trustme.LeafCert
    client: trustme.LeafCert
    strange_client: trustme.LeafCert

    @property
    def trusted(self) -> bytes:
        """The CA as a client is told of it."""
        return self.ca.cert_pem.bytes()


def context(certificate: trustme.LeafCert, *, clients_of: trustme.CA | None = None) -> ssl.SSLContext:
    """A server's side: what it shows, and whose clients it demands to see."""
    tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with certificate.private_key_and_cert_chain_pem.tempfile() as path:
        tls_context.load_cert_chain(path)
    if clients_of is not None:
        tls_context.load_verify_locations(cadata=clients_of.cert_pem.bytes().decode())
        tls_context.verify_mode = ssl.CERT_REQUIRED
    return tls_context


def pem(leaf: trustme.LeafCert) -> tuple[bytes, bytes]:
    """The chain and the key."""
    return b"".join(part.bytes() for part in leaf.cert_chain_pems), leaf.private_key_pem.bytes()


def issue() -> Certificates:
    """A set of them, made again."""
    ca, stranger = trustme.CA(), trustme.CA()
    return Certificates(
        ca,
        stranger,
        ca.issue_cert("localhost", "127.0.0.1"),
        ca.issue_cert("kubernetes.default.svc"),
        ca.issue_cert("localhost", not_after=LONG_AGO),
        ca.issue_cert(common_name="system:admin"),
        stranger.issue_cert(common_name="system:admin"),
    )
