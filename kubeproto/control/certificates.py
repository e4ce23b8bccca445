"""When self-made certificates are renewed: decisions about authorities, their bundle and a server's leaf.

::

    nothing ── Begin ──► [A], leaf by A
                            │ A ends within `overlap`
                            │ Issue: the last leaf by A, unless there is a fresh one
                            │ AddAuthority: from here on there is no key of A
                            ▼
                         [A, B], leaf by A        B has to be known to every client first
                            │ B has been published for `settle`
                            │ Issue
                            ▼
                         [A, B], leaf by B        servers may still show the leaf by A
                            │ `settle` later
                            │ Retire
                            ▼
                         [B], leaf by B

A leaf, the certificate that servers show, is reissued by the newest authority when less than a third of its
life is left or its names have changed. Three rules keep every handshake valid: no leaf is shown whose
authority a client does not know yet; no authority is removed whose leaf a server may still show; and an
authority gets a successor only while its leaf has two thirds of its life left, because no other leaf can be
issued until the successor is known, and publishing it may take that long. Each step is one write, and the
written objects hold the state: another leader continues from there.

A leader whose clock was ahead leaves certificates that are not valid yet. What becomes valid within `settle`
is waited for; anything later is replaced, because no client accepts it until then.

Times are Unix times. Nothing here makes a key or a certificate: the driver that performs the actions does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from msgspec import Struct

__all__ = [
    "DEFAULTS",
    "AddAuthority",
    "Begin",
    "Chain",
    "Issue",
    "Leaf",
    "Lifetimes",
    "Renewal",
    "Rest",
    "Retire",
    "TrustedAuthority",
    "decide",
]

_DAY: Final = 86400.0


class Lifetimes(Struct, frozen=True, kw_only=True):
    """For how long certificates are valid, in seconds.

    `overlap` is how long before its end an authority gets a successor; `settle` how long a change takes to
    reach every client and server: kubelets need a minute or two for a Secret.
    """

    authority: float = 365 * _DAY
    leaf: float = 90 * _DAY
    overlap: float = 120 * _DAY
    settle: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < 3 * self.settle < self.leaf <= self.overlap < self.authority:
            raise ValueError(
                "lifetimes must satisfy 3 * settle < leaf <= overlap < authority: an authority outlives what"
                " it issues, and a change has settled before the next one is due"
            )


class TrustedAuthority(Struct, frozen=True):
    """One certificate of the bundle; `id` distinguishes it from others."""

    id: str
    made: float
    ends: float


class Leaf(Struct, frozen=True):
    """The certificate that a server shows."""

    issuer: str
    made: float
    ends: float
    hosts: frozenset[str]


class Chain(Struct, frozen=True):
    """The present certificates: the authorities of the bundle, the newest last, and the leaf."""

    authorities: tuple[TrustedAuthority, ...]
    leaf: Leaf


class Begin(Struct, frozen=True):
    """Make an authority, and a leaf issued by it: nothing that exists can be used."""


class AddAuthority(Struct, frozen=True):
    """Make an authority and add it to the bundle; the leaf stays."""


class Issue(Struct, frozen=True):
    """Make a leaf issued by the newest authority, which ends with that authority at the latest."""


class Retire(Struct, frozen=True):
    """Remove every authority except the newest from the bundle."""


class Rest(Struct, frozen=True):
    """Do nothing before this time, unless something changes."""

    until: float


Renewal: TypeAlias = Begin | AddAuthority | Issue | Retire | Rest

DEFAULTS: Final = Lifetimes()


def decide(
    chain: Chain | None,
    hosts: frozenset[str],
    published: Mapping[str, float],
    now: float,
    lifetimes: Lifetimes = DEFAULTS,
) -> Renewal:
    """Return what to do next.

    `hosts` are the names that the leaf must be valid for; `published` maps authorities to the time since when
    every client knows them.
    """
    if chain is None or not chain.authorities or not _usable(chain.authorities[-1], now, lifetimes):
        return Begin()
    newest, leaf = chain.authorities[-1], chain.leaf
    if not _usable(leaf, now, lifetimes) or leaf.issuer not in {one.id for one in chain.authorities}:
        return Issue()  # no client accepts the present leaf, so waiting would not help
    if leaf.issuer != newest.id:
        known = published.get(newest.id, now) + lifetimes.settle
        return Issue() if now >= known else Rest(known)
    third = (leaf.ends - leaf.made) / 3
    renewal, overlap = leaf.ends - third, newest.ends - lifetimes.overlap
    if not hosts <= leaf.hosts or now >= renewal:
        return Issue()
    if now >= overlap:
        # A leaf that lasts as long as its authority would not last longer if it were issued again.
        fresh = now <= leaf.made + third or leaf.ends >= newest.ends
        return AddAuthority() if fresh else Issue()
    if len(chain.authorities) == 1:
        return Rest(min(overlap, renewal))
    retirement = leaf.made + lifetimes.settle
    return Retire() if now >= retirement else Rest(min(overlap, renewal, retirement))


def _usable(one: TrustedAuthority | Leaf, now: float, lifetimes: Lifetimes) -> bool:
    """Return whether a certificate is valid, or soon will be."""
    return one.made - lifetimes.settle <= now < one.ends
