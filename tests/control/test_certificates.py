"""When certificates are renewed: a table of decisions, and years of renewals with any delays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest
from hypothesis import example, given, strategies as st

from kubeproto.control import certificates as c

SPAN: Final = c.Lifetimes(authority=1000.0, leaf=90.0, overlap=120.0, propagation=10.0)
HOSTS: Final = frozenset(("hooks.default.svc",))
A: Final = c.TrustedAuthority("A", 0.0, 1000.0)
B: Final = c.TrustedAuthority("B", 880.0, 1880.0)


def leaf(issuer: str, start: float, hosts: frozenset[str] = HOSTS) -> c.Leaf:
    return c.Leaf(issuer, start, start + 90.0, hosts)


def chain(*authorities: c.TrustedAuthority, by: str, start: float, hosts: frozenset[str] = HOSTS) -> c.Chain:
    return c.Chain(authorities, leaf(by, start, hosts))


ROWS: Final[list[tuple[str, c.Chain | None, dict[str, float], float, c.Renewal]]] = [
    ("nothing is there", None, {}, 0.0, c.Begin()),
    ("no authority is there", c.Chain((), leaf("A", 0.0)), {}, 0.0, c.Begin()),
    ("the newest authority has ended", chain(A, by="A", start=950.0), {}, 1000.0, c.Begin()),
    ("all is well", chain(A, by="A", start=0.0), {}, 1.0, c.Wait(60.0)),
    ("all is well, and was not published", chain(A, by="A", start=0.0), {"A": 5.0}, 1.0, c.Wait(60.0)),
    ("two thirds of the leaf are over", chain(A, by="A", start=0.0), {}, 60.0, c.Issue()),
    ("the leaf has ended", chain(A, by="A", start=0.0), {}, 90.0, c.Issue()),
    ("the names have changed", chain(A, by="A", start=0.0, hosts=frozenset("x")), {}, 1.0, c.Issue()),
    ("the leaf is by somebody else", chain(A, by="", start=0.0), {}, 1.0, c.Issue()),
    ("the authority ends within the overlap", chain(A, by="A", start=880.0), {}, 880.0, c.AddAuthority()),
    ("and its leaf is not fresh", chain(A, by="A", start=830.0), {}, 880.0, c.Issue()),
    ("its leaf is as fresh as it has to be", chain(A, by="A", start=850.0), {}, 880.0, c.AddAuthority()),
    ("a fresher leaf would not last longer", chain(A, by="A", start=930.0), {}, 985.0, c.AddAuthority()),
    ("the names have changed before that", chain(A, by="A", start=880.0, hosts=frozenset("x")), {}, 880.0,
     c.Issue()),
    ("it is about to", chain(A, by="A", start=840.0), {}, 870.0, c.Wait(880.0)),
    ("the new one is not published", chain(A, B, by="A", start=840.0), {"A": 0.0}, 900.0, c.Wait(910.0)),
    ("it was published just now", chain(A, B, by="A", start=840.0), {"B": 895.0}, 900.0, c.Wait(905.0)),
    ("a newer one is due meanwhile", chain(A, B, by="A", start=1750.0), {}, 1800.0, c.Wait(1810.0)),
    ("it has settled", chain(A, B, by="A", start=840.0), {"B": 890.0}, 900.0, c.Issue()),
    ("nobody accepts the old leaf", chain(A, B, by="A", start=840.0), {}, 930.0, c.Issue()),
    ("old leaves may still be shown", chain(A, B, by="B", start=905.0), {}, 910.0, c.Wait(915.0)),
    ("none is shown any more", chain(A, B, by="B", start=905.0), {}, 915.0, c.Retire()),
    ("the old one is gone", chain(B, by="B", start=905.0), {}, 915.0, c.Wait(965.0)),
    ("the authority is of a clock that was ahead", chain(B, by="B", start=880.0), {}, 869.0, c.Begin()),
    ("it is valid soon", chain(B, by="B", start=880.0), {}, 870.0, c.Wait(940.0)),
    ("the leaf is of a clock that was ahead", chain(A, by="A", start=500.0), {}, 489.0, c.Issue()),
    ("the leaf is valid soon", chain(A, by="A", start=500.0), {}, 490.0, c.Wait(560.0)),
    ("it is so before the new authority is published", chain(A, B, by="A", start=920.0), {"A": 0.0}, 900.0,
     c.Issue()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("description", "current_chain", "published", "now", "decision"), ROWS, ids=[row[0] for row in ROWS]
)
def test_a_row(
    description: str,
    current_chain: c.Chain | None,
    published: Mapping[str, float],
    now: float,
    decision: c.Renewal,
) -> None:
    assert c.decide(current_chain, HOSTS, published, now, SPAN) == decision


@pytest.mark.parametrize(
    "changes",
    [
        {"propagation": 0.0},
        {"propagation": 30 * 86400.0},
        {"leaf": 130 * 86400.0},
        {"overlap": 400 * 86400.0},
    ],
)
def test_lifetimes_that_would_leave_a_gap_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must satisfy"):
        c.Lifetimes(**changes)


class Years:
    """A Secret, the bundles in configurations, a client that reads the bundles, and a server that reads the
    Secret.

    A write reaches the configurations after a delay, in the order of writes; the client and the server lag by
    half of the settling time. The leader learns the published bundle when it decides.
    """

    def __init__(self, delays: list[float]) -> None:
        self.delays = delays
        self.now = 0.0
        self.chain: c.Chain | None = None
        # the bundles in the configurations, each with its time
        self.bundles: list[tuple[float, frozenset[str]]] = []
        self.published_leaves: list[tuple[float, c.Leaf]] = []  # the leaves in the Secret, each with its time
        self.published: dict[str, float] = {}
        self.not_before = 0
        self.decisions: list[c.Renewal] = []

    def decide(self) -> c.Renewal:
        self.published = {
            authority: self.published.get(authority, self.now) for authority in self.bundle(self.now)
        }
        decision = c.decide(self.chain, HOSTS, self.published, self.now, SPAN)
        self.decisions.append(decision)
        return decision

    def perform(self, decision: c.Renewal) -> None:
        match decision, self.chain:
            case c.Begin(), _:
                not_before = self.authority()
                self.chain = c.Chain((not_before,), self.leaf(not_before))
            case c.AddAuthority(), c.Chain(authorities, leaf_time):
                self.chain = c.Chain((*authorities, self.authority()), leaf_time)
            case c.Issue(), c.Chain(authorities, _):
                self.chain = c.Chain(authorities, self.leaf(authorities[-1]))
            case c.Retire(), c.Chain(authorities, leaf_time):
                self.chain = c.Chain(authorities[-1:], leaf_time)
            case _:
                raise AssertionError(decision)
        assert self.chain is not None
        delay = self.delays.pop() if self.delays and self.bundles else 0.0
        previous_time = self.bundles[-1][0] if self.bundles else 0.0
        self.bundles.append(
            (
                max(previous_time, self.now + delay),
                frozenset(authority.id for authority in self.chain.authorities),
            )
        )
        self.published_leaves.append((self.now, self.chain.leaf))

    def authority(self) -> c.TrustedAuthority:
        self.not_before += 1
        return c.TrustedAuthority(str(self.not_before), self.now, self.now + SPAN.authority)

    def leaf(self, by: c.TrustedAuthority) -> c.Leaf:
        return c.Leaf(by.id, self.now, min(self.now + SPAN.leaf, by.not_after), HOSTS)

    def bundle(self, time: float) -> frozenset[str]:
        findings = [ids for since, ids in self.bundles if since <= time]
        return findings[-1] if findings else frozenset[str]()

    def pass_to(self, until: float) -> None:
        """Advance the time, and check at each time at which something changes for the client or the
        server.
        """
        times = {time + lag for time, _ in (*self.bundles, *self.published_leaves) for lag in (0.0, LAG)}
        for time in sorted(time for time in times | {until} if self.now < time <= until):
            self.now = time
            self.check()

    def check(self) -> None:
        """Check that every client trusts the leaf of any server."""
        trusted = [self.bundle(self.now), self.bundle(self.now - LAG)] if self.now > LAG else []
        recent = [authority for since, authority in self.published_leaves if since > self.now - LAG]
        previous = [authority for since, authority in self.published_leaves if since <= self.now - LAG][-1:]
        for leaf_ in (*previous, *recent):
            assert leaf_.not_after > self.now
            assert all(leaf_.issuer in ids for ids in trusted)


LAG: Final = SPAN.propagation / 2
# A leaf that was new when the next authority was added has 60 seconds left. Until a leaf of that authority is
# in use everywhere, four delays pass: its publication, two wake-ups of the leader, 10 seconds to settle, and
# the lag.
SPARE_TIME: Final = 60.0 - 2 * SPAN.propagation - LAG - 0.5


@st.composite
def delays_and_pauses(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    """Draw the delays of publications, and the delays of the leader's wake-ups."""
    max_pause = draw(st.floats(0.0, SPARE_TIME / 2))
    delays = draw(st.lists(st.floats(0.0, SPARE_TIME - 2 * max_pause), max_size=40))
    return delays, draw(st.lists(st.floats(0.0, max_pause), max_size=80))


@example(([SPARE_TIME] * 40, []))
@example(([0.0] * 40, [SPARE_TIME / 2] * 80))
@given(delays_and_pauses())
def test_in_years_of_renewals_every_client_trusts_every_server(slow: tuple[list[float], list[float]]) -> None:
    delays, pauses = slow
    years = Years(delays)
    while years.now < 2000.0:
        for _ in range(5):
            decision = years.decide()
            if isinstance(decision, c.Wait):
                break
            years.perform(decision)
            years.check()
        else:
            raise AssertionError("the decisions do not end")
        assert decision.until > years.now
        years.pass_to(decision.until + (pauses.pop() if pauses else 0.0))
    kinds = [type(authority).__name__ for authority in years.decisions]
    assert kinds.count("Begin") == 1
    assert kinds.count("AddAuthority") == 2
    assert kinds.count("Retire") == 2
