"""The lines of a watch: framed however they are split, and every line of any kind becomes its event."""

from __future__ import annotations

import copy
import gc
import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strategies import WIDGETS, Realm, Settings, Widget

import kubeproto as kp
from kubeproto import InvalidObject, LocalProtocolError, RemoteProtocolError
from kubeproto.objects import encode
from kubeproto.watching import (
    Added,
    Bookmark,
    Deleted,
    ListDecoder,
    Malformed,
    Modified,
    Unknown,
    WatchDecoder,
    WatchFailed,
    read_page,
)

RECORDINGS = Path(__file__).parent.parent / "recordings"
NAMES = sorted(path.stem for path in RECORDINGS.glob("watch-*.json"))


def line(
    name: str = "a", version: str = "1", type_: str = "ADDED", *, pad: int = 0, title: str = ""
) -> bytes:
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": "u",
        "resourceVersion": version,
        "labels": {"größe": "日本\U0001f980"},
    }
    obj = {
        "kind": "Widget",
        "apiVersion": "x.io/v1",
        "metadata": metadata,
        "spec": {"title": title + "x" * pad},
    }
    return (
        json.dumps({"type": type_, "object": obj}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    )


def read(*chunks: bytes, kind: Any = Widget, **options: Any) -> list[Any]:
    decoder = WatchDecoder(kind, **options)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()


@pytest.mark.parametrize(
    ("pad", "options"),
    [(pad, options) for pad in (0, 3_000) for options in ({"strict": True}, {"checked": True})] + [(0, {})],
)
@pytest.mark.parametrize("break_after", [b'"object":', b'"n"', b'"}', None])
def test_two_events_on_a_line_and_an_event_on_two_lines_are_malformed_however_they_arrive(
    break_after: bytes | None, pad: int, options: dict[str, Any]
) -> None:
    """A `break_after` splits a line in two; None splits no line."""
    two = line("a", pad=pad).rstrip(b"\n") + line("b", pad=pad)
    broken = line("c", pad=pad).replace(break_after, break_after + b"\n", 1) if break_after else b""
    last = line("d", pad=pad)
    chunks = [two, *broken.splitlines(keepends=True), last]
    expected = read(b"".join(chunks), **options)
    assert [type(event) for event in expected] == [Malformed] * (len(chunks) - 1) + [Added]
    assert expected[-1].raw == last[len(b'{"type":"ADDED","object":') : -2]
    assert [type(event) for event in read(*chunks, **options)] == [type(event) for event in expected]


def test_two_events_on_a_line_are_malformed_even_if_only_the_second_has_a_prefix() -> None:
    first = line("a").replace(b'"labels"', b'"labelled"').rstrip(b"\n")
    [malformed, event] = read(first + line("b", pad=3_000) + line("c", pad=3_000))
    assert type(malformed) is Malformed
    assert event.object.metadata.name == "c"


def test_sp_01_w_25_an_event_is_the_same_split_at_every_offset() -> None:
    stream = line()
    for size in (0, 3_000):
        stream = line(pad=size)
        expected = read(stream)
        offsets = range(len(stream)) if not size else range(0, len(stream), 41)
        for offset in offsets:
            assert read(stream[:offset], stream[offset:]) == expected
    assert read(*(stream[offset : offset + 1] for offset in range(len(stream)))) == expected


def test_sp_02_w_25_several_events_in_a_chunk_keep_their_order() -> None:
    stream = line("a") + line("b", type_="MODIFIED", pad=3_000) + line("c", type_="DELETED") + BOOKMARK
    events = read(stream)
    assert [type(event) for event in events] == [Added, Modified, Deleted, Bookmark]
    assert [event.object.metadata.name for event in events[:3]] == ["a", "b", "c"]
    assert events[3] == Bookmark("7")


BOOKMARK = b'{"type":"BOOKMARK","object":{"kind":"Widget","metadata":{"resourceVersion":"7"}}}\n'


def test_sp_03_characters_of_many_bytes_and_escaped_surrogates_may_be_split() -> None:
    escaped = line(title="\U0001f980").replace("\U0001f980".encode(), b"\\ud83e\\udd80")
    for stream in (line(title="größe-\U0001f980"), escaped):
        for offset in range(len(stream)):
            [event] = read(stream[:offset], stream[offset:])
            assert event.object.spec.title in ("größe-\U0001f980", "\U0001f980")
            assert event.object.metadata.labels == {"größe": "日本\U0001f980"}


@pytest.mark.parametrize("pad", [0, 3_000])
def test_sp_04_the_last_line_needs_no_line_feed(pad: int) -> None:
    decoder = WatchDecoder(Widget)
    assert decoder.feed(line("a", pad=pad) + line("b", pad=pad)[:-1]) == read(line("a", pad=pad))
    assert decoder.finish() == read(line("b", pad=pad))


@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
def test_sp_05_a_stream_that_ends_inside_an_event_is_an_error(kind: Any) -> None:
    for pad in (0, 3_000):
        stream = line("a", pad=pad)
        for offset in range(1, len(stream) - 1, 97 if pad else 1):
            decoder = WatchDecoder(kind)
            assert decoder.feed(stream[:offset]) == []
            with pytest.raises(RemoteProtocolError, match=f"after {offset} bytes"):
                decoder.finish()


@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
@pytest.mark.parametrize("pad", [0, 3_000])
def test_sp_06_w_25_blank_lines_and_carriage_returns_are_ignored(pad: int, kind: Any) -> None:
    stream = b"\n \r\n" + line("a", pad=pad)[:-1] + b"\r\n\r\n\t\n " + line("b", pad=pad) + b"\r\n"
    for size in (1, 13, len(stream)):
        chunks = [stream[offset : offset + size] for offset in range(0, len(stream), size)]
        assert [event.object.metadata.name for event in read(*chunks, kind=kind)] == ["a", "b"]


def test_sp_07_an_event_of_an_unknown_type_is_reported() -> None:
    later = line(type_="RENAMED")
    assert read(later + line()) == [Unknown("RENAMED", later[:-1]), *read(line())]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
@pytest.mark.parametrize(
    ("broken", "type_"),
    [
        (b'{"type":"ADDED","object":null}', "ADDED"),
        (b'{"type":"ADDED"}', "ADDED"),
        (b'{"type":"ADDED","object":[]}', "ADDED"),
        (b'{"type":"ADDED","object":"x"}', "ADDED"),
        (b'{"type":"DELETED","object":{"metadata":null}}', "DELETED"),
        (b'{"object":{"metadata":{"name":"a"}}}', ""),
        (b'{"type":5,"object":{}}', ""),
        (b"[]", ""),
        (b"5", ""),
        (b"{}", ""),
        (b"\x00", ""),
        (b'{"type":"ADDED","obj', ""),
        (b"\xff\xfe", ""),
        (b'{"type":"ADDED","object":{"metadata":{"name":"\xff","resourceVersion":"1"}}}', "ADDED"),
        (b"[" * 100_000, ""),
    ],
)
def test_sp_08_w_27_a_line_that_is_not_an_event_is_malformed_and_the_stream_continues(
    broken: bytes, type_: str, kind: Any, strict: bool
) -> None:
    [first_event, malformed, last_event] = read(line() + broken + b"\n" + line(), kind=kind, strict=strict)
    assert first_event == last_event == read(line(), kind=kind)[0]
    assert isinstance(malformed, Malformed)
    assert (malformed.raw, malformed.type) == (broken, type_)
    assert isinstance(malformed.error, RemoteProtocolError)


@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
@pytest.mark.parametrize("strict", [False, True])
def test_r_40_an_object_without_metadata_or_a_name_is_malformed(kind: Any, strict: bool) -> None:
    for obj in (
        b'{"kind":"Widget","apiVersion":"x.io/v1"}',
        b'{"kind":"Widget","apiVersion":"x.io/v1","metadata":{}}',
    ):
        [malformed, last_event] = read(
            b'{"type":"ADDED","object":%s}\n' % obj + line(), kind=kind, strict=strict
        )
        assert isinstance(malformed, Malformed)
        assert isinstance(last_event, Added)


def test_a_kind_with_its_own_code_is_decoded_immediately_by_the_same_rules() -> None:
    class Checked(kp.Object[dict[str, Any], None], group="x.io", version="v1", kind="Widget"):
        def __post_init__(self) -> None:
            assert self.spec["title"] == "t"

    [event, malformed] = read(
        line(title="t") + b'{"type":"ADDED","object":{"spec":{"title":"t"}}}\n', kind=Checked
    )
    assert type(event.object) is Checked
    assert isinstance(malformed, Malformed)


def test_w_27_the_error_of_an_invalid_object_names_the_object() -> None:
    wrong = line("wrong", "41").replace(b'"title":"', b'"title":7,"was":"')
    [malformed] = read(wrong, strict=True)
    assert isinstance(malformed, Malformed)
    assert malformed.metadata is not None
    assert (malformed.metadata.name, malformed.metadata.resource_version) == ("wrong", "41")
    assert (malformed.type, malformed.raw) == ("ADDED", wrong[:-1])
    assert str(malformed.error) == "Widget n/wrong: Expected `str`, got `int` - at `$.object.spec.title`"
    [event] = read(wrong)
    with pytest.raises(
        InvalidObject, match=r"Widget n/wrong: Expected `str`, got `int` - at `\$.spec.title`"
    ):
        event.object.spec  # noqa: B018


def test_r_10_an_object_of_another_kind_is_malformed_and_the_others_are_events() -> None:
    stranger = line("stranger", "50").replace(b'"Widget"', b'"Gadget"')
    for strict in (False, True):
        events = read(line("foo", type_="DELETED"), stranger, line("bar", "32", "MODIFIED"), strict=strict)
        assert [type(event) for event in events] == [Deleted, Malformed, Modified]
        assert "Invalid enum value 'Gadget'" in str(events[1].error)


@pytest.mark.parametrize("pad", [0, 3_000])
@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
def test_sp_09_w_25_a_line_over_the_limit_is_refused_however_it_arrives(pad: int, kind: Any) -> None:
    stream = line("a", pad=pad)
    size = len(stream) - 1
    limits: dict[str, Any] = {"kind": kind, "max_line": size}
    assert len(read(stream, **limits)) == len(read(stream[:-1], **limits)) == 1
    assert len(read(stream * 5, **limits)) == 5
    limits["max_line"] = size - 1
    for chunks in ([stream], [line() if pad else b"\n", stream], [stream[:50], stream[50:]], [stream * 3]):
        with pytest.raises(
            RemoteProtocolError, match=f"a line of {size} bytes was received; the limit is {size - 1}"
        ):
            read(*chunks, **limits)
    decoder = WatchDecoder(kind, max_line=100)
    for _ in range(100):
        decoder.feed(b"x")
    with pytest.raises(RemoteProtocolError, match="grown to 101 bytes without an end; the limit is 100"):
        decoder.feed(b"x")


@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
def test_w_25_a_line_of_ten_megabytes_is_a_single_event_in_chunks_of_any_size(kind: Any) -> None:
    stream = line(pad=10_000_000)
    for size in (1_000, 65_536, len(stream)):
        [event] = read(*(stream[offset : offset + size] for offset in range(0, len(stream), size)), kind=kind)
        assert encode(event.object) == stream[len(b'{"type":"ADDED","object":') : -2]


def test_sp_10_members_of_gzip_may_end_inside_an_event() -> None:
    stream = line("a") + line("b", pad=3_000) + line("c")
    expected = read(stream)
    for offset in range(1, len(stream), 211):
        body = gzip.compress(stream[:offset]) + gzip.compress(stream[offset:])
        assert read(body, headers=(("Content-Encoding", "gzip"),)) == expected
        assert read(body[:40], body[40:], headers=(("Content-Encoding", "gzip"),)) == expected
    with pytest.raises(RemoteProtocolError, match="inside a gzip member"):
        read(gzip.compress(stream)[:-3], headers=(("Content-Encoding", "gzip"),))


@pytest.mark.parametrize(
    "content_type", ["application/vnd.kubernetes.protobuf;stream=watch", "application/cbor-seq"]
)
def test_sp_11_a_response_that_is_not_json_is_refused_with_its_content_type(content_type: str) -> None:
    headers = (("Content-Type", content_type),)
    for decoder in (WatchDecoder, ListDecoder):
        with pytest.raises(RemoteProtocolError, match=content_type):
            decoder(Widget, headers=headers)
        assert isinstance(decoder(Widget, headers=headers, status=500).finish()[0], WatchFailed)


GONE = (
    '{"kind":"Status","apiVersion":"%s","metadata":{},"status":"Failure","message":"too old",'
    '"reason":"Expired","code":410}'
)


@pytest.mark.parametrize("version", ["v1", "meta.k8s.io/v1"])
@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
def test_sp_12_an_error_ends_the_watch_with_its_status(version: str, kind: Any) -> None:
    [event] = read(b'{"type":"ERROR","object":%s}\n' % (GONE % version).encode(), kind=kind)
    assert isinstance(event, WatchFailed)
    assert (event.status.code, event.status.reason, event.status.message) == (410, "Expired", "too old")


@pytest.mark.parametrize(
    "obj", [b"null", b'"boom"', b"[]", b'{"kind":"Pod"}', b"7", b'{"kind":"Status","code":"x"}']
)
def test_sp_12_an_error_with_any_other_object_is_a_failure_too(obj: bytes) -> None:
    [event] = read(b'{"type":"ERROR","object":%s}\n' % obj)
    assert isinstance(event, WatchFailed)


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_sp_13_a_plain_status_on_a_watch_is_a_failure_and_no_event(end: bytes) -> None:
    for kind in (Widget, kp.Dynamic, kp.Metadata):
        [event] = read((GONE % "v1").encode() + end, kind=kind)
        assert isinstance(event, WatchFailed)
        assert event.status.code == 410


@pytest.mark.parametrize("items", ["[]", "null", '[{"metadata":{"name":"a"}}]'])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_sp_14_a_list_on_a_watch_is_refused_with_its_kind(items: str, end: bytes) -> None:
    body = f'{{"kind":"WidgetList","apiVersion":"x.io/v1","metadata":{{}},"items":{items}}}'.encode()
    for kind in (Widget, kp.Dynamic, kp.Metadata):
        with pytest.raises(RemoteProtocolError, match=r"a WidgetList although a watch of \w+ was requested"):
            read(body + end, kind=kind)


def test_r_33_an_unrequested_table_is_not_an_object() -> None:
    table = '{"kind":"Table","metadata":{"resourceVersion":"5"},"rows":[{"cells":["a"]}]}'
    for kind in (Widget, kp.Dynamic, kp.Metadata):
        [malformed] = read(f'{{"type":"ADDED","object":{table}}}\n'.encode(), kind=kind)
        assert isinstance(malformed, Malformed)
        assert malformed.type == "ADDED"
        with pytest.raises(RemoteProtocolError, match="a Table although a watch of"):
            read(table.encode(), kind=kind)


END = '"k8s.io/initial-events-end"'


@pytest.mark.parametrize(
    ("obj", "event"),
    [
        ('"metadata":{"resourceVersion":"345"},"spec":{"containers":null},"status":{}', Bookmark("345")),
        ('"metadata":{"resourceVersion":"345","creationTimestamp":null},"spec":5', Bookmark("345")),
        ('"metadata":{"annotations":null,"resourceVersion":"345","name":null}', Bookmark("345")),
        (f'"metadata":{{"annotations":{{{END}:"true"}},"resourceVersion":"345"}}', Bookmark("345", True)),
        (f'"metadata":{{"annotations":{{{END}:"false"}},"resourceVersion":"345"}}', Bookmark("345")),
        ('"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}', Bookmark("", True)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
@pytest.mark.parametrize("strict", [False, True])
def test_wl_18_wl_22_only_the_version_and_the_end_annotation_of_a_bookmark_are_read(
    obj: str, event: Bookmark, kind: Any, strict: bool
) -> None:
    stream = f'{{"type":"BOOKMARK","object":{{"kind":"Widget","apiVersion":"x.io/v1",{obj}}}}}\n'.encode()
    assert read(stream, kind=kind, strict=strict) == [event]
    assert read(line(pad=3_000) + stream, kind=kind, strict=strict)[1:] == [event]


def test_bytes_that_are_not_utf_8_hide_no_failure() -> None:
    bad = (GONE % "v1").encode().replace(b"too old", b"\xff\xfe")
    for stream, options in (
        (b'{"type":"ERROR","object":%s}\n' % bad, {}),
        (bad, {}),
        (bad, {"status": 410}),
    ):
        [event] = read(stream, **options)
        assert isinstance(event, WatchFailed)
        assert (event.status.code, event.status.reason, event.status.message) == (
            410,
            "Expired",
            "\ufffd\ufffd",
        )


def test_wl_23_an_unrequested_end_bookmark_is_read() -> None:
    recorded = json.loads((RECORDINGS / "watch-legacy-start-gets-end-bookmark.json").read_bytes())["response"]
    events = read(recorded["body"].encode(), kind=Settings)
    assert isinstance(events[-1], Bookmark)
    assert events[-1].initial_events_end


def test_w_26_a_refusal_of_many_lines_is_a_single_failure() -> None:
    body = json.dumps(json.loads(GONE % "v1"), indent=2).encode()
    for chunks in ([body], [body[offset : offset + 1] for offset in range(len(body))]):
        [event] = read(*chunks, status=410)
        assert isinstance(event, WatchFailed)
        assert (event.status.code, event.status.reason) == (410, "Expired")


@pytest.mark.parametrize(
    "body", [b"<html>\n<h1>Bad Gateway</h1>\n</html>", b"", b"\xff\x00", b"[" * 100_000, b"x" * 3_000_000]
)
@pytest.mark.parametrize("coding", ["", "gzip", "br"])
def test_w_28_a_refusal_with_any_body_is_a_single_failure(body: bytes, coding: str) -> None:
    [event] = read(body, status=502, headers=(("Content-Encoding", coding),))
    assert isinstance(event, WatchFailed)
    assert event.status.code == 502


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [Settings, kp.Metadata, kp.Dynamic])
def test_recorded_watches_are_the_same_in_chunks_of_any_size(name: str, kind: Any) -> None:
    recorded = json.loads((RECORDINGS / f"{name}.json").read_bytes())["response"]
    body, status = str(recorded["body"]).encode(), recorded["status"]
    expected = read(body, kind=kind, status=status)
    for size in (1, 7, 100):
        pieces = [body[offset : offset + size] for offset in range(0, len(body), size)]
        again = read(*pieces, kind=kind, status=status)
        assert [type(event) for event in again] == [type(event) for event in expected]
        assert [e for e in again if not isinstance(e, Malformed)] == [
            e for e in expected if not isinstance(e, Malformed)
        ]


def test_an_invalid_end_of_an_object_is_reported_on_access_with_the_objects_name() -> None:
    text = line("cut", pad=3_000)[:-40] + b"\n"
    touches: list[Callable[[Any], Any]] = [
        lambda obj: obj.metadata.labels,
        lambda obj: copy.deepcopy(obj).metadata.labels,
        lambda obj: setattr(obj.metadata, "uid", "u"),
    ]
    for kind in (Widget, kp.Metadata, kp.Dynamic):
        for touch in touches:
            [event] = read(text, kind=kind)
            assert (event.object.metadata.name, event.object.metadata.resource_version) == ("cut", "1")
            with pytest.raises(InvalidObject, match="n/cut: "):
                touch(event.object)
        [event] = read(text, kind=kind)
        assert "cannot be read" in repr(event.object)
    [event] = read(b" " + text)
    with pytest.raises(InvalidObject, match="Widget n/cut: Input data was truncated"):
        encode(event.object)


def test_an_object_outlives_its_decoder_and_its_copy_releases_the_chunk() -> None:
    chunk = line("a", pad=3_000) + line("b", pad=3_000)
    decoder = WatchDecoder(Widget)
    events: list[Any] = [*decoder.feed(chunk)]
    initial_references = sys.getrefcount(chunk)
    del decoder
    gc.collect()
    assert [event.object.spec.title for event in events] == ["x" * 3_000] * 2
    events = [*WatchDecoder(Widget).feed(chunk)]
    assert sys.getrefcount(chunk) == initial_references
    texts = [encode(event.object) for event in events]
    del events
    gc.collect()
    assert sys.getrefcount(chunk) == 2
    assert [json.loads(text)["metadata"]["name"] for text in texts] == ["a", "b"]


def test_the_error_names_a_class_that_cannot_be_resolved() -> None:
    class Hidden(kp.Fields):
        x: int = 0

    class Outer(kp.KubeObject, group="x.io", version="v1"):
        hidden: Hidden | None = None

    with pytest.raises(
        LocalProtocolError, match=r"class .*Outer: an annotation cannot be resolved .*'Hidden'"
    ):
        WatchDecoder(Outer)
    with pytest.raises(
        LocalProtocolError, match=r"class .*Outer: an annotation cannot be resolved .*'Hidden'"
    ):
        read_page(b'{"kind":"OuterList","items":[]}', Outer, strict=True)


def test_dynamic_objects_use_their_resource_only_in_errors() -> None:
    [malformed] = read(b'{"type":"ADDED","object":5}\n', kind=kp.Dynamic, resource=WIDGETS)
    assert str(malformed.error).startswith("Widget: ")


def test_a_kind_without_namespaces_is_read_from_its_prefix() -> None:
    text = line("a", pad=3_000).replace(b'"namespace":"n",', b"").replace(b"Widget", b"Realm")
    text = text[:-4] + b"\n"  # broken after its prefix, which is not read
    assert isinstance(read(text, kind=Realm)[0], Added)
    assert isinstance(read(text.replace(b"Realm", b"Widget"))[0], Malformed)


@pytest.mark.parametrize(
    ("decoder", "described"),
    [
        (WatchDecoder(Widget), "Widget"),
        (WatchDecoder(kp.Metadata[Widget], resource=Widget.resource), "Widget"),
        (WatchDecoder(kp.Dynamic, resource=Widget.resource), "Widget"),
        (WatchDecoder(kp.Dynamic), "Dynamic"),
    ],
)
def test_r_34_the_error_names_the_expected_kind_typed_or_not(
    decoder: WatchDecoder[Any], described: str
) -> None:
    (event,) = decoder.feed(b'{"type":"ADDED","object":{"metadata":{}}}\n')
    assert isinstance(event, kp.Malformed)
    assert str(event.error).startswith(f"{described}: ")
