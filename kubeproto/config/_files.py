"""Files that a driver reads: their contents, and the credentials in them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..wire import Concealed
from ._errors import CredentialsError
from ._identity import Identity
from ._secrets import Credentials, basic, bearer


class UnreadableFile(Struct, frozen=True):
    """Why a file could not be read, instead of its bytes. `missing` is True if it does not exist."""

    why: str
    missing: bool = False


def inline(identity: Identity) -> Credentials:
    """Return the credentials that an identity has in itself."""
    return Credentials(
        authorization=bearer(identity.token) or _password(identity),
        client_certificate=identity.certificate,
        client_key=identity.key,
    )


def _password(identity: Identity) -> str:
    return basic(identity.username, identity.password) if identity.username or identity.password else ""


def read_identity(identity: Identity, files: Sequence[bytes | UnreadableFile]) -> Credentials:
    """Return the credentials of an identity whose `files` have these contents, in that order."""
    # Errors are raised from here, so nothing secret may be in a variable.
    files = [Concealed(content) if isinstance(content, bytes) else content for content in files]
    contents: dict[str, bytes] = {}
    for path, content in zip(identity.files, files, strict=True):
        if isinstance(content, UnreadableFile):
            raise CredentialsError(f"{path} cannot be read: {content.why}")
        if not content.strip():
            raise CredentialsError(f"{path} is empty")
        if path != identity.token_file and b"-----BEGIN " not in content:
            raise CredentialsError(f"{path} is not PEM")
        contents[path] = content
    path = identity.token_file
    return Credentials(
        authorization=bearer(identity.token or _token(contents.get(path, b""), path))
        or inline(identity).authorization,
        client_certificate=identity.certificate or bytes(contents.get(identity.certificate_file, b"")),
        client_key=identity.key or bytes(contents.get(identity.key_file, b"")),
    )


def _token(content: bytes, path: str) -> str:
    token: bytes = Concealed(content.strip())
    # Only what HTTP allows after "Bearer": anything else is another file, or two.
    if not token.isascii() or not token.decode("ascii", "replace").isprintable() or b" " in token:
        raise CredentialsError(f"{path} holds no token")
    return token.decode()
