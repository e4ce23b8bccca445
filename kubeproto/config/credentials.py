"""The credentials machine: has credentials ready when a request needs them, and renews them in time.

::

    NoCredentials ── Wanted ───────────────► Renewing

    Held ─────────── Wanted ───────────────► Held, Renewing
    Held ─────────── CredentialsRejected ──► Held, Renewing

    Renewing ─────── Wanted ───────────────► Renewing
    Renewing ─────── FilesRead ────────────► Held, Troubled
    Renewing ─────── PluginEnded ──────────► Held, Troubled
    Renewing ─────── PluginMissing ────────► Troubled
    Renewing ─────── Failed ───────────────► Troubled
    Renewing ─────── Responded ────────────► Held, Renewing, Troubled
    Renewing ─────── CredentialsRejected ──► Renewing
    Renewing ─────── Abandoned ────────────► Troubled

    Troubled ─────── Wanted ───────────────► Renewing, Troubled
    Troubled ─────── CredentialsRejected ──► Renewing, Troubled

    Fixed ────────── Wanted ───────────────► Fixed
    Fixed ────────── CredentialsRejected ──► Fixed

Rules

- `now` is Unix time, because tokens expire by the calendar. A clock that jumps costs one renewal too many or
  one 401, never a loop.
- `Wanted` gets exactly one of `Use`, `Wait` and `Refuse`; a task may come before it. After `Wait`, the driver
  steps with `Wanted` again as soon as the state has changed. So ten requests that meet an expired token start
  one task and get the same token.
- One task at a time. The driver reports its outcome, or `Abandoned` if its performer was cancelled: nothing
  is lost then, and the next request starts it again.
- Valid credentials are used while others are being obtained. That begins early: at nine tenths of their time,
  or a minute before its end at the latest.
- A 401 starts a renewal only if it was for the present credentials, not for older ones. Its request is sent
  once more if the renewal brought others (of a higher generation), and not otherwise.
- If new credentials are refused at once, more of them will not help, and each costs a run of a plugin: the
  next renewal for a 401 comes a second later, then two, and so on up to five minutes. Credentials that worked
  for that long are trusted again.
- A renewal that fails is retried after a second, then two, up to a minute. Until then, credentials that have
  not expired are still used, because a 401 may be a problem of the server and a file may be half written; if
  there are none, requests are refused with the reason. So no request waits for a backoff.
- Credentials that have expired when they arrive come from a wrong clock, and are used for ten seconds.
- When the client certificate changes, open connections still have the old one and have to be closed.
- An action that contains a secret does not show it, and no reason quotes a file, plugin or provider.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError
from ..wire import exponential_backoff
from ._credentials_values import (
    FOREVER,
    Abandoned,
    Action,
    CloseConnections,
    CredentialsRejected,
    Event,
    Failed,
    FilesRead,
    Fixed,
    Held,
    Holding,
    Keep,
    NoCredentials,
    PluginEnded,
    PluginMissing,
    ReadFiles,
    Refuse,
    RenewalContext,
    Renewing,
    Responded,
    RunPlugin,
    State,
    Task,
    Troubled,
    Use,
    Wait,
    Wanted,
    Warn,
)
from ._errors import ConfigError, CredentialsError
from ._files import inline, read_identity
from ._identity import Identity
from ._oidc import Discover, Grant, Redeem, discover, expiry, granted, redeem
from ._plugin import INTERACTIVE_TIMEOUT, TIMEOUT, exec_info, read_output
from ._secrets import Credentials, bearer

__all__ = [
    "FILES_EVERY",
    "LONGEST_BACKOFF",
    "LONGEST_DOUBT",
    "MARGIN",
    "SHORTEST",
    "Abandoned",
    "Action",
    "CloseConnections",
    "Credentials",
    "CredentialsRejected",
    "Discover",
    "Event",
    "Failed",
    "FilesRead",
    "Fixed",
    "Held",
    "Holding",
    "Keep",
    "NoCredentials",
    "PluginEnded",
    "PluginMissing",
    "ReadFiles",
    "Redeem",
    "Refuse",
    "RenewalContext",
    "Renewing",
    "Responded",
    "RunPlugin",
    "State",
    "Step",
    "Task",
    "Troubled",
    "Use",
    "Wait",
    "Wanted",
    "Warn",
    "begin",
    "step",
]

Step: TypeAlias = tuple[State, tuple[Action, ...]]

# Projected tokens are replaced long before they expire; Go's client looks as often.
FILES_EVERY: Final = 60.0
# Between the last moment at which a token is sent and its end: the request takes time to arrive.
MARGIN: Final = 60.0
SHORTEST: Final = 10.0
LONGEST_BACKOFF: Final = 60.0
LONGEST_DOUBT: Final = 300.0


def begin(identity: Identity, now: float, *, terminal: bool = False) -> State:
    """Return the first state. `terminal` says if a plugin could talk to a person."""
    if identity.files:
        return NoCredentials(RenewalContext(identity=identity))
    if identity.plugin:
        interactive = identity.plugin.can_ask(terminal=terminal)
        return NoCredentials(RenewalContext(identity=identity, interactive=interactive))
    if not identity.oidc:
        return Fixed(inline(identity), "these credentials are fixed")
    credentials = replace(inline(identity), authorization=bearer(identity.oidc.id_token))
    if not identity.oidc.refresh_token:
        return Fixed(credentials, "there is no refresh-token to renew the id-token with: log in again")
    end = expiry(identity.oidc.id_token)
    if end is None or end <= now:
        return NoCredentials(RenewalContext(identity=identity))
    return Held(RenewalContext(identity=identity), _hold(credentials, now, end))


def step(state: State, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event."""
    match state, event:
        case Fixed(), Wanted():
            return state, (Use(state.credentials),)
        case Fixed(), CredentialsRejected():
            return state, (Warn(f"the server refused the credentials, and {state.why}"),)
        case NoCredentials(), Wanted():
            return _renew(state.context, None, 0, now)
        case Held(holding=holding), Wanted() if now < holding.due:
            return state, (Use(holding.credentials),)
        case Held(holding=holding), Wanted():
            return _renew(state.context, holding, 0, now)
        case Held(holding=holding), CredentialsRejected() if _is_news(event, holding, now):
            renewing = Renewing(state.context, _task(state.context), holding, refused=True)
            return renewing, (renewing.task,)
        case Renewing(), Wanted():
            return state, (_offer(state, now),)
        case Renewing(holding=Holding() as holding), CredentialsRejected() if _is_of(event, holding):
            return replace(state, refused=True), ()
        case Troubled(), Wanted() if now >= state.retry:
            return _renew(state.context, state.holding, state.failures, now)
        case Troubled(holding=Holding() as holding), Wanted() if now < holding.expires:
            return state, (Use(holding.credentials),)
        case Troubled(), Wanted():
            return state, (Refuse(state.why, state.retry),)
        case Troubled(holding=Holding() as holding), CredentialsRejected() if now >= state.retry and _is_news(
            event, holding, now
        ):
            renewing = Renewing(state.context, _task(state.context), holding, True, state.failures)
            return renewing, (renewing.task,)
        case Held() | Renewing() | Troubled(), CredentialsRejected():
            return state, ()
        case Renewing(), Abandoned():
            return Troubled(state.context, state.holding, state.failures, now, "the renewal was given up"), ()
        case Renewing(task=RunPlugin(command=command)), PluginMissing():
            hint = state.context.identity.plugin.install_hint if state.context.identity.plugin else ""
            missing = f"there is no program {command!r} to get credentials from"
            return _fail(state, f"{missing}; {hint}" if hint else missing, now)
        case Renewing(), Failed():
            return _fail(state, f"{_named(state.task)}: {event.why}", now)
        case Renewing(task=ReadFiles()), FilesRead():
            return _continue_hold_or_fail(state, event, now)
        case Renewing(task=RunPlugin()), PluginEnded():
            return _continue_hold_or_fail(state, event, now)
        case Renewing(task=Discover() | Redeem()), Responded():
            return _continue_hold_or_fail(state, event, now)
        case _:
            raise LocalProtocolError(f"{event} cannot happen in {type(state).__name__}")


