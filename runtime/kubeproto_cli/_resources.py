"""``pods``, ``po web``, ``deploy/web``, ``pods,services``: the resources and names of a command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXPECTED: Final = "expected TYPE, TYPE NAME… or TYPE/NAME…, such as pods, deploy web or deploy/web"


class WantedResources(NamedTuple):
    """Objects of one kind, as the user named them: all, or those with these names."""

    kind: str
    names: tuple[str, ...] = ()


class Selected(NamedTuple):
    """Which objects of a kind: those with these labels and fields; empty for all."""

    labels: str = ""
    fields: str = ""


def parse_resources(words: Sequence[str]) -> tuple[WantedResources, ...]:
    """Read the arguments of a command as kubectl does: which objects of which kinds.

    ``TYPE[,TYPE…]`` is all of these kinds, ``TYPE[,TYPE…] NAME…`` these names of each, ``TYPE/NAME…`` single
    objects. The kinds are only words here: `Client.resource` asks the server what they mean.
    """
    if not words:
        raise click.UsageError(f"which resources? {_EXPECTED}")
    slashed = [word for word in words if "/" in word]
    if slashed and len(slashed) != len(words):
        plain = next(word for word in words if "/" not in word)
        raise click.UsageError(f"{plain!r} is not TYPE/NAME as {slashed[0]!r} is; {_EXPECTED}")
    if slashed:
        return tuple(_single(word) for word in words)
    kinds = words[0].split(",")
    if not all(kinds):
        raise click.UsageError(f"{words[0]!r} has an empty type; {_EXPECTED}")
    return tuple(WantedResources(kind, tuple(words[1:])) for kind in kinds)


def _single(word: str) -> WantedResources:
    kind, _, name = word.partition("/")
    if not kind or not name or "/" in name or "," in kind:
        raise click.UsageError(f"{word!r} is not TYPE/NAME; {_EXPECTED}")
    return WantedResources(kind, (name,))
