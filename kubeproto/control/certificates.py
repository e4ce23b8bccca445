"""Renewal of self-signed certificates: decisions about authorities, their bundle and a server's leaf.

::

    nothing ── Begin ──► [A], leaf by A
                            │ A ends within `overlap`
                            │ Issue: the last leaf by A, unless the current leaf is fresh
                            │ AddAuthority: the key of A is deleted
                            ▼
                         [A, B], leaf by A        every client must know B before it is used
                            │ B has been published for `propagation`
                            │ Issue
                            ▼
                         [A, B], leaf by B        servers may still present the leaf by A
                            │ `propagation` later
                            │ Retire
                            ▼
                         [B], leaf by B

The leaf is the certificate that servers present. The newest authority reissues it when less than a third of
its lifetime remains, or when the host names change. Three rules keep every handshake valid: no leaf is
presented whose authority a client does not know yet; no authority is removed whose leaf a server may still
present; and an authority gets a successor only while its leaf has two thirds of its lifetime left, because no
other leaf can be issued until the successor is known, and publishing it may take that long. Each step is a
single write, and the written objects contain the state: another leader continues from there.

A leader whose clock was ahead leaves certificates that are not valid yet. A certificate that becomes valid
within `propagation` is used; a later one is replaced, because no client accepts it until then.

Times are Unix times. The machine makes no keys and no certificates: the driver that performs the actions
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from msgspec import Struct

__all__ = [
    "AddAuthority",
    "Begin",
    "Chain",
    "Issue",
    "Leaf",
    "Lifetimes",
    "Renewal",
    "Retire",
    "TrustedAuthority",
    "Wait",
    "decide",
]

_DAY: Final = 86400.0


class Lifetimes(Struct, frozen=True, kw_only=True):
    """The periods of a renewal, in seconds.

    An authority gets a successor `overlap` before its end. A change reaches every client and server within
    `propagation`: kubelets need a minute or two for a Secret.
    """

    authority: float = 365 * _DAY
    leaf: float = 90 * _DAY
    overlap: float = 120 * _DAY
    propagation: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < 3 * self.propagation < self.leaf <= self.overlap < self.authority:
            raise ValueError(
                "lifetimes must satisfy 3 * propagation < leaf <= overlap < authority: an authority must"
                " outlive its leaves, and a change must reach every client before the next change"
            )


class TrustedAuthority(Struct, frozen=True):
    """A certificate of the bundle, with a unique `id`."""

    id: str
    not_before: float
    not_after: float


class Leaf(Struct, frozen=True):
    """The certificate that servers present."""

    issuer: str
    not_before: float
    not_after: float
    hosts: frozenset[str]


class Chain(Struct, frozen=True):
    """The present certificates: the authorities of the bundle, newest last, and the leaf."""

    authorities: tuple[TrustedAuthority, ...]
    leaf: Leaf


class Begin(Struct, frozen=True):
    """Make an authority and a leaf: the current certificates are unusable."""


class AddAuthority(Struct, frozen=True):
    """Make an authority and add it to the bundle; keep the leaf."""


class Issue(Struct, frozen=True):
    """Make a leaf by the newest authority; it must not outlive that authority."""


class Retire(Struct, frozen=True):
    """Remove every authority except the newest from the bundle."""


class Wait(Struct, frozen=True):
    """Do nothing until this time, unless something changes."""

    until: float


Renewal: TypeAlias = Begin | AddAuthority | Issue | Retire | Wait

_DEFAULTS: Final = Lifetimes()


def decide(
    chain: Chain | None,
    hosts: frozenset[str],
    published: Mapping[str, float],
    now: float,
    lifetimes: Lifetimes = _DEFAULTS,
) -> Renewal:
    """Return the next step.

    The leaf must be valid for `hosts`. `published` maps the id of an authority to the time since when every
    client knows it.
    """
    if chain is None or not chain.authorities or not _is_usable(chain.authorities[-1], now, lifetimes):
        return Begin()
    newest, leaf = chain.authorities[-1], chain.leaf
    issuers = {authority.id for authority in chain.authorities}
    if not _is_usable(leaf, now, lifetimes) or leaf.issuer not in issuers:
        return Issue()  # no client accepts the present leaf, so waiting would not help
    if leaf.issuer != newest.id:
        known_at = published.get(newest.id, now) + lifetimes.propagation
        return Issue() if now >= known_at else Wait(known_at)
    third = (leaf.not_after - leaf.not_before) / 3
    renew_at, succeed_at = leaf.not_after - third, newest.not_after - lifetimes.overlap
    if not hosts <= leaf.hosts or now >= renew_at:
        return Issue()
    if now >= succeed_at:
        # A leaf that lasts as long as its authority would not last longer if it were issued again.
        fresh = now <= leaf.not_before + third or leaf.not_after >= newest.not_after
        return AddAuthority() if fresh else Issue()
    if len(chain.authorities) == 1:
        return Wait(min(succeed_at, renew_at))
    retire_at = leaf.not_before + lifetimes.propagation
    return Retire() if now >= retire_at else Wait(min(succeed_at, renew_at, retire_at))


def _is_usable(certificate: TrustedAuthority | Leaf, now: float, lifetimes: Lifetimes) -> bool:
    """Return whether a certificate is valid, or will be within `propagation`."""
    return certificate.not_before - lifetimes.propagation <= now < certificate.not_after
