"""Leader election: a row for each arrow of its diagram, and every other pair refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, get_args

import msgspec
import pytest
from diagrams import arrows
from msgspec.structs import replace

import kubeproto as kp
from kubeproto import LocalProtocolError
from kubeproto.control import election
from kubeproto.control.election import (
    Acquiring,
    Action,
    CancelRequest,
    Candidate,
    Checking,
    Ended,
    Event,
    Failed,
    Idle,
    LeadershipStatus,
    LeaseExpired,
    LeaseRead,
    LeaseWritten,
    Leaving,
    ObservedLease,
    Observing,
    Releasing,
    Renewing,
    ReportLeader,
    SendCreate,
    SendGet,
    SendUpdate,
    Started,
    StartLeading,
    State,
    StopLeading,
    Stopped,
    leadership_status,
    step,
)
from kubeproto.kinds.coordination_v1 import Lease, LeaseSpec
from kubeproto.objects import MicroTime
from kubeproto.wire import Broken, Conflicted, Refused, Rejected, ServerFailed, Throttled

OLD: Final = MicroTime(2020, 1, 1, tzinfo=UTC)
WALL: Final = datetime(2026, 1, 1, 12, tzinfo=UTC)
BLANK: Final = Lease(metadata=kp.ObjectMeta(name="books", namespace="n", labels={"app": "books"}))
ME: Final = Candidate(lease=BLANK, identity="me")
CONFLICT: Final = Failed(Conflicted("changed", 409))
ABSENT: Final = Failed(Refused("not found", 404))
DOWN: Final = Failed(ServerFailed("down", 503))
GET_SOON: Final = SendGet(102, 104.4)


def lease(holder: str | None, *, version: str = "7", duration: int | None = 15, **spec: Any) -> Lease:
    """A lease as a server has it."""
    metadata = replace(BLANK.metadata, resource_version=version)
    times: dict[str, Any] = {"acquire_time": OLD, "renew_time": OLD, "lease_transitions": 3}
    return Lease(
        metadata=metadata,
        spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=duration, **(times | spec)),
    )


MINE: Final = lease("me")
OTHERS: Final = lease("other")


def seen(observed: Lease = MINE, *, since: float = 90, candidate: Candidate = ME) -> ObservedLease:
    return ObservedLease(candidate, observed, since, observed.spec.holder_identity or "")


def update(observed: Lease, at: float = 100, **spec: Any) -> SendUpdate:
    return SendUpdate(replace(observed, spec=replace(observed.spec, **spec)), at, at)


def renewal(observed: Lease = MINE, at: float = 100) -> SendUpdate:
    return update(observed, at, renew_time=None)


def taking(observed: Lease, transitions: int = 4) -> SendUpdate:
    return update(
        observed,
        holder_identity="me",
        lease_duration_seconds=15,
        lease_transitions=transitions,
        acquire_time=None,
        renew_time=None,
    )


CREATION: Final = SendCreate(
    replace(BLANK, spec=LeaseSpec(holder_identity="me", lease_duration_seconds=15, lease_transitions=0)),
    100,
    100,
)
CLEARING: Final = update(
    MINE, holder_identity="", lease_duration_seconds=1, acquire_time=None, renew_time=None
)
BLANK_COURSE: Final = ObservedLease(ME, BLANK, 100)
RENEWED: Final = lease("me", version="8", renew_time=MicroTime(2021, 1, 1, tzinfo=UTC))
EMPTY: Final = replace(lease(None), spec=LeaseSpec())
KEEPING: Final = replace(ME, release=False)
ASSIGNED: Final = replace(ME, coordinated=True)
PROMISED: Final = lease("me", preferred_holder="other")

Row = tuple[State, Event, State, tuple[Action, ...]]

ROWS: Final[dict[str, Row]] = {
    "start": (Idle(ME), Started(), Observing(BLANK_COURSE), (SendGet(100, 100),)),
    "le_01 no lease": (Observing(seen(BLANK)), ABSENT, Acquiring(BLANK_COURSE, 100), (CREATION,)),
    "le_02 a lease without a record": (
        Observing(ObservedLease(ME, BLANK, 90)),
        LeaseRead(EMPTY),
        Acquiring(ObservedLease(ME, EMPTY, 90), 100),
        (taking(EMPTY, 1),),
    ),
    "le_03 another's, at first sight": (
        Observing(seen(BLANK)),
        LeaseRead(lease("other", duration=3)),
        Observing(seen(lease("other", duration=3), since=100)),
        (ReportLeader("other"), GET_SOON),
    ),
    "le_03 another's, unchanged for as long as its record says": (
        Observing(seen(lease("other", duration=3), since=97)),
        LeaseRead(lease("other", duration=3, version="9")),
        Acquiring(seen(lease("other", duration=3, version="9"), since=97), 100),
        (taking(lease("other", duration=3, version="9")),),
    ),
    "le_03 another's, unchanged for a moment less": (
        Observing(seen(lease("other", duration=3), since=97.1)),
        LeaseRead(lease("other", duration=3)),
        Observing(seen(lease("other", duration=3), since=97.1)),
        (GET_SOON,),
    ),
    "le_04 a record that is all empty": (
        Observing(seen(BLANK)),
        LeaseRead(lease("", duration=0, lease_transitions=0)),
        Acquiring(seen(lease("", duration=0, lease_transitions=0), since=100), 100),
        (taking(lease("", duration=0, lease_transitions=0), 1),),
    ),
    "le_05 another's, run out by the own clock": (
        Observing(seen(OTHERS, since=85)),
        LeaseRead(OTHERS),
        Acquiring(seen(OTHERS, since=85), 100),
        (taking(OTHERS),),
    ),
    "le_06 released, though just seen": (
        Observing(seen(OTHERS, since=99)),
        LeaseRead(lease("", duration=1)),
        Acquiring(seen(lease("", duration=1), since=100), 100),
        (ReportLeader(""), taking(lease("", duration=1))),
    ),
    "le_07 another's, and renewed": (
        Observing(seen(OTHERS, since=10)),
        LeaseRead(lease("other", renew_time=None)),
        Observing(seen(lease("other", renew_time=None), since=100)),
        (GET_SOON,),
    ),
    "another's without a duration gets the own": (
        Observing(seen(lease("other", duration=None), since=86)),
        LeaseRead(lease("other", duration=None)),
        Observing(seen(lease("other", duration=None), since=86)),
        (GET_SOON,),
    ),
    "le_08 one's own, after a restart": (
        Observing(seen(BLANK)),
        LeaseRead(MINE),
        Acquiring(seen(since=100), 100),
        (ReportLeader("me"), renewal()),
    ),
    "cannot look": (Observing(seen(OTHERS)), DOWN, Observing(seen(OTHERS)), (GET_SOON,)),
    "cannot look, and asked to wait": (
        Observing(seen(OTHERS)),
        Failed(Throttled("slow", 429, 5.0)),
        Observing(seen(OTHERS)),
        (SendGet(105, 111),),
    ),
    "cannot look, and asked to wait forever": (
        Checking(seen(), 109),
        Failed(Throttled("slow", 429, 1e9)),
        Checking(seen(), 109),
        (SendGet(160, 160),),
    ),
    "took it": (
        Acquiring(seen(OTHERS), 99),
        LeaseWritten(MINE),
        Renewing(seen(since=100), 109, 101),
        (ReportLeader("me"), StartLeading(109), renewal(at=101)),
    ),
    "took it, but the answer took as long as a term": (
        Acquiring(seen(OTHERS), 90),
        LeaseWritten(MINE),
        Acquiring(seen(since=100), 100),
        (ReportLeader("me"), renewal()),
    ),
    "another was faster": (Acquiring(seen(OTHERS), 99), CONFLICT, Observing(seen(OTHERS)), (GET_SOON,)),
    "le_17 renewed without a look": (
        Renewing(seen(since=98), 108, 99),
        LeaseWritten(RENEWED),
        Renewing(seen(RENEWED, since=100), 109, 101),
        (StartLeading(109), renewal(RENEWED, 101)),
    ),
    "renewed by a response that took long": (
        Renewing(seen(), 101, 95),
        LeaseWritten(RENEWED),
        Renewing(seen(RENEWED, since=100), 105, 100),
        (StartLeading(105), renewal(RENEWED, 100)),
    ),
    "le_18 could not renew": (
        Renewing(seen(), 108, 99),
        CONFLICT,
        Checking(seen(), 108),
        (SendGet(100, 100),),
    ),
    "le_18 looked, and it is still mine": (
        Checking(seen(), 108),
        LeaseRead(RENEWED),
        Renewing(seen(RENEWED, since=100), 108, 100, True),
        (renewal(RENEWED),),
    ),
    "could not renew after a look": (
        Renewing(seen(), 108, 99, True),
        CONFLICT,
        Checking(seen(), 108),
        (SendGet(102, 102),),
    ),
    "leads, and cannot look": (Checking(seen(), 108), DOWN, Checking(seen(), 108), (SendGet(102, 102),)),
    "leads, and finds another": (
        Checking(seen(), 108),
        LeaseRead(OTHERS),
        Observing(seen(OTHERS, since=100)),
        (StopLeading("the lease belongs to other"), ReportLeader("other"), GET_SOON),
    ),
    "leads, and finds nobody": (
        Checking(seen(), 108),
        LeaseRead(lease("")),
        Acquiring(seen(lease(""), since=100), 100),
        (StopLeading("the lease belongs to nobody"), ReportLeader(""), taking(lease(""))),
    ),
    "leads, and the lease is gone": (
        Checking(seen(), 108),
        ABSENT,
        Acquiring(BLANK_COURSE, 100),
        (StopLeading("the lease was deleted"), ReportLeader(""), CREATION),
    ),
    "the time is up": (
        Renewing(seen(), 100, 99),
        LeaseExpired(),
        Acquiring(seen(), 99),
        (StopLeading("the lease could not be renewed in time"),),
    ),
    "the time is up, while it looks": (
        Checking(seen(), 100),
        LeaseExpired(),
        Observing(seen()),
        (StopLeading("the lease could not be renewed in time"),),
    ),
    "an answer after the time": (
        Renewing(seen(), 100, 99),
        LeaseWritten(RENEWED),
        Renewing(seen(RENEWED, since=100), 109, 101),
        (StopLeading("the lease could not be renewed in time"), StartLeading(109), renewal(RENEWED, 101)),
    ),
    "an answer after the time that took as long as a term": (
        Renewing(seen(), 100, 90),
        LeaseWritten(RENEWED),
        Acquiring(seen(RENEWED, since=100), 100),
        (StopLeading("the lease could not be renewed in time"), renewal(RENEWED)),
    ),
    "a write that fails after the time": (
        Renewing(seen(), 100, 99),
        DOWN,
        Observing(seen()),
        (StopLeading("the lease could not be renewed in time"), GET_SOON),
    ),
    "a failure after the time": (
        Checking(seen(), 100),
        DOWN,
        Observing(seen()),
        (StopLeading("the lease could not be renewed in time"), GET_SOON),
    ),
    "le_13 le_15 stops while it writes": (
        Renewing(seen(), 108, 99),
        Stopped(),
        Leaving(seen(), 110),
        (StopLeading("stopped"), CancelRequest(), SendGet(100, 100)),
    ),
    "le_15 stops while it looks": (
        Checking(seen(), 108),
        Stopped(),
        Leaving(seen(), 110),
        (StopLeading("stopped"), CancelRequest(), SendGet(100, 100)),
    ),
    "stops while it takes": (
        Acquiring(seen(OTHERS), 99),
        Stopped(),
        Leaving(seen(OTHERS), 110),
        (CancelRequest(), SendGet(100, 100)),
    ),
    "stops with a lease that has lapsed": (
        Observing(seen()),
        Stopped(),
        Leaving(seen(), 110),
        (CancelRequest(), SendGet(100, 100)),
    ),
    "stops and keeps the lease": (
        Renewing(seen(candidate=KEEPING), 108, 99),
        Stopped(),
        Ended(KEEPING),
        (StopLeading("stopped"), CancelRequest()),
    ),
    "stops while it looks and keeps the lease": (
        Checking(seen(candidate=KEEPING), 108),
        Stopped(),
        Ended(KEEPING),
        (StopLeading("stopped"), CancelRequest()),
    ),
    "stops while it takes and keeps the lease": (
        Acquiring(seen(OTHERS, candidate=KEEPING), 99),
        Stopped(),
        Ended(KEEPING),
        (CancelRequest(),),
    ),
    "stops while another leads": (Observing(seen(OTHERS)), Stopped(), Ended(ME), (CancelRequest(),)),
    "stops before it begins": (Idle(ME), Stopped(), Ended(ME), ()),
    "le_12 releases": (Leaving(seen(), 110), LeaseRead(MINE), Releasing(seen(), 110), (CLEARING,)),
    "le_13 gives nothing back that is another's": (
        Leaving(seen(), 110),
        LeaseRead(OTHERS),
        Ended(ME),
        (ReportLeader("other"),),
    ),
    "gives nothing back that is gone": (Leaving(seen(), 110), ABSENT, Ended(ME), ()),
    "le_12 released": (Releasing(seen(), 110), LeaseWritten(lease("")), Ended(ME), (ReportLeader(""),)),
    "le_14 a conflict while it releases": (
        Releasing(seen(), 110),
        CONFLICT,
        Leaving(seen(), 110),
        (SendGet(100, 100),),
    ),
    "fails to release": (Releasing(seen(), 110), DOWN, Leaving(seen(), 110), (SendGet(102, 102),)),
    "fails to look what to release": (
        Leaving(seen(), 110),
        Failed(Broken("lost")),
        Leaving(seen(), 110),
        (SendGet(102, 102),),
    ),
    "fails to release until the deadline": (Releasing(seen(), 102), DOWN, Ended(ME), ()),
    "a conflict at the deadline": (Releasing(seen(), 100), CONFLICT, Ended(ME), ()),
    "is stopped twice": (Releasing(seen(), 110), Stopped(), Ended(ME), (CancelRequest(),)),
    "is stopped twice, at once": (Leaving(seen(), 110), Stopped(), Ended(ME), (CancelRequest(),)),
    **{
        f"the timer of a term that has ended, in {type(state).__name__}": (state, LeaseExpired(), state, ())
        for state in (Observing(seen()), Acquiring(seen(), 99), Leaving(seen(), 110), Releasing(seen(), 110))
    },
}


@pytest.mark.parametrize(("state", "event", "next_state", "actions"), ROWS.values(), ids=ROWS)
def test_le_01_to_08_and_12_to_18_each_row_of_the_table(
    state: State, event: Event, next_state: State, actions: tuple[Action, ...]
) -> None:
    assert step(state, event, 100) == (next_state, actions)


COORDINATED: Final[dict[str, Row]] = {
    "le_09 coordinated: another's, though it has run out": (
        Observing(seen(OTHERS, since=10, candidate=ASSIGNED)),
        LeaseRead(OTHERS),
        Observing(seen(OTHERS, since=10, candidate=ASSIGNED)),
        (GET_SOON,),
    ),
    "le_09 coordinated: nobody's": (
        Observing(seen(BLANK, candidate=ASSIGNED)),
        LeaseRead(EMPTY),
        Observing(ObservedLease(ASSIGNED, EMPTY, 90)),
        (GET_SOON,),
    ),
    "le_09 coordinated: no lease": (
        Observing(seen(BLANK, candidate=ASSIGNED)),
        ABSENT,
        Observing(ObservedLease(ASSIGNED, BLANK, 100)),
        (GET_SOON,),
    ),
    "le_10 coordinated: one's own": (
        Observing(seen(BLANK, candidate=ASSIGNED)),
        LeaseRead(MINE),
        Acquiring(seen(since=100, candidate=ASSIGNED), 100),
        (ReportLeader("me"), renewal()),
    ),
    "le_10 coordinated: one's own, but run out": (
        Observing(seen(since=85, candidate=ASSIGNED)),
        LeaseRead(MINE),
        Observing(seen(since=85, candidate=ASSIGNED)),
        (GET_SOON,),
    ),
    "le_10 coordinated: one's own, but another is preferred": (
        Observing(seen(PROMISED, since=99, candidate=ASSIGNED)),
        LeaseRead(PROMISED),
        Observing(seen(PROMISED, since=99, candidate=ASSIGNED)),
        (GET_SOON,),
    ),
    "le_10 coordinated: leads, and another is preferred": (
        Checking(seen(candidate=ASSIGNED), 108),
        LeaseRead(PROMISED),
        Observing(seen(PROMISED, since=100, candidate=ASSIGNED)),
        (StopLeading("the lease belongs to other"), GET_SOON),
    ),
    "le_10 coordinated: leads, and is preferred itself": (
        Checking(seen(candidate=ASSIGNED), 108),
        LeaseRead(lease("me", preferred_holder="me")),
        Renewing(seen(lease("me", preferred_holder="me"), since=100, candidate=ASSIGNED), 108, 100, True),
        (renewal(lease("me", preferred_holder="me")),),
    ),
    "coordinated: leads, and the lease is gone": (
        Checking(seen(candidate=ASSIGNED), 108),
        ABSENT,
        Observing(ObservedLease(ASSIGNED, BLANK, 100)),
        (StopLeading("the lease was deleted"), ReportLeader(""), GET_SOON),
    ),
    "a preferred holder is nothing to who is not coordinated": (
        Checking(seen(), 108),
        LeaseRead(PROMISED),
        Renewing(seen(PROMISED, since=100), 108, 100, True),
        (renewal(PROMISED),),
    ),
}


@pytest.mark.parametrize(("state", "event", "next_state", "actions"), COORDINATED.values(), ids=COORDINATED)
def test_le_09_le_10_who_is_coordinated_leads_when_the_server_says_so_and_no_longer(
    state: State, event: Event, next_state: State, actions: tuple[Action, ...]
) -> None:
    assert step(state, event, 100) == (next_state, actions)


STATES: Final[tuple[State, ...]] = (
    Idle(ME),
    Observing(seen()),
    Acquiring(seen(), 99),
    Renewing(seen(), 108, 99),
    Checking(seen(), 108),
    Leaving(seen(), 110),
    Releasing(seen(), 110),
    Ended(ME),
)
EVENTS: Final[tuple[Event, ...]] = (
    Started(),
    LeaseRead(MINE),
    LeaseWritten(MINE),
    DOWN,
    LeaseExpired(),
    Stopped(),
)


def test_every_other_pair_is_refused() -> None:
    assert {type(state) for state in STATES} == set(get_args(State))
    assert {type(event) for event in EVENTS} == set(get_args(Event))
    drawn = {(type(state), type(event)) for state, event, _, _ in ROWS.values()}
    for state in STATES:
        for event in EVENTS:
            if (type(state), type(event)) in drawn:
                step(state, event, 100)
            else:
                with pytest.raises(LocalProtocolError, match="cannot process"):
                    step(state, event, 100)


def arrow(previous_state: State, event: Event, next_state: State) -> tuple[str, str, str]:
    return type(previous_state).__name__, type(event).__name__, type(next_state).__name__


def test_the_diagram_and_the_table_have_the_same_arrows() -> None:
    rows = (*ROWS.values(), *COORDINATED.values())
    assert arrows(election.__doc__) == {
        arrow(previous_state, event, next_state) for previous_state, event, next_state, _ in rows
    }


def test_no_state_and_event_of_the_table_take_an_arrow_that_the_diagram_has_not() -> None:
    rows, drawn = (*ROWS.values(), *COORDINATED.values()), arrows(election.__doc__)
    for previous_state, *_ in rows:
        for _, event, *_ in rows:
            try:
                next_state, _ = step(previous_state, event, 100)
            except LocalProtocolError:
                continue
            assert arrow(previous_state, event, next_state) in drawn


# What is written


def test_the_times_in_a_lease_are_those_of_the_wall_when_it_is_sent() -> None:
    assert CREATION.body(WALL).spec == LeaseSpec(
        acquire_time=MicroTime.of(WALL),
        renew_time=MicroTime.of(WALL),
        holder_identity="me",
        lease_duration_seconds=15,
        lease_transitions=0,
    )
    renewed = renewal().body(WALL).spec
    assert (renewed.acquire_time, renewed.renew_time) == (OLD, MicroTime.of(WALL))
    assert MINE.spec.renew_time == OLD


def test_le_11_what_a_lease_holds_besides_survives_a_round_trip_and_a_take() -> None:
    raw = kp.encode(lease("other", strategy="OldestEmulationVersion", preferred_holder="x"))
    decoded = kp.decode(raw, Lease)
    _, actions = step(Observing(seen(decoded, since=0)), LeaseRead(decoded), 100)
    [send] = actions
    assert isinstance(send, SendUpdate)
    document = msgspec.json.decode(kp.encode(send.body(WALL)))
    assert document == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "books", "namespace": "n", "resourceVersion": "7", "labels": {"app": "books"},
        },
        "spec": {
            "holderIdentity": "me", "leaseDurationSeconds": 15, "leaseTransitions": 4,
            "acquireTime": "2026-01-01T12:00:00.000000Z", "renewTime": "2026-01-01T12:00:00.000000Z",
            "strategy": "OldestEmulationVersion", "preferredHolder": "x",
        },
    }  # fmt: skip


def test_a_new_lease_is_made_from_the_candidates_own_with_its_labels() -> None:
    assert CREATION.body(WALL).metadata == BLANK.metadata


# Who may stand


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"identity": ""}, "needs an identity"),
        ({"lease": Lease()}, "a name and a namespace"),
        ({"lease": MINE}, "must not have a resourceVersion"),
        (
            {"lease": replace(BLANK, spec=LeaseSpec(holder_identity="x"))},
            "must not have a resourceVersion",
        ),
        ({"lease_duration": 10}, "must be longer than renew_deadline 10.0"),
        ({"lease_duration": 0}, "must be an integer"),
        ({"lease_duration": 15.5}, "must be an integer"),
        ({"renew_deadline": 2.4}, "longer than 1.2 times retry_period"),
        ({"retry_period": 0.0}, "must be positive"),
        ({"retry_period": -1.0}, "must be positive"),
        ({"renew_deadline": float("nan")}, "must be longer"),
        ({"jitter": -0.1}, "must not be negative"),
    ],
)
def test_le_16_a_candidate_that_could_not_keep_its_word_is_refused(
    wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        replace(ME, **wrong)


def test_the_defaults_are_those_of_gos_clients() -> None:
    assert (ME.lease_duration, ME.renew_deadline, ME.retry_period, ME.jitter) == (15, 10, 2, 1.2)


# How it stands


@pytest.mark.parametrize(
    ("state", "now", "message"),
    [
        (Idle(ME), 0, LeadershipStatus(False, "", True)),
        (Observing(seen(OTHERS)), 1e6, LeadershipStatus(False, "other", True)),
        (Acquiring(seen(OTHERS), 99), 100, LeadershipStatus(False, "other", True)),
        (Renewing(seen(), 110, 101), 109, LeadershipStatus(True, "me", True)),
        (Renewing(seen(), 110, 101), 110, LeadershipStatus(False, "me", True)),
        (Checking(seen(), 110), 135, LeadershipStatus(False, "me", True)),
        (Checking(seen(), 110), 135.1, LeadershipStatus(False, "me", False)),
        (Ended(ME), 0, LeadershipStatus(False, "", True)),
    ],
)
def test_le_19_it_leads_until_its_time_is_up_and_is_ill_only_after_lease_and_tolerance(
    state: State, now: float, message: LeadershipStatus
) -> None:
    assert leadership_status(state, now) == message


def test_le_17_the_requests_of_a_quiet_start_are_get_create_update_update() -> None:
    state, sends = election.begin(ME), list[str]()
    story: list[tuple[Event, float]] = [
        (Started(), 0),
        (ABSENT, 1),
        (LeaseWritten(MINE), 2),
        (LeaseWritten(MINE), 4),
    ]
    now_state: State = state
    for event, now in story:
        now_state, actions = step(now_state, event, now)
        sends += [type(a).__name__ for a in actions if isinstance(a, SendGet | SendCreate | SendUpdate)]
    assert sends == ["SendGet", "SendCreate", "SendUpdate", "SendUpdate"]


def test_a_create_that_came_too_late_looks_again() -> None:
    steps = Failed(Rejected("already exists", 409))
    assert step(Acquiring(BLANK_COURSE, 99), steps, 100) == (Observing(BLANK_COURSE), (GET_SOON,))
