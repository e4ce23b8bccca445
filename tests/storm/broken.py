"""What a storm must find: the runtime, or the operator of the storm, made wrong in one way at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio
import pytest

import kubeproto as kp
from kubeproto.control import Store, WorkQueue
from kubeproto_runtime import Action, Context, await_change
from kubeproto_runtime.tasks._background import spawn

from .kinds import Book
from .processes import Replica

Patch = pytest.MonkeyPatch


def _whole(owner: Any, name: str) -> Any:
    """A method as it is."""
    return getattr(owner, name)


def broken_cache(patch: Patch) -> None:
    """A third of all changes is lost."""
    update, count = _whole(Store, "update"), [0]

    def update_most(self: Any, news: list[Any]) -> Any:
        count[0] += 1
        return update(self, news[1:] if count[0] % 3 == 0 else news)

    patch.setattr(Store, "update", update_most)


def broken_queue(patch: Patch) -> None:
    """A key that is added while it runs is handed out at once."""
    add, done = _whole(WorkQueue, "add"), _whole(WorkQueue, "done")

    def add_again(self: Any, key: str, now: float, **more: Any) -> None:
        self._running.pop(key, None)
        add(self, key, now, **more)

    def done_anyway(self: Any, key: str, now: float, **more: Any) -> None:
        with suppress(kp.LocalProtocolError):
            done(self, key, now, **more)

    patch.setattr(WorkQueue, "add", add_again)
    patch.setattr(WorkQueue, "done", done_anyway)


def broken_feed(patch: Patch) -> None:
    """Changes of one book are not passed on."""
    add = _whole(WorkQueue, "add")

    def add_others(self: Any, key: str, now: float, **more: Any) -> None:
        if not key.endswith("b1"):
            add(self, key, now, **more)

    patch.setattr(WorkQueue, "add", add_others)


def broken_finalizer(patch: Patch) -> None:
    """The finalizer goes although nothing was cleaned up."""

    async def clean_nothing(*_: Any) -> None:
        pass

    patch.setattr(Replica, "_take_down", clean_nothing)


def broken_goal(patch: Patch) -> None:
    """One book never gets what it wants."""
    label = _whole(Replica, "_label")

    async def label_others(self: Any, book: Book, ctx: Context[None]) -> Action:
        return await_change() if ctx.name == "b0" else await label(self, book, ctx)

    patch.setattr(Replica, "_label", label_others)


def broken_end(patch: Patch) -> None:
    """A program leaves a task behind."""
    live = _whole(Replica, "live")

    async def live_on(self: Any) -> None:
        spawn(anyio.sleep_forever)
        await live(self)

    patch.setattr(Replica, "live", live_on)


VARIANTS: Final[list[tuple[Callable[[Patch], None], str]]] = [
    (broken_cache, "shows what never was"),
    (broken_queue, "twice at once"),
    (broken_feed, "has not reconciled"),
    (broken_finalizer, "went before its finalizer"),
    (broken_goal, "has no ConfigMap"),
    (broken_end, "are left after the end"),
]
