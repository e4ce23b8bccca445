"""Certificates that a server creates for itself: an authority, and certificates of a server and a client.

Only a server with `--tls` needs this module, for which the extra `serve` installs `cryptography`. The keys
are for tests: they exist in memory while the server runs.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

_BACKDATING: Final = timedelta(days=1)  # for clients whose clocks are slow
_VALIDITY: Final = timedelta(days=365)


class Certificate(Struct, frozen=True):
    """A certificate and its key, as PEM."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        return "Certificate(certificate=…, key=…)"


class Authority:
    """A self-signed certificate authority; clients trust it if they have its `certificate`."""

    def __init__(self, name: str = "kubeproto-serve", *, now: datetime | None = None) -> None:
        self._now = now or datetime.now(UTC)
        self._key = _new_key()
        self._name = _name(name)
        # VERIFY_X509_STRICT, the default since Python 3.13, requires the usage and the identifiers.
        builder = (
            self._builder(self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
        )
        self.certificate = _pem(builder.sign(self._key, hashes.SHA256()))

    def server(self, *hosts: str) -> Certificate:
        """Return a certificate for a server at these names and addresses."""
        names = x509.SubjectAlternativeName([_general_name(host) for host in dict.fromkeys(hosts)])
        return self._issue(_name("kubernetes"), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, *groups: str) -> Certificate:
        """Return a certificate for a user of these groups."""
        return self._issue(_name(user, *groups), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self, subject: x509.Name, purpose: x509.ObjectIdentifier, names: x509.ExtensionType | None = None
    ) -> Certificate:
        key = _new_key()
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            self._builder(subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(issuer, critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        return Certificate(_pem(builder.sign(self._key, hashes.SHA256())), pem.decode())

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .issuer_name(self._name)
            .subject_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - _BACKDATING)
            .not_valid_after(self._now + _VALIDITY)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(
        ec.SECP256R1()
    )  # made in microseconds; an RSA key takes a tenth of a second


def _name(common: str, *organizations: str) -> x509.Name:
    # For Kubernetes, the common name is the user, and the organizations are the groups.
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
