"""A table on a terminal that shows the current objects: rows of the server, ages, changes in color.

A watch reports the changed objects, and the server sends their rows: only the server can print every kind.
The table is drawn on the terminal's alternate screen, so that wrapped lines and a resized window leave no
traces; the last table stays on the main screen.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from kubeproto import ApiError, NotFound, TransportError
from kubeproto.objects import Table, TableRow, human_duration

from ._output import BOLD, GREEN, RED, YELLOW, styled, use_color

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kubeproto import Dynamic, Resource
    from kubeproto_runtime import Client
    from kubeproto_runtime.client import BoundApi

Key: TypeAlias = tuple[str, str]  # the namespace and the name of an object

_TICK: Final = 1.0  # seconds; the finest unit of an age
_MIN_INTERVAL: Final = 0.1  # seconds between two drawings, however many changes there are
_HIGHLIGHT: Final = 3.0  # seconds for which a changed row is highlighted
_MAX_SINGLE_READS: Final = 10  # changed objects; more are read as one list
_ALTERNATE_SCREEN: Final = "\x1b[?1049h"
_MAIN_SCREEN: Final = "\x1b[?1049l"


class Selectors(NamedTuple):
    """The label and field selectors of a watch; empty for all objects."""

    labels: str = ""
    fields: str = ""


class LiveRows:
    """The rows of one watch, and the keys whose rows must be read again."""

    def __init__(self, client: Client, api: BoundApi[Dynamic], selectors: Selectors) -> None:
        self.api = api
        self.selectors = selectors
        self.problem: Callable[[], str] = lambda: ""  # why the watch is out of sync; empty if it is in sync
        self.table: Table | None = None
        self.rows: dict[Key, TableRow] = {}
        self.styles: dict[Key, str] = {}  # of changed rows
        self.synced = False
        self._client = client
        self._existing_keys: set[Key] = set()
        self._changed_keys: set[Key] = set()  # whose rows have not been read since the change
        self._highlighted_until: dict[Key, float] = {}
        self._stale = asyncio.Event()

    def mark_changed(self, obj: Dynamic) -> None:
        """Mark the row of a new or changed object, to be read again."""
        key = obj.metadata.namespace, obj.metadata.name
        self._existing_keys.add(key)
        self._changed_keys.add(key)
        self._stale.set()
        if self.synced:
            self.styles[key] = YELLOW if key in self.rows else GREEN
            self._highlighted_until.pop(key, None)

    def remove(self, obj: Dynamic) -> None:
        """Remove the row of a deleted object."""
        key = obj.metadata.namespace, obj.metadata.name
        self.rows.pop(key, None)
        self._existing_keys.discard(key)
        self._changed_keys.discard(key)
        self.styles.pop(key, None)

    def mark_synced(self) -> None:
        """Mark the end of the existing objects; rows are read from now on."""
        self.synced = True
        self._stale.set()

    async def run(self, redraw: Callable[[], object]) -> None:
        """Read rows as they change. This is a separate task, so that a slow server does not delay drawing."""
        while True:
            await self._stale.wait()
            self._stale.clear()
            await self.refresh()
            redraw()
            if self._changed_keys:
                await asyncio.sleep(_TICK)
                self._stale.set()

    async def refresh(self) -> None:
        """Read the changed rows: each by itself, or all rows if many have changed."""
        if not self.synced or not (self._changed_keys or self.table is None):
            return
        changed_keys, self._changed_keys = self._changed_keys, set()
        try:
            if self.table is None or len(changed_keys) > _MAX_SINGLE_READS:
                await self._read_all()
            else:
                for key in sorted(changed_keys):
                    await self._read_row(*key)
        except (ApiError, TransportError):  # the watch fails too, and shows why; these rows are read again
            self._changed_keys |= changed_keys

    async def _read_all(self) -> None:
        rows: dict[Key, TableRow] = {}
        table = None
        async for page in self.api.as_table().pages(
            label_selector=self.selectors.labels, field_selector=self.selectors.fields
        ):
            table = page
            rows.update(_rows_by_key(page))
        self.table = table
        # An object that was deleted during the read must not come back.
        self.rows = {key: row for key, row in rows.items() if key in self._existing_keys}

    async def _read_row(self, namespace: str, name: str) -> None:
        api = self._client.api(self.api.kind, namespace=namespace, resource=self.api.resource)
        with suppress(NotFound):  # it has been deleted since; the watch will report that
            rows = _rows_by_key(await api.as_table().get(name))
            self.rows.update((key, row) for key, row in rows.items() if key in self._existing_keys)

    def render(self, now: float, *, with_kinds: bool) -> tuple[Table, list[str]] | None:
        """Return the current table, and a style for each row; None without rows."""
        if self.table is None or not self.rows:
            return None
        columns = self.table.column_definitions or []
        age_columns = [index for index, column in enumerate(columns) if column.name == "Age"]
        rows = [_update_age(self.rows[key], age_columns) for key in sorted(self.rows)]
        table = replace(self.table, raw_rows=rows)
        if with_kinds:
            _prefix_kinds(table, self.api.resource)
        return table, [self._style_of(key, now) for key in sorted(self.rows)]

    def _style_of(self, key: Key, now: float) -> str:
        """Return the style of a row. Its time begins when it is first drawn, because reading may be slow."""
        style = self.styles.get(key, "")
        if style and self._highlighted_until.setdefault(key, now + _HIGHLIGHT) < now:
            del self.styles[key], self._highlighted_until[key]
            return ""
        return style


class LiveTable:
    """The tables of all watches, drawn after each change, each second, and for a new size of the window."""

    def __init__(self, watches: Sequence[LiveRows], *, wide: bool, namespaces: bool) -> None:
        self.wake = asyncio.Event()
        self._watches = watches
        self._with_kinds = len({str(watch.api.resource) for watch in watches}) > 1
        self._wide = wide
        self._namespaces = namespaces and any(watch.api.resource.namespaced for watch in watches)
        self._color = use_color(sys.stdout)

    async def run(self) -> None:
        """Draw until the task is cancelled, and leave the last table on the terminal."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, self.wake.set)
        _write(_ALTERNATE_SCREEN)
        try:
            while True:
                self.wake.clear()
                self._draw()
                await asyncio.sleep(_MIN_INTERVAL)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.wake.wait(), _TICK)
        finally:
            _write(_MAIN_SCREEN)
            _write("".join(f"{text}\r\n" for text, _ in self._lines()))

    def _draw(self) -> None:
        width, height = os.get_terminal_size(sys.stdout.fileno())
        lines, footer = self._lines(), self._footer()
        max_lines = max(1, height - 1 - bool(footer))
        if len(lines) > max_lines:
            lines = [*lines[: max_lines - 1], (f"… {len(lines) - max_lines + 1} more lines", "")]
        if footer:
            lines.append((footer, RED))
        texts = [styled(text[:width], style, self._color and bool(style)) for text, style in lines]
        _write("\x1b[H" + "".join(f"{text}\x1b[K\r\n" for text in texts) + "\x1b[J")

    def _lines(self) -> list[tuple[str, str]]:
        """Return all lines, each with its style."""
        now = time.monotonic()
        lines: list[tuple[str, str]] = []
        for watch in self._watches:
            if (rendered := watch.render(now, with_kinds=self._with_kinds)) is None:
                continue
            table, styles = rendered
            texts = table.text(wide=self._wide, namespaces=self._namespaces).split("\n")
            lines += [("", "")] if lines else []
            lines += zip(texts, [BOLD, *styles], strict=True)
        if not lines and all(watch.synced for watch in self._watches):
            return [("No resources found", "")]
        return lines

    def _footer(self) -> str:
        """Return the reason why a watch is out of sync; empty if all watches are in sync."""
        problems = ((watch.api.resource, watch.problem()) for watch in self._watches)
        return next((f"{resource}: {problem}" for resource, problem in problems if problem), "")


def _rows_by_key(table: Table) -> dict[Key, TableRow]:
    return {
        (row.metadata.namespace, row.metadata.name): row for row in table.rows if row.metadata is not None
    }


def _prefix_kinds(table: Table, resource: Resource) -> None:
    """Put ``deployment.apps/`` before each name, as kubectl does for several kinds."""
    kind = resource.kind.lower()
    prefix = f"{kind}.{resource.group}" if resource.group else kind
    columns = table.column_definitions or ()
    index = next((index for index, column in enumerate(columns) if column.name == "Name"), 0)
    for row in table.rows:
        row.cells[index] = f"{prefix}/{row.cells[index]}"


def _update_age(row: TableRow, age_columns: list[int]) -> TableRow:
    metadata = row.metadata
    cells = list(row.cells)
    if metadata is not None and metadata.creation_timestamp is not None:
        seconds = (datetime.now(UTC) - metadata.creation_timestamp).total_seconds()
        for index in age_columns:
            cells[index] = human_duration(seconds)
    return replace(row, cells=cells)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
