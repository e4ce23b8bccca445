"""A table on a terminal that follows its objects: rows of the server, current ages, changes in color.

A watch reports which objects have changed, and the server is asked for their rows: only it knows how a kind
is printed. The table is drawn on the terminal's second screen, so that wrapped lines and a resized window
leave no traces; the last state stays on the first one.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kubeproto import ApiError, NotFound, TransportError
from kubeproto.objects import Table, TableRow, human_duration

from ._output import BOLD, GREEN, RED, YELLOW, styled, use_color

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubeproto import Dynamic, Resource
    from kubeproto_runtime import Client
    from kubeproto_runtime.client import BoundApi

    from ._resources import Selected

_TICK: Final = 1.0  # seconds; the finest unit in which an age is shown
_PAUSE: Final = 0.1  # seconds between two drawings, however many changes there are
_SHINE: Final = 3.0  # seconds for which a changed row is highlighted
_FEW: Final = 10  # changed objects; more are read as one list
_SECOND_SCREEN: Final = "\x1b[?1049h"
_FIRST_SCREEN: Final = "\x1b[?1049l"


class LiveRows:
    """The rows of one watch, and which of them must be read again."""

    def __init__(self, client: Client, api: BoundApi[Dynamic], selection: Selected) -> None:
        self.api = api
        self.selection = selection
        self.why: Callable[[], str] = lambda: ""  # why it is not in step; empty if it is
        self.table: Table | None = None
        self.rows: dict[tuple[str, str], TableRow] = {}
        self.styles: dict[tuple[str, str], str] = {}  # of rows that have changed
        self.synced = False
        self._client = client
        self._there: set[tuple[str, str]] = set()
        self._dirty: set[tuple[str, str]] = set()
        self._until: dict[tuple[str, str], float] = {}
        self._news = asyncio.Event()

    def changed(self, obj: Dynamic) -> None:
        """Note that an object is new, or has changed."""
        key = obj.metadata.namespace, obj.metadata.name
        self._there.add(key)
        self._dirty.add(key)
        self._news.set()
        if self.synced:
            self.styles[key] = YELLOW if key in self.rows else GREEN
            self._until.pop(key, None)

    def deleted(self, obj: Dynamic) -> None:
        """Note that an object was deleted."""
        key = obj.metadata.namespace, obj.metadata.name
        self.rows.pop(key, None)
        self._there.discard(key)
        self._dirty.discard(key)
        self.styles.pop(key, None)

    def complete(self) -> None:
        """Note that all existing objects have been seen."""
        self.synced = True
        self._news.set()

    async def keep_fresh(self, redraw: Callable[[], object]) -> None:
        """Read rows as they change. This waits for a server, drawing does not."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self.refresh()
            redraw()
            if self._dirty:
                await asyncio.sleep(_TICK)
                self._news.set()

    async def refresh(self) -> None:
        """Read the rows that have changed: one by one, or all if they are many."""
        if not self.synced or not (self._dirty or self.table is None):
            return
        dirty, self._dirty = self._dirty, set()
        try:
            if self.table is None or len(dirty) > _FEW:
                await self._read_all()
            else:
                for key in sorted(dirty):
                    await self._read(*key)
        except (ApiError, TransportError):  # the watch fails too, and shows why; these rows are read again
            self._dirty |= dirty

    async def _read_all(self) -> None:
        rows: dict[tuple[str, str], TableRow] = {}
        table = None
        async for page in self.api.as_table().pages(
            label_selector=self.selection.labels, field_selector=self.selection.fields
        ):
            table = page
            rows.update(_keyed(page))
        self.table = table
        # An object that was deleted while this was read must not come back.
        self.rows = {key: row for key, row in rows.items() if key in self._there}

    async def _read(self, namespace: str, name: str) -> None:
        api = self._client.api(self.api.kind, namespace=namespace, resource=self.api.resource)
        with suppress(NotFound):  # it has been deleted since; the watch will report that
            found = _keyed(await api.as_table().get(name))
            self.rows.update((key, row) for key, row in found.items() if key in self._there)

    def shown(self, now: float, *, several: bool) -> tuple[Table, list[str]] | None:
        """Return the table as it is now, and a style for each row; None if there is nothing."""
        if self.table is None or not self.rows:
            return None
        columns = self.table.column_definitions or []
        ages = [at for at, column in enumerate(columns) if column.name == "Age"]
        rows = [_aged(self.rows[key], ages) for key in sorted(self.rows)]
        table = replace(self.table, raw_rows=rows)
        if several:
            _name_kinds(table, self.api.resource)
        return table, [self._style_of(key, now) for key in sorted(self.rows)]

    def _style_of(self, key: tuple[str, str], now: float) -> str:
        """Return the style of a row. Its time begins when it is first drawn, however long reading it took."""
        style = self.styles.get(key, "")
        if style and self._until.setdefault(key, now + _SHINE) < now:
            del self.styles[key], self._until[key]
            return ""
        return style


