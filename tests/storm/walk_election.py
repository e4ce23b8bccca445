"""A random walk through the election."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

import kubeproto as kp
from kubeproto.control import election
from kubeproto.kinds.coordination_v1 import Lease, LeaseSpec
from kubeproto.objects import MicroTime
from kubeproto.wire import Refused

from .walk import OUTCOMES, STEPS, Walk


def _lease(rng: Random, version: int, now: float) -> Lease:
    holder = rng.choice(("me", "other", "", None))
    spec = LeaseSpec(
        holder_identity=holder, lease_duration_seconds=rng.choice((15, 15, None, 0)),
        lease_transitions=rng.randrange(3), renew_time=MicroTime.of(
            datetime.fromtimestamp(now + rng.randrange(-99, 99), UTC)
        ),
    )  # fmt: skip
    return Lease(metadata=kp.ObjectMeta(name="l", namespace="n", resource_version=str(version)), spec=spec)


def walk_election(rng: Random) -> Iterator[str]:
    """Campaign for a lease that others change, and stop sometimes."""
    blank = Lease(metadata=kp.ObjectMeta(name="l", namespace="n"))
    coordinated = rng.random() < 0.2
    candidate = election.Candidate(lease=blank, identity="me", coordinated=coordinated)
    walk = Walk(election.step, election.begin(candidate))
    leads, send_time = False, 0.0
    for version in range(3 * STEPS):
        walk.now += rng.choice((0.0, 0.1, 2.0, 2.0, 6.0, 16.0))
        if isinstance(walk.state, election.Leaving | election.Releasing) and rng.random() < 0.5:
            walk.now += 30.0
        event = rng.choice(_likely(rng, walk, version))
        if rng.random() < 0.1:
            event = rng.choice(_ANY_TIME)
        if isinstance(event, election.LeaseRead | election.LeaseWritten | election.Failed):
            walk.now = max(walk.now, send_time)  # no response arrives before its request was sent
        election.leadership_status(walk.state, walk.now)
        yield from filter(None, [walk.go(event)])
        if election.leadership_status(walk.state, walk.now).leads and isinstance(walk.state, election.Ended):
            yield "what has ended leads"
        for action in walk.actions:
            send_time = getattr(action, "latest", send_time)
            if isinstance(action, election.StartLeading):
                leads = True
                if action.until > walk.now + candidate.renew_deadline:
                    yield f"leads until {action.until}, {candidate.renew_deadline} s after {walk.now} at most"
            leads = leads and not isinstance(action, election.StopLeading)
        if leads != isinstance(walk.state, election.Renewing | election.Checking):
            yield f"the work {'goes on' if leads else 'is cut off'} in {type(walk.state).__name__}"
        if isinstance(walk.state, election.Ended):
            walk.state, leads = election.begin(candidate), False


_ANY_TIME: Final[tuple[Any, ...]] = (
    election.Stopped(), election.Stopped(), election.Stopped(), election.LeaseExpired(), election.Started(),
)  # fmt: skip


def _likely(rng: Random, walk: Walk, version: int) -> Sequence[Any]:
    """Return an event that is possible in the current state."""
    read_lease = election.LeaseRead(_lease(rng, version, walk.now))
    failed, missing = election.Failed(rng.choice(OUTCOMES)), election.Failed(Refused("no", 404))
    mine = election.LeaseWritten(_mine(version))
    match walk.state:
        case election.Idle():
            return [election.Started()]
        case election.Acquiring():
            return [election.LeaseWritten(_lease(rng, version, walk.now)), failed, mine]
        case election.Renewing():
            return [mine, mine, failed]
        case election.Checking():
            own_lease = election.LeaseRead(_mine(version))
            return [read_lease, own_lease, own_lease, failed, failed, missing, election.LeaseExpired()]
        case election.Leaving():
            return [
                read_lease,
                failed,
                missing,
                election.LeaseRead(_mine(version)),
                election.LeaseRead(_mine(version)),
            ]
        case election.Releasing():
            return [mine, failed]
        case _:
            return [read_lease, read_lease, failed]


def _mine(version: int) -> Lease:
    spec = LeaseSpec(holder_identity="me", lease_duration_seconds=15)
    metadata = kp.ObjectMeta(name="l", namespace="n", resource_version=str(version))
    return Lease(metadata=metadata, spec=spec)
