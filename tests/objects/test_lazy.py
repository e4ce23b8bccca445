"""Lazy objects are objects of their kind: every operation has the result of an eagerly read object."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec
import pytest

import kubeproto as kp
from kubeproto import InvalidObject, LocalProtocolError
from kubeproto.objects import decode, encode, to_plain


class BookSpec(kp.Fields):
    title: str = ""
    pages: int | None = None


class BookStatus(kp.Fields):
    copies: int = 0


class Book(kp.Object[BookSpec, BookStatus], group="example.io", version="v1"):
    """A kind with two parts."""

    def __hash__(self) -> int:
        return hash(self.metadata.uid)


class Ordered(kp.KubeObject, group="example.io", version="v1", order=True):
    """A kind that defines an order."""

    data: dict[str, str] | None = None
    count: int = 0


METADATA: Final = (
    '{"name":"a","namespace":"n","uid":"u","resourceVersion":"1","creationTimestamp":"2026-11-21T01:40:52Z",'
    '"labels":{"x": "y"},"managedFields":[{"manager":"m","fieldsV1":{"f:a":{}}}]}'
)
PAD: Final = "x" * 4096  # objects of this size are read in parts
SHORT: Final = (
    f'{{"kind":"Book","apiVersion":"example.io/v1","metadata":{METADATA},'
    '"spec":{"title":"t", "extra":null},"status":{"copies":3}}'
).encode()
FRONT: Final = SHORT.replace(b'"t"', f'"{PAD}"'.encode())
TEXTS: Final = {"short": SHORT, "long": FRONT}
texts = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


def lazy(text: bytes) -> Book:
    obj = decode(text, Book)
    assert type(obj) is not Book
    assert isinstance(obj, Book)
    return obj


def plain(text: bytes) -> Book:
    """Return an object that msgspec decodes without our codec."""
    obj = msgspec.json.decode(text, type=Book)
    assert type(obj) is Book
    return obj


@texts
def test_a_lazy_object_is_an_instance_of_its_kind(text: bytes) -> None:
    obj = lazy(text)
    assert (type(obj).__name__, type(obj).__qualname__, type(obj).__module__) == ("Book", "Book", __name__)
    assert (type(obj).__doc__, obj.resource) == (Book.__doc__, Book.resource)
    match obj:
        case Book(metadata=kp.ObjectMeta(name="a"), spec=BookSpec(title=title)):
            assert title in ("t", PAD)
        case _:
            pytest.fail("no Book")


@texts
def test_an_untouched_object_is_written_byte_for_byte(text: bytes) -> None:
    assert encode(lazy(text)) is text


@texts
def test_an_object_that_was_only_read_is_written_byte_for_byte(text: bytes) -> None:
    obj = lazy(text)
    assert (obj.spec.title, obj.metadata.labels) == (plain(text).spec.title, {"x": "y"})
    assert encode(obj) is text


@texts
def test_untouched_parts_are_written_byte_for_byte_beside_a_changed_part(text: bytes) -> None:
    obj = lazy(text)
    assert obj.status is not None
    obj.status.copies = 9
    encoded_again = encode(obj)
    assert b'"copies":9' in encoded_again
    assert b'"extra":null' in encoded_again
    assert b'"labels":{"x": "y"}' in encoded_again
    obj.metadata.labels["z"] = "new"
    assert json.loads(encode(obj))["metadata"]["labels"] == {"x": "y", "z": "new"}
    assert b'"extra":null' in encode(obj)


@texts
def test_to_plain_returns_an_object_of_the_plain_class(text: bytes) -> None:
    obj = to_plain(lazy(text))
    assert type(obj) is Book
    assert type(obj.metadata) is kp.ObjectMeta
    assert obj == plain(text)
    assert to_plain(obj) is obj


@texts
def test_reading_a_part_twice_gives_the_same_value(text: bytes) -> None:
    obj = lazy(text)
    assert obj.spec is obj.spec
    assert obj.metadata.labels is obj.metadata.labels


@texts
def test_equality_reads_all_parts_of_both_objects(text: bytes) -> None:
    makers: list[Callable[[bytes], Book]] = [lazy, plain, lambda text: lazy(text[:-1] + b" }")]
    for make in makers:
        assert lazy(text) == make(text)
        assert make(text) == lazy(text)
        assert not lazy(text) != make(text)  # noqa: SIM202
        assert not make(text) != lazy(text)  # noqa: SIM202
        other = make(text.replace(b'"copies":3', b'"copies":4'))
        assert lazy(text) != other
        assert other != lazy(text)
    assert lazy(text).metadata == plain(text).metadata
    assert plain(text).metadata == lazy(text).metadata
    something: Any = 5
    assert lazy(text) != something


def test_ordering_reads_all_parts_of_both_objects() -> None:
    def make(count: int, pad: str = "") -> Ordered:
        text = f'{{"kind":"Ordered","metadata":{METADATA},"data":{{"x":"{pad}"}},"count":{count}}}'
        return decode(text.encode(), Ordered)

    for pad in ("", PAD):
        assert make(1, pad) < make(2, pad) <= make(2, pad)
        assert make(2, pad) > make(1, pad) >= make(1, pad)
        assert not make(2, pad) < make(1, pad)
        assert not make(1, pad) > make(2, pad)
    with pytest.raises(TypeError):
        assert lazy(SHORT) < lazy(SHORT)  # type: ignore[operator] # pyright: ignore[reportOperatorIssue]


def describe(obj: Any) -> str:
    """Return the repr without the addresses of fields that stay JSON even in plain objects."""
    return re.sub(r"0x\w+", "0x", repr(obj))


@texts
def test_showing_or_copying_an_object_reads_all_its_parts(text: bytes) -> None:
    assert describe(lazy(text)) == describe(plain(text))
    assert list(getattr(lazy(text), "__rich_repr__")()) == list(getattr(plain(text), "__rich_repr__")())  # noqa: B009
    copies: list[Callable[[Any], Any]] = [
        copy.copy, copy.deepcopy, lambda obj: pickle.loads(pickle.dumps(obj)), lambda obj: obj.__replace__(),
    ]  # fmt: skip
    parts: list[Callable[[Any], Any]] = [lambda obj: obj, lambda obj: obj.metadata]
    for copy_object in copies:
        for part in parts:
            obj = part(lazy(text))
            encoded_again = copy_object(obj)
            assert encoded_again is not obj
            assert isinstance(encoded_again, type(part(plain(text))))
            assert encoded_again == part(plain(text)) == obj
    deep = copy.deepcopy(obj := lazy(text))
    deep.metadata.labels["only"] = "here"
    assert "only" not in obj.metadata.labels


@texts
def test_replace_changes_only_the_copy(text: bytes) -> None:
    obj = lazy(text)
    other = obj.__replace__(spec=BookSpec(title="other"))
    assert (other.spec.title, obj.spec.title) == ("other", plain(text).spec.title)
    assert other.status == obj.status


@texts
def test_a_custom_hash_is_used(text: bytes) -> None:
    assert hash(lazy(text)) == hash(plain(text))
    with pytest.raises(TypeError, match="unhashable"):
        hash(decode(b"{}", Ordered))


@texts
@pytest.mark.parametrize("field", ["kind", "metadata", "spec", "status"])
def test_an_assigned_field_is_read_back_and_sent(text: bytes, field: str) -> None:
    obj, expected = lazy(text), plain(text)
    new = {
        "kind": "Book",
        "metadata": kp.ObjectMeta(name="new"),
        "spec": BookSpec(title="new"),
        "status": None,
    }[field]
    setattr(obj, field, new)
    setattr(expected, field, new)
    assert plain(encode(obj)) == expected
    assert obj == expected


@texts
def test_assigned_metadata_is_sent(text: bytes) -> None:
    values: dict[str, Any] = {"name": "b", "labels": {}, "generation": 7, "finalizers": ["f"]}
    for field, value in values.items():
        obj, expected = lazy(text), plain(text)
        setattr(obj.metadata, field, value)
        setattr(expected.metadata, field, value)
        assert plain(encode(obj)) == expected


def test_msgspec_cannot_encode_a_lazy_object_directly() -> None:
    for write in (msgspec.json.encode, msgspec.to_builtins):
        with pytest.raises(TypeError, match="Unread"):
            write(lazy(FRONT))
    with pytest.raises(TypeError, match="Unread"):
        encode([lazy(FRONT)])


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (FRONT[:-2], "truncated"),
        (FRONT + b"}", "trailing characters"),
        (FRONT.replace(b'"status":{', b'"status":{]'), "malformed"),
        (FRONT.replace(b'"kind":"Book",', b"").replace(b'"spec"', b'"kind":"Film","spec"'), "Invalid enum"),
        (FRONT.replace(PAD.encode(), PAD.encode() + b"\xff"), "utf-8|UTF-8|codec"),
    ],
)  # fmt: skip
def test_an_invalid_unread_part_is_reported_on_access_with_the_object(broken: bytes, message: str) -> None:
    touches: list[Callable[[Book], Any]] = [
        lambda obj: obj.spec, lambda obj: obj == plain(SHORT), lambda obj: copy.copy(obj).spec, to_plain,
        lambda obj: pickle.loads(pickle.dumps(obj)).spec, lambda obj: copy.deepcopy(obj).spec,
    ]  # fmt: skip
    for touch in touches:
        with pytest.raises(InvalidObject, match=f"(?i)Book n/a: .*({message})"):
            touch(decode(broken, Book))
    assert repr(decode(broken, Book)).startswith("<Book that cannot be read: Book n/a: ")


def test_a_kind_with_json_escapes_is_recognised() -> None:
    spelt = FRONT.replace(b'"kind":"Book",', b"").replace(b'"spec"', b'"kind":"B\\u006fok","spec"')
    assert decode(spelt, Book).spec.title == PAD


@texts
def test_the_error_for_a_part_that_does_not_fit_names_the_path(text: bytes) -> None:
    obj = decode(text.replace(b'"copies":3', b'"copies":"many"'), Book)
    assert obj.spec.title
    for _ in range(2):
        with pytest.raises(
            InvalidObject, match=r"^Book n/a: Expected `int`, got `str` - at `\$.status.copies`$"
        ):
            obj.status  # noqa: B018
    obj = decode(text.replace(b'{"x": "y"}', b'{"x": 5}'), Book)
    with pytest.raises(
        InvalidObject, match=r"^n/a: Expected `str`, got `int` - at `\$.metadata.labels\[...\]`$"
    ):
        obj.metadata.labels  # noqa: B018


def test_a_missing_part_has_its_default_or_is_an_error() -> None:
    obj = decode(b'{"metadata":{"name":"a"}}', Book)
    assert obj.status is None
    with pytest.raises(InvalidObject, match=r"^Book a: spec is missing$"):
        obj.spec  # noqa: B018
    assert decode(b'{"metadata":{}}', Book).metadata.labels == {}


def test_an_object_without_metadata_has_an_empty_one_at_every_depth() -> None:
    kinds: list[Any] = [Book, kp.Metadata, kp.Dynamic]
    for kind in kinds:
        obj = decode(b'{"kind":"Book","apiVersion":"example.io/v1","spec":{}}', kind)
        assert obj.metadata == kp.ObjectMeta()
        assert obj.metadata.generate_name == ""
        obj.metadata.name = "now"
        assert json.loads(encode(obj))["metadata"] == {"name": "now"}


def test_an_object_without_a_status_neither_reads_nor_writes_one() -> None:
    class Note(kp.Object[dict[str, Any], None], group="example.io", version="v1"):
        pass

    for pad in ("", PAD):
        text = f'{{"kind":"Note","metadata":{METADATA},"spec":{{"t":"{pad}"}},"status":5}}'
        obj = decode(text.encode(), Note)
        assert obj.status is None
        obj.spec["t"] = "new"
        # Fields that this class lacks must be kept: a write would delete them.
        assert json.loads(encode(obj))["status"] == 5


def test_dynamic_objects_read_and_write_any_field_and_keep_the_rest() -> None:
    for text in (SHORT, FRONT):
        obj = decode(text, kp.Dynamic)
        assert encode(obj) is text
        assert (obj.kind, obj.api_version, obj.metadata.name) == ("Book", "example.io/v1", "a")
        assert encode(obj) is text
        obj["spec"]["pages"] = 5
        assert json.loads(encode(obj)) == json.loads(text) | {"spec": json.loads(text)["spec"] | {"pages": 5}}
        assert to_plain(decode(text, kp.Dynamic)) == decode(text, kp.Dynamic, strict=True)


def test_metadata_alone_is_written_byte_for_byte_until_it_is_touched() -> None:
    obj = decode(FRONT, kp.Metadata[Book])
    assert encode(obj) is FRONT
    obj.metadata.finalizers.append("f")
    assert json.loads(encode(obj)).keys() == json.loads(FRONT).keys()
    obj = decode(FRONT, kp.Metadata[Book])
    obj.kind = "Other"
    assert json.loads(encode(obj))["kind"] == "Other"


def test_a_dynamic_object_reads_its_kind_at_any_position() -> None:
    kind_at_the_end = json.dumps(
        {
            "metadata": json.loads(METADATA) | {"uid": "u" * 60},
            "spec": PAD,
            "kind": "Book",
            "apiVersion": "v1",
        }
    ).encode()
    kind_at_the_end = kind_at_the_end.replace(b": ", b":").replace(b", ", b",")
    for kind in (kp.Dynamic, kp.Metadata):
        assert (decode(kind_at_the_end, kind).kind, decode(kind_at_the_end, kind).api_version) == (
            "Book",
            "v1",
        )


def test_the_error_for_an_unresolvable_nested_class_is_raised_on_access() -> None:
    class Inner(kp.Fields):
        x: int = 0

    class Spec(kp.Fields):
        inner: Inner | None = None

    body = {"__annotations__": {"spec": Spec}, "__module__": __name__}
    make: Any = type(kp.KubeObject)
    kind = make("Outer", (kp.KubeObject,), body, group="x.io", version="v1")
    obj = decode(b'{"metadata":{"name":"a"},"spec":{}}', kind)
    with pytest.raises(
        LocalProtocolError, match=r"class Outer.spec: an annotation cannot be resolved \(name 'Inner'"
    ):
        obj.spec  # noqa: B018
    with pytest.raises(LocalProtocolError, match=r"class Outer: an annotation cannot be resolved"):
        decode(b"{}", kind, strict=True)


@pytest.mark.parametrize("strict", [False, True])
def test_metadata_is_never_tracked_by_the_garbage_collector(strict: bool) -> None:
    book = decode(b'{"metadata":{"name":"a","labels":{"a":"b"}}}', kp.Metadata[Any], strict=strict)
    assert not gc.is_tracked(book.metadata)
    assert not gc.is_tracked(to_plain(book).metadata)