class LiveTable:
    """The tables of all watches, drawn when something has changed, each second, and for a new size."""

    def __init__(self, watched: Sequence[LiveRows], *, wide: bool, namespaces: bool) -> None:
        self.wake = asyncio.Event()
        self._watched = watched
        self._several = len({str(one.api.resource) for one in watched}) > 1
        self._wide = wide
        self._namespaces = namespaces and any(one.api.resource.namespaced for one in watched)
        self._color = use_color(sys.stdout)

    async def run(self) -> None:
        """Draw until it is cancelled, and leave the last state on the terminal."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, self.wake.set)
        _write(_SECOND_SCREEN)
        try:
            while True:
                self.wake.clear()
                self._draw()
                await asyncio.sleep(_PAUSE)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.wake.wait(), _TICK)
        finally:
            _write(_FIRST_SCREEN)
            _write("".join(f"{text}\r\n" for text, _ in self._lines()))

    def _draw(self) -> None:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
        lines, footer = self._lines(), self._footer()
        room = max(1, rows - 1 - bool(footer))
        if len(lines) > room:
            lines = [*lines[: room - 1], (f"… {len(lines) - room + 1} more lines", "")]
        if footer:
            lines.append((footer, RED))
        drawn = [styled(text[:columns], style, self._color and bool(style)) for text, style in lines]
        _write("\x1b[H" + "".join(f"{line}\x1b[K\r\n" for line in drawn) + "\x1b[J")

    def _lines(self) -> list[tuple[str, str]]:
        """Return all lines, each with its style."""
        now = time.monotonic()
        lines: list[tuple[str, str]] = []
        for one in self._watched:
            if (shown := one.shown(now, several=self._several)) is None:
                continue
            table, styles = shown
            texts = table.text(wide=self._wide, namespaces=self._namespaces).split("\n")
            lines += [("", "")] if lines else []
            lines += zip(texts, [BOLD, *styles], strict=True)
        if not lines and all(one.synced for one in self._watched):
            return [("No resources found", "")]
        return lines

    def _footer(self) -> str:
        """Return which watch is not in step, and why."""
        return next((f"{one.api.resource}: {why}" for one in self._watched if (why := one.why())), "")


def _keyed(table: Table) -> dict[tuple[str, str], TableRow]:
    found: dict[tuple[str, str], TableRow] = {}
    for row in table.rows:
        metadata = row.metadata
        if metadata is not None:
            found[metadata.namespace, metadata.name] = row
    return found


def _name_kinds(table: Table, resource: Resource) -> None:
    """Put ``deployment.apps/`` before each name, as kubectl does if several kinds are shown."""
    kind = resource.kind.lower()
    prefix = f"{kind}.{resource.group}" if resource.group else kind
    columns = table.column_definitions or ()
    index = next((index for index, column in enumerate(columns) if column.name == "Name"), 0)
    for row in table.rows:
        row.cells[index] = f"{prefix}/{row.cells[index]}"


def _aged(row: TableRow, ages: list[int]) -> TableRow:
    """Return a row whose age is that of this moment."""
    metadata = row.metadata
    cells = list(row.cells)
    if metadata is not None and metadata.creation_timestamp is not None:
        seconds = (datetime.now(UTC) - metadata.creation_timestamp).total_seconds()
        for at in ages:
            cells[at] = human_duration(seconds)
    return replace(row, cells=cells)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
