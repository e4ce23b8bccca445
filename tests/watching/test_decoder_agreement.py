"""Lazy and strict decoding agree: for any line, both read the same as a plain decode of the complete line."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pytest
from asked_examples import examples
from hypothesis import given, settings, strategies as st
from strategies import (
    PREFIX_LIKE,
    REALMS,
    WIDGETS,
    Realm,
    Settings,
    Widget,
    WidgetSpec,
    damaged,
    lines,
    objects,
    splits,
    write_json,
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
    """Return the type and object of a line, decoded by msgspec alone."""
    envelope = msgspec.json.decode(line, type=Plain)
    if kind is not kp.Dynamic:
        return envelope.type, msgspec.json.decode(envelope.object, type=kind)
    content = json.loads(bytes(envelope.object))
    metadata = msgspec.json.decode(envelope.object, type=kp.Metadata).metadata
    del content["metadata"]
    obj = kp.Dynamic(
        kind=content.pop("kind"), api_version=content.pop("apiVersion"), metadata=metadata, content=content
    )
    return envelope.type, obj


def read(chunks: list[bytes], kind: Any, **options: Any) -> list[Any]:
    decoder = WatchDecoder(kind, **options)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.finish()


def read_single(chunk: bytes, kind: Any, **options: Any) -> Any:
    """Return the single event of a chunk."""
    [event] = WatchDecoder(kind, **options).feed(chunk)
    return event


def plain_events(events: list[Any]) -> list[tuple[str, Any]]:
    return [(type(event).__name__.upper(), to_plain(event.object)) for event in events]


@pytest.mark.parametrize("strict", [False, True])
@given(st.data())
def test_every_line_reads_as_a_plain_decode_of_all_of_it(strict: bool, data: st.DataObject) -> None:
    kind: Any = data.draw(kinds)
    stream = data.draw(st.lists(lines(kind), min_size=1, max_size=4))
    chunks = data.draw(splits(b"\n".join(stream)))
    scope = REALMS if kind is Realm else WIDGETS
    for depth, resource in ((kind, None), (kp.Metadata[kind], scope), (kp.Dynamic, scope)):
        events = read(chunks, depth, strict=strict, resource=resource)
        expected_kind = kp.Metadata if depth is kp.Metadata[kind] else depth
        assert plain_events(events) == [plain(line, expected_kind) for line in stream]


@given(st.data())
def test_an_object_that_is_encoded_again_has_the_same_content(data: st.DataObject) -> None:
    line = data.draw(lines(Widget).filter(lambda line: b'"extra"' not in line))
    depths: list[Any] = [Widget, kp.Metadata, kp.Dynamic]
    for kind in depths:
        [event] = read([line], kind)
        text = encode(event.object)
        assert decode(text, kind) == plain(line, kind)[1]
        [event] = read([line], kind)
        event.object.metadata.labels["touched"] = "yes"
        again = to_plain(decode(encode(event.object), kind))
        expected = plain(line, kind)[1]
        expected.metadata.labels["touched"] = "yes"
        assert again == expected


@given(st.data(), kinds)
def test_a_long_object_in_a_servers_order_is_read_from_its_prefix(data: st.DataObject, kind: Any) -> None:
    obj = data.draw(objects(kind, complete=True))
    obj["metadata"]["labels"] = {"a": "b"}
    obj["data" if kind is Settings else "spec"]["pad"] = "x" * PADDING
    text = write_json(data.draw, obj, "server")
    line = b'{"type":"ADDED","object":' + text.encode() + b"}\n"
    event = read_single(line, kind)
    assert encode(event.object) == text.encode()
    # The bytes after the prefix were not read, so the missing part was not detected.
    assert isinstance(read_single(line[:-4] + b"\n", kind), Added)
    event = read_single(line, kp.Metadata[kind], resource=REALMS if kind is Realm else WIDGETS)
    assert encode(event.object) == text.encode()
    event = read_single(line, kp.Dynamic)
    assert encode(event.object) == text.encode()


@given(lines(Widget), st.data())
def test_any_bytes_give_events_or_a_protocol_error_however_they_are_split(
    line: bytes, data: st.DataObject
) -> None:
    stream = data.draw(damaged(line + b"\n" + data.draw(lines(Widget)) + b"\r\n\n" + line))
    kind, strict = data.draw(st.sampled_from((Widget, kp.Metadata, kp.Dynamic))), data.draw(st.booleans())
    pieces = data.draw(splits(stream))
    assert outcome(pieces, kind, strict) == outcome(
        [stream[i : i + 7] for i in range(0, len(stream), 7)], kind, strict
    )


def outcome(chunks: list[bytes], kind: Any, strict: bool) -> list[Any]:
    """Return the outcome of a stream: each event with all its readable content, and its error."""
    decoder, results = WatchDecoder(kind, strict=strict), list[Any]()
    try:
        for chunk in chunks:
            results += decoder.feed(chunk)
        results += decoder.finish()
    except RemoteProtocolError as error:
        results.append(str(error))
    return [_comparable(event) for event in results]


def _comparable(event: Any) -> Any:
    if isinstance(event, Malformed):
        return "broken"
    if not hasattr(event, "object"):
        return event
    try:
        return type(event), to_plain(event.object)
    except kp.InvalidObject:
        # whether the decoder detects the defect behind the prefix immediately depends on the rest of the
        # chunk
        return "broken"


@given(st.binary(max_size=60))
def test_random_bytes_give_events_or_a_protocol_error(stream: bytes) -> None:
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


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
def test_no_order_of_keys_misleads_the_prefix_reader(case: str, kind: Any) -> None:
    line = b'{"type":"MODIFIED","object":{%s}}' % HOSTILE[case].replace("PAD", "x" * PADDING).encode()
    event = read_single(line + b"\n", kind)
    expected = plain(line, kind)[1]
    assert (event.object.kind, event.object.api_version) == ("Widget", "x.io/v1")
    assert event.object.metadata.name == expected.metadata.name
    assert event.object.metadata.generation == expected.metadata.generation
    assert event.object == expected


@pytest.mark.parametrize("string", PREFIX_LIKE)
def test_a_key_of_the_prefix_inside_a_string_is_ignored(string: str) -> None:
    spec = WidgetSpec(title=string * 400, template={string: {"labels": {}, "x": [string]}})
    obj = Widget(
        metadata=kp.ObjectMeta(name="a", namespace="n", uid=string * 30, resource_version=string),
        spec=spec,
    )
    line = b'{"type":"ADDED","object":%s}\n' % msgspec.json.encode(obj)
    event = read_single(line, Widget)
    assert event.object == obj


@given(st.text(max_size=3), st.text(max_size=3))
def test_a_repeated_key_breaks_nothing(first: str, two: str) -> None:
    meta = f'"metadata":{{{ID},"name":{json.dumps(first)},"labels":{{}}}}'
    other = meta.replace('"u"', json.dumps(two))
    obj = f'{{{meta},{other},"spec":{{"title":"{"x" * PADDING}"}}}}'
    text = f'{{"type":"ADDED","object":{obj},"object":{{{other}}}}}'
    for kind in (Widget, kp.Dynamic):
        for event in read([text.encode()], kind):
            repr(event)


def test_a_kind_without_prefixes_stops_trying_and_a_mixed_population_keeps_its_order() -> None:
    # A line that is broken after its prefix is an event if it was read from there.
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
def test_a_bookmark_anywhere_in_a_chunk_does_not_prevent_the_other_events_from_being_read_by_prefix(
    order: tuple[int, ...],
) -> None:
    long = line("front", labels=True)[:-4] + b"\n"
    events = WatchDecoder(Settings).feed(b"".join(long if is_long else BOOKMARK for is_long in order))
    assert [type(event) for event in events] == [Added if is_long else Bookmark for is_long in order]


def line(name: str, *, labels: bool) -> bytes:
    extra = ',"labels":{"a":"b"}' if labels else ""
    text = (
        f'{{"metadata":{{"name":"{name}","namespace":"n","uid":"{"u" * 40}","resourceVersion":"1"{extra}}},'
    )
    return f'{{"type":"ADDED","object":{text}"data":{{"k":"{"x" * PADDING}"}}}}}}\n'.encode()


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30), st.data())
def test_events_are_returned_in_the_order_of_their_lines(
    shapes: list[tuple[bool, bool]], data: st.DataObject
) -> None:
    stream = b"".join(
        line(str(n), labels=labels) if long else line(str(n), labels=labels).replace(b"x" * PADDING, b"x")
        for n, (long, labels) in enumerate(shapes)
    )
    for kind in (Settings, kp.Dynamic):
        events = read(data.draw(splits(stream)), kind)
        assert [event.object.metadata.name for event in events] == [str(n) for n in range(len(shapes))]
