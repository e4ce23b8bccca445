"""Certificates for the servers and clients of the suite: valid, untrusted, of another host, and expired."""

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
        """The certificate of the CA in PEM, as a client gets it."""
        return self.ca.cert_pem.bytes()


def context(certificate: trustme.LeafCert, *, clients_of: trustme.CA | None = None) -> ssl.SSLContext:
    """Return a server's TLS context. With `clients_of` it requires a client certificate of that CA."""
    tls_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with certificate.private_key_and_cert_chain_pem.tempfile() as path:
        tls_context.load_cert_chain(path)
    if clients_of is not None:
        tls_context.load_verify_locations(cadata=clients_of.cert_pem.bytes().decode())
        tls_context.verify_mode = ssl.CERT_REQUIRED
    return tls_context


def pem(leaf: trustme.LeafCert) -> tuple[bytes, bytes]:
    """Return the certificate chain and the key of a leaf in PEM."""
    return b"".join(part.bytes() for part in leaf.cert_chain_pems), leaf.private_key_pem.bytes()


def issue_certificates() -> Certificates:
    """Issue a new set of certificates."""
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
