"""The Store retains the text that the server sent: watched, in pages, in pieces or streamed."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import pytest
from asked_examples import examples
from hypothesis import given, settings, strategies as st

import kubeproto as kp
from kubeproto import InvalidObject, RemoteProtocolError
from kubeproto.control import Store
from kubeproto.objects import decode, encode
from kubeproto.watching import ListDecoder, Malformed, WatchDecoder, read_page, resync

PADDING: Final = 4096  # objects of this size are read in parts


class Spec(kp.Fields):
    title: str = ""


class Note(kp.Object[Spec, None], group="x.io", version="v1"):
    """A kind that declares almost no fields."""


class Settings(kp.KubeObject, version="v1", kind="ConfigMap", plural="configmaps"):
    """A kind whose class lacks its data."""


class Realm(kp.Object[Spec, None], group="x.io", version="v1", namespaced=False):
    """A kind without namespaces."""


class Eager(kp.Object[Spec, None], group="x.io", version="v1", kind="Note", plural="notes"):
    """A kind with its own code."""

    def __post_init__(self) -> None:
        assert self.kind


# More levels than msgspec decodes on any Python.
_LEVELS: Final = 1_100 if sys.version_info < (3, 12) else 6_000
DEEP: Final = '{"a":[' * _LEVELS + "]}" * _LEVELS

words: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ("object", "type", "metadata", "spec", "status", "items", ',"labels":{', '},"spec":', '}}},"object":{"')
)
values: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def texts(draw: Callable[[Any], Any], number: int) -> str:
    """Draw the JSON of an object: any keys, in any order, short or long, with spaces and escapes, or deeply
    nested.
    """
    metadata: dict[str, Any] = {
        "name": f"o{number}",
        "namespace": "n",
        "uid": "u" * 40,
        "resourceVersion": f"{number + 1}",
        "labels": draw(st.dictionaries(words, words, max_size=2)),
        "unheardOf": draw(values),
    }
    parts: dict[str, Any] = {f"x{key}": value for key, value in draw(st.dictionaries(words, values)).items()}
    parts |= {"kind": "Note", "apiVersion": "x.io/v1", "metadata": metadata, "status": draw(values)}
    parts["spec"] = {
        "title": draw(words),
        "more": draw(values),
        "pad": "x" * draw(st.sampled_from((0, PADDING))),
    }
    keys = draw(st.permutations(list(parts)))
    comma, colon = draw(st.sampled_from(((",", ":"), (", ", ": "), (" ,\t", " :"))))
    ascii_only = draw(st.booleans())

    def write_json(value: Any) -> str:
        return str(json.dumps(value, separators=(comma, colon), ensure_ascii=ascii_only))

    members = [f"{write_json(key)}{colon}{write_json(parts[key])}" for key in keys]
    if draw(st.integers(0, 19)) == 0:
        members.insert(draw(st.integers(0, len(members))), f'"deep"{colon}{DEEP}')
    return f"{{{comma.join(members)}}}"


@st.composite
def several(draw: Callable[[Any], Any]) -> list[bytes]:
    return [draw(texts(number)).encode() for number in range(draw(st.integers(1, 4)))]


def split(data: bytes, ends: list[int]) -> list[bytes]:
    offsets = sorted({end % (len(data) + 1) for end in ends} | {0, len(data)})
    return [data[start:end] for start, end in pairwise(offsets)]


def watched(
    objects: list[bytes], ends: list[int], extra: bytes, kind: Any = Note, **options: Any
) -> list[Any]:
    decoder: WatchDecoder[Any] = WatchDecoder(kind, **options)
    stream = b"".join(b'{"type":"ADDED","object":%b%b}\n' % (text, extra) for text in objects)
    return [event for chunk in split(stream, ends) for event in decoder.feed(chunk)] + decoder.finish()


def listed(objects: list[bytes], kind: str = "NoteList", version: str = "x.io/v1") -> bytes:
    head = b'{"kind":"%b","apiVersion":"%b","metadata":{"resourceVersion":"9"},"items":['
    return head % (kind.encode(), version.encode()) + b",".join(objects) + b"]}"


def stored_texts(events: list[Any], *, stage: bool, kind: Any = Note, **options: Any) -> dict[str, bytes]:
    store: Store[Any] = Store(kind, **options)
    if stage:
        store.stage(events)
        store.replace("9")
    else:
        store.update(events)
    return {key: entry.raw for key, entry in store.entries().items()}


@settings(max_examples=examples(40))
@given(several(), st.lists(st.integers(0, 100_000), max_size=6), st.sampled_from((b"", b',"extra":{"a":{}}')))
def test_the_store_retains_the_sent_text_however_it_arrived(
    objects: list[bytes], ends: list[int], extra: bytes
) -> None:
    expected = {f"n/o{number}": text for number, text in enumerate(objects)}
    events = watched(objects, ends, extra)
    assert stored_texts(events, stage=False) == expected
    assert stored_texts(events, stage=True) == expected
    page = read_page(listed(objects), Note)
    assert stored_texts([*page.items, *page.malformed], stage=True) == expected
    decoder = ListDecoder(Note)
    items = [item for chunk in split(listed(objects), ends) for item in decoder.feed(chunk)]
    assert stored_texts([*items, *decoder.finish()], stage=True) == expected
    for kind in (kp.Dynamic, kp.Metadata, Eager):
        assert stored_texts(watched(objects, ends, extra, kind), stage=False, kind=kind) == expected
    strict = watched(objects, ends, extra, strict=True)
    assert stored_texts(strict, stage=False) == expected


@given(texts(0), st.booleans())
def test_all_decoders_of_a_text_agree_or_refuse_it(text: str, touched: bool) -> None:
    data = text.encode()
    [event] = watched([data], [], b"")
    views = [event.object, decode(data, Note), decode(data, Note, checked=True)]
    for view in views:
        if touched:
            assert view.metadata.labels == views[0].metadata.labels
            assert view.spec.title == views[0].spec.title
        assert view == views[0]
        assert stored_texts([view], stage=True) == {"n/o0": data}
    deep = DEEP in text
    for kind in (Note, Eager):
        if deep:
            with pytest.raises(InvalidObject, match="too deeply"):
                decode(data, kp.Dynamic, strict=True)
        else:
            assert decode(data, kind, strict=True).spec == views[0].spec
            assert decode(data, kp.Dynamic)["spec"]["title"] == views[0].spec.title
    assert encode(views[0]) == data


OBJECT: Final = (
    b'{"apiVersion":"x.io/v1","kind":"Note","metadata":{"name":"o0","namespace":"n","uid":"%b",'
    b'"resourceVersion":"1","labels":{"a":"b"}},"spec":{"title":"t","pad":"%b"},"status":{"s":{}}%b}'
)
SHORT: Final = OBJECT % (b"u" * 36, b"", b"")
LARGE: Final = OBJECT % (b"u" * 36, b"x" * 3_000, b"")
sizes = pytest.mark.parametrize("text", [SHORT, LARGE], ids=["short", "long"])


@sizes
def test_a_second_object_of_a_line_is_not_stored_with_the_first(text: bytes) -> None:
    # The key "object" occurs twice: in JSON the last value counts. A prefix contains the first, whose text is
    # unknown.
    other = b'{"metadata":{"name":"other","resourceVersion":"5"}}'
    twice = stored_texts(watched([text], [], b',"object":%b' % other), stage=False)
    assert twice == ({"other": other} if text is SHORT else {"n/o0": b""})
    assert stored_texts(watched([text], [], b',"extra":{}'), stage=False) == {"n/o0": text}
    for type_ in (b"ADDED", b"MODIFIED", b"DELETED"):
        for count in (1, 3):
            for extra in (b',"object":%b' % other, b',"obj\\u0065ct":%b' % other, b',"extra":{}'):
                line = b'{"type":"%b","object":%b%b}\n' % (type_, SHORT, extra)
                events: list[Any] = WatchDecoder(Note).feed(line * count)
                expected = SHORT if extra == b',"extra":{}' else other
                assert [event.raw for event in events] == [expected] * count


def test_neighbours_and_chunk_boundaries_do_not_affect_the_stored_text() -> None:
    large = LARGE.replace(b"o0", b"o1")
    for ends in ([], [len(SHORT) + 27], [5, 90]):
        assert stored_texts(watched([SHORT, large], ends, b""), stage=False) == {"n/o0": SHORT, "n/o1": large}


def test_items_without_a_kind_get_it_from_the_resource_and_are_stored_unchanged() -> None:
    text = b'{"metadata":{"name":"a","namespace":"n"},"data":{"x":"1"}}'
    resource = kp.Resource("", "v1", "ConfigMap", "configmaps")
    body = listed([text], "ConfigMapList", "v1")
    kinds: tuple[Any, ...] = (Settings, kp.Dynamic, kp.Metadata)
    for kind in kinds:
        items = read_page(body, kind, resource=resource).items
        assert [(item.kind, item.api_version) for item in items] == [("ConfigMap", "v1")]
        assert json.loads(encode(items[0])) == json.loads(text) | {"kind": "ConfigMap", "apiVersion": "v1"}
        store: Store[Any] = Store(kind, resource=resource)
        store.stage(items)
        [change] = store.replace("1")
        assert store.entry("n/a").raw == text  # type: ignore[union-attr] # pyright: ignore[reportOptionalMemberAccess]
        assert (change.object.kind, change.ref.kind) == ("ConfigMap", "ConfigMap")
        assert [obj.kind for obj in store] == ["ConfigMap"]


@sizes
def test_a_dynamic_object_preserves_unknown_metadata_and_unchanged_values(text: bytes) -> None:
    data = text.replace(b'"labels"', b'"unheardOf":{ "x": 1 },"labels"')
    kinds: tuple[Any, ...] = (kp.Dynamic, kp.Metadata, Note)
    for kind in kinds:
        obj = decode(data, kind)
        obj.metadata.labels["new"] = "yes"
        again = encode(obj)
        assert b'"unheardOf":{ "x": 1 }' in again
        assert json.loads(again)["metadata"]["labels"] == {"a": "b", "new": "yes"}
        assert json.loads(again)["status"] == {"s": {}}


def test_an_object_without_a_version_is_lost_wherever_it_occurs() -> None:
    bare = SHORT.replace(b'"resourceVersion":"1",', b"").replace(b"o0", b"o9")
    for objects in ([bare, SHORT], [SHORT, bare], [bare]):
        [(_, received)] = resync.digest(watched(objects, [], b""))
        assert isinstance(received, resync.Received)
        assert received.lost


def test_an_event_without_a_name_is_malformed_whatever_surrounds_it() -> None:
    nameless = SHORT.replace(b'"name":"o0",', b'"name":"",')
    for objects in ([nameless], [nameless, SHORT], [LARGE, nameless], [nameless, LARGE]):
        matches = {type(event).__name__ for event in watched(objects, [], b"")}
        assert matches == {"Malformed", "Added"} if len(objects) == 2 else {"Malformed"}


def test_a_namespace_after_the_prefix_is_detected_for_a_kind_without_namespaces() -> None:
    for key in (b'"namespace"', b'"n\\u0061mespace"'):
        text = LARGE.replace(b'"namespace":"n",', b"").replace(b'{"a":"b"}', b'{"a":"b"},%b:"late"' % key)
        text = text.replace(b"Note", b"Realm")
        [event] = watched([text], [], b"", Realm)
        assert event.object.metadata.namespace == "late"
        assert decode(text, Realm).metadata.namespace == "late"


deep_texts = pytest.mark.parametrize("pad", [b"", b"x" * 3_000], ids=["short", "long"])


@deep_texts
def test_a_deeply_nested_object_is_stored_and_hides_no_other(pad: bytes) -> None:
    deep = OBJECT % (b"u" * 36, pad, b',"deep":' + DEEP.encode())
    other = SHORT.replace(b"o0", b"o1")
    expected = {"n/o0": deep, "n/o1": other}
    page = read_page(listed([deep, other]), Note)
    assert page.malformed == []
    decoder = ListDecoder(Note)
    pieces = [item for chunk in split(listed([deep, other]), [100, 5_000]) for item in decoder.feed(chunk)]
    extra = watched([deep, other], [], b',"extra":{}')
    for events in (extra, page.items, [*pieces, *decoder.finish()], watched([deep, other], [], b"")):
        assert stored_texts(list(events), stage=True) == expected
    for obj in (decode(deep, Note), page.items[0]):
        assert (obj.metadata.name, obj.metadata.labels, obj.spec.title) == ("o0", {"a": "b"}, "t")
        assert copy.deepcopy(obj).spec == pickle.loads(pickle.dumps(obj)).spec == obj.spec
        assert encode(obj) == deep
    with pytest.raises(InvalidObject, match="too deeply"):
        decode(deep, kp.Dynamic).content  # noqa: B018
    [event, _] = watched([deep, other], [], b"", strict=True)
    assert not isinstance(event, Malformed) or event.metadata is not None
    reply = kp.Api(Note, namespace="n").get("o0").parse(200, (), deep)
    assert reply.value.metadata.name == "o0"


def test_writing_copying_or_pickling_deep_values_is_a_clear_error() -> None:
    value: Any = 0
    for _ in range(sys.getrecursionlimit() * 20):
        value = [value]
    obj = kp.Dynamic(kind="Note", api_version="x.io/v1", content={"spec": value})
    doings: list[Callable[[Any], Any]] = [encode, copy.deepcopy, pickle.dumps, kp.dump_yaml]
    for do in doings:
        with pytest.raises(kp.KubeprotoError, match="too deeply"):
            do(obj)


BAD: Final = (
    b'{"kind":"\xff","apiVersion":"x.io/v1","metadata":{"name":"o0","resourceVersion":"1"}}',
    b'{"kind":"Note","apiVersion":"\xff","metadata":{"name":"o0","resourceVersion":"1"}}',
)


@pytest.mark.parametrize("bad", BAD)
def test_bytes_that_are_not_utf_8_are_malformed_in_events_and_in_lists(bad: bytes) -> None:
    kinds: tuple[Any, ...] = (Note, kp.Dynamic, kp.Metadata)
    for kind in kinds:
        [event] = watched([bad], [], b"", kind)
        assert isinstance(event, Malformed)
        stored_texts([event], stage=False, kind=kind)
        page = read_page(listed([bad]), kind)
        assert len(page.malformed) == 1
        stored_texts([*page.malformed], stage=True, kind=kind)


def test_an_unknown_event_whose_version_is_not_utf_8_is_skipped() -> None:
    [event] = WatchDecoder(Note).feed(b'{"type":"NEWS","object":{"metadata":{"resourceVersion":"\xff"}}}\n')
    [(_, received)] = resync.digest([event])
    assert isinstance(received, resync.Received)
    assert received.version == ""


def test_a_line_that_is_broken_after_its_prefix_is_stored_without_a_text() -> None:
    store: Store[Note] = Store(Note)
    broken = LARGE.replace(b'"status":', b'"status"')
    for extra in (b"", b"  "):
        changes = store.update(watched([broken], [], extra))
        assert [change.key for change in changes] in (["n/o0"], [])
        with pytest.raises(InvalidObject):
            store.get("o0", "n")
    assert "n/o0" in store


def test_a_list_of_another_kind_or_without_a_kind_is_refused() -> None:
    for kind, version in (("SecretList", "v1"), ("NoteList", "x.io/v1")):
        with pytest.raises(RemoteProtocolError, match="although a list of Settings"):
            read_page(listed([], kind, version), Settings)
    with pytest.raises(RemoteProtocolError, match="of its items have no name"):
        read_page(listed([b"null"] * 2_000), Note)
    decoder = ListDecoder(Note)
    decoder.feed(listed([b"null"] * 2_000))
    with pytest.raises(RemoteProtocolError, match="of its items have no name"):
        decoder.finish()
    unplaced = Store(Note).stage(read_page(listed([b"null", b"{}"]), Note).malformed)
    assert len(unplaced) == 2


@sizes
def test_a_repeated_key_changes_no_identity(text: bytes) -> None:
    twice = text.replace(
        b'"spec"', b'"metadata":{"name":"other","namespace":"n","resourceVersion":"7"},"spec"'
    )
    for obj in (decode(twice, Note), watched([twice], [], b"")[0].object):
        name = obj.metadata.name
        repr(obj)
        encode(obj)
        assert obj.metadata.name == name


def test_asdict_and_replace_decode_undecoded_values() -> None:
    obj = decode(SHORT, Note)
    assert kp.asdict(obj)["spec"] == Spec(title="t")
    assert kp.asdict(obj.metadata)["labels"] == {"a": "b"}
    other = kp.replace(obj, spec=Spec(title="new"))
    assert (other.spec.title, obj.spec.title, other.metadata) == ("new", "t", obj.metadata)
    assert b'"status":{"s":{}}' in encode(other)
    assert kp.replace(Spec(), title="x") == Spec(title="x")
    with pytest.raises(TypeError, match="no field 'nonsense'"):
        kp.replace(obj, nonsense=1)
