"""Certificates that a server makes for itself: an authority, a server's, a client's, on the curve P-256.

The standard library can use certificates and cannot make them. What is needed of X.509 and ECDSA for that is
short, and saves whoever only wants `--tls` a dependency with a compiler. The arithmetic is not safe from
somebody who measures its time on the same machine: these keys are for tests, and live as long as one server.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
import time
from typing import Final

from msgspec import Struct

_P: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
_N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G: Final = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_DAY: Final = 86400
_Point = tuple[int, int]

_EC_PUBLIC_KEY: Final = "1.2.840.10045.2.1"
_PRIME256V1: Final = "1.2.840.10045.3.1.7"
_ECDSA_SHA256: Final = "1.2.840.10045.4.3.2"
_COMMON_NAME: Final = "2.5.4.3"
_ORGANIZATION: Final = "2.5.4.10"


class Certificate(Struct, frozen=True):
    """A certificate and its key, as PEM."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        return "Certificate(certificate=…, key=…)"


class Authority:
    """An authority that nobody trusts who was not told to."""

    def __init__(self, name: str = "kubeproto-serve", *, now: float | None = None) -> None:
        self._now = time.time() if now is None else now
        self._key = _Key()
        self._name = _name(name)
        usage = [
            _extension("2.5.29.19", _sequence(b"\x01\x01\xff"), critical=True),  # an authority
            _extension("2.5.29.15", _bits(b"\x06", unused=1), critical=True),  # signs certificates and lists
        ]
        self.certificate = _pem("CERTIFICATE", self._signed(self._name, self._key, usage))

    def server(self, *hosts: str) -> Certificate:
        """A certificate for a server at these names and addresses."""
        names = b"".join(_host(host) for host in hosts)
        return self._issued(
            _name("kubernetes"), "1.3.6.1.5.5.7.3.1", _extension("2.5.29.17", _sequence(names))
        )

    def client(self, user: str, *groups: str) -> Certificate:
        """A certificate for a user of these groups."""
        return self._issued(_name(user, *groups), "1.3.6.1.5.5.7.3.2")

    def _issued(self, subject: bytes, purpose: str, *more: bytes) -> Certificate:
        key = _Key()
        extensions = [
            _extension("2.5.29.19", _sequence(), critical=True),
            _extension("2.5.29.15", _bits(b"\x80", unused=7), critical=True),  # signs, as TLS 1.3 needs it
            _extension("2.5.29.37", _sequence(_oid(purpose))),
            _extension("2.5.29.35", _sequence(_der(0x80, self._key.identifier))),
            *more,
        ]
        return Certificate(_pem("CERTIFICATE", self._signed(subject, key, extensions)), key.pem)

    def _signed(self, subject: bytes, key: _Key, extensions: list[bytes]) -> bytes:
        extensions = [*extensions, _extension("2.5.29.14", _der(4, key.identifier))]
        body = _sequence(
            _der(0xA0, _integer(2)),
            _integer(secrets.randbits(120) | 1 << 119),
            _sequence(_oid(_ECDSA_SHA256)),
            self._name,
            _sequence(_time(self._now - _DAY), _time(self._now + 365 * _DAY)),
            subject,
            key.public,
            _der(0xA3, _sequence(*extensions)),
        )
        return _sequence(body, _sequence(_oid(_ECDSA_SHA256)), _bits(self._key.sign(body)))


class _Key:
    def __init__(self) -> None:
        self._secret = secrets.randbelow(_N - 1) + 1
        x, y = _times(self._secret, _G)
        point = b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
        self.identifier = hashlib.sha1(point, usedforsecurity=False).digest()
        self.public = _sequence(_sequence(_oid(_EC_PUBLIC_KEY), _oid(_PRIME256V1)), _bits(point))
        private = _der(4, self._secret.to_bytes(32, "big"))
        parts = _sequence(_integer(1), private, _der(0xA0, _oid(_PRIME256V1)), _der(0xA1, _bits(point)))
        self.pem = _pem("EC PRIVATE KEY", parts)

    def sign(self, message: bytes) -> bytes:
        """The ECDSA signature of a message."""
        digest = int.from_bytes(hashlib.sha256(message).digest(), "big")
        while True:
            nonce = secrets.randbelow(_N - 1) + 1
            r = _times(nonce, _G)[0] % _N
            s = pow(nonce, -1, _N) * (digest + r * self._secret) % _N
            if r and s:
                return _sequence(_integer(r), _integer(s))


def _plus(one: _Point | None, other: _Point) -> _Point | None:
    if one is None:
        return other
    if one[0] == other[0]:
        if (one[1] + other[1]) % _P == 0:
            return None
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, _P) % _P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, _P) % _P
    x = (slope * slope - one[0] - other[0]) % _P
    return x, (slope * (one[0] - x) - one[1]) % _P


def _times(factor: int, point: _Point) -> _Point:
    total: _Point | None = None
    for bit in bin(factor)[2:]:
        total = _plus(total, total) if total else None
        if bit == "1":
            total = _plus(total, point)
    assert total is not None  # the factor is between 1 and the order of the curve
    return total


# DER, as far as a certificate needs it.


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 0x80:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(length))) + length + content


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, b"".join(parts))


def _integer(value: int) -> bytes:
    return _der(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _bits(content: bytes, unused: int = 0) -> bytes:
    return _der(3, bytes((unused,)) + content)


def _oid(text: str) -> bytes:
    first, second, *rest = (int(part) for part in text.split("."))
    found = bytes((first * 40 + second,))
    for number in rest:
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        found += bytes(reversed(digits))
    return _der(6, found)


def _name(common: str, *organizations: str) -> bytes:
    parts = [(_ORGANIZATION, one) for one in organizations] + [(_COMMON_NAME, common)]
    return _sequence(*(_der(0x31, _sequence(_oid(oid), _der(12, text.encode()))) for oid, text in parts))


def _extension(oid: str, value: bytes, *, critical: bool = False) -> bytes:
    return _sequence(_oid(oid), b"\x01\x01\xff" if critical else b"", _der(4, value))


def _host(host: str) -> bytes:
    try:
        return _der(0x87, ipaddress.ip_address(host).packed)
    except ValueError:
        return _der(0x82, host.encode("idna"))


def _time(when: float) -> bytes:
    return _der(23, time.strftime("%y%m%d%H%M%SZ", time.gmtime(when)).encode())


def _pem(label: str, content: bytes) -> str:
    text = base64.b64encode(content).decode()
    lines = "\n".join(text[at : at + 64] for at in range(0, len(text), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----\n"
