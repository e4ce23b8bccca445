"""The states, events and actions of the credentials machine."""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from ..wire import Headers
from ._errors import CredentialsError
from ._files import UnreadableFile
from ._hiding import Hiding
from ._identity import Identity
from ._oidc import Discover, Redeem
from ._plugin import TIMEOUT
from ._secrets import Credentials

FOREVER: Final = float("inf")


class RenewalContext(Struct, frozen=True, kw_only=True):
    """What is true while there is something to renew."""

    identity: Identity
    interactive: bool = False


class Holding(Struct, frozen=True, kw_only=True):
    """Credentials in use. `doubts` counts the renewals for a 401 since credentials last worked for a time."""

    credentials: Credentials
    since: float
    due: float
    expires: float = FOREVER
    doubts: int = 0


class Fixed(Struct, frozen=True):
    """Credentials that cannot be renewed; there may be none at all."""

    credentials: Credentials
    why: str = ""


class NoCredentials(Struct, frozen=True):
    """No credentials, and none have been requested."""

    context: RenewalContext


class Held(Struct, frozen=True):
    """Credentials in use."""

    context: RenewalContext
    holding: Holding


class Renewing(Struct, frozen=True):
    """The task is under way. `refused` is True if the present credentials had a 401."""

    context: RenewalContext
    task: Task
    holding: Holding | None = None
    refused: bool = False
    failures: int = 0


class Troubled(Struct, frozen=True):
    """The last renewal failed, and the next may begin at `retry`."""

    context: RenewalContext
    holding: Holding | None
    failures: int
    retry: float
    why: str


State: TypeAlias = Fixed | NoCredentials | Held | Renewing | Troubled


class Wanted(Struct, frozen=True):
    """A request needs credentials."""


class CredentialsRejected(Struct, frozen=True):
    """A request with the credentials of this generation got a 401."""

    generation: int


class FilesRead(Hiding, frozen=True):
    """The files of a `ReadFiles`, in its order."""

    hides = frozenset(("files",))

    files: tuple[bytes | UnreadableFile, ...]


class PluginEnded(Hiding, frozen=True):
    """The plugin has ended by itself."""

    hides = frozenset(("stdout",))

    code: int
    stdout: bytes


class PluginMissing(Struct, frozen=True):
    """The program of the plugin does not exist."""


class Responded(Hiding, frozen=True):
    """The provider has responded to an `Ask`."""

    hides = frozenset(("body", "headers"))

    status: int
    headers: Headers
    body: bytes


class Failed(Struct, frozen=True):
    """The task failed: `why` is one line, such as "it did not end within 120 s"."""

    why: str


class Abandoned(Struct, frozen=True):
    """The performer of the task was cancelled."""


Event: TypeAlias = (
    Wanted | CredentialsRejected | FilesRead | PluginEnded | PluginMissing | Responded | Failed | Abandoned
)


class ReadFiles(Struct, frozen=True):
    """Read these files; one that cannot be read is reported as `UnreadableFile`."""

    paths: tuple[str, ...]


class RunPlugin(Hiding, frozen=True, kw_only=True):
    """Run this program with these variables beside the present ones, and kill it after `timeout` seconds.

    Its standard error goes to the terminal, so does its input if it is `interactive`; else that is closed.
    """

    hides = frozenset(("args", "env"))

    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    interactive: bool = False
    timeout: float = TIMEOUT


class Use(Struct, frozen=True):
    """Send the request with these."""

    credentials: Credentials


class Wait(Struct, frozen=True):
    """Wait until the state has changed, then step with `Wanted` again."""


class Refuse(Struct, frozen=True):
    """There are no credentials: fail the request. There will be none before `until`."""

    why: str
    until: float

    @property
    def error(self) -> CredentialsError:
        """The error that the request fails with."""
        return CredentialsError(self.why)


class CloseConnections(Struct, frozen=True):
    """Do not use connections with the old client certificate for another request."""


class Keep(Hiding, frozen=True):
    """Write these tokens back to their source, or the login is lost when this process ends."""

    hides = frozenset(("id_token", "refresh_token"))

    id_token: str
    refresh_token: str


class Warn(Struct, frozen=True):
    """Log why there is no renewal."""

    why: str


Task: TypeAlias = ReadFiles | RunPlugin | Discover | Redeem
Action: TypeAlias = Task | Use | Wait | Refuse | CloseConnections | Keep | Warn
