"""Random events for each machine's `step`: it is total, and what it says keeps its promises.

Mostly an event is one that can happen in the state at hand, and now and then it is any at all: then the
machine either takes it or raises `LocalProtocolError`, nothing else, and is where it was.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from random import Random
from typing import Any, Final

import kubeproto as kp
from kubeproto.config import Identity, Oidc, Plugin, UnreadableFile
from kubeproto.config import credentials as c
from kubeproto.control import LOW, Rate, WorkQueue, election
from kubeproto.kinds.coordination_v1 import Lease, LeaseSpec
from kubeproto.objects import MicroTime
from kubeproto.watching import pager, resync
from kubeproto.wire import (
    Broken,
    Conflicted,
    Expired,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
    Unreadable,
    Unsupported,
)

from .bookkeeping import walk_finalizers, walk_own_writes, walk_recorder

STEPS: Final = 120
ODD: Final = 0.05  # the share of events that may be impossible

_OUTCOMES: Final[tuple[Outcome, ...]] = (
    Broken("reset"), TimedOut("silent"), Unreachable("refused"), Throttled("busy", 429, 3.0),
    ServerFailed("no", 500), Refused("no", 403), Refused("no", 404), Rejected("no", 400), Garbled("?"),
    Conflicted("no", 409), Expired("old", 410), Expired("old", 410, token="t9"), TooLarge("new", 504),
    Unsupported("old", 400), Unreadable("corrupt", 500),
)  # fmt: skip


def play_machines(seed: int) -> list[str]:
    """Walk through each machine; return what was found."""
    found: list[str] = []
    for walk in (_resync, _pager, _election, _credentials, _queue):
        rng = Random(f"{seed} {walk.__name__}")
        for problem in walk(rng):
            found.append(f"0 s: {walk.__name__[1:]}: {problem}")
            break
    for keep in (walk_finalizers, walk_recorder, walk_own_writes):
        rng = Random(f"{seed} {keep.__name__}")
        found += [f"0 s: {keep.__name__}: {problem}" for problem in islice(keep(rng, _OUTCOMES), 1)]
    return found


class _Walk:
    """A machine on its way, and what it said."""

    def __init__(self, step: Callable[[Any, Any, float], Any], state: Any, now: float = 1000.0) -> None:
        self.step, self.state, self.now = step, state, now
        self.actions: tuple[Any, ...] = ()

    def go(self, event: Any) -> str:
        """Step; return what is wrong."""
        before = self.state
        try:
            self.state, self.actions = self.step(before, event, self.now)
        except kp.LocalProtocolError:
            self.actions = ()
            return ""
        except Exception as error:
            return f"{type(error).__name__} from {event!r} in {before!r}: {error}"
        for action in self.actions:
            at, latest = getattr(action, "at", self.now), getattr(action, "latest", None)
            if at < self.now or (latest is not None and latest < at):
                return f"{action!r} is due in the past, at {self.now}, for {event!r} in {before!r}"
        sends = [one for one in self.actions if type(one).__name__.startswith("Send")]
        return f"two requests at once: {sends!r}" if len(sends) > 1 else ""


def _resync(rng: Random) -> Iterator[str]:
    settings = resync.Settings(
        streaming=rng.random() < 0.6, page_size=rng.choice((0, 2)), first=rng.choice(("0", ""))
    )
    walk, version, staged = _Walk(resync.step, resync.begin(settings)), 1, False
    for _ in range(STEPS):
        walk.now += rng.choice((0.0, 0.01, 0.5, 5.0, 30.0, 80.0))
        version += rng.randrange(3)
        events = [
            resync.Opened(), resync.Closed(), resync.Failed(rng.choice(_OUTCOMES)), _received(rng, version),
            _received(rng, version), _received(rng, version),
        ]  # fmt: skip
        if isinstance(walk.state, resync.Listing):
            token = rng.choice(("", "", f"t{version}"))
            events += [resync.Listed(str(version), token, count=rng.randrange(3), first=f"o{version}")] * 4
        if isinstance(walk.state, resync.Idle):
            events = [resync.Started()] * 20 + [resync.Stopped()]
        if rng.random() < 0.03:
            events = [resync.Paused(), resync.Refreshed(), resync.Stopped()]
        yield from filter(None, [walk.go(rng.choice(events))])
        for action in walk.actions:
            staged = isinstance(action, resync.Stage) or (staged and not isinstance(action, resync.Discard))
            if isinstance(action, resync.Replace) and not action.version:
                yield f"a commit without a version in {walk.state!r}"
        if isinstance(walk.state, resync.Ended):
            walk.state = resync.begin(settings, version=rng.choice(("", str(version))))


def _received(rng: Random, version: int) -> resync.Received:
    live, marked = rng.random() < 0.3, rng.random() < 0.3
    return resync.Received(
        rng.choice((0, 1, 1, 5)),
        rng.choice(("", str(version), str(version))),
        live=live,
        bookmark=marked or rng.random() < 0.3,
        initial_events_end=marked,
        lost=rng.random() < 0.02,
    )


def _pager(rng: Random) -> Iterator[str]:
    for _ in range(STEPS // 6):
        plan = pager.Plan(
            version=rng.choice(("", "0", "7")), limit=rng.choice((0, 2)),
            on_expired=rng.choice(("list whole", "go on", "fail")),
        )  # fmt: skip
        walk = _Walk(pager.step, pager.Ready(plan))
        yield from filter(None, [walk.go(pager.Started())])
        staged = 0
        for page in range(12):
            if isinstance(walk.state, pager.Done | pager.Lost):
                break
            token = rng.choice(("", f"t{page}", f"t{page}", "same", "x" * 20_000))
            listed = pager.Listed(str(page), token, count=rng.choice((0, 2)), first=f"o{page}")
            yield from filter(
                None, [walk.go(rng.choice((listed, listed, pager.Failed(rng.choice(_OUTCOMES)))))]
            )
            for action in walk.actions:
                staged += isinstance(action, pager.Stage)
                if isinstance(action, pager.Replace) and not staged:
                    yield "a commit of nothing that was staged"


def _lease(rng: Random, version: int, now: float) -> Lease:
    holder = rng.choice(("me", "other", "", None))
    spec = LeaseSpec(
        holder_identity=holder, lease_duration_seconds=rng.choice((15, 15, None, 0)),
        lease_transitions=rng.randrange(3), renew_time=MicroTime.of(
            datetime.fromtimestamp(now + rng.randrange(-99, 99), UTC)
        ),
    )  # fmt: skip
    return Lease(metadata=kp.ObjectMeta(name="l", namespace="n", resource_version=str(version)), spec=spec)


def _election(rng: Random) -> Iterator[str]:
    blank = Lease(metadata=kp.ObjectMeta(name="l", namespace="n"))
    coordinated = rng.random() < 0.2
    candidate = election.Candidate(lease=blank, identity="me", coordinated=coordinated)
    walk = _Walk(election.step, election.begin(candidate))
    leads, sent = False, 0.0
    for version in range(STEPS):
        walk.now += rng.choice((0.0, 0.1, 2.0, 2.0, 6.0, 16.0))
        name = type(walk.state).__name__
        found: Any = election.Found(_lease(rng, version, walk.now))
        failed = election.Failed(rng.choice(_OUTCOMES))
        likely: Sequence[Any] = {
            "Idle": [election.Started()], "Looking": [found, found, failed],
            "Taking": [election.Wrote(_lease(rng, version, walk.now)), failed, _mine(version, walk)],
            "Renewing": [_mine(version, walk), _mine(version, walk), failed],
            "Checking": [found, failed], "Leaving": [found, failed, _found(version)],
            "Clearing": [_mine(version, walk), failed],
        }.get(name, [found])  # fmt: skip
        event = rng.choice(likely)
        if rng.random() < ODD * 2:
            event = rng.choice(
                (election.Stopped(), election.LeaseExpired(), found, failed, election.Started())
            )
        if isinstance(event, election.Found | election.Wrote | election.Failed):
            walk.now = max(walk.now, sent)  # nothing is answered before it was sent
        yield from filter(None, [walk.go(event)])
        if election.leadership_status(walk.state, walk.now).leads and isinstance(walk.state, election.Ended):
            yield "what has ended leads"
        for action in walk.actions:
            sent = getattr(action, "latest", sent)
            if isinstance(action, election.StartLeading):
                leads = True
                if action.until > walk.now + candidate.renew_deadline:
                    yield f"leads until {action.until}, {candidate.renew_deadline} s after {walk.now} at most"
            leads = leads and not isinstance(action, election.StopLeading)
        if leads != isinstance(walk.state, election.Renewing | election.Checking):
            yield f"the work {'goes on' if leads else 'is cut off'} in {type(walk.state).__name__}"
        if isinstance(walk.state, election.Ended):
            walk.state, leads = election.begin(candidate), False


def _found(version: int) -> election.Found:
    spec = LeaseSpec(holder_identity="me", lease_duration_seconds=15)
    metadata = kp.ObjectMeta(name="l", namespace="n", resource_version=str(version))
    return election.Found(Lease(metadata=metadata, spec=spec))


def _mine(version: int, walk: _Walk) -> election.Wrote:
    return election.Wrote(_found(version).lease)


_IDENTITIES: Final = (
    Identity(plugin=Plugin(command="login")),
    Identity(plugin=Plugin(command="login", install_hint="install it")),
    Identity(token_file="/token"),
    Identity(oidc=Oidc(issuer="https://id", client_id="me", refresh_token="r")),
    Identity(token="fixed"),
)  # fmt: skip
_EXEC: Final = "client.authentication.k8s.io/v1"


def _credentials(rng: Random) -> Iterator[str]:
    walk = _Walk(c.step, None, now=1_000_000.0)
    for identity in _IDENTITIES:
        walk.state = c.begin(identity, walk.now)
        generation, task, token = 0, None, 0
        for _ in range(STEPS // 3):
            walk.now += rng.choice((0.0, 0.5, 2.0, 61.0, 400.0))
            events: list[Any] = [c.Wanted(), c.Wanted(), c.CredentialsRejected(generation)]
            if task is not None:
                token += 1
                came = _came(rng, task, token, walk.now)
                events = [
                    came,
                    came,
                    came,
                    c.Wanted(),
                    c.Failed("no"),
                    c.Abandoned(),
                    c.CredentialsRejected(generation),
                ]
                if isinstance(task, c.RunPlugin):
                    events.append(c.PluginMissing())
            event = rng.choice(events)
            yield from filter(None, [walk.go(event)])
            if task is not None and not isinstance(walk.state, c.Renewing):
                task = None
            for action in walk.actions:
                if isinstance(action, c.ReadFiles | c.RunPlugin | c.Discover | c.Redeem):
                    task = action
                if isinstance(action, c.Use):
                    if action.credentials.generation < generation:
                        yield f"older credentials after newer ones, for {event!r}"
                    generation = action.credentials.generation
            replies = [one for one in walk.actions if isinstance(one, c.Use | c.Wait | c.Refuse)]
            if isinstance(event, c.Wanted) and len(replies) != 1:
                yield f"{len(replies)} replies to a request"


def _came(rng: Random, task: Any, number: int, now: float) -> Any:
    bad = rng.random() < 0.3
    expires = now + rng.choice((-50.0, 30.0, 600.0))
    match task:
        case c.ReadFiles(paths):
            content: Any = UnreadableFile("gone") if bad else f"token-{rng.choice((0, number))}".encode()
            return c.FilesRead(tuple(content for _ in paths))
        case c.RunPlugin():
            stamp = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            status = {"token": f"token-{number}", "expirationTimestamp": stamp}
            text = json.dumps({"apiVersion": _EXEC, "kind": "ExecCredential", "status": status}).encode()
            return c.PluginEnded(int(bad), text)
        case c.Discover():
            return c.Answered(503 if bad else 200, (), b'{"token_endpoint":"https://id/token"}')
        case _:
            claims = urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
            body = json.dumps({"id_token": f"e30.{claims}.{number}", "refresh_token": "r"}).encode()
            return c.Answered(400 if bad else 200, (), body)


def _queue(rng: Random) -> Iterator[str]:
    queue: WorkQueue[str] = WorkQueue(
        debounce=rng.choice((0.0, 0.0, 2.0)), rate=rng.choice((None, None, Rate(1.0, burst=2)))
    )
    now, running, held = 0.0, list[str](), list[str]()
    wanted: set[str] = set()
    for _ in range(STEPS):
        now += rng.choice((0.0, 0.0, 0.1, 1.0, 5.0))
        key = rng.choice("abcdef")
        match rng.randrange(13):
            case 0 | 1 | 2:
                queue.add(key, now, after=rng.choice((0.0, 0.0, 3.0)), priority=rng.choice((0, 0, LOW, 5)))
                wanted.add(key)
            case 3 | 4 | 5 | 6:
                if (work := queue.get(now)) is not None:
                    if work.key in running or work.key in held:
                        yield f"{work.key} is handed out twice at once"
                    if work.key not in wanted:
                        yield f"{work.key} is handed out, and nobody wants it"
                    wanted.discard(work.key)
                    running.append(work.key)
            case 7 | 8 if running:
                key = running.pop(rng.randrange(len(running)))
                if rng.random() < 0.4:
                    queue.retry(key, now)
                    wanted.add(key)
                elif rng.random() < 0.3:
                    queue.requeue(key, now, after=rng.choice((0.0, 2.0)))
                    wanted.add(key)
                hold = rng.random() < 0.2
                queue.done(key, now, hold=hold)
                held += [key] if hold else []
            case 9 if held:
                queue.release(held.pop(), now)
            case 10:
                queue.forget(key)
            case 11 if rng.random() < 0.3:
                queue.discard(key)
                wanted.discard(key)
            case 12:
                queue.metrics(now)
            case _:
                pass
        at = queue.next_at(now)
        if at is not None and at < now:
            yield f"something is due at {at}, before {now}"
        if len(queue) and at is None:
            yield "what is due is never handed out"
    if rng.random() < 0.5:
        queue.drain(now)
        for key in held:
            queue.release(key, now)
        for key in running:
            queue.done(key, now)
        while not queue.finished:
            now = max(now, queue.next_at(now) or now)
            if (work := queue.get(now)) is None:
                yield "a queue that drains never ends"
                return
            queue.done(work.key, now)
    else:
        queue.stop()
    if not queue.finished:
        yield "a queue that has ended has not finished"