def _task(context: RenewalContext) -> Task:
    """Return the task that renews these credentials."""
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


def _renew(context: RenewalContext, holding: Holding | None, failures: int, now: float) -> Step:
    renewing = Renewing(context, _task(context), holding, failures=failures)
    return renewing, (renewing.task, _offer(renewing, now))


def _offer(state: Renewing, now: float) -> Action:
    """Return what a request gets while others are being obtained."""
    if state.holding and not state.refused and now < state.holding.expires:
        return Use(state.holding.credentials)
    return Wait()


def _is_of(event: CredentialsRejected, holding: Holding) -> bool:
    return event.generation == holding.credentials.generation


def _is_news(event: CredentialsRejected, holding: Holding, now: float) -> bool:
    """Return whether a 401 concerns the present credentials, so that others may help."""
    pause = exponential_backoff(holding.doubts, initial=1.0, maximum=LONGEST_DOUBT)
    return _is_of(event, holding) and now >= holding.since + pause


def _continue_hold_or_fail(state: Renewing, event: FilesRead | PluginEnded | Responded, now: float) -> Step:
    """The task has ended. Its outcome says whether it succeeded."""
    identity = state.context.identity
    try:
        match state.task, event:
            case ReadFiles(), FilesRead(files=files):
                return _succeed(state, read_identity(identity, files), now, None)
            case RunPlugin(command=command), PluginEnded(code=code) if code:
                problem = f"the plugin {command!r} ended with {code}"
            case RunPlugin(), PluginEnded(stdout=stdout) if identity.plugin:
                credentials, expires = read_output(stdout, identity.plugin)
                return _succeed(state, credentials, now, expires)
            case Discover(), Responded(status, headers, body) if identity.oidc:
                task = redeem(identity.oidc, status, headers, body)
                return replace(state, task=task), (task,)
            case Redeem(), Responded(status, headers, body) if identity.oidc:
                return _grant(state, granted(identity.oidc, status, headers, body), now)
            case _:
                raise LocalProtocolError(f"{event} cannot come of {state.task}")
    except (ConfigError, CredentialsError) as error:
        problem = str(error)
    return _fail(state, problem, now)


