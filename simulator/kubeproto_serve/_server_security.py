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
    """What a server requires of its clients, and what a kubeconfig needs for that.

    Without a context, HTTP is plain. `tokens` are bearer tokens and their users. If there are tokens, or
    `client` is there, a client must show a token or a certificate that the context accepts.
    """

    context: ssl.SSLContext | None = None
    authority: str = ""  # PEM, for the kubeconfig
    tokens: Mapping[str, str] = {}
    client: Certificate | None = None

    def __repr__(self) -> str:
        return f"Security(tls={self.context is not None}, tokens={len(self.tokens)})"

    @property
    def asks(self) -> bool:
        """Whether a client must authenticate."""
        return bool(self.tokens) or self.client is not None


def self_made(*hosts: str, tokens: Mapping[str, str] | None = None, certificates: bool = False) -> Security:
    """TLS with certificates made now; with `certificates`, clients have to show one, or a token."""
    # cryptography takes a tenth of a second to import, which a server of plain HTTP need not spend.
    from ._server_certificates import Authority

    authority = Authority()
    made = authority.server("localhost", "127.0.0.1", "::1", *hosts)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    _load(context, made)
    client = None
    if certificates:
        context.load_verify_locations(cadata=authority.certificate)
        context.verify_mode = ssl.CERT_OPTIONAL  # a token does as well
        client = authority.client("kubernetes-admin", "system:masters")
    return Security(
        context=context, authority=authority.certificate, tokens=dict(tokens or {}), client=client
    )


def from_files(
    certificate: str, key: str, *, client_authority: str = "", tokens: Mapping[str, str] | None = None
) -> Security:
    """TLS with certificates that are there already."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key)
    if client_authority:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL if tokens else ssl.CERT_REQUIRED
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
        held = tuple(group.strip() for group in groups[0].split(",")) if groups and groups[0] else ()
        users[token] = User(name, uid, held)
    return users


def certified_user(certificate: Any) -> User | None:
    """The user that a client certificate names: its common name, with its organizations as groups."""
    if not certificate:
        return None
    names: list[tuple[str, str]] = [pair for part in certificate.get("subject", ()) for pair in part]
    common = next((value for key, value in names if key == "commonName"), "")
    groups = tuple(value for key, value in names if key == "organizationName")
    return User(common, groups=groups)


def _load(context: ssl.SSLContext, made: Certificate) -> None:
    # ssl reads keys only from files; this one is readable by its owner, and removed right after.
    handle, path = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "w") as file:
            file.write(made.key + made.certificate)
        context.load_cert_chain(path)
    finally:
        os.unlink(path)


def kubeconfig(url: str, security: Security) -> str:
    """Return a kubeconfig with one context. It is JSON, which is also YAML, so every client reads it."""
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
