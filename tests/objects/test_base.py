"""Class keywords declare kinds, and every value but None is sent."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import msgspec
import pytest

import kubeproto as kp
from kubeproto.objects import Constant, decode, encode, to_plain


class Inner(kp.Fields):
    x: int | None = 5
    y: int | None = None


class Everything(kp.Fields):
    must: int | None
    zero: int = 0
    no: bool = False
    text: str = ""
    items: list[int] = []
    members: dict[str, int] = {}
    pair: set[int] = msgspec.field(default_factory=set[int])
    maybe: int | None = None
    maybe_five: int | None = 5
    inner: list[Inner] = []
    cluster_ip: str = msgspec.field(default="None", name="clusterIP")
    snake_case: str = "s"
    CLASS: ClassVar[int] = 1
    bare: ClassVar = 2


def test_every_value_except_none_is_sent() -> None:
    assert json.loads(encode(Everything(must=1))) == {
        "must": 1, "zero": 0, "no": False, "text": "", "items": [], "members": {}, "pair": [], "maybeFive": 5,
        "inner": [], "clusterIP": "None", "snakeCase": "s",
    }  # fmt: skip


def test_none_is_not_sent_even_if_the_default_is_another_value() -> None:
    body = json.loads(encode(Everything(must=1, maybe_five=None, inner=[Inner(x=None, y=1)])))
    assert "maybeFive" not in body
    assert body["inner"] == [{"y": 1}]
    assert json.loads(encode(Everything(must=None)))["must"] is None  # it has no default


def test_a_null_in_a_mapping_is_kept() -> None:
    patch = {"metadata": {"labels": {"gone": None}}, "inner": [Inner(x=None)]}
    assert json.loads(encode(patch)) == {"metadata": {"labels": {"gone": None}}, "inner": [{}]}


def test_encoding_does_not_change_a_value() -> None:
    value = Everything(must=1, maybe_five=None)
    encode(value)
    assert value == Everything(must=1, maybe_five=None)


def test_class_variables_are_not_fields() -> None:
    assert not {"CLASS", "bare"} & set(Everything.__struct_fields__)
    assert (Everything.CLASS, Everything.bare) == (1, 2)


def test_objects_do_not_share_mutable_defaults() -> None:
    Everything(must=1).items.append(1)
    Everything(must=1).members["a"] = 1
    Everything(must=1).pair.add(1)
    assert Everything(must=1) == Everything(must=1, items=[], members={}, pair=set())
    make: Any = type(kp.Fields)
    with pytest.raises(TypeError, match=r"class Shared: .*default_factory"):
        make("Shared", (kp.Fields,), {"__annotations__": {"inner": Inner}, "inner": Inner()})
    with pytest.raises(TypeError, match="class Filled: "):
        make("Filled", (kp.Fields,), {"__annotations__": {"x": list[int]}, "x": [1]})


def test_fields_are_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        Inner(5)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]

    class Base(kp.Fields):
        first: int = 0

    class Sub(Base):
        second: int

    assert encode(Sub(second=1)) == b'{"first":0,"second":1}'


def test_the_repr_of_a_constant_names_its_class() -> None:
    assert repr(Constant("x")) == "Constant('x')"


class Note(kp.Object[Inner, None], group="example.io", version="v1", short_names=("nt",)):
    """Without a status."""


def test_a_kind_has_its_identity_and_always_sends_it() -> None:
    assert Note.resource == kp.Resource("example.io", "v1", "Note", "notes", True, "note", ("nt",))
    assert json.loads(encode(Note(spec=Inner()))) == {
        "kind": "Note", "apiVersion": "example.io/v1", "metadata": {}, "spec": {"x": 5},
    }  # fmt: skip
    assert (Note.abstract, kp.KubeObject.abstract, kp.Metadata.abstract) == (False, True, True)


def test_a_status_of_type_none_is_not_read_and_written_back_unchanged() -> None:
    obj = decode(b'{"metadata":{},"spec":{},"status":{"a":1}}', Note, strict=True)
    assert obj.status is None
    assert b'"status":{"a":1}' in encode(obj)
    assert b"status" not in encode(to_plain(obj))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"group": "x.io"}, 'a kind needs a version, as in version="v1"'),
        ({"plural": "ks"}, "a kind needs a version"),
        ({"kind": "K"}, "a kind needs a version"),
        ({"version": ""}, "version '' is not a valid version"),
        ({"version": "v1", "group": "x.io/v1"}, "group 'x.io/v1' is not a valid group"),
        ({"version": "v1", "plural": "a b"}, "plural 'a b' is not a valid plural"),
        ({"version": 1}, "version 1 is not a valid version"),
        ({"version": "v1", "nonsense": True}, "nonsense"),
        ({"definition": kp.Definition()}, "definition= also requires group= and version="),
    ],
)
def test_the_error_for_invalid_class_keywords_names_the_class(keywords: Any, message: str) -> None:
    make: Any = type(kp.KubeObject)
    with pytest.raises(TypeError, match=f"^class Wrong: .*{message}"):
        make("Wrong", (kp.KubeObject,), {"__annotations__": {}}, **keywords)


def test_a_class_has_its_definition_as_an_attribute() -> None:
    definition = kp.Definition(short_names=("b",))

    class Defined(kp.KubeObject, group="x.io", version="v1", definition=definition):
        pass

    assert Defined.definition is definition
    assert Note.definition is None


def test_a_kind_refuses_objects_of_another_kind() -> None:
    for wrong in (b'{"kind":"Film","metadata":{},"spec":{}}', b'{"apiVersion":"v1","metadata":{},"spec":{}}'):
        with pytest.raises(kp.InvalidObject, match=r"^Note: Invalid enum value '\w+' - at `\$"):
            decode(wrong, Note)
