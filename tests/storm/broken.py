"""Deliberate defects that a storm must detect: the runtime, or the operator of the storm, with a single
defect each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

import anyio
import pytest
from msgspec import Struct
from msgspec.structs import replace

import kubeproto as kp
from kubeproto.control import Store, WorkQueue, requeue
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.watching import resync
from kubeproto_runtime import Action, Context, await_change
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.tasks._background import spawn
from kubeproto_runtime.tasks._logged_lines import LoggedLines
from kubeproto_runtime.watching import ResyncDriver

from .kinds import Book
from .people import User
from .plan import Planned
from .processes import Replica

Patch = pytest.MonkeyPatch


def _original_method(owner: Any, name: str) -> Any:
    """Return a method without a defect."""
    return getattr(owner, name)


def broken_cache(patch: Patch) -> None:
    """A third of all changes is lost."""
    update, count = _original_method(Store, "update"), [0]

    def update_most(self: Any, news: list[Any]) -> Any:
        count[0] += 1
        return update(self, news[1:] if count[0] % 3 == 0 else news)

    patch.setattr(Store, "update", update_most)


def broken_queue(patch: Patch) -> None:
    """A key that is added while it runs is returned immediately."""
    add_each, original_done = _original_method(WorkQueue, "add_each"), _original_method(WorkQueue, "done")

    def add_again(self: Any, keys: Sequence[str], now: float, **more: Any) -> None:
        for key in keys:
            self._running.pop(key, None)
        add_each(self, keys, now, **more)

    def done_anyway(self: Any, key: str, now: float, **more: Any) -> None:
        with suppress(kp.LocalProtocolError):
            original_done(self, key, now, **more)

    patch.setattr(WorkQueue, "add_each", add_again)
    patch.setattr(WorkQueue, "done", done_anyway)


def broken_feed(patch: Patch) -> None:
    """Changes of a certain book are not delivered."""
    add_each = _original_method(WorkQueue, "add_each")

    def add_others(self: Any, keys: Sequence[str], now: float, **more: Any) -> None:
        add_each(self, [key for key in keys if not key.endswith("b1")], now, **more)

    patch.setattr(WorkQueue, "add_each", add_others)


def broken_finalizer(patch: Patch) -> None:
    """The finalizer goes although nothing was cleaned up."""

    async def clean_nothing(*_: Any) -> None:
        pass

    patch.setattr(Replica, "_take_down", clean_nothing)


def broken_goal(patch: Patch) -> None:
    """A certain book never gets its label."""
    label = _original_method(Replica, "_label")

    async def label_others(self: Any, book: Book, ctx: Context[None]) -> Action:
        return await_change() if ctx.name == "b0" else await label(self, book, ctx)

    patch.setattr(Replica, "_label", label_others)


def broken_end(patch: Patch) -> None:
    """A program leaves a task behind."""
    live = _original_method(Replica, "live")

    async def live_on(self: Any) -> None:
        spawn(anyio.sleep_forever)
        await live(self)

    patch.setattr(Replica, "live", live_on)


def broken_lease(patch: Patch) -> None:
    """The loss of the lease ends no work, keeps no run from beginning, and holds back no write."""

    def carry_on(self: Any, reason: str) -> None:
        self._leads_until, self._end_reason, self._leads = None, reason, anyio.Event()

    def let_through(*_: Any) -> None:
        pass

    patch.setattr(LeaderElector, "_end_term", carry_on)
    patch.setattr("kubeproto_runtime.operator._lease_fence.LeaseFence.check", let_through)
    status = _original_method(LeaderElector, "leadership_status")

    def once_and_for_all(self: Any) -> Any:
        value = status.fget(self)
        return replace(value, leads=value.leads or bool(self._end_reason))

    patch.setattr(LeaderElector, "leadership_status", property(once_and_for_all))


def broken_takeover(patch: Patch) -> None:
    """A candidate takes the lease twelve seconds before it has expired."""
    take = _original_method(sys.modules["kubeproto.control._election_phases"], "acquire_or_observe")

    def take_early(context: Any, lease: Any, now: float) -> Any:
        return take(replace(context, since=context.since - 12.0), lease, now)

    patch.setattr("kubeproto.control._election_phases.acquire_or_observe", take_early)


def broken_patience(patch: Patch) -> None:
    """After four failures in a row a cache waits for twenty minutes."""
    plan = _original_method(ResyncDriver, "_plan")

    def plan_late(self: Any, planned: Any) -> None:
        if self.state.context.failures >= 4:
            planned = replace(planned, earliest=planned.earliest + 1200.0, latest=planned.latest + 1200.0)
        plan(self, planned)

    patch.setattr(ResyncDriver, "_plan", plan_late)


def broken_client(patch: Patch) -> None:
    """An object that was sent counts as created, whatever became of the response."""
    create = _original_method(User, "create")

    async def create_anyway(self: Any, api: Any, obj: Any) -> Any:
        try:
            return await create(self, api, obj)
        except kp.TransportError:
            return obj

    patch.setattr(User, "create", create_anyway)


def broken_pace(patch: Patch) -> None:
    """Each watch ends itself after two seconds."""
    plan = _original_method(ResyncDriver, "_plan")

    def plan_short(self: Any, planned: Any) -> None:
        plan(self, replace(planned, seconds=(2, 2)) if isinstance(planned, resync.SendWatch) else planned)

    patch.setattr(ResyncDriver, "_plan", plan_short)


def broken_log(patch: Patch) -> None:
    """Each failure is logged, however often it comes."""

    def same(_: Any, level: int, *__: Any) -> int:
        return level

    patch.setattr(LoggedLines, "level", same)


def broken_silence(patch: Patch) -> None:
    """An operator shows in each ConfigMap that it is alive."""
    label = _original_method(Replica, "_label")

    async def label_alive(self: Any, book: Book, ctx: Context[None]) -> Action:
        await label(self, book, ctx)
        alive = {"metadata": {"labels": {"alive": str(int(anyio.current_time()))}}}
        await ctx.client.api(ConfigMap, namespace=ctx.namespace).merge_patch(ctx.name, alive)
        return requeue(after=30)

    patch.setattr(Replica, "_label", label_alive)


def broken_memory(patch: Patch) -> None:
    """A cache retains a part of each change forever."""
    update, retained = _original_method(Store, "update"), list[bytearray]()

    def update_and_keep(self: Any, news: list[Any]) -> Any:
        retained.append(bytearray(20_000))
        return update(self, news)

    patch.setattr(Store, "update", update_and_keep)


class Variant(Struct, frozen=True):
    """A defect, the finding of the storm, and the runs in which the storm detects it."""

    make: Callable[[Patch], None]
    finding: str
    seeds: tuple[int, ...] = tuple(range(20, 26))
    duration: float = 120.0
    changes: dict[str, Any] = {}


VARIANTS: Final = [
    Variant(broken_cache, "shows what never was"),
    Variant(broken_queue, "twice at once"),
    Variant(broken_feed, "has not reconciled"),
    Variant(broken_finalizer, "went before its finalizer"),
    Variant(broken_goal, "has no ConfigMap"),
    Variant(broken_end, "are left after the end"),
    Variant(
        broken_lease,
        "after its lease expired",
        changes={
            "share": 0.1,
            "events": tuple(Planned(time, "lease stolen", 0) for time in (20.0, 50.0, 80.0)),
        },
    ),
    Variant(
        broken_takeover,
        " leads",
        changes={"share": 0.4, "rates": (1.0, 1.0, 1.0), "events": (), "pace": 0.2},
        duration=300.0,
    ),
    Variant(broken_patience, "is stale", changes={"replicas": 0, "events": ()}),
    Variant(
        broken_client,
        "it never was",
        duration=300.0,
        changes={"share": 0.95, "events": (), "credentials": "none"},
    ),
    Variant(broken_pace, "should do", changes={"share": 0.05, "events": (), "users": 1, "pace": 2.0}),
    Variant(
        broken_log,
        "logged twice within",
        duration=60.0,
        changes={
            "share": 0.1,
            "objects": 1,
            "pace": 0.1,
            "events": tuple(Planned(time, "failing handlers", 0) for time in (10.0, 20.0, 30.0, 40.0)),
        },
    ),
    Variant(broken_silence, "writes in the silence", changes={"share": 0.3}),
]
