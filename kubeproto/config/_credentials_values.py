"""The states, events and actions of the credentials machine."""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from .._errors import CredentialsError
from ..wire import ConcealingStruct, Headers
from ._identity import Identity, UnreadableFile
from ._oidc import Discover, Redeem
from ._plugin import TIMEOUT
from ._signing_credentials import Credentials

NEVER: Final = float("inf")


class RenewalContext(Struct, frozen=True, kw_only=True):
    """The source of the credentials. `interactive` allows a plugin to use the terminal."""

    identity: Identity
    interactive: bool = False


class CurrentCredentials(Struct, frozen=True, kw_only=True):
    """Credentials and when they are renewed.

    `rejections` counts the renewals for a 401 since credentials were accepted for `MAX_REJECTION_BACKOFF`;
    `accepted_since` is the beginning of that time.
    """

    credentials: Credentials
    accepted_since: float
    renew_at: float
    expires: float = NEVER
    rejections: int = 0


# States


class Static(Struct, frozen=True):
    """Credentials that cannot be renewed, for this reason; they may be empty."""

    credentials: Credentials
    reason: str = ""


class NoCredentials(Struct, frozen=True):
    """No credentials yet, because no request has needed any."""

    context: RenewalContext


class Active(Struct, frozen=True):
    """Credentials in use."""

    context: RenewalContext
    current: CurrentCredentials


class Renewing(Struct, frozen=True):
    """The task is under way. `rejected` is true if the current credentials got a 401."""

    context: RenewalContext
    task: Task
    current: CurrentCredentials | None = None
    rejected: bool = False
    failures: int = 0


class BackingOff(Struct, frozen=True):
    """The last renewal has failed, and the next may begin at `retry_at`."""

    context: RenewalContext
    current: CurrentCredentials | None
    failures: int
    retry_at: float
    reason: str


State: TypeAlias = Static | NoCredentials | Active | Renewing | BackingOff


# Events


class CredentialsRequested(Struct, frozen=True):
    """A request needs credentials."""


class CredentialsRejected(Struct, frozen=True):
    """A request with the credentials of this generation got a 401."""

    generation: int


class FilesRead(ConcealingStruct, frozen=True):
    """The files of a `ReadFiles` were read, in its order."""

    secret_fields = frozenset(("files",))

    files: tuple[bytes | UnreadableFile, ...]


class PluginExited(ConcealingStruct, frozen=True):
    """The plugin has exited by itself."""

    secret_fields = frozenset(("stdout",))

    code: int
    stdout: bytes


class PluginMissing(Struct, frozen=True):
    """The executable of the plugin was not found."""


class Responded(ConcealingStruct, frozen=True):
    """The identity provider has responded."""

    secret_fields = frozenset(("body", "headers"))

    status: int
    headers: Headers
    body: bytes


class Failed(Struct, frozen=True):
    """The task has failed, for a reason on one line, such as "it did not exit within 120 s"."""

    reason: str


class Cancelled(Struct, frozen=True):
    """The performer of the task was cancelled."""


Event: TypeAlias = (
    CredentialsRequested
    | CredentialsRejected
    | FilesRead
    | PluginExited
    | PluginMissing
    | Responded
    | Failed
    | Cancelled
)


# Actions


class ReadFiles(Struct, frozen=True):
    """Read these files; the content of a file that cannot be read is an `UnreadableFile`."""

    paths: tuple[str, ...]


class RunPlugin(ConcealingStruct, frozen=True, kw_only=True):
    """Run this program with these variables in addition to the environment; kill it after `timeout` seconds.

    Its standard error is the terminal. Its input is the terminal if it is `interactive`, and closed
    otherwise.
    """

    secret_fields = frozenset(("args", "env"))

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    interactive: bool = False
    timeout: float = TIMEOUT


class UseCredentials(Struct, frozen=True):
    """Send the request with these credentials."""

    credentials: Credentials


class Wait(Struct, frozen=True):
    """Wait until the state has changed, then step with `CredentialsRequested` again."""


class RefuseRequest(Struct, frozen=True):
    """Fail the request, because there are no credentials before `until`."""

    reason: str
    until: float

    @property
    def error(self) -> CredentialsError:
        """The error of the request."""
        return CredentialsError(self.reason)


class CloseConnections(Struct, frozen=True):
    """Close the connections with the old client certificate after their requests."""


class SaveTokens(ConcealingStruct, frozen=True):
    """Write these tokens back to their source: otherwise the login is lost when this process ends."""

    secret_fields = frozenset(("id_token", "refresh_token"))

    id_token: str
    refresh_token: str


class Warn(Struct, frozen=True):
    """Log why the credentials are not renewed."""

    reason: str


Task: TypeAlias = ReadFiles | RunPlugin | Discover | Redeem
Action: TypeAlias = Task | UseCredentials | Wait | RefuseRequest | CloseConnections | SaveTokens | Warn
