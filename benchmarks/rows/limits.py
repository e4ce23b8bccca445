"""Upper limits of this machine: other rows are shown as shares of these figures.

These rows measure no clients. Each contender does a part of the work of every client: find the ends of lines,
check each byte of JSON, create values, receive bytes from a socket.
"""

import json
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from benchmarks._contenders import FunctionProbe, peers
from benchmarks._data import Kind, segments
from benchmarks._live_server import Address, live_server
from benchmarks._measure import Contest
from benchmarks._rows import EVENTS_PER_SECOND, OBJECTS_PER_SECOND, Row, Setting
from benchmarks.rows.decode import KINDS, SEED, objects_read, rate, stream

_EVENT: Final = b"\n\r\n"  # the end of an event, and the end of its chunk
_END: Final = b"0\r\n\r\n"
_PIECE: Final = 1 << 18


class EmptyStruct(msgspec.Struct):
    """A value without fields: msgspec checks each byte of the text and stores nothing."""


def line_ends(pieces: Sequence[bytes]) -> int:
    """Find the end of each line, by memchr."""
    count = 0
    for chunk in pieces:
        position = chunk.find(b"\n")
        while position >= 0:
            count += 1
            position = chunk.find(b"\n", position + 1)
    return count


def each(read: Callable[[bytes], Any], lines: Sequence[bytes]) -> int:
    """Read each line."""
    count = 0
    for line in lines:
        read(line)
        count += 1
    return count


def scan_row(setting: Setting, kind: Kind, *, managed: bool) -> Contest:
    """Measure finding lines without reading them."""
    count, text = stream(setting, kind, managed=managed, bookmarks=0)
    pieces = segments(text)
    return Contest(ours=rate(lambda: line_ends(pieces), count, count))


def read_row(
    setting: Setting, kind: Kind, read: Callable[[bytes], Any], *, managed: bool = True, orjson: bool = False
) -> Contest:
    """Measure a parser on complete lines."""
    count, text = stream(setting, kind, managed=managed, bookmarks=0)
    lines = text.splitlines()
    return Contest(
        ours=rate(lambda: each(read, lines), count, count),
        baseline=rate(lambda: each(json.loads, lines), count, count),
        peers=peers(
            setting, {"orjson": "orjson"} if orjson else {}, "decode", count,
            lambda reply: count / float(reply["seconds"]), kind=kind, objects=count, seed=SEED,
        ),
    )  # fmt: skip


def receive_stream(address: Address) -> int:
    """Receive a watch from a plain socket, and count events by their last bytes."""
    host, port = address.url.rpartition("/")[2].split(":")
    tail, count = b"", 0
    with socket.create_connection((host, int(port))) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        while not tail.endswith(_END):
            if not (data := line.recv(_PIECE)):
                raise ValueError("the server ended the watch early: its speed would mean nothing")
            # An event may cross two pieces; joining them would be a copy that no client makes.
            count += data.count(_EVENT) + (tail[-2:] + data[:2]).count(_EVENT)
            tail = (tail + data[-len(_END) :])[-len(_END) :]
    return count - 2  # the head and the last chunk also match _EVENT


def take_row(setting: Setting, kind: Kind) -> Contest:
    """Measure the upper limit of the rate of a live watch of the same events."""
    events = setting.size(10_000, quick=2_000) if kind == "pods" else setting.size(20_000, quick=4_000)
    address = setting.enter_context(live_server(kind, events, SEED, tls=False))
    run = partial(receive_stream, address)
    return Contest(ours=FunctionProbe(run, events, lambda seconds: events / seconds, clock=time.perf_counter))


def _values(kind: Kind, words: str) -> tuple[Row, ...]:
    return (
        Row(
            f"limits.{kind}.dicts", OBJECTS_PER_SECOND,
            partial(read_row, kind=kind, read=msgspec.json.Decoder().decode, orjson=True),
            summary=f"{words} as dicts, by msgspec and by orjson", against="json.loads a line",
        ),
        Row(
            f"limits.{kind}.socket", EVENTS_PER_SECOND, partial(take_row, kind=kind),
            summary=f"a watch of {words} taken from a plain socket and thrown away",
        ),
    )  # fmt: skip


def _bytes(kind: Kind, *, managed: bool) -> tuple[Row, ...]:
    prefix, words = f"limits.{kind}.{'' if managed else 'unmanaged.'}", objects_read(kind, managed=managed)
    return (
        Row(
            f"{prefix}memchr", OBJECTS_PER_SECOND, partial(scan_row, kind=kind, managed=managed),
            summary=f"the ends of lines of {words}, found by memchr",
        ),
        Row(
            f"{prefix}msgspec", OBJECTS_PER_SECOND,
            partial(read_row, kind=kind, read=msgspec.json.Decoder(EmptyStruct).decode, managed=managed),
            summary=f"{words}: each byte checked by msgspec, nothing kept", against="json.loads a line",
        ),
    )  # fmt: skip


ROWS: Final = (
    *_values("pods", "pods"),
    *_values("crs", "custom resources"),
    *(row for kind in KINDS for managed in (True, False) for row in _bytes(kind, managed=managed)),
)
