"""Why no response came: what the causes of a `TransportError` mean, and what to do about each."""

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

    from ._certificates import CertificateFacts

# OpenSSL's X509_V_ERR_…: Python has no names for them.
_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_WRONG_NAMES: Final = (62, 64)  # of a host, of an address

_UNREACHABLE: Final = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
_CLOCK: Final = "check the clock of this machine (`date`); if it is right"
_NOT_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
)
_OURS_REFUSED: Final = (
    "CERTIFICATE_REQUIRED",
    "ALERT_BAD_CERTIFICATE",
    "ALERT_UNKNOWN_CA",
    "ALERT_CERTIFICATE_EXPIRED",
)


def explain_failure(
    error: BaseException, connection: Connection, certificate: CertificateFacts | None
) -> tuple[str, str]:
    """Return what happened and what to do; `certificate` is the one that the server showed, if known."""
    at = f"{connection.host}:{connection.port}"
    for cause in causes(error):
        match cause:
            case ssl.SSLCertVerificationError(verify_code=code):
                return _of_verification(code, cause.verify_message, connection, certificate)
            case ssl.SSLError():
                if found := _of_tls(cause, at):
                    return found
            case socket.gaierror():
                host = connection.address[0]
                return f"there is no address for the name {host}", (
                    "check its spelling in the kubeconfig, the name server, and whether a VPN has to be on"
                )
            case ConnectionRefusedError():
                host, port = connection.address
                return f"nothing listens at {host}:{port}: the connection was refused", (
                    "start the cluster, or correct the port of the server in the kubeconfig;"
                    " the tools that make clusters on a laptop give them a new port with each start"
                )
            case OSError() if cause.errno in _UNREACHABLE:
                return f"there is no route to {connection.address[0]}", (
                    "check the network, and whether a VPN or a proxy ($HTTPS_PROXY) has to be on"
                )
            case TimeoutError() | DeadlineExceeded():
                return f"{at} did not respond in time", (
                    "a firewall drops packets without a word: check it, the VPN, and the proxy ($HTTPS_PROXY)"
                )
            case RemoteProtocolError():
                return f"what listens at {at} does not speak HTTP: {printable(str(cause), 200)}", (
                    "correct the server of the kubeconfig: its scheme, host and port"
                )
            case _:
                pass
    if "the proxy refuses" in (said := printable(str(error), 300)):
        return said, "check $HTTPS_PROXY and $NO_PROXY, and the proxy-url of the kubeconfig"
    if not connection.secure:
        return said, "if the server speaks TLS, write https:// into the kubeconfig; else check that it runs"
    return said, "check that the server runs and what is in between: a VPN, a firewall, a proxy"


def causes(error: BaseException) -> Iterator[BaseException]:
    """Return an error and its causes, the deepest first: that is the one which says why."""
    chain: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop(0)
        if one in chain:
            continue
        chain.append(one)
        waiting += [found for found in (one.__cause__, one.__context__) if found is not None]
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions  # pyright: ignore[reportUnknownMemberType]
    yield from reversed(chain)


def _of_verification(
    code: int, said: str, connection: Connection, certificate: CertificateFacts | None
) -> tuple[str, str]:
    if code == _EXPIRED:
        return "the certificate of the server has expired", (
            f"{_CLOCK}, renew the certificate (`kubeadm certs renew apiserver` on a control plane of kubeadm)"
        )
    if code == _NOT_YET_VALID:
        return "the certificate of the server is not valid yet", f"{_CLOCK}, that of the server is wrong"
    if code in _WRONG_NAMES:
        names = certificate.names if certificate else ()
        shown = f"for {', '.join(names[:8])}, and not" if names else "not"
        instead = names[0] if names else "NAME"
        return f"the certificate of the server is {shown} for {connection.tls_name}", (
            f"write one of its names into the server of the kubeconfig, or set its tls-server-name: {instead}"
        )
    issuer = f" by {certificate.issuer!r}" if certificate else ""
    trusted = (
        "the certificate-authority of the kubeconfig"
        if connection.ca
        else "the system, as the kubeconfig has no certificate-authority"
    )
    return f"the certificate of the server was issued{issuer}, whom {trusted} does not trust ({said})", (
        "get the kubeconfig again from the cluster: it may have been recreated under the same address"
    )


def _of_tls(error: ssl.SSLError, at: str) -> tuple[str, str] | None:
    reason = error.reason or ""
    if any(one in reason for one in _NOT_TLS):
        return f"what listens at {at} does not speak TLS", (
            "correct the server of the kubeconfig: the port, or http:// for `kubectl proxy` and its like"
        )
    if any(one in reason for one in _OURS_REFUSED):
        return f"{at} refuses the client certificate", (
            "the cluster may have been recreated, or its CA replaced: get the kubeconfig again"
        )
    return None
