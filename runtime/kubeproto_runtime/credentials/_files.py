"""The files of a configuration: the core names them, this module reads them, and writes renewed tokens.

They are not read in a thread, because they are small, local, and read at most once a minute.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kubeproto.config import (
    ConcealedVariables,
    Config,
    ConfigError,
    Kubeconfig,
    Overrides,
    RequiredFiles,
    UnreadableFile,
    infer,
    kubeconfig_paths,
)
from kubeproto.wire import ConcealedBytes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from kubeproto.config import Oidc, credentials as c

# A kubeconfig of a thousand clusters has some megabytes; a longer file is a device, or a mistake.
_MAX_FILE: Final = 64 * 1024 * 1024

Files = dict[str, bytes | UnreadableFile]


class Login(Struct, frozen=True):
    """The source of a user's tokens: the file, the user's name in it, and the refresh token that was read."""

    path: str
    user: str
    refresh_token: str

    def __repr__(self) -> str:
        return f"Login(path={self.path!r}, user={self.user!r})"


class LocatedConfig(Struct, frozen=True):
    """A configuration from files or from a pod. `login` is set if renewed tokens are written to a file."""

    config: Config
    login: Login | None = None


def find_config(overrides: Overrides, environ: Mapping[str, str] | None = None) -> LocatedConfig:
    """Return the configuration that kubectl would use, or the pod's. Raise `ConfigError` if there is none."""
    environ = ConcealedVariables(os.environ if environ is None else environ)
    home = os.path.expanduser("~")
    home = "" if home == "~" else home  # without a home directory, the pod or a named file can be used
    files: Files = {}
    while isinstance(
        config := infer(environ, files, overrides, home=home, separator=os.pathsep), RequiredFiles
    ):
        files.update((path, read_file(path)) for path in config.paths)
    paths = (overrides.path,) if overrides.path else kubeconfig_paths(environ, home, separator=os.pathsep)
    if config.identity.has_inline_secret and not overrides.token:
        read_by_others = [path for path in paths if isinstance(files.get(path), bytes) and _is_open(path)]
        config = replace(config, warnings=(*config.warnings, *map(_open_warning, read_by_others)))
    if config.identity.oidc is None or not config.identity.oidc.refresh_token:
        return LocatedConfig(config)
    return LocatedConfig(config, _login(paths, files, overrides, config.identity.oidc))


def read_file(path: str) -> bytes | UnreadableFile:
    """Return the content of a file, or the reason of the failure."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_FILE + 1)
    except OSError as error:
        return UnreadableFile(error.strerror or type(error).__name__, isinstance(error, FileNotFoundError))
    except ValueError:  # a zero byte in the path
        return UnreadableFile("the path contains a zero byte")
    return (
        UnreadableFile(f"it is longer than {_MAX_FILE} bytes")
        if len(content) > _MAX_FILE
        else ConcealedBytes(content)
    )


def _is_open(path: str) -> bool:
    """Return whether other users of this machine may read a file; on Windows always False."""
    try:
        return os.name == "posix" and bool(Path(path).stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))
    except OSError:
        return False


def _open_warning(path: str) -> str:
    return f"{path} holds credentials, and other users of this machine can read it: chmod 600 {path}"


def read_files(paths: Iterable[str]) -> tuple[bytes | UnreadableFile, ...]:
    """Return the content of several files."""
    return tuple(read_file(path) for path in paths)


def _login(paths: Iterable[str], files: Files, overrides: Overrides, oidc: Oidc) -> Login | None:
    """Return the login from the first file that defines the chosen user, as the merge does."""
    configs = [Kubeconfig.parse(content, path) for path in paths if isinstance(content := files[path], bytes)]
    choice = Kubeconfig.merge(configs).choose(
        context=overrides.context,
        cluster=overrides.cluster,
        user=overrides.user,
        namespace=overrides.namespace,
        server=overrides.server,
    )
    for config in configs:
        if choice and any(user.name == choice.user_name for user in config.users):
            return Login(config.path, choice.user_name, oidc.refresh_token)
    return None


def write_tokens(login: Login, tokens: c.SaveTokens) -> Login:
    """Write renewed tokens to the file of a login, and return the new login. Raise `ConfigError` on failure.

    Like kubectl, it holds the lock, replaces the file atomically, and does not overwrite a newer login.
    """
    path = Path(os.path.realpath(login.path))  # otherwise a link would be replaced by a file
    try:
        with _locked(path):
            content = ConcealedBytes(path.read_bytes())
            renewed = ConcealedBytes(_with_tokens(content, login, tokens))
            _replace(path, renewed)
    except FileExistsError:
        problem = f"another program is writing {path}, or left {path}.lock behind"
    except OSError as error:
        problem = f"{path} cannot be written: {error.strerror}"
    else:
        return Login(login.path, login.user, tokens.refresh_token)
    raise ConfigError(problem)


def _with_tokens(content: bytes, login: Login, tokens: c.SaveTokens) -> bytes:
    """Return the kubeconfig with these tokens, and everything else unchanged; only comments are lost."""
    config = Kubeconfig.parse(content)  # without its path, so that paths in it stay as they are
    if (
        _provider(msgspec.json.decode(config.document), login.user).get("refresh-token")
        != login.refresh_token
    ):
        raise ConfigError(f"the user {login.user!r} in {login.path} has another login by now")
    document: dict[str, Any] = msgspec.json.decode(config.document)
    provider = _provider(document, login.user)
    provider["id-token"], provider["refresh-token"] = tokens.id_token, tokens.refresh_token
    changed = msgspec.structs.replace(config, document=msgspec.json.encode(document))
    return changed.dump(json=content.lstrip().startswith(b"{"))


def _provider(document: dict[str, Any], user: str) -> dict[str, str]:
    """Return the settings of the auth-provider of a user in a checked file, to be changed in place."""
    entries: list[dict[str, Any]] = document.get("users") or []
    for entry in entries:
        if entry.get("name") == user:
            settings: dict[str, Any] = entry.get("user") or {}
            provider: dict[str, Any] = settings.get("auth-provider") or {}
            config: dict[str, str] = provider.get("config") or {}
            return config
    return {}


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Hold the lock of kubectl for writes: a file beside the kubeconfig, which must not exist yet."""
    lock = path.with_name(f"{path.name}.lock")
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            lock.unlink()


def _replace(path: Path, content: bytes) -> None:
    """Replace a file atomically, so that no reader sees a part of it and no other user can read it."""
    import tempfile  # imported here, because it imports the compressors

    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # readable by its owner alone
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
