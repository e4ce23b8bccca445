"""The gate of a request: who writes must hold what the written role grants."""

from __future__ import annotations

from typing import Any

from .._state import ServerState
from ..access._access import Caller
from ..reading._routes import Route
from ..writing._gates import Gate
from ..writing._patches import PatchWriter
from ..writing._writes import Writer
from ._messages import ServerRequest


class RequestGate(Gate):
    """What the write of one request has to pass."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def check(self, obj: dict[str, Any], old: dict[str, Any] | None) -> None:
        self._caller.check_escalation(obj, old)


def writer_for(world: ServerState, route: Route, request: ServerRequest, warnings: list[str]) -> Writer:
    """The writer of a request that creates or replaces an object."""
    gate = RequestGate(request.caller)
    return Writer(world, route, request.query, request.manager, warnings, gate)


def patch_writer_for(
    world: ServerState, route: Route, request: ServerRequest, warnings: list[str]
) -> PatchWriter:
    """The writer of a request that patches an object."""
    gate = RequestGate(request.caller)
    return PatchWriter(world, route, request.query, request.manager, warnings, gate)
