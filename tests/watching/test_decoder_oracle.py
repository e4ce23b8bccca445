"""The fast decoder of a watch and the plain one read any stream alike, however it is cut."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import pytest
from asked_examples import examples
from hypothesis import given, settings, strategies as st
from plain_decoder import PlainDecoder
from strategies import Draw, Realm, Settings, Widget, damaged, lines, splits

import kubeproto as kp
from kubeproto.objects import to_plain
from kubeproto.watching import Malformed, WatchDecoder, WatchFailed

Shuffle: TypeAlias = Callable[[list[Any]], list[Any]]

SCOPES: Final = {
    Widget: kp.Resource("x.io", "v1", "Widget", "widgets"),
    Settings: kp.Resource("", "v1", "ConfigMap", "configmaps"),
    Realm: kp.Resource("x.io", "v1", "Realm", "realms", namespaced=False),
}
kinds: Final[st.SearchStrategy[Any]] = st.sampled_from(tuple(SCOPES))
line_ends: Final = st.sampled_from((b"\n", b"\r\n", b"\n\n", b"\n \r\n"))

BOOKMARKS: Final = (
    b'{"type":"BOOKMARK","object":{"kind":"Widget","metadata":{"resourceVersion":"7"}}}',
    b'{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}',
)
OTHER_LINES: Final = (
    b'{"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,"reason":"Expired"}}',
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Gone"}',
    b'{"type":"SYNCED","object":{}}',
    b'{"type":"ADDED","object":{"metadata":{}}}',
    b'{"type":"ADDED","object":{"metadata":{"name":"a"},"spec":5}}',
    b'{"type":"ADDED","object":{"metadata":{"name":"a"},"metadata":{"name":"b"}}}',
    b'{"type":"ADDED","object":{"metadata":{"name":"a"}},"object":{"metadata":{"name":"b"}}}',
    b'{"type":"MODIFIED","object":7}',
    b'{"type":"ADDED"}',
    b'{"type":5,"object":{}}',
    b"[]",
    b"null",
    b'"text"',
    b"{",
    b"\xef\xbb\xbf{}",
    b"NaN",
)


@st.composite
def streams(draw: Draw, kind: Any) -> bytes:
    """A stream of events, bookmarks and other lines, some of them malformed."""
    stream = b""
    for _ in range(draw(st.integers(1, 5))):
        shape = draw(st.sampled_from(("object", "object", "object", "bookmark", "other", "mangled", "two")))
        match shape:
            case "object":
                line = draw(lines(kind))
            case "bookmark":
                line = draw(st.sampled_from(BOOKMARKS))
            case "other":
                line = draw(st.sampled_from(OTHER_LINES))
            case "mangled":
                line = draw(damaged(draw(lines(kind))).filter(_is_text))
            case _:
                line = draw(lines(kind)) + draw(st.sampled_from((b"", b" "))) + draw(lines(kind))
        stream += line + draw(line_ends)
    return stream if draw(st.booleans()) else stream.rstrip(b"\r\n ")


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def outcome(decoder: Any, chunks: list[bytes], shuffle: Shuffle = list) -> list[Any]:
    """Return all that a decoder makes of a stream, in a form that can be compared."""
    events: list[Any] = []
    try:
        for chunk in chunks:
            events += decoder.feed(chunk)
        events += decoder.finish()
    except kp.RemoteProtocolError:
        events.append("RemoteProtocolError")
    return [comparable(event, shuffle) for event in events]


def comparable(event: Any, shuffle: Shuffle) -> Any:
    """Return an event with its object read, part by part in the order of `shuffle`, and then as a whole."""
    received = event  # the match narrows `event` to an event of an unknown kind
    match event:
        case Malformed():
            return "Malformed"
        case WatchFailed(status):
            return "WatchFailed", status.code, status.reason
        case kp.Added() | kp.Modified() | kp.Deleted():
            try:
                for part in shuffle([received.object, received.object.metadata]):
                    for name in shuffle(list(part.__struct_fields__)):
                        getattr(part, name)
                return type(received), to_plain(received.object)
            except kp.InvalidObject:
                # Without `strict` an object is typed when it is read, and without `checked` a long line may
                # be malformed behind its front.
                return "Malformed"
        case _:
            return event


@pytest.mark.parametrize("depth", ["kind", "metadata", "dynamic"])
@pytest.mark.parametrize("mode", ["strict", "checked", "lazy"])
@settings(max_examples=examples(60))
@given(st.data())
def test_the_fast_decoder_agrees_with_the_plain_decoder(mode: str, depth: str, data: st.DataObject) -> None:
    kind: Any = data.draw(kinds)
    stream = data.draw(streams(kind))
    types = {"kind": kind, "metadata": kp.Metadata[kind], "dynamic": kp.Dynamic}
    type_, resource = types[depth], None if depth == "kind" else SCOPES[kind]
    plain_type = kp.Metadata if depth == "metadata" else type_
    expected = outcome(PlainDecoder(plain_type), [stream])
    assert outcome(PlainDecoder(plain_type), data.draw(splits(stream))) == expected
    decoder = WatchDecoder(type_, resource=resource, strict=mode == "strict", checked=mode == "checked")

    def shuffle(items: list[Any]) -> list[Any]:
        return data.draw(st.permutations(items))

    # A server sends each event in a chunk of its own, unless it is busy.
    chunks = data.draw(st.one_of(splits(stream), st.just(stream.splitlines(keepends=True))))
    assert outcome(decoder, chunks, shuffle) == expected