def _grant(state: Renewing, grant: Grant, now: float) -> Step:
    """Take new tokens: the next renewal needs them too."""
    identity = replace(state.context.identity, oidc=grant.oidc)
    credentials = replace(inline(identity), authorization=bearer(grant.oidc.id_token))
    renewed = replace(state, context=replace(state.context, identity=identity))
    held, actions = _succeed(renewed, credentials, now, grant.expires)
    return held, (*actions, Keep(grant.oidc.id_token, grant.oidc.refresh_token))


def _succeed(state: Renewing, credentials: Credentials, now: float, expires: float | None) -> Step:
    before = state.holding
    holding = _hold(credentials, now, expires)
    if isinstance(state.task, ReadFiles):
        holding = replace(holding, due=now + FILES_EVERY)
    if before is None:
        return Held(state.context, holding), ()
    same = credentials.same_as(before.credentials)
    generation = before.credentials.generation + (0 if same else 1)
    holding = replace(holding, credentials=replace(credentials, generation=generation))
    if state.refused:
        doubts = 0 if now >= before.since + LONGEST_DOUBT else before.doubts
        holding = replace(holding, doubts=doubts + 1)
    else:
        holding = replace(holding, since=before.since, doubts=before.doubts)
    changed = credentials.pair != before.credentials.pair
    return Held(state.context, holding), (CloseConnections(),) if changed else ()


def _hold(credentials: Credentials, now: float, expires: float | None) -> Holding:
    if expires is None:
        return Holding(credentials=credentials, since=now, due=FOREVER)
    expires = max(expires, now + SHORTEST)
    due = expires - min(MARGIN, (expires - now) / 10)
    return Holding(credentials=credentials, since=now, due=due, expires=expires)


def _fail(state: Renewing, why: str, now: float) -> Step:
    failures = state.failures + 1
    retry = now + exponential_backoff(failures, initial=1.0, maximum=LONGEST_BACKOFF)
    return Troubled(state.context, state.holding, failures, retry, why), (Warn(why),)


def _named(task: Task) -> str:
    match task:
        case ReadFiles():
            return f"reading {', '.join(task.paths)}"
        case RunPlugin():
            return f"the plugin {task.command!r}"
        case _:
            return f"asking the identity provider at {task.connection.host}"
