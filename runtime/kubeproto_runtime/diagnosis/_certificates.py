"""The content of a certificate: its names, its issuer and its validity. It needs `cryptography`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID
from msgspec import Struct

from kubeproto.wire import printable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes


class CertificateFacts(Struct, frozen=True):
    """The parts of a certificate that are reported."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    since: float
    until: float
    public_key: bytes

    def fits(self, key: bytes) -> bool:
        """Return whether a private key, as PEM, belongs to this certificate."""
        try:
            private = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError):
            return False
        return _encoded(private.public_key()) == self.public_key


def read_certificate(data: bytes) -> CertificateFacts:
    """Return the facts of the first certificate, in PEM or DER; ValueError if there is none."""
    if b"-----BEGIN " in data:
        found = x509.load_pem_x509_certificate(data)
    else:
        found = x509.load_der_x509_certificate(data)
    return CertificateFacts(
        subject=_name(found.subject),
        issuer=_name(found.issuer),
        names=_names(found),
        since=found.not_valid_before_utc.timestamp(),
        until=found.not_valid_after_utc.timestamp(),
        public_key=_encoded(found.public_key()),
    )


def _name(name: x509.Name) -> str:
    common = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return printable(str(common[0].value) if common else name.rfc4514_string(), 200)


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    hosts = found.get_values_for_type(x509.DNSName)
    addresses = [str(one) for one in found.get_values_for_type(x509.IPAddress)]
    return tuple(printable(one, 200) for one in (*hosts, *addresses))


def _encoded(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
