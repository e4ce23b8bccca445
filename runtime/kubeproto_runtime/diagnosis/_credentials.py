"""Checks of credentials without sending them: files, times of expiry, whether a key fits."""

from __future__ import annotations

import base64
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from kubeproto import InvalidObject
from kubeproto.config import UnreadableFile
from kubeproto.objects import Reader

from ..credentials._files import read_file
from ._check import failed, passed, skipped, warned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kubeproto.config import Config, Identity

    from ._check import Check

_CLAIMS: Final[Reader[dict[str, Any]]] = Reader(dict[str, Any], "the claims of a token")
_SOON: Final = 7 * 24 * 3600.0  # seconds: people who renew by hand need a warning some days before
_LOG_IN_AGAIN: Final = (
    "log in again as the cluster's provider says, or ask for a new token (`kubectl create token ACCOUNT`)"
)
_RENEW: Final = (
    "get a new kubeconfig from the cluster; on a control plane of kubeadm: `kubeadm certs renew admin.conf`"
)


def examine_credentials(config: Config, now: float) -> Iterator[Check]:
    """Check the credentials of a configuration. The checks contain only names and times."""
    identity = config.identity
    if not config.connection.secure:
        return
    if not identity.has_credentials:
        yield warned(
            "credentials", "the user has none, so requests are sent as system:anonymous",
            "name a user in the context: `kubectl config set-context --current --user=NAME`",
        )  # fmt: skip
    if identity.plugin is not None:
        yield _check_plugin(identity.plugin.command, identity.plugin.install_hint)
    for path in identity.files:
        content = read_file(path)
        if isinstance(content, UnreadableFile):
            yield failed(
                "credentials", f"{path} cannot be read: {content.reason}", _missing_file_advice(path)
            )
            return
    if identity.token or identity.token_file:
        yield _check_token(_read_token(identity), identity.token_file, now)
    certificate, key = _read_pair(identity)
    if certificate:
        yield from _check_certificate(certificate, key, now)


def _missing_file_advice(path: str) -> str:
    return f"the kubeconfig names {path} for its user: put the file there, or get the kubeconfig again"


def _check_plugin(command: str, hint: str) -> Check:
    if shutil.which(command) is None:
        advice = (
            " ".join(hint.split())
            if hint.isprintable() and hint
            else f"install it, and check that it is on PATH: `which {command}`"
        )
        return failed("credentials", f"the exec plugin {command!r} is not installed", advice)
    return passed("credentials", f"the exec plugin {command!r} is installed, and is run")


def _read_token(identity: Identity) -> str:
    if identity.token:
        return identity.token
    content = read_file(identity.token_file)
    return "" if isinstance(content, UnreadableFile) else content.decode("utf-8", "replace").strip()


def _check_token(token: str, path: str, now: float) -> Check:
    source = f"a token from {path}" if path else "a token"
    if not token:
        return failed("credentials", f"{path} is empty", "write a token into it, or get the kubeconfig again")
    claims = _parse_claims(token)
    expiry = claims.get("exp")
    if not isinstance(expiry, int | float):
        return passed("credentials", f"{source}, whose expiry is unknown")
    if expiry <= now:
        return failed("credentials", f"{source}, which expired at {_format_time(expiry)}", _LOG_IN_AGAIN)
    return passed("credentials", f"{source}, which expires at {_format_time(expiry)}")


def _parse_claims(token: str) -> dict[str, Any]:
    """Return the claims of a JSON web token; empty for other tokens."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        return _CLAIMS.read(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, InvalidObject):
        return {}


def _read_pair(identity: Identity) -> tuple[bytes, bytes]:
    pair = [
        inline or (b"" if not path else _read_bytes(path))
        for inline, path in (
            (identity.certificate, identity.certificate_file),
            (identity.key, identity.key_file),
        )
    ]
    return pair[0], pair[1]


def _read_bytes(path: str) -> bytes:
    content = read_file(path)
    return b"" if isinstance(content, UnreadableFile) else bytes(content)


def _check_certificate(pem: bytes, key: bytes, now: float) -> Iterator[Check]:
    try:
        from ._certificates import read_certificate
    except ModuleNotFoundError:
        yield skipped(
            "credentials", "a client certificate; pip install 'kubeproto[webhooks]' to check its content"
        )
        return
    try:
        certificate = read_certificate(pem)
    except ValueError:
        yield failed("credentials", "the client certificate is not a PEM certificate", _RENEW)
        return
    subject = f"a client certificate for {certificate.subject}"
    if not certificate.matches(key):
        yield failed("credentials", f"{subject}, and a key of another certificate", _RENEW)
    elif certificate.valid_until <= now:
        yield failed(
            "credentials", f"{subject}, which expired at {_format_time(certificate.valid_until)}", _RENEW
        )
    elif certificate.valid_from > now:
        yield failed(
            "credentials", f"{subject}, which is not valid before {_format_time(certificate.valid_from)}",
            "set the clock of this machine: `timedatectl set-ntp true`",
        )  # fmt: skip
    elif certificate.valid_until - now < _SOON:
        yield warned(
            "credentials", f"{subject}, which expires at {_format_time(certificate.valid_until)}", _RENEW
        )
    else:
        yield passed("credentials", f"{subject}, which expires at {_format_time(certificate.valid_until)}")


def _format_time(timestamp: float) -> str:
    try:
        return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return "a time out of range"
