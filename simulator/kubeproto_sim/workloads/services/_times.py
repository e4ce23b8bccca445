"""Times as objects carry them where fractions of a second count."""

from __future__ import annotations

import datetime


def precise(seconds: float) -> str:
    """Return a time since 1970 as Go prints it, with as many digits as it needs."""
    when = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{seconds % 1:.9f}"[1:].rstrip("0").rstrip(".")
    return f"{when}{fraction}Z"
