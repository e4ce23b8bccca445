"""Explain a missing response: the causes of a `TransportError`, with advice for each."""

from __future__ import annotations

import errno
import socket
import ssl
from typing import TYPE_CHECKING, Final

from kubeproto import DeadlineExceeded, RemoteProtocolError
from kubeproto.wire import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubeproto.config import Connection

    from ._certificates import CertificateFields

# OpenSSL's X509_V_ERR_…: Python has no names for them.
_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_NAME_MISMATCH_CODES: Final = (62, 64)  # X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH

_UNREACHABLE: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
_CHECK_CLOCK: Final = "check the clock of this machine (`date`); if it is right"
_NOT_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
)
_CLIENT_CERTIFICATE_REFUSED: Final = (
    "CERTIFICATE_REQUIRED",
    "ALERT_BAD_CERTIFICATE",
    "ALERT_UNKNOWN_CA",
    "ALERT_CERTIFICATE_EXPIRED",
)


def explain_failure(
    error: BaseException, connection: Connection, certificate: CertificateFields | None
) -> tuple[str, str]:
    """Return the problem and the remedy; `certificate` is the server's certificate, or None."""
    address = f"{connection.host}:{connection.port}"
    for cause in causes(error):
        match cause:
            case ssl.SSLCertVerificationError(verify_code=code):
                return _explain_verification(code, cause.verify_message, connection, certificate)
            case ssl.SSLError():
                if explanation := _explain_tls(cause, address):
                    return explanation
            case socket.gaierror():
                host = connection.address[0]
                return f"there is no address for the name {host}", (
                    "check its spelling in the kubeconfig, the name server, and whether a VPN has to be on"
                )
            case ConnectionRefusedError():
                host, port = connection.address
                return f"nothing listens at {host}:{port}: the connection was refused", (
                    "start the cluster, or correct the port of the server in the kubeconfig;"
                    " tools for clusters on a laptop choose a new port at each start"
                )
            case OSError() if cause.errno in _UNREACHABLE:
                return f"there is no route to {connection.address[0]}", (
                    "check the network, and whether a VPN or a proxy ($HTTPS_PROXY) has to be on"
                )
            case TimeoutError() | DeadlineExceeded():
                return f"{address} did not respond in time", (
                    "check the firewall (it may drop packets silently), the VPN and the proxy ($HTTPS_PROXY)"
                )
            case RemoteProtocolError():
                return f"the program at {address} does not speak HTTP: {printable(str(cause), 200)}", (
                    "correct the server of the kubeconfig: its scheme, host and port"
                )
            case _:
                pass
    if "the proxy refuses" in (message := printable(str(error), 300)):
        return message, "check $HTTPS_PROXY and $NO_PROXY, and the proxy-url of the kubeconfig"
    if not connection.secure:
        return (
            message,
            "if the server speaks TLS, write https:// into the kubeconfig; else check that it runs",
        )
    return message, "check that the server runs, and the VPN, firewall or proxy in between"


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the causes of an error and the error itself, the deepest cause first: it has the reason."""
    chain: list[BaseException] = []
    pending = [error]
    while pending:
        current = pending.pop(0)
        if current in chain:
            continue
        chain.append(current)
        pending += [cause for cause in (current.__cause__, current.__context__) if cause is not None]
        if isinstance(current, BaseExceptionGroup):
            pending += current.exceptions  # pyright: ignore[reportUnknownMemberType]
    yield from reversed(chain)


def _explain_verification(
    code: int, message: str, connection: Connection, certificate: CertificateFields | None
) -> tuple[str, str]:
    if code == _EXPIRED:
        return "the certificate of the server has expired", (
            f"{_CHECK_CLOCK}, renew the certificate (on a control plane of kubeadm: `kubeadm certs renew"
            " apiserver`)"
        )
    if code == _NOT_YET_VALID:
        return (
            "the certificate of the server is not valid yet",
            f"{_CHECK_CLOCK}, the clock of the server is wrong",
        )
    if code in _NAME_MISMATCH_CODES:
        names = certificate.names if certificate else ()
        validity = f"for {', '.join(names[:8])}, and not" if names else "not"
        suggestion = names[0] if names else "NAME"
        return f"the certificate of the server is {validity} for {connection.tls_name}", (
            f"use one of its names in the server of the kubeconfig, or set its tls-server-name: {suggestion}"
        )
    issuer = f" by {certificate.issuer!r}" if certificate else ""
    trusted = (
        "the certificate-authority of the kubeconfig"
        if connection.ca
        else "the system, as the kubeconfig has no certificate-authority"
    )
    return f"the certificate of the server was issued{issuer}, whom {trusted} does not trust ({message})", (
        "get the kubeconfig again from the cluster: it may have been recreated under the same address"
    )


def _explain_tls(error: ssl.SSLError, address: str) -> tuple[str, str] | None:
    reason = error.reason or ""
    if any(text in reason for text in _NOT_TLS):
        return f"the program at {address} does not speak TLS", (
            "correct the server of the kubeconfig: the port, or http:// for `kubectl proxy`"
        )
    if any(text in reason for text in _CLIENT_CERTIFICATE_REFUSED):
        return f"{address} refuses the client certificate", (
            "the cluster may have been recreated, or its CA replaced: get the kubeconfig again"
        )
    return None
