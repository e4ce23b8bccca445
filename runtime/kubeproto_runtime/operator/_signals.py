"""Signals that end a process: the first one stops it gracefully, the second one at once."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING, Final

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

# Kubernetes sends SIGTERM before it kills, a terminal SIGINT.
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


_log: Final = logging.getLogger("kubeproto.operator")


async def handle_signals(stop: Callable[[], None], end: Callable[[], None]) -> None:
    """Call `stop` on the first signal, `end` on the second; needs the main thread."""
    with anyio.open_signal_receiver(*_SIGNALS) as signals:
        told = stop
        async for number in signals:
            _log.info("%s received", signal.Signals(number).name)
            told()
            told = end
