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
    """Return a lease as a server stores it."""
    metadata = replace(BLANK.metadata, resource_version=version)
    times: dict[str, Any] = {"acquire_time": OLD, "renew_time": OLD, "lease_transitions": 3}
    return Lease(
        metadata=metadata,
        spec=LeaseSpec(holder_identity=holder, lease_duration_seconds=duration, **(times | spec)),
    )


MINE: Final = lease("me")
OTHERS: Final = lease("other")


def observed_lease(observed: Lease = MINE, *, since: float = 90, candidate: Candidate = ME) -> ObservedLease:
    return ObservedLease(candidate, observed, since, observed.spec.holder_identity or "")


def update(observed: Lease, time: float = 100, **spec: Any) -> SendUpdate:
    return SendUpdate(replace(observed, spec=replace(observed.spec, **spec)), time, time)


def renewal(observed: Lease = MINE, time: float = 100) -> SendUpdate:
    return update(observed, time, renew_time=None)


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
KEEP_ON_EXIT: Final = replace(ME, release=False)
ASSIGNED: Final = replace(ME, coordinated=True)
PROMISED: Final = lease("me", preferred_holder="other")

Row = tuple[State, Event, State, tuple[Action, ...]]

ROWS: Final[dict[str, Row]] = {
    "start": (Idle(ME), Started(), Observing(BLANK_COURSE), (SendGet(100, 100),)),
    "le_01 no lease": (Observing(observed_lease(BLANK)), ABSENT, Acquiring(BLANK_COURSE, 100), (CREATION,)),
    "le_02 a lease without a record": (
        Observing(ObservedLease(ME, BLANK, 90)),
        LeaseRead(EMPTY),
        Acquiring(ObservedLease(ME, EMPTY, 90), 100),
        (taking(EMPTY, 1),),
    ),
    "le_03 another's, at first sight": (
        Observing(observed_lease(BLANK)),
        LeaseRead(lease("other", duration=3)),
        Observing(observed_lease(lease("other", duration=3), since=100)),
        (ReportLeader("other"), GET_SOON),
    ),
    "le_03 another's, unchanged for as long as its record says": (
        Observing(observed_lease(lease("other", duration=3), since=97)),
        LeaseRead(lease("other", duration=3, version="9")),
        Acquiring(observed_lease(lease("other", duration=3, version="9"), since=97), 100),
        (taking(lease("other", duration=3, version="9")),),
    ),
    "le_03 another's, unchanged for a moment less": (
        Observing(observed_lease(lease("other", duration=3), since=97.1)),
        LeaseRead(lease("other", duration=3)),
        Observing(observed_lease(lease("other", duration=3), since=97.1)),
        (GET_SOON,),
    ),
    "le_04 a record that is all empty": (
        Observing(observed_lease(BLANK)),
        LeaseRead(lease("", duration=0, lease_transitions=0)),
        Acquiring(observed_lease(lease("", duration=0, lease_transitions=0), since=100), 100),
        (taking(lease("", duration=0, lease_transitions=0), 1),),
    ),
    "le_05 another's, run out by the own clock": (
        Observing(observed_lease(OTHERS, since=85)),
        LeaseRead(OTHERS),
        Acquiring(observed_lease(OTHERS, since=85), 100),
        (taking(OTHERS),),
    ),
    "le_06 released, though just seen": (
        Observing(observed_lease(OTHERS, since=99)),
        LeaseRead(lease("", duration=1)),
        Acquiring(observed_lease(lease("", duration=1), since=100), 100),
        (ReportLeader(""), taking(lease("", duration=1))),
    ),
    "le_07 another's, and renewed": (
        Observing(observed_lease(OTHERS, since=10)),
        LeaseRead(lease("other", renew_time=None)),
        Observing(observed_lease(lease("other", renew_time=None), since=100)),
        (GET_SOON,),
    ),
    "another's without a duration gets the own": (
        Observing(observed_lease(lease("other", duration=None), since=86)),
        LeaseRead(lease("other", duration=None)),
        Observing(observed_lease(lease("other", duration=None), since=86)),
        (GET_SOON,),
    ),
    "le_08 one's own, after a restart": (
        Observing(observed_lease(BLANK)),
        LeaseRead(MINE),
        Acquiring(observed_lease(since=100), 100),
        (ReportLeader("me"), renewal()),
    ),
    "cannot look": (Observing(observed_lease(OTHERS)), DOWN, Observing(observed_lease(OTHERS)), (GET_SOON,)),
    "cannot look, and asked to wait": (
        Observing(observed_lease(OTHERS)),
        Failed(Throttled("slow", 429, 5.0)),
        Observing(observed_lease(OTHERS)),
        (SendGet(105, 111),),
    ),
    "cannot look, and asked to wait forever": (
        Checking(observed_lease(), 109),
        Failed(Throttled("slow", 429, 1e9)),
        Checking(observed_lease(), 109),
        (SendGet(160, 160),),
    ),
    "took it": (
        Acquiring(observed_lease(OTHERS), 99),
        LeaseWritten(MINE),
        Renewing(observed_lease(since=100), 109, 101),
        (ReportLeader("me"), StartLeading(109), renewal(time=101)),
    ),
    "took it, but the answer took as long as a term": (
        Acquiring(observed_lease(OTHERS), 90),
        LeaseWritten(MINE),
        Acquiring(observed_lease(since=100), 100),
        (ReportLeader("me"), renewal()),
    ),
    "another was faster": (
        Acquiring(observed_lease(OTHERS), 99),
        CONFLICT,
        Observing(observed_lease(OTHERS)),
        (GET_SOON,),
    ),
    "le_17 renewed without a look": (
        Renewing(observed_lease(since=98), 108, 99),
        LeaseWritten(RENEWED),
        Renewing(observed_lease(RENEWED, since=100), 109, 101),
        (StartLeading(109), renewal(RENEWED, 101)),
    ),
    "renewed by a response that took long": (
        Renewing(observed_lease(), 101, 95),
        LeaseWritten(RENEWED),
        Renewing(observed_lease(RENEWED, since=100), 105, 100),
        (StartLeading(105), renewal(RENEWED, 100)),
    ),
    "le_18 could not renew": (
        Renewing(observed_lease(), 108, 99),
        CONFLICT,
        Checking(observed_lease(), 108),
        (SendGet(100, 100),),
    ),
    "le_18 looked, and it is still mine": (
        Checking(observed_lease(), 108),
        LeaseRead(RENEWED),
        Renewing(observed_lease(RENEWED, since=100), 108, 100, True),
        (renewal(RENEWED),),
    ),
    "could not renew after a look": (
        Renewing(observed_lease(), 108, 99, True),
        CONFLICT,
        Checking(observed_lease(), 108),
        (SendGet(102, 102),),
    ),
    "leads, and cannot look": (
        Checking(observed_lease(), 108),
        DOWN,
        Checking(observed_lease(), 108),
        (SendGet(102, 102),),
    ),
    "leads, and finds another": (
        Checking(observed_lease(), 108),
        LeaseRead(OTHERS),
        Observing(observed_lease(OTHERS, since=100)),
        (StopLeading("the lease belongs to other"), ReportLeader("other"), GET_SOON),
    ),
    "leads, and finds nobody": (
        Checking(observed_lease(), 108),
        LeaseRead(lease("")),
        Acquiring(observed_lease(lease(""), since=100), 100),
        (StopLeading("the lease belongs to nobody"), ReportLeader(""), taking(lease(""))),
    ),
    "leads, and the lease is gone": (
        Checking(observed_lease(), 108),
        ABSENT,
        Acquiring(BLANK_COURSE, 100),
        (StopLeading("the lease was deleted"), ReportLeader(""), CREATION),
    ),
    "the time is up": (
        Renewing(observed_lease(), 100, 99),
        LeaseExpired(),
        Acquiring(observed_lease(), 99),
        (StopLeading("the lease could not be renewed in time"),),
    ),
    "the time is up, while it looks": (
        Checking(observed_lease(), 100),
        LeaseExpired(),
        Observing(observed_lease()),
        (StopLeading("the lease could not be renewed in time"),),
    ),
    "an answer after the time": (
        Renewing(observed_lease(), 100, 99),
        LeaseWritten(RENEWED),
        Renewing(observed_lease(RENEWED, since=100), 109, 101),
        (StopLeading("the lease could not be renewed in time"), StartLeading(109), renewal(RENEWED, 101)),
    ),
    "an answer after the time that took as long as a term": (
        Renewing(observed_lease(), 100, 90),
        LeaseWritten(RENEWED),
        Acquiring(observed_lease(RENEWED, since=100), 100),
        (StopLeading("the lease could not be renewed in time"), renewal(RENEWED)),
    ),
    "a write that fails after the time": (
        Renewing(observed_lease(), 100, 99),
        DOWN,
        Observing(observed_lease()),
        (StopLeading("the lease could not be renewed in time"), GET_SOON),
    ),
    "a failure after the time": (
        Checking(observed_lease(), 100),
        DOWN,
        Observing(observed_lease()),
        (StopLeading("the lease could not be renewed in time"), GET_SOON),
    ),
    "le_13 le_15 stops while it writes": (
        Renewing(observed_lease(), 108, 99),
        Stopped(),
        Leaving(observed_lease(), 110),
        (StopLeading("stopped"), CancelRequest(), SendGet(100, 100)),
    ),
    "le_15 stops while it looks": (
        Checking(observed_lease(), 108),
        Stopped(),
        Leaving(observed_lease(), 110),
        (StopLeading("stopped"), CancelRequest(), SendGet(100, 100)),
    ),
    "stops while it takes": (
        Acquiring(observed_lease(OTHERS), 99),
        Stopped(),
        Leaving(observed_lease(OTHERS), 110),
        (CancelRequest(), SendGet(100, 100)),
    ),
    "stops with a lease that has lapsed": (
        Observing(observed_lease()),
        Stopped(),
        Leaving(observed_lease(), 110),
        (CancelRequest(), SendGet(100, 100)),
    ),
    "stops and keeps the lease": (
        Renewing(observed_lease(candidate=KEEP_ON_EXIT), 108, 99),
        Stopped(),
        Ended(KEEP_ON_EXIT),
        (StopLeading("stopped"), CancelRequest()),
    ),
    "stops while it looks and keeps the lease": (
        Checking(observed_lease(candidate=KEEP_ON_EXIT), 108),
        Stopped(),
        Ended(KEEP_ON_EXIT),
        (StopLeading("stopped"), CancelRequest()),
    ),
    "stops while it takes and keeps the lease": (
        Acquiring(observed_lease(OTHERS, candidate=KEEP_ON_EXIT), 99),
        Stopped(),
        Ended(KEEP_ON_EXIT),
        (CancelRequest(),),
    ),
    "stops while another leads": (
        Observing(observed_lease(OTHERS)),
        Stopped(),
        Ended(ME),
        (CancelRequest(),),
    ),
    "stops before it begins": (Idle(ME), Stopped(), Ended(ME), ()),
    "le_12 releases": (
        Leaving(observed_lease(), 110),
        LeaseRead(MINE),
        Releasing(observed_lease(), 110),
        (CLEARING,),
    ),
    "le_13 gives nothing back that is another's": (
        Leaving(observed_lease(), 110),
        LeaseRead(OTHERS),
        Ended(ME),
        (ReportLeader("other"),),
    ),
    "gives nothing back that is gone": (Leaving(observed_lease(), 110), ABSENT, Ended(ME), ()),
    "le_12 released": (
        Releasing(observed_lease(), 110),
        LeaseWritten(lease("")),
        Ended(ME),
        (ReportLeader(""),),
    ),
    "le_14 a conflict while it releases": (
        Releasing(observed_lease(), 110),
        CONFLICT,
        Leaving(observed_lease(), 110),
        (SendGet(100, 100),),
    ),
    "fails to release": (
        Releasing(observed_lease(), 110),
        DOWN,
        Leaving(observed_lease(), 110),
        (SendGet(102, 102),),
    ),
    "fails to look what to release": (
        Leaving(observed_lease(), 110),
        Failed(Broken("lost")),
        Leaving(observed_lease(), 110),
        (SendGet(102, 102),),
    ),
    "fails to release until the deadline": (Releasing(observed_lease(), 102), DOWN, Ended(ME), ()),
    "a conflict at the deadline": (Releasing(observed_lease(), 100), CONFLICT, Ended(ME), ()),
    "is stopped twice": (Releasing(observed_lease(), 110), Stopped(), Ended(ME), (CancelRequest(),)),
    "is stopped twice, at once": (Leaving(observed_lease(), 110), Stopped(), Ended(ME), (CancelRequest(),)),
    **{
        f"the timer of a term that has ended, in {type(state).__name__}": (state, LeaseExpired(), state, ())
        for state in (
            Observing(observed_lease()),
            Acquiring(observed_lease(), 99),
            Leaving(observed_lease(), 110),
            Releasing(observed_lease(), 110),
        )
    },
}


