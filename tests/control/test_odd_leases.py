"""Whatever a server stores in a Lease, a candidate can acquire, renew and release it."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

import kubeproto as kp
from kubeproto.control import election
from kubeproto.control.election import (
    Acquiring,
    Candidate,
    Checking,
    Leaving,
    ObservedLease,
    Observing,
    Releasing,
    Renewing,
    SendGet,
    SendUpdate,
    step,
)
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto.objects import MicroTime

MAX: Final = 2**31 - 1
ME: Final = Candidate(
    lease=Lease(metadata=kp.ObjectMeta(name="books", namespace="n")), identity="me", lease_duration=15
)

# The fields, how long another's lease is valid, and the transitions after it was acquired.
ODD: Final[dict[str, tuple[dict[str, Any], float, int]]] = {
    "negative transitions": ({"leaseTransitions": -(2**31)}, 15, 1),
    "the most transitions": ({"leaseTransitions": MAX}, 15, MAX),
    "too many transitions": ({"leaseTransitions": 10**30}, 15, MAX),
    "no transitions": ({"leaseTransitions": None}, 15, 1),
    "no duration": ({"leaseDurationSeconds": None}, 15, 4),
    "a duration of zero": ({"leaseDurationSeconds": 0}, 15, 4),
    "a negative duration": ({"leaseDurationSeconds": -7}, 15, 4),
    "a long duration": ({"leaseDurationSeconds": MAX}, MAX, 4),
    "too long a duration": ({"leaseDurationSeconds": 10**400}, MAX, 4),
    "no times": ({"renewTime": None, "acquireTime": None}, 15, 4),
    "the first times": (
        {"renewTime": "0001-01-01T00:00:00.000000Z", "acquireTime": "0001-01-01T00:00:00.000000Z"}, 15, 4,
    ),
    "the last times": (
        {"renewTime": "9999-12-31T23:59:59.999999Z", "acquireTime": "9999-12-31T23:59:59.999999Z"}, 15, 4,
    ),
    "times of the year 0": (
        {"renewTime": "0000-12-31T10:00:00.000000Z", "acquireTime": "0000-01-01T00:00:00.000000Z"}, 15, 4,
    ),
    "times after the year 9999": (
        {"renewTime": "10000-01-01T11:59:59.999999Z", "acquireTime": "10000-01-01T11:59:59.999999Z"}, 15, 4,
    ),
}  # fmt: skip


def odd_lease(spec: dict[str, Any], *, holder: str, version: str = "7") -> Lease:
    """A lease as it comes from a server."""
    ordinary = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 3}
    times = {"renewTime": "2026-01-01T12:00:00.000000Z", "acquireTime": "2026-01-01T12:00:00.000000Z"}
    document = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "books", "namespace": "n", "resourceVersion": version},
        "spec": ordinary | times | spec,
    }
    return kp.decode(json.dumps(document).encode(), Lease)


def observing() -> election.State:
    state, _ = step(election.begin(ME), election.Started(), 0)
    return state


def check_accepted(action: election.Action) -> Lease:
    """Return the lease of a request, which a server accepts, and which does not lose its version."""
    assert isinstance(action, SendUpdate)
    lease, spec = action.lease, action.lease.spec
    assert lease.metadata.resource_version == "7"
    assert 1 <= (spec.lease_duration_seconds or 0) <= MAX
    assert spec.lease_transitions is None or 0 <= spec.lease_transitions <= MAX
    body = action.body(MicroTime.parse("2026-11-23T12:00:00Z"))
    assert json.loads(kp.encode(body))["spec"]["renewTime"] == "2026-11-23T12:00:00.000000Z"
    return lease


@pytest.mark.parametrize("row", ODD)
def test_a_candidate_acquires_an_odd_lease_that_is_silent_for_its_duration(row: str) -> None:
    spec, duration, transitions = ODD[row]
    state, actions = step(observing(), election.LeaseRead(odd_lease(spec, holder="other")), 100)
    assert isinstance(state, Observing)
    state, actions = step(state, election.LeaseRead(odd_lease(spec, holder="other")), 99.9 + duration)
    assert isinstance(state, Observing)
    state, actions = step(state, election.LeaseRead(odd_lease(spec, holder="other")), 100 + duration)
    assert isinstance(state, Acquiring)
    lease = check_accepted(actions[-1])
    assert lease.spec.holder_identity == "me"
    assert lease.spec.lease_transitions == transitions


@pytest.mark.parametrize("row", ODD)
def test_a_candidate_acquires_an_odd_lease_without_a_holder_immediately(row: str) -> None:
    event = election.LeaseRead(odd_lease(ODD[row][0], holder=""))
    state, actions = step(observing(), event, 100)
    assert isinstance(state, Acquiring)
    check_accepted(actions[-1])


@pytest.mark.parametrize("row", ODD)
def test_a_holder_renews_and_releases_its_odd_lease(row: str) -> None:
    mine = odd_lease(ODD[row][0], holder="me")
    state, actions = step(observing(), election.LeaseRead(mine), 100)
    assert isinstance(state, Acquiring)
    assert check_accepted(actions[-1]).spec.holder_identity == "me"
    state, actions = step(state, election.LeaseWritten(mine), 101)
    assert isinstance(state, Renewing)
    check_accepted(actions[-1])
    state, actions = step(state, election.Stopped(), 102)
    assert isinstance(state, Leaving)
    state, actions = step(state, election.LeaseRead(mine), 103)
    assert isinstance(state, Releasing)
    assert check_accepted(actions[-1]).spec.holder_identity == ""


def test_a_holder_whose_times_are_unreadable_is_alive_while_its_version_changes() -> None:
    spec, state = ODD["times after the year 9999"][0], observing()
    for now in range(100, 1000, 2):
        lease = odd_lease(spec, holder="other", version=str(now))
        state, _ = step(state, election.LeaseRead(lease), now)
        assert isinstance(state, Observing)
    state, _ = step(state, election.LeaseRead(odd_lease(spec, holder="other", version="998")), 998 + 15)
    assert isinstance(state, Acquiring)


@pytest.mark.parametrize("spec", ["none", {"holderIdentity": 7}, {"leaseTransitions": "3"}, {"renewTime": 7}])
def test_an_unreadable_lease_is_a_failed_request(spec: Any) -> None:
    document = {"metadata": {"name": "books", "namespace": "n"}, "spec": spec}
    lease = kp.decode(json.dumps(document).encode(), Lease)
    context = ObservedLease(ME, odd_lease({}, holder="me"), 90, "me")
    state, actions = step(Observing(context), election.LeaseRead(lease), 100)
    assert (state, [type(action) for action in actions]) == (Observing(context), [SendGet])
    state, actions = step(Checking(context, 110), election.LeaseRead(lease), 100)
    assert (state, [type(action) for action in actions]) == (Checking(context, 110), [SendGet])
    state, actions = step(Renewing(context, 110, 99), election.LeaseWritten(lease), 100)
    assert state == Checking(context, 110)
