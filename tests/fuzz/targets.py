"""A function for each parser, with bytes as its argument: it returns if the parser behaves, and raises for a
bug.

They need no fuzzer. `make fuzz` runs them with atheris, `test_corpus.py` with the committed corpus, and any
other tool may call them: ``TARGETS["watch"](b"...")``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, Final

import msgspec
from random_requests import send_random_requests
from structured import (
    fuzz_events,
    fuzz_http,
    fuzz_items,
    fuzz_kubeconfig,
    fuzz_reviews,
    fuzz_tokens,
)

import kubeproto as kp
from kubeproto import InvalidObject, RemoteProtocolError
from kubeproto.objects import (
    Duration,
    FieldSelector,
    InvalidManifest,
    MicroTime,
    PatchError,
    Quantity,
    Selector,
    apply_json_patch,
    apply_merge_patch,
    decode,
    dump_yaml,
    encode,
    format_pointer,
    format_time,
    json_equal,
    make_json_patch,
    make_merge_patch,
    parse_manifest,
    parse_pointer,
    parse_time,
    to_plain,
)
from kubeproto.watching import ListDecoder, Malformed, WatchDecoder, read_page
from kubeproto.wire import Inflater, read_status


class WidgetSpec(kp.Fields):
    title: str = ""
    template: dict[str, Any] = {}


class WidgetStatus(kp.Fields):
    phase: str | None = None


class Widget(kp.Object[WidgetSpec, WidgetStatus], group="x.io", version="v1"):
    """A kind with spec and status."""


_KINDS: Final[tuple[type[Any], ...]] = (Widget, kp.Metadata, kp.Dynamic)


def fuzz_watch(data: bytes) -> None:
    """Check that a watch has the same events however its bytes are split, and each valid line is its
    event.
    """
    options, stream = _options(data)
    kind, strict = _KINDS[options % 3], bool(options & 4)
    lines = stream.splitlines(keepends=True) if b"\r" not in stream else [stream]
    size = 1 + options // 8
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    by_line = _watch([part for line in lines for part in _at_line_ends(line)], kind, strict)
    assert _watch(chunks, kind, strict) == by_line
    # No server writes an event on two lines, two events on a line, or a key twice; their decoding is not
    # defined.
    if all(_is_json(line, unique_keys=True) or not line.strip() for line in stream.split(b"\n")):
        assert _watch([stream], kind, strict) == by_line


def _at_line_ends(text: bytes) -> list[bytes]:
    return [line + b"\n" for line in text.split(b"\n")[:-1]] + [text.rpartition(b"\n")[2]]


def _watch(chunks: list[bytes], kind: type[Any], strict: bool) -> list[Any]:
    decoder: WatchDecoder[Any] = WatchDecoder(kind, strict=strict, max_line=100_000)
    events: list[Any] = []
    try:
        for chunk in chunks:
            events += decoder.feed(chunk)
        events += decoder.finish()
    except RemoteProtocolError:
        events.append("refused")
    return [_settle_event(event) for event in events]


def _settle_event(event: Any) -> Any:
    if isinstance(event, Malformed):
        return "broken"
    if not hasattr(event, "object"):
        return event
    try:
        return type(event), to_plain(event.object)
    except InvalidObject:
        # whether the decoder detects the defect behind the prefix immediately depends on the rest of the
        # chunk
        return "broken"


def fuzz_page(data: bytes) -> None:
    """Check that a page and its pieces contain the same items, or are refused by both readers."""
    options, body = _options(data)
    kind: Any = _KINDS[options % 3]
    strict, size = bool(options & 4), 1 + options // 8
    try:
        page = read_page(body, kind, strict=strict)
    except RemoteProtocolError:
        page = None
    decoder: ListDecoder[Any] = ListDecoder(kind, strict=strict)
    items: list[Any] = []
    try:
        for start in range(0, len(body), size):
            items += decoder.feed(body[start : start + size])
        items += decoder.finish()
    except RemoteProtocolError:
        assert page is None
        return
    if page is None or not _is_json(body, unique_keys=True):
        return  # a repeated key may be read twice
    settled = [_item(item) for item in items if not isinstance(item, Malformed)]
    if kind is not kp.Dynamic:  # a kind after the items comes too late for them
        assert settled == [_item(item) for item in page.items]
    assert [item.raw for item in items if isinstance(item, Malformed)] == [
        item.raw for item in page.malformed
    ]
    assert decoder.metadata == page.metadata


def _item(item: Any) -> Any:
    try:
        return to_plain(item)
    except InvalidObject:
        return item.metadata.name


def fuzz_object(data: bytes) -> None:
    """Check that a lazy object equals a plain decode, and that its encoding has the same content."""
    options, text = _options(data)
    kind: Any = _KINDS[options % 3]
    # Padding after the metadata makes the object long enough for reading by prefix.
    text = text.replace(b'"PAD"', b'"' + b"x" * 2_048 + b'"')
    try:
        lazy = decode(text, kind)
    except InvalidObject:
        return
    repr(lazy)
    if kind is kp.Dynamic or not _is_json(text, unique_keys=True):
        return
    try:
        plain = msgspec.json.decode(text, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return
    assert decode(text, kind, strict=True) == plain
    assert decode(encode(decode(text, kind)), kind) == plain
    assert decode(text, kind) == plain
    assert plain == decode(text, kind)


def fuzz_inflate(data: bytes) -> None:
    """Check that gzip inflates to the same bytes however it is split, or is refused."""
    options, body = _options(data)
    size = 1 + options
    assert _inflate([body]) == _inflate([body[start : start + size] for start in range(0, len(body), size)])


def _inflate(chunks: list[bytes]) -> bytes | None:
    inflater = Inflater(max_size=1 << 20)
    try:
        inflated = b"".join([inflater.feed(chunk) for chunk in chunks])
        inflater.finish()
    except RemoteProtocolError:
        return None
    return inflated


def fuzz_status(data: bytes) -> None:
    """Check that any body of a refusal becomes a Status."""
    options, body = _options(data)
    code = (400, 404, 409, 410, 422, 429, 500, 503)[options % 8]
    status = read_status(code, (("content-encoding", "gzip"),) if options & 8 else (), body)
    assert 400 <= status.code < 600
    repr(status)


def fuzz_text(data: bytes) -> None:
    """Check selectors, quantities, durations, times and pointers: accepted values can be written and read
    again.
    """
    options, raw = _options(data)
    text = raw.decode("utf-8", "replace")
    values: tuple[tuple[Any, Any], ...] = (
        (Selector.parse, str), (FieldSelector.parse, str), (Quantity.parse, str), (Duration.parse, str),
        (parse_time, format_time), (MicroTime.parse, str), (parse_pointer, format_pointer),
    )  # fmt: skip
    parse: Any
    write: Any
    parse, write = values[options % len(values)]
    try:
        value = parse(text)
    except ValueError:
        return
    again = parse(write(value))
    assert write(again) == write(value)
    assert again == value or parse is parse_time  # a plain time is written without its fraction


def fuzz_patch(data: bytes) -> None:
    """Check that a patch has its described effect, or raises PatchError, and changes neither argument."""
    try:
        source, target = msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return
    if _deep(source) or _deep(target):
        return
    assert json_equal(apply_json_patch(source, make_json_patch(source, target)), target)
    if isinstance(source, dict) and isinstance(target, dict):
        with contextlib.suppress(ValueError):  # a merge patch cannot express a null of the target
            assert json_equal(apply_merge_patch(source, make_merge_patch(source, target)), target)
    if isinstance(target, list) and all(isinstance(operation, dict) for operation in target):  # pyright: ignore[reportUnknownVariableType]
        copy = json.dumps(source)
        for like_server in (False, True):
            with contextlib.suppress(PatchError):
                apply_json_patch(source, target, like_server=like_server)  # pyright: ignore[reportUnknownArgumentType]
        assert json.dumps(source) == copy


def _deep(value: Any, depth: int = 0) -> bool:
    if isinstance(value, dict):
        value = list(value.values())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return depth > 50 or (isinstance(value, list) and any(_deep(element, depth + 1) for element in value))  # pyright: ignore[reportUnknownVariableType]


def fuzz_manifest(data: bytes) -> None:
    """Check that a manifest is read or refused with its line; accepted documents can be written and read
    again.
    """
    try:
        objects = parse_manifest(data, [Widget])
    except InvalidManifest:
        return
    for obj in objects:
        with contextlib.suppress(InvalidObject):
            to_plain(obj)
            encode(obj)
            dump_yaml(obj)


def _options(data: bytes) -> tuple[int, bytes]:
    return (data[0], data[1:]) if data else (0, b"")


def _is_json(text: bytes, *, unique_keys: bool = False) -> bool:
    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if unique_keys and len({key for key, _ in pairs}) < len(pairs):
            raise ValueError
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return False
    return True


def fuzz_requests(data: bytes) -> None:
    """Check that the simulated server responds to every request, whatever requests preceded it."""
    send_random_requests(data)


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "events": fuzz_events,
    "http": fuzz_http,
    "inflate": fuzz_inflate,
    "items": fuzz_items,
    "kubeconfig": fuzz_kubeconfig,
    "manifest": fuzz_manifest,
    "object": fuzz_object,
    "page": fuzz_page,
    "patch": fuzz_patch,
    "requests": fuzz_requests,
    "reviews": fuzz_reviews,
    "status": fuzz_status,
    "text": fuzz_text,
    "tokens": fuzz_tokens,
    "watch": fuzz_watch,
}
