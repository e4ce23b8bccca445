"""`Check`: the outcome of a check, its finding, and advice."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

CheckOutcome: TypeAlias = Literal["ok", "warning", "failed", "skipped"]


class Check(Struct, frozen=True):
    """The outcome of a check: its name, the finding, and advice if there is a problem.

    No text contains a token, a password or a key.
    """

    name: str
    outcome: CheckOutcome
    finding: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome}: {self.finding}" + (f"; {self.advice}" if self.advice else "")


def passed(name: str, finding: str) -> Check:
    """Return a check that found no problem."""
    return Check(name, "ok", finding)


def warned(name: str, finding: str, advice: str) -> Check:
    """Return a check of a working configuration that should be improved."""
    return Check(name, "warning", finding, advice)


def failed(name: str, finding: str, advice: str) -> Check:
    """Return a check of a configuration that must be corrected."""
    return Check(name, "failed", finding, advice)


def skipped(name: str, finding: str) -> Check:
    """Return a check that could not run; this is not a problem of the configuration."""
    return Check(name, "skipped", finding)
