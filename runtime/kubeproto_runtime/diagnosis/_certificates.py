"""The content of a certificate: its names, its issuer and its validity. Needs `cryptography`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID
from msgspec import Struct

from kubeproto.wire import printable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes


class CertificateFields(Struct, frozen=True):
    """The reported fields of a certificate."""

    subject: str
    issuer: str
    names: tuple[str, ...]
    valid_from: float
    valid_until: float
    public_key: bytes

    def matches(self, key: bytes) -> bool:
        """Return whether a private key, as PEM, belongs to this certificate."""
        try:
            private_key = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError):
            return False
        return _encode_key(private_key.public_key()) == self.public_key


def read_certificate(data: bytes) -> CertificateFields:
    """Return the fields of the first certificate, in PEM or DER. Raise ValueError if there is none."""
    if b"-----BEGIN " in data:
        certificate = x509.load_pem_x509_certificate(data)
    else:
        certificate = x509.load_der_x509_certificate(data)
    return CertificateFields(
        subject=_display_name(certificate.subject),
        issuer=_display_name(certificate.issuer),
        names=_alternative_names(certificate),
        valid_from=certificate.not_valid_before_utc.timestamp(),
        valid_until=certificate.not_valid_after_utc.timestamp(),
        public_key=_encode_key(certificate.public_key()),
    )


def _display_name(name: x509.Name) -> str:
    common_names = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return printable(str(common_names[0].value) if common_names else name.rfc4514_string(), 200)


def _alternative_names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    hosts = extension.get_values_for_type(x509.DNSName)
    addresses = [str(name) for name in extension.get_values_for_type(x509.IPAddress)]
    return tuple(printable(name, 200) for name in (*hosts, *addresses))


def _encode_key(key: PublicKeyTypes) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
