"""The credentials machine: obtains credentials when a request needs them, and renews them in time.

::

    NoCredentials ── CredentialsRequested ──► Renewing

    Active ───────── CredentialsRequested ──► Active, Renewing
    Active ───────── CredentialsRejected ───► Active, Renewing

    Renewing ─────── CredentialsRequested ──► Renewing
    Renewing ─────── FilesRead ─────────────► Active, BackingOff
    Renewing ─────── PluginExited ──────────► Active, BackingOff
    Renewing ─────── PluginMissing ─────────► BackingOff
    Renewing ─────── Failed ────────────────► BackingOff
    Renewing ─────── Responded ─────────────► Active, Renewing, BackingOff
    Renewing ─────── CredentialsRejected ───► Renewing
    Renewing ─────── Cancelled ─────────────► BackingOff

    BackingOff ───── CredentialsRequested ──► Renewing, BackingOff
    BackingOff ───── CredentialsRejected ───► Renewing, BackingOff

    Static ───────── CredentialsRequested ──► Static
    Static ───────── CredentialsRejected ───► Static

Rules

- `now` is Unix time, because tokens expire by the calendar. A clock that jumps costs an unnecessary renewal
  or a 401, never a loop.
- `CredentialsRequested` gets exactly one of `UseCredentials`, `Wait` and `RefuseRequest`, after a task if one
  begins. After `Wait`, the driver steps with it again when the state has changed. So ten requests that meet
  an expired token start a single task and get the same token.
- One task at a time. The driver reports its outcome, or `Cancelled` if its performer was cancelled: nothing
  is lost then, and the next request starts it again.
- Valid credentials are used while new credentials are obtained. A renewal begins early: at nine tenths of
  their lifetime, or a minute before its end at the latest.
- A 401 starts a renewal only if it was for the current credentials, not for older ones. Its request is
  repeated once if the renewal returned other credentials (of a higher generation), and not otherwise.
- If new credentials are rejected immediately, another renewal will not help, and each costs a run of a
  plugin: the next renewal for a 401 comes after a second, then two, and so on up to five minutes. Credentials
  that were accepted for that long are trusted again.
- A failed renewal is retried after a second, then two, up to a minute. Until then, credentials that have not
  expired are used, because a 401 may be a problem of the server and a file may be half written. Without such
  credentials, requests are refused with the reason. So no request waits for a backoff.
- Credentials that have expired on arrival come from a wrong clock, and are used for ten seconds.
- When the client certificate changes, open connections still use the old one and must be closed.
- The repr of an action conceals its secrets, and no reason quotes a file, plugin or provider.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec.structs import replace

from .._errors import ConfigError, CredentialsError, LocalProtocolError
from ..wire import exponential_backoff
from ._credentials_values import (
    NEVER,
    Action,
    Active,
    BackingOff,
    Cancelled,
    CloseConnections,
    CredentialsRejected,
    CredentialsRequested,
    CurrentCredentials,
    Event,
    Failed,
    FilesRead,
    NoCredentials,
    PluginExited,
    PluginMissing,
    ReadFiles,
    RefuseRequest,
    RenewalContext,
    Renewing,
    Responded,
    RunPlugin,
    SaveTokens,
    State,
    Static,
    Task,
    UseCredentials,
    Wait,
    Warn,
)
from ._identity import Identity, credentials_from_files, inline_credentials
from ._oidc import Discover, Grant, ProviderRequest, Redeem, discover, read_grant, redeem, token_expiry
from ._plugin import INTERACTIVE_TIMEOUT, TIMEOUT, exec_info, read_output
from ._signing_credentials import Credentials, bearer_authorization

__all__ = [
    "FILE_REFRESH_INTERVAL",
    "MAX_BACKOFF",
    "MAX_REJECTION_BACKOFF",
    "MIN_LIFETIME",
    "RENEWAL_MARGIN",
    "Action",
    "Active",
    "BackingOff",
    "Cancelled",
    "CloseConnections",
    "Credentials",
    "CredentialsRejected",
    "CredentialsRequested",
    "CurrentCredentials",
    "Discover",
    "Event",
    "Failed",
    "FilesRead",
    "NoCredentials",
    "PluginExited",
    "PluginMissing",
    "ProviderRequest",
    "ReadFiles",
    "Redeem",
    "RefuseRequest",
    "RenewalContext",
    "Renewing",
    "Responded",
    "RunPlugin",
    "SaveTokens",
    "State",
    "Static",
    "Step",
    "Task",
    "UseCredentials",
    "Wait",
    "Warn",
    "begin",
    "step",
]

Step: TypeAlias = tuple[State, tuple[Action, ...]]

# All in seconds. Projected tokens are replaced long before they expire; client-go reads them as often.
FILE_REFRESH_INTERVAL: Final = 60.0
# Between the last use of a token and its expiry, because the request takes time to arrive.
RENEWAL_MARGIN: Final = 60.0
MIN_LIFETIME: Final = 10.0
MAX_BACKOFF: Final = 60.0
MAX_REJECTION_BACKOFF: Final = 300.0


def begin(identity: Identity, now: float, *, has_terminal: bool = False) -> State:
    """Return the first state. With `has_terminal` a plugin may talk to a person."""
    if identity.files:
        return NoCredentials(RenewalContext(identity=identity))
    if identity.plugin:
        interactive = identity.plugin.is_interactive(has_terminal=has_terminal)
        return NoCredentials(RenewalContext(identity=identity, interactive=interactive))
    if not identity.oidc:
        return Static(inline_credentials(identity), "these credentials cannot be renewed")
    credentials = replace(
        inline_credentials(identity), authorization=bearer_authorization(identity.oidc.id_token)
    )
    if not identity.oidc.refresh_token:
        return Static(credentials, "there is no refresh-token to renew the id-token: log in again")
    expires = token_expiry(identity.oidc.id_token)
    if expires is None or expires <= now:
        return NoCredentials(RenewalContext(identity=identity))
    return Active(RenewalContext(identity=identity), _schedule_renewal(credentials, now, expires))


def step(state: State, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event."""
    match state, event:
        case Static(), CredentialsRequested():
            return state, (UseCredentials(state.credentials),)
        case Static(), CredentialsRejected():
            return state, (Warn(f"the server rejected the credentials, and {state.reason}"),)
        case NoCredentials(), CredentialsRequested():
            return _renew(state.context, None, 0, now)
        case Active(current=current), CredentialsRequested() if now < current.renew_at:
            return state, (UseCredentials(current.credentials),)
        case Active(current=current), CredentialsRequested():
            return _renew(state.context, current, 0, now)
        case Active(current=current), CredentialsRejected() if _should_renew(event, current, now):
            renewing = Renewing(state.context, _make_task(state.context), current, rejected=True)
            return renewing, (renewing.task,)
        case Renewing(), CredentialsRequested():
            return state, (_use_or_wait(state, now),)
        case Renewing(current=CurrentCredentials() as current), CredentialsRejected() if _concerns(
            event, current
        ):
            return replace(state, rejected=True), ()
        case BackingOff(), CredentialsRequested() if now >= state.retry_at:
            return _renew(state.context, state.current, state.failures, now)
        case BackingOff(current=CurrentCredentials() as current), CredentialsRequested() if (
            now < current.expires
        ):
            return state, (UseCredentials(current.credentials),)
        case BackingOff(), CredentialsRequested():
            return state, (RefuseRequest(state.reason, state.retry_at),)
        case BackingOff(current=CurrentCredentials() as current), CredentialsRejected() if (
            now >= state.retry_at and _should_renew(event, current, now)
        ):
            renewing = Renewing(state.context, _make_task(state.context), current, True, state.failures)
            return renewing, (renewing.task,)
        case Active() | Renewing() | BackingOff(), CredentialsRejected():
            return state, ()
        case Renewing(), Cancelled():
            return BackingOff(
                state.context, state.current, state.failures, now, "the renewal was cancelled"
            ), ()
        case Renewing(task=RunPlugin(command=command)), PluginMissing():
            hint = state.context.identity.plugin.install_hint if state.context.identity.plugin else ""
            problem = f"the program {command!r}, which prints the credentials, does not exist"
            return _fail(state, f"{problem}; {hint}" if hint else problem, now)
        case Renewing(), Failed():
            return _fail(state, f"{_describe_task(state.task)}: {event.reason}", now)
        case Renewing(task=ReadFiles()), FilesRead():
            return _finish_task(state, event, now)
        case Renewing(task=RunPlugin()), PluginExited():
            return _finish_task(state, event, now)
        case Renewing(task=Discover() | Redeem()), Responded():
            return _finish_task(state, event, now)
        case _:
            raise LocalProtocolError(
                f"the credentials machine in state {type(state).__name__} cannot process {event}"
            )