@pytest.mark.parametrize(("state", "event", "next_state", "actions"), ROWS.values(), ids=ROWS)
def test_le_01_to_08_and_12_to_18_each_row_of_the_table(
    state: State, event: Event, next_state: State, actions: tuple[Action, ...]
) -> None:
    assert step(state, event, 100) == (next_state, actions)


COORDINATED: Final[dict[str, Row]] = {
    "le_09 coordinated: another's, though it has run out": (
        Observing(observed_lease(OTHERS, since=10, candidate=ASSIGNED)),
        LeaseRead(OTHERS),
        Observing(observed_lease(OTHERS, since=10, candidate=ASSIGNED)),
        (GET_SOON,),
    ),
    "le_09 coordinated: nobody's": (
        Observing(observed_lease(BLANK, candidate=ASSIGNED)),
        LeaseRead(EMPTY),
        Observing(ObservedLease(ASSIGNED, EMPTY, 90)),
        (GET_SOON,),
    ),
    "le_09 coordinated: no lease": (
        Observing(observed_lease(BLANK, candidate=ASSIGNED)),
        ABSENT,
        Observing(ObservedLease(ASSIGNED, BLANK, 100)),
        (GET_SOON,),
    ),
    "le_10 coordinated: one's own": (
        Observing(observed_lease(BLANK, candidate=ASSIGNED)),
        LeaseRead(MINE),
        Acquiring(observed_lease(since=100, candidate=ASSIGNED), 100),
        (ReportLeader("me"), renewal()),
    ),
    "le_10 coordinated: one's own, but run out": (
        Observing(observed_lease(since=85, candidate=ASSIGNED)),
        LeaseRead(MINE),
        Observing(observed_lease(since=85, candidate=ASSIGNED)),
        (GET_SOON,),
    ),
    "le_10 coordinated: one's own, but another is preferred": (
        Observing(observed_lease(PROMISED, since=99, candidate=ASSIGNED)),
        LeaseRead(PROMISED),
        Observing(observed_lease(PROMISED, since=99, candidate=ASSIGNED)),
        (GET_SOON,),
    ),
    "le_10 coordinated: leads, and another is preferred": (
        Checking(observed_lease(candidate=ASSIGNED), 108),
        LeaseRead(PROMISED),
        Observing(observed_lease(PROMISED, since=100, candidate=ASSIGNED)),
        (StopLeading("the lease belongs to other"), GET_SOON),
    ),
    "le_10 coordinated: leads, and is preferred itself": (
        Checking(observed_lease(candidate=ASSIGNED), 108),
        LeaseRead(lease("me", preferred_holder="me")),
        Renewing(
            observed_lease(lease("me", preferred_holder="me"), since=100, candidate=ASSIGNED), 108, 100, True
        ),
        (renewal(lease("me", preferred_holder="me")),),
    ),
    "coordinated: leads, and the lease is gone": (
        Checking(observed_lease(candidate=ASSIGNED), 108),
        ABSENT,
        Observing(ObservedLease(ASSIGNED, BLANK, 100)),
        (StopLeading("the lease was deleted"), ReportLeader(""), GET_SOON),
    ),
    "a preferred holder is nothing to who is not coordinated": (
        Checking(observed_lease(), 108),
        LeaseRead(PROMISED),
        Renewing(observed_lease(PROMISED, since=100), 108, 100, True),
        (renewal(PROMISED),),
    ),
}


