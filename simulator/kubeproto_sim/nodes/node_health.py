"""The health of a node, as its kubelet and the node controller of the cluster see it: a state machine.

::

    Healthy ─── TimePassed ─► Healthy
    Healthy ─── Failed ─────► Unhealthy
    Healthy ─── Stopped ────► Silent
    Unhealthy ─ TimePassed ─► Unhealthy
    Unhealthy ─ Failed ─────► Unhealthy
    Unhealthy ─ Recovered ──► Healthy
    Unhealthy ─ Stopped ────► Silent
    Silent ──── TimePassed ─► Silent, Lost
    Silent ──── Started ────► Healthy
    Lost ────── Started ────► Healthy

Rules

- A kubelet renews the lease of its node every 10 s and writes the status of the node every 5 minutes, or when
  it changes. A silent kubelet does neither, and nothing happens on its node.
- 50 s after the last renewal the node controller considers the node lost: its conditions are Unknown.
- Unready nodes and lost nodes are tainted. The effect of the taints on pods is no concern of this machine.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from kubeproto import LocalProtocolError

RENEW: Final = 10.0  # a quarter of the 40 s that a lease lasts, as a kubelet does
REPORT: Final = 300.0
GRACE: Final = 50.0  # --node-monitor-grace-period since Kubernetes 1.32


# States


class Healthy(Struct, frozen=True, gc=False):
    """The node is ready."""

    renews_at: float
    reports_at: float


class Unhealthy(Struct, frozen=True, gc=False):
    """The kubelet reports that the node is not ready, with a message."""

    renews_at: float
    reports_at: float
    message: str


class Silent(Struct, frozen=True, gc=False):
    """The kubelet is silent, and the node controller has not noticed."""

    lost_at: float


class Lost(Struct, frozen=True, gc=False):
    """The node controller has noticed the silence."""


State: TypeAlias = Healthy | Unhealthy | Silent | Lost


# Events


class TimePassed(Struct, frozen=True, gc=False):
    """The time of `next_due` has come."""


class Failed(Struct, frozen=True, gc=False):
    """A component of the node has failed."""

    message: str


class Recovered(Struct, frozen=True, gc=False):
    """The failed component works again."""


class Stopped(Struct, frozen=True, gc=False):
    """The kubelet has stopped, or its whole machine."""


class Started(Struct, frozen=True, gc=False):
    """The kubelet runs again."""


Event: TypeAlias = TimePassed | Failed | Recovered | Stopped | Started


# Actions


class RenewLease(Struct, frozen=True, gc=False):
    """Write the lease of the node."""


class ReportNode(Struct, frozen=True, gc=False):
    """Write the status of the node, and the taints that follow from it."""


Action: TypeAlias = RenewLease | ReportNode
Step: TypeAlias = tuple[State, tuple[Action, ...]]


def begin(now: float) -> Step:
    """Return the state and the first actions of a new node."""
    return Healthy(now + RENEW, now + REPORT), (ReportNode(), RenewLease())


def next_due(state: State) -> float | None:
    """Return the time of the next `TimePassed`; None if the state does not change by itself."""
    match state:
        case Healthy(renews_at, reports_at) | Unhealthy(renews_at, reports_at):
            return min(renews_at, reports_at)
        case Silent(lost_at):
            return lost_at
        case Lost():
            return None


def step(state: State, event: Event, now: float) -> Step:
    """Return the state after an event, and the actions."""
    match state, event:
        case Healthy(renews_at, reports_at), TimePassed():
            renews_at, reports_at, actions = _renew_and_report(renews_at, reports_at, now)
            return Healthy(renews_at, reports_at), actions
        case Unhealthy(renews_at, reports_at, message), TimePassed():
            renews_at, reports_at, actions = _renew_and_report(renews_at, reports_at, now)
            return Unhealthy(renews_at, reports_at, message), actions
        case ((Healthy(renews_at=renews_at) | Unhealthy(renews_at=renews_at)), Failed(message)):
            return Unhealthy(renews_at, now + REPORT, message), (ReportNode(),)
        case Unhealthy(renews_at=renews_at), Recovered():
            return Healthy(renews_at, now + REPORT), (ReportNode(),)
        case ((Healthy(renews_at=renews_at) | Unhealthy(renews_at=renews_at)), Stopped()):
            return Silent(renews_at - RENEW + GRACE), ()
        case Silent(lost_at), TimePassed():
            return (Lost(), (ReportNode(),)) if now >= lost_at else (state, ())
        case ((Silent() | Lost()), Started()):
            return begin(now)
        case _:
            event_name, state_name = type(event).__name__, type(state).__name__.lower()
            raise LocalProtocolError(f"{event_name} cannot happen to a node that is {state_name}")


def _renew_and_report(
    renews_at: float, reports_at: float, now: float
) -> tuple[float, float, tuple[Action, ...]]:
    actions: list[Action] = []
    if now >= reports_at:
        actions.append(ReportNode())
        reports_at = now + REPORT
    if now >= renews_at:
        actions.append(RenewLease())
        renews_at = now + RENEW
    return renews_at, reports_at, tuple(actions)


__all__ = [
    "GRACE",
    "RENEW",
    "REPORT",
    "Action",
    "Event",
    "Failed",
    "Healthy",
    "Lost",
    "Recovered",
    "RenewLease",
    "ReportNode",
    "Silent",
    "Started",
    "State",
    "Step",
    "Stopped",
    "TimePassed",
    "Unhealthy",
    "begin",
    "next_due",
    "step",
]
