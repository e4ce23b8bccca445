"""The security of a port: plain HTTP, or TLS with tokens and client certificates; and its kubeconfig."""

from __future__ import annotations

import base64
import csv
import os
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from kubeproto_sim import User

if TYPE_CHECKING:
    from ._server_certificates import Certificate
else:
    # For help() and inspect.signature(); certificates need a package that plain HTTP does not.
    Certificate = Any

_NAME: Final = "kubeproto"


class Security(Struct, frozen=True, kw_only=True):
    """The credentials that a server requires, and the parts of a kubeconfig with such credentials.

    Without a context, HTTP is plain. `tokens` are bearer tokens and their users. With tokens or a `client`
    certificate, each client must present a token, or a certificate that the context accepts.
    """

    context: ssl.SSLContext | None = None
    authority: str = ""  # PEM, for the kubeconfig
    tokens: Mapping[str, str] = {}
    client: Certificate | None = None

    def __repr__(self) -> str:
        return f"Security(tls={self.context is not None}, tokens={len(self.tokens)})"

    @property
    def requires_credentials(self) -> bool:
        """Whether a client must authenticate."""
        has_authority = self.context is not None and self.context.verify_mode != ssl.CERT_NONE
        return bool(self.tokens) or self.client is not None or has_authority


def self_signed(*hosts: str, tokens: Mapping[str, str] | None = None, certificates: bool = False) -> Security:
    """Return security with new certificates; with `certificates`, clients need a certificate or a token."""
    # Imported here: cryptography takes a tenth of a second, which a server of plain HTTP does not need.
    from ._server_certificates import Authority

    authority = Authority()
    server_certificate = authority.server("localhost", "127.0.0.1", "::1", *hosts)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    _load(context, server_certificate)
    client = None
    if certificates:
        context.load_verify_locations(cadata=authority.certificate)
        context.verify_mode = ssl.CERT_OPTIONAL  # a token is accepted instead
        client = authority.client("kubernetes-admin", "system:masters")
    return Security(
        context=context, authority=authority.certificate, tokens=dict(tokens or {}), client=client
    )


def certificate_files(
    certificate: str,
    key: str,
    *,
    client_authority: str = "",
    tokens: Mapping[str, str] | None = None,
    requires_certificate: bool = True,
) -> Security:
    """Return security with existing certificates.

    Clients without a certificate of `client_authority` need a token: of `tokens`, or of the cluster if the
    certificate is not required.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key)
    if client_authority:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_REQUIRED if requires_certificate and not tokens else ssl.CERT_OPTIONAL
    return Security(context=context, authority=Path(certificate).read_text(), tokens=dict(tokens or {}))


def read_token_file(text: str) -> dict[str, User]:
    """Return the users of a token file by token; its lines are ``token,name,uid,"group,group"``."""
    users: dict[str, User] = {}
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        if not row:
            continue
        if len(row) < 3:
            raise ValueError(f"line {number} of the token file has fewer than three columns: token,user,uid")
        token, name, uid, *groups = (cell.strip() for cell in row)
        group_names = tuple(group.strip() for group in groups[0].split(",")) if groups and groups[0] else ()
        users[token] = User(name, uid, group_names)
    return users


def certified_user(certificate: Any) -> User | None:
    """Return the user of a client certificate: its common name, with its organizations as groups."""
    if not certificate:
        return None
    names: list[tuple[str, str]] = [pair for part in certificate.get("subject", ()) for pair in part]
    common = next((value for key, value in names if key == "commonName"), "")
    groups = tuple(value for key, value in names if key == "organizationName")
    return User(common, groups=groups)


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    # ssl reads keys only from files; this file is readable by its owner only, and removed immediately.
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "w") as file:
            file.write(certificate.key + certificate.certificate)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


def kubeconfig(url: str, security: Security) -> str:
    """Return a kubeconfig with a single context. It is JSON, which is also YAML, so every client reads it."""
    cluster: dict[str, Any] = {"server": url}
    if security.authority:
        cluster["certificate-authority-data"] = _data(security.authority)
    user: dict[str, Any] = {}
    if security.tokens:
        user["token"] = next(iter(security.tokens))
    elif security.client is not None:
        user["client-certificate-data"] = _data(security.client.certificate)
        user["client-key-data"] = _data(security.client.key)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": _NAME, "cluster": cluster}],
        "users": [{"name": _NAME, "user": user}],
        "contexts": [{"name": _NAME, "context": {"cluster": _NAME, "user": _NAME, "namespace": "default"}}],
        "current-context": _NAME,
    }
    return msgspec.json.format(msgspec.json.encode(config), indent=2).decode() + "\n"


def _data(pem: str) -> str:
    return base64.b64encode(pem.encode()).decode()