@pytest.mark.parametrize(("state", "event", "next_state", "actions"), COORDINATED.values(), ids=COORDINATED)
def test_le_09_le_10_a_coordinated_candidate_leads_as_long_as_the_server_selects_it(
    state: State, event: Event, next_state: State, actions: tuple[Action, ...]
) -> None:
    assert step(state, event, 100) == (next_state, actions)


STATES: Final[tuple[State, ...]] = (
    Idle(ME),
    Observing(observed_lease()),
    Acquiring(observed_lease(), 99),
    Renewing(observed_lease(), 108, 99),
    Checking(observed_lease(), 108),
    Leaving(observed_lease(), 110),
    Releasing(observed_lease(), 110),
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


def test_no_state_and_event_of_the_table_take_an_arrow_outside_the_diagram() -> None:
    rows, drawn = (*ROWS.values(), *COORDINATED.values()), arrows(election.__doc__)
    for previous_state, *_ in rows:
        for _, event, *_ in rows:
            try:
                next_state, _ = step(previous_state, event, 100)
            except LocalProtocolError:
                continue
            assert arrow(previous_state, event, next_state) in drawn


# The written leases


def test_the_times_in_a_lease_are_wall_clock_times_of_the_request() -> None:
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


def test_le_11_unknown_fields_of_a_lease_survive_a_renewal_and_a_takeover() -> None:
    raw = kp.encode(lease("other", strategy="OldestEmulationVersion", preferred_holder="x"))
    decoded = kp.decode(raw, Lease)
    _, actions = step(Observing(observed_lease(decoded, since=0)), LeaseRead(decoded), 100)
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


def test_a_new_lease_is_created_from_the_candidates_template_with_its_labels() -> None:
    assert CREATION.body(WALL).metadata == BLANK.metadata


# Who may be a candidate


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
def test_le_16_a_candidate_with_unsafe_durations_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(ME, **wrong)


def test_the_defaults_are_those_of_gos_clients() -> None:
    assert (ME.lease_duration, ME.renew_deadline, ME.retry_period, ME.jitter) == (15, 10, 2, 1.2)


# The status


@pytest.mark.parametrize(
    ("state", "now", "message"),
    [
        (Idle(ME), 0, LeadershipStatus(False, "", True)),
        (Observing(observed_lease(OTHERS)), 1e6, LeadershipStatus(False, "other", True)),
        (Acquiring(observed_lease(OTHERS), 99), 100, LeadershipStatus(False, "other", True)),
        (Renewing(observed_lease(), 110, 101), 109, LeadershipStatus(True, "me", True)),
        (Renewing(observed_lease(), 110, 101), 110, LeadershipStatus(False, "me", True)),
        (Checking(observed_lease(), 110), 135, LeadershipStatus(False, "me", True)),
        (Checking(observed_lease(), 110), 135.1, LeadershipStatus(False, "me", False)),
        (Ended(ME), 0, LeadershipStatus(False, "", True)),
    ],
)
def test_le_19_a_leader_leads_until_its_deadline_and_is_unhealthy_only_after_lease_and_tolerance(
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


def test_a_create_that_conflicts_reads_the_lease_again() -> None:
    steps = Failed(Rejected("already exists", 409))
    assert step(Acquiring(BLANK_COURSE, 99), steps, 100) == (Observing(BLANK_COURSE), (GET_SOON,))
