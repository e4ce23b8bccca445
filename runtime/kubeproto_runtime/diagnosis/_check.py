"""`Check`: one thing that was checked, what was found, and what to do about it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

CheckOutcome: TypeAlias = Literal["ok", "warning", "failed", "skipped"]


class Check(Struct, frozen=True):
    """One thing that was checked: its name, what was found, and what to do unless it is in order.

    Neither text holds a token, a password or a key.
    """

    name: str
    outcome: CheckOutcome
    found: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}: {self.found}" + (f"; {self.advice}" if self.advice else "")


def passed(name: str, found: str) -> Check:
    """Return a check that found no problem."""
    return Check(name, "ok", found)


def warned(name: str, found: str, advice: str) -> Check:
    """Return a check that found something that works and should be fixed nevertheless."""
    return Check(name, "warning", found, advice)


def failed(name: str, found: str, advice: str) -> Check:
    """Return a check that found something that has to be fixed."""
    return Check(name, "failed", found, advice)


def skipped(name: str, found: str) -> Check:
    """Return a check that could not be made, which is not a fault of the set-up."""
    return Check(name, "skipped", found)