def _make_task(context: RenewalContext) -> Task:
    """Return the first task of a renewal."""
    identity = context.identity
    if identity.plugin:
        info = exec_info(identity.plugin, interactive=context.interactive)
        return RunPlugin(
            command=identity.plugin.command,
            args=identity.plugin.args,
            env=(*identity.plugin.env, ("KUBERNETES_EXEC_INFO", info)),
            interactive=context.interactive,
            timeout=INTERACTIVE_TIMEOUT if context.interactive else TIMEOUT,
        )
    return discover(identity.oidc) if identity.oidc else ReadFiles(identity.files)


def _renew(context: RenewalContext, current: CurrentCredentials | None, failures: int, now: float) -> Step:
    renewing = Renewing(context, _make_task(context), current, failures=failures)
    return renewing, (renewing.task, _use_or_wait(renewing, now))


def _use_or_wait(state: Renewing, now: float) -> Action:
    """Return the action for a request during a renewal."""
    if state.current and not state.rejected and now < state.current.expires:
        return UseCredentials(state.current.credentials)
    return Wait()


def _concerns(event: CredentialsRejected, current: CurrentCredentials) -> bool:
    return event.generation == current.credentials.generation


def _should_renew(event: CredentialsRejected, current: CurrentCredentials, now: float) -> bool:
    """Return whether a 401 is for the current credentials and the backoff of rejections has passed."""
    delay = exponential_backoff(current.rejections, initial=1.0, maximum=MAX_REJECTION_BACKOFF)
    return _concerns(event, current) and now >= current.accepted_since + delay


