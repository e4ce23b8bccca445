"""Random walks through the resync machine and its pager.

A server has a mood for some steps: in some moods it ends watches, in others it is silent, so that several
failures of the same type occur in a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final, Literal, TypeAlias

from kubeproto.watching import pager, resync
from kubeproto.wire import (
    Expired,
    Garbled,
    Refused,
    Rejected,
    ServerFailed,
    TimedOut,
    TooLarge,
    Unreadable,
    Unsupported,
)

from .walk import OUTCOMES, STEPS, Walk

Mood: TypeAlias = Literal["any", "late", "mute", "stubborn", "ends", "refuses", "pages"]
_MOODS: Final[tuple[Mood, ...]] = ("any", "any", "late", "mute", "stubborn", "ends", "refuses", "pages")


def walk_resync(rng: Random) -> Iterator[str]:
    """Follow a server of changing moods."""
    settings = _settings(rng)
    walk, version, staged = Walk(resync.step, resync.begin(settings, version="1")), 1, False
    mood: Mood = "any"
    for step in range(2 * STEPS):
        if step % 12 == 0:
            mood = rng.choice(_MOODS)
            if rng.random() < 0.5:
                settings = _settings(rng)
                walk.state = resync.begin(settings, version=str(version) if settings.follow else "")
        walk.now += rng.choice((0.0, 0.01, 0.5, 5.0, 30.0, 80.0) if mood == "any" else (0.2, 2.0, 4.0))
        version += rng.randrange(3)
        event = rng.choice(_events(rng, walk.state, mood, version))
        if mood == "mute" and isinstance(walk.state, resync.Watching):
            walk.now += 80.0
        if mood == "late" and isinstance(walk.state, resync.Streaming):
            walk.now += rng.choice((0.0, 0.0, 40.0))
        if rng.random() < 0.04:
            event = rng.choice((resync.Paused(), resync.Refreshed(), resync.Refreshed(), resync.Stopped()))
        yield from filter(None, [walk.go(event)])
        for action in walk.actions:
            staged = isinstance(action, resync.Stage) or (staged and not isinstance(action, resync.Discard))
            if isinstance(action, resync.Replace) and not action.version:
                yield f"a commit without a version in {walk.state!r}"
        if isinstance(walk.state, resync.Ended):
            initial_version = str(version) if settings.follow else rng.choice(("", str(version)))
            walk.state = resync.begin(settings, version=initial_version)


def _settings(rng: Random) -> resync.Settings:
    return resync.Settings(
        streaming=rng.random() < 0.8, page_size=rng.choice((0, 2)), initial_version=rng.choice(("0", "")),
        follow=rng.random() < 0.15,
    )  # fmt: skip


def _events(rng: Random, state: resync.State, mood: Mood, version: int) -> Sequence[Any]:
    """Return the events of a server of this mood in a state, and sometimes an impossible event."""
    if mood == "any" and rng.random() < 0.3:
        return (resync.Opened(), resync.Closed(), resync.Failed(rng.choice(OUTCOMES)), _any(rng, version))
    match state:
        case resync.Idle():
            return [resync.Started()] * 20 + [resync.Stopped()]
        case resync.Asking():
            if mood == "ends":
                return [resync.Opened()]
            older = (Unsupported("old", 400), Expired("old", 410), TooLarge("new", 504))
            refusal = rng.choice(older if mood == "refuses" else OUTCOMES)
            return [resync.Opened()] * 3 + [resync.Failed(refusal)]
        case resync.Streaming() | resync.Lagging():
            return _streamed(rng, mood, version)
        case resync.Listing():
            return _listed(rng, mood, version)
        case resync.Opening():
            failed = (Expired("old", 410), Unreadable("corrupt", 500), Refused("no", 403))
            refusal = rng.choice(failed if mood == "refuses" else OUTCOMES)
            return [resync.Opened()] * 5 + [resync.Failed(refusal)]
        case _:
            return _watched(rng, mood, version)


def _streamed(rng: Random, mood: Mood, version: int) -> Sequence[Any]:
    match mood:
        case "late":
            return [resync.Received(1, str(version), live=True)]
        case "ends":
            return [resync.Closed()]
        case "mute":
            return [resync.Received(1, str(version)), resync.Failed(TimedOut("silent"))]
        case "stubborn":
            return [resync.Received(1, str(version), lost=True)]
        case "refuses":
            return [resync.Received(1, initial_events_end=True, bookmark=True)]
        case _:
            end = resync.Received(1, str(version), initial_events_end=True, bookmark=True)
            return [end, end, _any(rng, version), resync.Failed(rng.choice(OUTCOMES))]


def _listed(rng: Random, mood: Mood, version: int) -> Sequence[Any]:
    def page(token: str) -> resync.Listed:
        return resync.Listed(str(version), token, count=rng.randrange(3), first_object=f"o{version}")

    match mood:
        case "pages":
            going = resync.Failed(
                rng.choice((Rejected("no", 400), Expired("old", 410), ServerFailed("no", 500)))
            )
            return [page(f"t{version}"), page(f"t{version}"), page(""), page("same"), going]
        case "refuses":
            outcome = rng.choice((Rejected("no", 400), Expired("old", 410), TooLarge("new", 504)))
            return [resync.Failed(outcome), page("same"), page("")]
        case "ends":
            return [resync.Listed("", "", count=1), page("")]
        case _:
            return [
                page(""),
                page(""),
                page(f"t{version}"),
                _any(rng, version),
                resync.Failed(rng.choice(OUTCOMES)),
            ]


def _watched(rng: Random, mood: Mood, version: int) -> Sequence[Any]:
    match mood:
        case "mute":
            return [resync.Closed(), resync.Failed(TimedOut("silent"))]
        case "stubborn":
            return [resync.Failed(ServerFailed("no", 500)), resync.Failed(Garbled("?"))]
        case "ends":
            return [resync.Closed()]
        case "refuses":
            outcome = rng.choice((Rejected("no", 400), Unreadable("corrupt", 500), Refused("no", 403)))
            return [_any(rng, version), resync.Failed(outcome)]
        case "late":
            return [resync.Received(1, str(version), lost=True), _any(rng, version)]
        case _:
            news = [_any(rng, version) for _ in range(5)]
            return [*news, resync.Closed(), resync.Failed(rng.choice(OUTCOMES))]


def _any(rng: Random, version: int) -> resync.Received:
    live, marked = rng.random() < 0.3, rng.random() < 0.3
    return resync.Received(
        rng.choice((0, 1, 1, 5)),
        rng.choice(("", str(version), str(version))),
        live=live,
        bookmark=marked or rng.random() < 0.3,
        initial_events_end=marked,
        lost=rng.random() < 0.02,
    )


def walk_pager(rng: Random) -> Iterator[str]:
    """Read lists page by page."""
    for _ in range(STEPS // 4):
        plan = pager.Plan(
            version=rng.choice(("", "0", "7")), limit=rng.choice((0, 2)),
            on_expired=rng.choice(("list whole", "go on", "fail")),
        )  # fmt: skip
        walk = Walk(pager.step, pager.Ready(plan))
        yield from filter(None, [walk.go(pager.Started())])
        staged, expires = 0, rng.random() < 0.4
        for page in range(12):
            if isinstance(walk.state, pager.Done | pager.Lost):
                break
            token = rng.choice(("", f"t{page}", f"t{page}", "same", "x" * 20_000))
            event: Any = pager.Listed(str(page), token, count=rng.choice((0, 2)), first_object=f"o{page}")
            if expires and isinstance(walk.state, pager.Following):
                event = pager.Failed(Expired("old", 410, token=rng.choice(("", f"e{page}"))))
            elif rng.random() < 0.3:
                event = pager.Failed(rng.choice(OUTCOMES))
            elif expires:
                event = pager.Listed(str(page), f"t{page}", count=2, first_object=f"o{page}")
            yield from filter(None, [walk.go(event)])
            for action in walk.actions:
                staged += isinstance(action, pager.Stage)
                if isinstance(action, pager.Replace) and not staged:
                    yield "a commit of nothing that was staged"
