"""Creates and reads the authorities and certificates of a Secret. Only this module needs `cryptography`."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from kubeproto.control import certificates as c

# The keys of the Secret: the keys of `kubernetes.io/tls`, the bundle, and the key of its newest authority.
BUNDLE: Final = "ca.crt"
AUTHORITY_KEY: Final = "ca.key"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"

# Certificates are valid from a time in the past, because the clocks of clients may be behind.
_BACKDATED: Final = timedelta(minutes=5)

Data = Mapping[str, bytes]


class Pair(Struct, frozen=True):
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "Pair(certificate=…, key=…)"


def read_chain(data: Data | None) -> c.Chain | None:
    """Return the chain of a Secret; None if a part is missing, unreadable or does not match."""
    try:
        bundle = x509.load_pem_x509_certificates((data or {})[BUNDLE])
        leaf = x509.load_pem_x509_certificate((data or {})[CERTIFICATE])
        # With the key of another authority, every new leaf would be invalid and immediately issued again.
        for certificate, name in ((bundle[-1], AUTHORITY_KEY), (leaf, KEY)):
            if certificate.public_key() != _load_key((data or {})[name]).public_key():
                return None
    except (KeyError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    authorities = tuple(
        c.TrustedAuthority(certificate_id(certificate), *_validity(certificate)) for certificate in bundle
    )
    issuer = next((certificate_id(authority) for authority in bundle if _has_issued(authority, leaf)), "")
    return c.Chain(authorities, c.Leaf(issuer, *_validity(leaf), _hosts(leaf)))


def authority_ids(bundle: bytes) -> frozenset[str]:
    """Return the ids of the authorities in a bundle; empty if it is unreadable."""
    try:
        return frozenset(map(certificate_id, x509.load_pem_x509_certificates(bundle)))
    except ValueError:
        return frozenset()


def certificate_id(certificate: x509.Certificate) -> str:
    """Return the fingerprint of a certificate as its id."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def apply_decision(
    decision: c.Renewal, data: Data | None, hosts: Iterable[str], now: float, lifetimes: c.Lifetimes
) -> dict[str, bytes]:
    """Return the data of the Secret after a decision, with the certificates that it requires."""
    current = dict(data or {})
    match decision:
        case c.Begin():
            authority = make_authority(now, lifetimes.authority)
            current |= {BUNDLE: authority.certificate, AUTHORITY_KEY: authority.key}
            return current | _issue_leaf(current, hosts, now, lifetimes)
        case c.AddAuthority():
            authority = make_authority(now, lifetimes.authority)
            bundle = current[BUNDLE] + authority.certificate
            return current | {BUNDLE: bundle, AUTHORITY_KEY: authority.key}
        case c.Issue():
            return current | _issue_leaf(current, hosts, now, lifetimes)
        case c.Retire():
            newest = x509.load_pem_x509_certificates(current[BUNDLE])[-1]
            return current | {BUNDLE: _pem(newest)}
        case c.Wait():
            return current


def make_authority(now: float, lifetime: float) -> Pair:
    """Return a self-signed authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubeproto webhooks")])
    builder = (
        _builder(name, name, key, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(is_authority=True), critical=True)
    )
    return Pair(_pem(builder.sign(key, hashes.SHA256())), _key_pem(key))


def _issue_leaf(data: Data, hosts: Iterable[str], now: float, lifetimes: c.Lifetimes) -> dict[str, bytes]:
    authority = x509.load_pem_x509_certificates(data[BUNDLE])[-1]
    signer, key = _load_key(data[AUTHORITY_KEY]), ec.generate_private_key(ec.SECP256R1())
    names = sorted(hosts)
    # Clients reject a leaf after its authority has expired.
    lifetime = min(lifetimes.leaf, _validity(authority)[1] - int(now))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0][:64])])
    identifier = x509.SubjectKeyIdentifier.from_public_key(signer.public_key())
    builder = (
        _builder(subject, authority.subject, key, now, lifetime)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(is_authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(map(_general_name, names)), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
        )
    )
    return {CERTIFICATE: _pem(builder.sign(signer, hashes.SHA256())), KEY: _key_pem(key)}


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: float, lifetime: float
) -> x509.CertificateBuilder:
    issued_at = datetime.fromtimestamp(int(now), UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(issued_at - _BACKDATED)
        .not_valid_after(issued_at + timedelta(seconds=lifetime))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _validity(certificate: x509.Certificate) -> tuple[float, float]:
    issued_at = certificate.not_valid_before_utc + _BACKDATED
    return issued_at.timestamp(), certificate.not_valid_after_utc.timestamp()


def _hosts(leaf: x509.Certificate) -> frozenset[str]:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return frozenset((*names.get_values_for_type(x509.DNSName), *addresses))


def _has_issued(authority: x509.Certificate, leaf: x509.Certificate) -> bool:
    try:
        leaf.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _load_key(text: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(text, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is not an elliptic-curve key, so kubeproto has not created it")
    return key
