"""Lists: in a single chunk or in many, valid or hostile, both readers return the same items."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from strategies import Draw, Realm, Settings, Widget, damaged, json_values, objects, splits, write_json

import kubeproto as kp
from kubeproto import InvalidObject, RemoteProtocolError
from kubeproto.objects import ListMeta, to_plain
from kubeproto.watching import ListDecoder, Malformed, WatchFailed, read_page

META = '"metadata":{"resourceVersion":"294","continue":"next","remainingItemCount":5}'


def page(
    *items: str, head: str = '"kind":"WidgetList","apiVersion":"x.io/v1",' + META, tail: str = ""
) -> bytes:
    return ("{" + head + ("," if head else "") + '"items":[' + ",".join(items) + "]" + tail + "}").encode()


def item(name: str, spec: str = "{}", head: str = "") -> str:
    metadata = f'{{"name":"{name}","namespace":"n","uid":"u","resourceVersion":"1"}}'
    return f'{{{head}"metadata":{metadata},"spec":{spec}}}'


def decode(chunks: list[bytes], kind: Any = Widget, **options: Any) -> tuple[list[Any], ListMeta]:
    decoder = ListDecoder(kind, **options)
    items = [item for chunk in chunks for item in decoder.feed(chunk)] + decoder.finish()
    return items, decoder.metadata


def comparable(items: list[Any]) -> list[Any]:
    return [_comparable(entry) for entry in items]


def _comparable(entry: Any) -> Any:
    if isinstance(entry, Malformed):
        return entry.metadata, entry.raw
    try:
        return to_plain(entry)
    except InvalidObject as error:
        return str(error)


def assert_readers_agree(body: bytes, chunks: list[bytes], kind: Any, *, strict: bool = False) -> None:
    """Check that both readers refuse a body, or that both return the same items."""
    try:
        at_once = read_page(body, kind, strict=strict)
    except RemoteProtocolError:
        with pytest.raises(RemoteProtocolError):
            decode(chunks, kind, strict=strict)
        return
    items, metadata = decode(chunks, kind, strict=strict)
    good = [entry for entry in items if not isinstance(entry, Malformed)]
    bad = [entry for entry in items if isinstance(entry, Malformed)]
    assert comparable(good) == comparable(at_once.items)
    assert comparable(bad) == comparable(at_once.malformed)
    assert [str(entry.error) for entry in bad] == [str(entry.error) for entry in at_once.malformed]
    assert metadata == at_once.metadata


@st.composite
def pages(draw: Draw, kind: Any) -> bytes:
    order = draw(st.sampled_from(("server", "sorted", "shuffled")))
    spaces = draw(st.booleans())
    items = [draw(objects(kind)) for _ in range(draw(st.integers(0, 4)))]
    if items and draw(st.booleans()):
        items[draw(st.integers(0, len(items) - 1))]["metadata"] = draw(json_values)
    texts = [write_json(draw, entry, order, spaces=spaces) for entry in items]
    head: str = draw(
        st.sampled_from(("", '"apiVersion":"x.io/v1"', '"kind":"WidgetList","apiVersion":"x.io/v1",' + META))
    )
    tail: str = (
        draw(st.sampled_from(("", "," + META.replace("294", "295"), ',"kind":"WidgetList"')))
        if "kind" not in head
        else ""
    )
    comma: str = draw(st.sampled_from((",", ", ", " ,\n"))) if spaces else ","
    return ("{" + head + ("," if head else "") + '"items":[' + comma.join(texts) + "]" + tail + "}").encode()


@given(st.data(), st.sampled_from((Widget, Settings, Realm)), st.booleans())
def test_a_page_has_the_same_items_however_it_is_split(data: st.DataObject, kind: Any, strict: bool) -> None:
    body = data.draw(pages(kind))
    for depth in (kind, kp.Metadata[kind]):
        assert_readers_agree(body, data.draw(splits(body)), depth, strict=strict)
    if b'"kind":"WidgetList"]' not in body[-30:]:
        assert_readers_agree(body, data.draw(splits(body)), kp.Dynamic, strict=strict)


@given(st.data())
def test_any_bytes_are_a_page_to_both_readers_or_to_neither(data: st.DataObject) -> None:
    body = data.draw(damaged(data.draw(pages(Widget))))
    assert_readers_agree(body, data.draw(splits(body)), Widget)


@given(st.binary(max_size=80) | st.text('{}[],:"\\ items0', max_size=40).map(str.encode))
def test_random_bytes_are_not_a_page_to_either_reader(body: bytes) -> None:
    for text in (body, b'{"kind":"WidgetList","items":[' + body, b'{"items":[' + body + b"]}"):
        assert_readers_agree(text, [text[:9], text[9:]], Widget)


TWO_ITEMS = item("x") + "," + item("y")
HOSTILE = {
    "what looks like the next item": item("a", f'{{"title":"t","template":{{"items":[{TWO_ITEMS}]}}}}'),
    "another list": item(
        "a", f'{{"template":{{"kind":"WidgetList","items":[{TWO_ITEMS}],"metadata":{{}}}}}}'
    ),
    "the separator in a string": item("a", json.dumps({"title": "]}}" + "," + item("x") + '"' * 3})),
    "brackets and quotes in a string": item("a", json.dumps({"title": '}]}{["\\",{\\"metadata\\":'})),
    "a bracket at the end of a string": item("a", json.dumps({"title": "\\"})),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("kind", [Widget, kp.Metadata, kp.Dynamic])
def test_an_item_that_looks_like_several_is_a_single_item(case: str, position: int, kind: Any) -> None:
    items = [item("first"), item("last")]
    items.insert(position, HOSTILE[case])
    body = page(*items)
    for size in (1, 50, len(body)):
        chunks = [body[offset : offset + size] for offset in range(0, len(body), size)]
        assert_readers_agree(body, chunks, kind)
        decoded, _ = decode(chunks, kind)
        assert len(decoded) == 3
        assert decoded[position].metadata.name == "a"


@pytest.mark.parametrize(
    "head",
    [
        '"x":{"items":[{"metadata":{"name":"no"}}]},',
        '"x":[{"items":[1]}],',
        '"x\\"items":[1],',
        '"x":"\\"items\\":[",',
    ],
)
def test_items_outside_of_the_list_are_not_items(head: str) -> None:
    body = page(item("a"), item("b"), head=head + '"kind":"WidgetList"')
    for size in (1, len(body)):
        decoded, _ = decode([body[offset : offset + size] for offset in range(0, len(body), size)])
        assert [entry.metadata.name for entry in decoded] == ["a", "b"]


def test_items_are_returned_as_they_arrive() -> None:
    body = page(*(item(str(n), json.dumps({"title": "x" * 500})) for n in range(100)))
    decoder = ListDecoder(Widget)
    counts: list[int] = []
    for offset in range(0, len(body), 1_000):
        counts.append(len(decoder.feed(body[offset : offset + 1_000])))
    assert max(counts) <= 3
    assert sum(counts) + len(decoder.finish()) == 100


def test_a_list_with_spaces_between_its_items_is_returned_in_pieces_too() -> None:
    body = page(*(" \n" + item(str(n), json.dumps({"title": "x" * 50_000})) + "\n" for n in range(100)))
    decoder = ListDecoder(Widget, max_item=2_000_000)
    early = sum(len(decoder.feed(body[offset : offset + 65_536])) for offset in range(0, len(body), 65_536))
    assert early > 50
    assert early + len(decoder.finish()) == 100
    assert_readers_agree(body, [body], Widget)


@pytest.mark.parametrize("tail", [",", ',{"a":1},', ", "])
def test_a_list_that_ends_after_a_comma_is_refused_by_both(tail: str) -> None:
    first = item("a", json.dumps({"title": "x" * 2_000_000}))
    assert_readers_agree(page(first + tail), [page(first + tail)], Widget)


@pytest.mark.parametrize("overlap", range(3))
@pytest.mark.parametrize("between", [",", ", ,", ",null,", ",1,", "]", "}", ""])
def test_bytes_between_two_items_are_read_the_same_in_a_single_chunk_and_in_two(
    between: str, overlap: int
) -> None:
    body = page(item("a"), item("b") + between + item("c"), item("d"))
    offset = body.index(item("c").encode()) - overlap
    for chunks in ([body], [body[:offset], body[offset:]]):
        assert_readers_agree(body, chunks, Widget)


def test_two_commas_after_an_item_that_was_split_by_brackets_are_refused_by_both() -> None:
    long = item("a", json.dumps({"title": "x" * 2_000_000}))
    body = page(long + "," + item("b"))
    doubled = page(long + ",", item("b"))
    for text in (body, doubled):
        offset = text.index(item("b").encode())
        assert_readers_agree(text, [text[:offset], text[offset:]], Widget)


def test_a_page_whose_end_looks_like_an_item_is_read_to_the_item_before() -> None:
    nested = json.dumps({"template": [json.loads(item("x")), json.loads(item("y"))]}, separators=(",", ":"))
    body = page(*map(item, "abc"), item("d", nested))
    counts = body.rindex(item("y").encode()) + 5
    decoder = ListDecoder(Widget)
    early: list[Any] = [*decoder.feed(body[:counts])]
    late: list[Any] = [*decoder.feed(body[counts:]), *decoder.finish()]
    assert [[entry.metadata.name for entry in decoded] for decoded in (early, late)] == [
        ["a", "b", "c"],
        ["d"],
    ]


@pytest.mark.parametrize("kind", [Widget, kp.Dynamic, kp.Metadata])
def test_r_35_items_keep_their_order_and_receive_their_kind(kind: Any) -> None:
    names = [f"n{n}" for n in range(40)]
    body = page(*map(item, names))
    for decoded in (list(read_page(body, kind)), decode([body[:77], body[77:]], kind)[0]):
        assert [entry.metadata.name for entry in decoded] == names
        if kind is not kp.Metadata:
            assert {(entry.kind, entry.api_version) for entry in decoded} == {("Widget", "x.io/v1")}


def test_r_35_a_dynamic_item_of_any_shape_receives_its_kind() -> None:
    for more in ("", " ", ',"a":1', ', "a":{"b":null}'):
        text = f' {{"metadata":{{"name":"a"}}{more}}}'
        body = page(text, head='"kind":"Wi\\"d\\u00e9List","apiVersion":"v1"')
        [entry] = read_page(body, kp.Dynamic)
        assert (entry.kind, entry.api_version, entry.metadata) == ('Wi"dé', "v1", kp.ObjectMeta(name="a"))
        assert entry.content | {"metadata": {"name": "a"}} == json.loads(text)


@pytest.mark.parametrize("kind", [Widget, kp.Dynamic, kp.Metadata])
@pytest.mark.parametrize("items", ["[]", "null"])
def test_a_list_without_items_is_empty(items: str, kind: Any) -> None:
    body = f'{{"kind":"WidgetList","apiVersion":"x.io/v1",{META},"items":{items}}}'.encode()
    assert (read_page(body, kind).items, read_page(body, kind).next_page) == ([], "next")
    assert_readers_agree(body, [body[:20], body[20:]], kind)


@pytest.mark.parametrize(
    ("body", "case"),
    [
        ('{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}', "Table although a list of Widget"),
        ('{"kind":"Table","items":[]}', "Table although a list of Widget"),
        ('{"kind":"Status","status":"Failure","code":410}', "Status although a list of Widget"),
        ('{"kind":"WidgetList"}', "WidgetList although a list of Widget"),
        ('{"a":1}', "document without a kind although a list of Widget"),
        ("<html>no</html>", "list of Widget"),
        ("", "list of Widget"),
        ("[]", "list of Widget"),
        ('{"kind":"WidgetList","items":[', "list of Widget"),
        ('{"kind":"WidgetList","items":[{"metadata":{"name":"a"}}', "list of Widget"),
        ('{"kind":"WidgetList","items":[{],{"a":0},{],{"a":0}]}', "list of Widget"),
        ('{"kind":"WidgetList","items":5}', "list of Widget"),
        ('{"kind":"WidgetList","items":[]}x', "list of Widget"),
    ],
)
def test_r_33_an_object_that_is_not_a_list_is_refused_with_its_kind(body: str, case: str) -> None:
    with pytest.raises(RemoteProtocolError, match=case):
        read_page(body.encode(), Widget)
    for size in (1, 100):
        with pytest.raises(RemoteProtocolError, match=case):
            decode([body.encode()[offset : offset + size] for offset in range(0, len(body), size)])


def test_a_broken_item_hides_no_other_item() -> None:
    broken = '{"metadata":{"name":"b","namespace":"n"},"spec":5}'
    body = page(item("a"), broken, item("c"))
    decoded = read_page(body, Widget, strict=True)
    assert [entry.metadata.name for entry in decoded] == ["a", "c"]
    [malformed] = decoded.malformed
    assert malformed.metadata is not None
    assert (malformed.metadata.name, malformed.raw, malformed.type) == ("b", broken.encode(), "")
    assert str(malformed.error) == "Widget n/b: Expected `object`, got `int` - at `$.spec`"
    assert_readers_agree(body, [body], Widget, strict=True)
    lazy = read_page(body, Widget)
    assert not lazy.malformed
    with pytest.raises(InvalidObject, match=r"Widget n/b: Expected `object`, got `int` - at `\$.spec`"):
        lazy.items[1].spec  # noqa: B018


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"kind":"Status","reason":"Expired","code":410}', b"", b"\xff"]
)
@pytest.mark.parametrize("coding", ["", "br"])
def test_a_refused_list_is_a_single_failure(body: bytes, coding: str) -> None:
    [failed], _ = decode([body], status=410, headers=(("Content-Encoding", coding),))
    assert isinstance(failed, WatchFailed)
    assert failed.status.code == 410


def test_a_compressed_list_is_read_and_a_truncated_list_is_refused() -> None:
    body = page(item("a"), item("b"))
    packed = gzip.compress(body)
    headers = (("Content-Encoding", "gzip"),)
    assert comparable(decode([packed[:30], packed[30:]], headers=headers)[0]) == comparable(decode([body])[0])
    with pytest.raises(RemoteProtocolError, match="inside a gzip member"):
        decode([packed[:-5]], headers=headers)


def test_an_item_over_the_limit_is_refused_however_it_arrives() -> None:
    body = page(item("a"), item("big", json.dumps({"title": "x" * 5_000})), item("c"))
    for size in (1, 100, 4_000):
        with pytest.raises(RemoteProtocolError, match=r"an item of a list has grown to .* the limit is 3000"):
            decode([body[offset : offset + size] for offset in range(0, len(body), size)], max_item=3_000)
    items, _ = decode(
        [body[offset : offset + 1_000] for offset in range(0, len(body), 1_000)], max_item=7_000
    )
    assert len(items) == 3


def test_the_chunk_that_exceeds_the_limit_of_an_item_is_refused() -> None:
    start = page()[:-2]
    for size in (2_450, 2_900):
        decoder = ListDecoder(Widget, max_item=3_000)
        assert decoder.feed(start + b'{"metadata":{"name":"' + b"a" * size) == []
        with pytest.raises(RemoteProtocolError, match="an item of a list has grown to 3001 bytes"):
            decoder.feed(b"a" * (3_001 - len(b'{"metadata":{"name":"') - size))


def test_long_items_in_small_pieces_are_not_quadratic() -> None:
    nested = ",".join([item("x")] * 20_000)
    body = page(item("a"), item("big", f'{{"template":{{"items":[{nested}]}}}}'), item("c"))
    assert len(body) > 1_500_000
    for text in (body, page(item("a", json.dumps({"title": "x" * 3_000_000})), item("c"))):
        decoded, _ = decode([text[offset : offset + 1_024] for offset in range(0, len(text), 1_024)])
        assert [entry.metadata.name for entry in decoded][-1] == "c"
    prelude = page(item("a"), head='"kind":"WidgetList","x":[' + ",".join(['{"items":[]}'] * 50_000) + "]")
    assert len(decode([prelude])[0]) == 1


def test_the_same_key_first_in_only_some_items_does_no_harm() -> None:
    items = [
        item("a", head='"kind":"Widget",'),
        item("b"),
        item("c", head='"apiVersion":"x.io/v1",'),
        item("d"),
    ]
    body = page(*items)
    assert_readers_agree(body, [body], Widget)
    assert_readers_agree(body, [body[:99], body[99:]], kp.Dynamic)


class Collected(
    kp.Object[Settings, None], group="x.io", version="v1", plural="collecteds",
    definition=kp.Definition(list_kind="CollectedCollection"),
): ...  # fmt: skip


@pytest.mark.parametrize("kind", [Collected, kp.Dynamic])
def test_a_list_has_the_kind_of_its_definition(kind: Any) -> None:
    head = '"kind":"CollectedCollection","apiVersion":"x.io/v1",' + META
    body = page(item("a", head='"kind":"Collected","apiVersion":"x.io/v1",'), head=head)
    assert [entry.metadata.name for entry in read_page(body, kind).items] == ["a"]
    assert [entry.metadata.name for entry in decode([body[:150], body[150:]], kind)[0]] == ["a"]


@pytest.mark.parametrize(
    ("kind", "name"), [(Collected, "Other"), (kp.Dynamic, "Table"), (Widget, "Collection")]
)
def test_an_object_whose_kind_is_no_list_is_refused(kind: Any, name: str) -> None:
    body = page(item("a"), head=f'"kind":"{name}","apiVersion":"x.io/v1",' + META)
    with pytest.raises(RemoteProtocolError, match=f"{name} although a list of"):
        read_page(body, kind)