def _finish_task(state: Renewing, event: FilesRead | PluginExited | Responded, now: float) -> Step:
    """Process the outcome of the task: the next task, new credentials, or a failure."""
    identity = state.context.identity
    try:
        match state.task, event:
            case ReadFiles(), FilesRead(files=files):
                return _succeed(state, credentials_from_files(identity, files), now, None)
            case RunPlugin(command=command), PluginExited(code=code) if code:
                problem = f"the plugin {command!r} exited with {code}"
            case RunPlugin(), PluginExited(stdout=stdout) if identity.plugin:
                credentials, expires = read_output(stdout, identity.plugin)
                return _succeed(state, credentials, now, expires)
            case Discover(), Responded(status, headers, body) if identity.oidc:
                task = redeem(identity.oidc, status, headers, body)
                return replace(state, task=task), (task,)
            case Redeem(), Responded(status, headers, body) if identity.oidc:
                return _save_grant(state, read_grant(identity.oidc, status, headers, body), now)
            case _:
                raise LocalProtocolError(f"{event} is not an outcome of {state.task}")
    except (ConfigError, CredentialsError) as error:
        problem = str(error)
    return _fail(state, problem, now)


def _save_grant(state: Renewing, grant: Grant, now: float) -> Step:
    """Use the new tokens; the next renewal needs the new refresh token."""
    identity = replace(state.context.identity, oidc=grant.oidc)
    authorization = bearer_authorization(grant.oidc.id_token)
    credentials = replace(inline_credentials(identity), authorization=authorization)
    renewed = replace(state, context=replace(state.context, identity=identity))
    next_state, actions = _succeed(renewed, credentials, now, grant.expires)
    return next_state, (*actions, SaveTokens(grant.oidc.id_token, grant.oidc.refresh_token))


def _succeed(state: Renewing, credentials: Credentials, now: float, expires: float | None) -> Step:
    previous = state.current
    current = _schedule_renewal(credentials, now, expires)
    if isinstance(state.task, ReadFiles):
        current = replace(current, renew_at=now + FILE_REFRESH_INTERVAL)
    if previous is None:
        return Active(state.context, current), ()
    same = credentials.same_as(previous.credentials)
    generation = previous.credentials.generation + (0 if same else 1)
    current = replace(current, credentials=replace(credentials, generation=generation))
    if state.rejected:
        trusted = now >= previous.accepted_since + MAX_REJECTION_BACKOFF
        current = replace(current, rejections=1 if trusted else previous.rejections + 1)
    else:
        current = replace(current, accepted_since=previous.accepted_since, rejections=previous.rejections)
    changed = credentials.pair != previous.credentials.pair
    return Active(state.context, current), (CloseConnections(),) if changed else ()


def _schedule_renewal(credentials: Credentials, now: float, expires: float | None) -> CurrentCredentials:
    if expires is None:
        return CurrentCredentials(credentials=credentials, accepted_since=now, renew_at=NEVER)
    expires = max(expires, now + MIN_LIFETIME)
    renew_at = expires - min(RENEWAL_MARGIN, (expires - now) / 10)
    return CurrentCredentials(credentials=credentials, accepted_since=now, renew_at=renew_at, expires=expires)


def _fail(state: Renewing, reason: str, now: float) -> Step:
    failures = state.failures + 1
    retry_at = now + exponential_backoff(failures, initial=1.0, maximum=MAX_BACKOFF)
    return BackingOff(state.context, state.current, failures, retry_at, reason), (Warn(reason),)


def _describe_task(task: Task) -> str:
    match task:
        case ReadFiles():
            return f"reading {', '.join(task.paths)}"
        case RunPlugin():
            return f"the plugin {task.command!r}"
        case _:
            return f"the request to the identity provider at {task.connection.host}"
