"""Lazy and strict agree: whatever a line looks like, both read what a plain decode of all of it reads."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pytest
from asked_examples import examples
from hypothesis import given, settings, strategies as st
from strategies import (
    MARKS,
    REALMS,
    WIDGETS,
    Realm,
    Settings,
    Widget,
    WidgetSpec,
    cuts,
    lines,
    mangled,
    objects,
    written,
)

import kubeproto as kp
from kubeproto import RemoteProtocolError
from kubeproto.objects import decode, encode, to_plain
from kubeproto.watching import Added, Bookmark, Deleted, Malformed, Modified, WatchDecoder

PADDING: Final = 4096  # objects of this size are read in parts

KINDS = (Widget, Settings, Realm)
kinds: st.SearchStrategy[Any] = st.sampled_from(KINDS)

Objects = Added[Any] | Modified[Any] | Deleted[Any]


class Plain(msgspec.Struct):
    type: str
    object: msgspec.Raw


def plain(line: bytes, kind: Any) -> tuple[str, Any]:
    """What msgspec makes of the whole line, with none of our help."""
    found = msgspec.json.decode(line, type=Plain)
    if kind is not kp.Dynamic:
        return found.type, msgspec.json.decode(found.object, type=kind)
    content = json.loads(bytes(found.object))
    metadata = msgspec.json.decode(found.object, type=kp.Metadata).metadata
    del content["metadata"]
    obj = kp.Dynamic(
        kind=content.pop("kind"), api_version=content.pop("apiVersion"), metadata=metadata, content=content
    )
    return found.type, obj


def read(chunks: list[bytes], kind: Any, **options: Any) -> list[Any]:
    decoder = WatchDecoder(kind, **options)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()


def fed(chunk: bytes, kind: Any, **options: Any) -> Any:
    """The one event of a chunk."""
    [event] = WatchDecoder(kind, **options).feed(chunk)
    return event


def settled(events: list[Any]) -> list[tuple[str, Any]]:
    return [(type(event).__name__.upper(), to_plain(event.object)) for event in events]


@pytest.mark.parametrize("strict", [False, True])
@given(st.data())
def test_every_line_reads_as_a_plain_decode_of_all_of_it(strict: bool, data: st.DataObject) -> None:
    kind: Any = data.draw(kinds)
    stream = data.draw(st.lists(lines(kind), min_size=1, max_size=4))
    pieces = data.draw(cuts(b"\n".join(stream)))
    scope = REALMS if kind is Realm else WIDGETS
    for depth, resource in ((kind, None), (kp.Metadata[kind], scope), (kp.Dynamic, scope)):
        events = read(pieces, depth, strict=strict, resource=resource)
        whole = kp.Metadata if depth is kp.Metadata[kind] else depth
        assert settled(events) == [plain(line, whole) for line in stream]


@given(st.data())
def test_what_is_encoded_again_says_the_same(data: st.DataObject) -> None:
    line = data.draw(lines(Widget).filter(lambda line: b'"extra"' not in line))
    depths: list[Any] = [Widget, kp.Metadata, kp.Dynamic]
    for kind in depths:
        [event] = read([line], kind)
        text = encode(event.object)
        assert decode(text, kind) == plain(line, kind)[1]
        [event] = read([line], kind)
        event.object.metadata.labels["touched"] = "yes"
        again = to_plain(decode(encode(event.object), kind))
        whole = plain(line, kind)[1]
        whole.metadata.labels["touched"] = "yes"
        assert again == whole


@given(st.data(), kinds)
def test_a_long_object_in_a_servers_order_is_read_from_its_front(data: st.DataObject, kind: Any) -> None:
    obj = data.draw(objects(kind, whole=True))
    obj["metadata"]["labels"] = {"a": "b"}
    obj["data" if kind is Settings else "spec"]["pad"] = "x" * PADDING
    text = written(data.draw, obj, "server")
    line = b'{"type":"ADDED","object":' + text.encode() + b"}\n"
    event = fed(line, kind)
    assert encode(event.object) == text.encode()
    # Nobody has looked behind the front, so nobody has seen that something is missing there.
    assert isinstance(fed(line[:-4] + b"\n", kind), Added)
    event = fed(line, kp.Metadata[kind], resource=REALMS if kind is Realm else WIDGETS)
    assert encode(event.object) == text.encode()
    event = fed(line, kp.Dynamic)
    assert encode(event.object) == text.encode()


@given(lines(Widget), st.data())
def test_any_bytes_give_events_or_a_protocol_error_however_they_are_cut(
    line: bytes, data: st.DataObject
) -> None:
    stream = data.draw(mangled(line + b"\n" + data.draw(lines(Widget)) + b"\r\n\n" + line))
    kind, strict = data.draw(st.sampled_from((Widget, kp.Metadata, kp.Dynamic))), data.draw(st.booleans())
    pieces = data.draw(cuts(stream))
    assert outcome(pieces, kind, strict) == outcome(
        [stream[i : i + 7] for i in range(0, len(stream), 7)], kind, strict
    )


def outcome(pieces: list[bytes], kind: Any, strict: bool) -> list[Any]:
    """What a stream comes to: each event with all that can be read of it, and how it ended."""
    decoder, seen = WatchDecoder(kind, strict=strict), list[Any]()
    try:
        for piece in pieces:
            seen += decoder.feed(piece)
        seen += decoder.finish()
    except RemoteProtocolError as error:
        seen.append(str(error))
    return [_comparable(event) for event in seen]


def _comparable(event: Any) -> Any:
    if isinstance(event, Malformed):
        return "broken"
    if not hasattr(event, "object"):
        return event
    try:
        return type(event), to_plain(event.object)
    except kp.InvalidObject:
        return "broken"  # behind its front: whether that is seen at once depends on what came beside it


@given(st.binary(max_size=60))
def test_bytes_of_no_meaning_at_all_give_events_or_a_protocol_error(stream: bytes) -> None:
    for kind in (Widget, kp.Metadata, kp.Dynamic):
        outcome([stream], kind, strict=False)


WHO = '"kind":"Widget","apiVersion":"x.io/v1"'
ID = '"name":"a","namespace":"n","uid":"u","resourceVersion":"1"'
SPEC = '"spec":{"title":"PAD"}'
FORGED = '"metadata":{"name":"forged","namespace":"n","uid":"f","resourceVersion":"9","labels":{"f":"f"}}'

HOSTILE = {
    "metadata goes on after managedFields": (
        f'{WHO},"metadata":{{{ID},"managedFields":[{{"manager":"m"}}],"labels":{{"late":"yes"}},"finalizers":["f"]}},{SPEC}'
    ),
    "metadata goes on after labels": (
        f'{WHO},"metadata":{{{ID},"labels":{{"a":"b"}},"generation":7,"annotations":{{"c":"d"}}}},{SPEC}'
    ),
    "identity after labels": f'{WHO},"metadata":{{"labels":{{"a":"b"}},{ID}}},{SPEC}',
    "a version after managedFields": (
        f'{WHO},"metadata":{{"name":"a","namespace":"n","uid":"u","managedFields":[],"resourceVersion":"1"}},{SPEC}'
    ),
    "a namespace after labels": (
        f'{WHO},"metadata":{{"name":"a","uid":"u","resourceVersion":"1","labels":{{}},"namespace":"n"}},{SPEC}'
    ),
    "the kind at the end": (
        f'"metadata":{{{ID},"generateName":"{"x" * 60}","labels":{{"a":"b"}}}},{SPEC},{WHO}'
    ),
    "metadata after the spec": (
        f'{WHO},"spec":{{"title":"PAD","template":{{{FORGED},"spec":{{}}}}}},'
        f'"metadata":{{{ID},"labels":{{"a":"b"}}}}'
    ),
    "an embedded object first": (
        f'"aaa":{{"object":{{{FORGED}}}}},{WHO},"metadata":{{{ID},"labels":{{"a":"b"}}}},{SPEC}'
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
def test_no_order_of_keys_deceives_the_front(what: str, kind: Any) -> None:
    line = b'{"type":"MODIFIED","object":{%s}}' % HOSTILE[what].replace("PAD", "x" * PADDING).encode()
    event = fed(line + b"\n", kind)
    wanted = plain(line, kind)[1]
    assert (event.object.kind, event.object.api_version) == ("Widget", "x.io/v1")
    assert event.object.metadata.name == wanted.metadata.name
    assert event.object.metadata.generation == wanted.metadata.generation
    assert event.object == wanted


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_inside_a_string_is_none(mark: str) -> None:
    spec = WidgetSpec(title=mark * 400, template={mark: {"labels": {}, "x": [mark]}})
    obj = Widget(
        metadata=kp.ObjectMeta(name="a", namespace="n", uid=mark * 30, resource_version=mark),
        spec=spec,
    )
    line = b'{"type":"ADDED","object":%s}\n' % msgspec.json.encode(obj)
    event = fed(line, Widget)
    assert event.object == obj


@given(st.text(max_size=3), st.text(max_size=3))
def test_a_key_that_stands_twice_breaks_nothing(one: str, two: str) -> None:
    meta = f'"metadata":{{{ID},"name":{json.dumps(one)},"labels":{{}}}}'
    other = meta.replace('"u"', json.dumps(two))
    obj = f'{{{meta},{other},"spec":{{"title":"{"x" * PADDING}"}}}}'
    text = f'{{"type":"ADDED","object":{obj},"object":{{{other}}}}}'
    for kind in (Widget, kp.Dynamic):
        for event in read([text.encode()], kind):
            repr(event)


def test_a_kind_without_fronts_stops_trying_and_a_mixed_population_keeps_its_order() -> None:
    # A line that is broken after its front is an event if it was read from there.
    front = line("front", labels=True)[:-4] + b"\n"
    none = line("none", labels=False)
    decoder: WatchDecoder[Any] = WatchDecoder(Settings)
    mixed = decoder.feed(b"".join([front, none, b"\n", front, BOOKMARK, none] * 5))
    assert [type(event).__name__ for event in mixed] == ["Added", "Added", "Added", "Bookmark", "Added"] * 5
    names = [event.object.metadata.name for event in mixed if isinstance(event, Added)]
    assert names == ["front", "none", "front", "none"] * 5
    for _ in range(60):
        decoder.feed(none)
    assert isinstance(decoder.feed(front)[0], Malformed)
    [event] = decoder.feed(line("front", labels=True))
    assert isinstance(event, Added)
    assert event.object.metadata.labels == {"a": "b"}


BOOKMARK = b'{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"9"}}}\n'


@pytest.mark.parametrize("order", [(0, 1, 1), (1, 1, 0), (1, 0, 1)], ids=str)
def test_a_bookmark_anywhere_in_a_chunk_does_not_keep_the_others_from_their_fronts(
    order: tuple[int, ...],
) -> None:
    long = line("front", labels=True)[:-4] + b"\n"
    events = WatchDecoder(Settings).feed(b"".join(long if one else BOOKMARK for one in order))
    assert [type(event) for event in events] == [Added if one else Bookmark for one in order]


def line(name: str, *, labels: bool) -> bytes:
    extra = ',"labels":{"a":"b"}' if labels else ""
    text = (
        f'{{"metadata":{{"name":"{name}","namespace":"n","uid":"{"u" * 40}","resourceVersion":"1"{extra}}},'
    )
    return f'{{"type":"ADDED","object":{text}"data":{{"k":"{"x" * PADDING}"}}}}}}\n'.encode()


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30), st.data())
def test_events_come_in_the_order_of_their_lines(
    shapes: list[tuple[bool, bool]], data: st.DataObject
) -> None:
    stream = b"".join(
        line(str(n), labels=labels) if long else line(str(n), labels=labels).replace(b"x" * PADDING, b"x")
        for n, (long, labels) in enumerate(shapes)
    )
    for kind in (Settings, kp.Dynamic):
        events = read(data.draw(cuts(stream)), kind)
        assert [event.object.metadata.name for event in events] == [str(n) for n in range(len(shapes))]
