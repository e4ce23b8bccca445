"""Python types become structural schemas, or are refused with the path and the reason."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import uuid
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Generic, Literal, NewType, NotRequired, TypedDict, TypeVar, cast

import msgspec
import pytest
from msgspec import Meta

import kubeproto as kp
from kubeproto.crd import SchemaError, definition_of, prune, schema_of, validate
from kubeproto.crd.definitions._structural_checks import check_schema
from kubeproto.kinds.core_v1 import PodTemplateSpec
from kubeproto.objects import (
    Atomic,
    Duration,
    Embedded,
    ListMap,
    ListSet,
    MicroTime,
    PreserveUnknown,
    Quantity,
    Rule,
)

ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
INTEGER = {"type": "integer", "format": "int64"}
INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}
STRING = {"type": "string"}
T = TypeVar("T")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Port(kp.Fields):
    """A port.

    It has a number.
    """

    port_number: int
    protocol: str = "TCP"


class Box(kp.Fields, Generic[T]):
    content: T


class Disk(msgspec.Struct, tag="disk"):
    size: int
    label: str = "data"


class Memory(msgspec.Struct, tag="memory"):
    limit: str | None = None


class Options(TypedDict, total=False):
    verbose: bool


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list[str])


class Tape(msgspec.Struct, tag="tape"):
    size: str


class Cloud(msgspec.Struct, tag="cloud", tag_field="kind"):
    pass


class Pair(msgspec.Struct, array_like=True):
    a: int


class Node(kp.Fields):
    children: list[Node] = []


class Ruled(kp.Fields):
    __rules__ = (Rule("self.low <= self.high"),)

    low: int
    high: int


Name = NewType("Name", str)
A: Any = Literal["a"]
B: Any = Literal["b"]

PORT = {
    "type": "object",
    "description": "A port.\n\nIt has a number.",
    "properties": {"portNumber": INTEGER, "protocol": {"type": "string", "default": "TCP"}},
    "required": ["portNumber"],
}

TYPES: list[tuple[Any, dict[str, Any]]] = [
    (str, STRING),
    (bool, {"type": "boolean"}),
    (int, INTEGER),
    (float, {"type": "number", "format": "double"}),
    (int | float, {"type": "number", "format": "double"}),
    (bytes, {"type": "string", "format": "byte"}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (MicroTime, {"type": "string", "format": "date-time"}),
    (Duration, {"type": "string", "format": "duration"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (decimal.Decimal, STRING),
    (Any, ANYTHING),
    (object, ANYTHING),
    (msgspec.Raw, ANYTHING),
    (str | Any, ANYTHING),
    (int | str, INT_OR_STRING),
    (int | str | None, INT_OR_STRING | {"nullable": True}),
    (str | None, {"type": "string", "nullable": True}),
    (str | msgspec.UnsetType, STRING),
    (Name, STRING),
    (Colour, {"type": "string", "enum": ["red", "blue"]}),
    (Colour | None, {"type": "string", "allOf": [{"enum": ["red", "blue"]}], "nullable": True}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (A | None, {"type": "string", "allOf": [{"enum": ["a"]}], "nullable": True}),
    (A | B, {"type": "string", "enum": ["a", "b"]}),
    (Literal[1, "max"], INT_OR_STRING | {"enum": [1, "max"]}),
    (list[int], {"type": "array", "items": INTEGER}),
    (list, {"type": "array", "items": ANYTHING}),
    (Sequence[str], {"type": "array", "items": STRING}),
    (set[str], {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}),
    (frozenset[int], {"type": "array", "x-kubernetes-list-type": "set", "items": INTEGER}),
    (tuple[int, ...], {"type": "array", "items": INTEGER}),
    (tuple[int, int], {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2}),
    (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    (dict[str, Any], {"type": "object"} | ANYTHING),
    (dict, {"type": "object"} | ANYTHING),
    (Mapping[str, list[str]], {"type": "object", "additionalProperties": {"type": "array", "items": STRING}}),
    (dict[Literal["a"], str], {"type": "object", "additionalProperties": STRING}),
    (Port, PORT),
    (list[Port], {"type": "array", "items": PORT}),
    (Box[int], {"type": "object", "properties": {"content": INTEGER}, "required": ["content"]}),
    (Box, {"type": "object", "properties": {"content": ANYTHING}, "required": ["content"]}),
    (Options, {"type": "object", "properties": {"verbose": {"type": "boolean"}}}),
    (
        Point,
        {
            "type": "object",
            "properties": {
                "x": INTEGER,
                "y": {**INTEGER, "default": 0},
                "tags": {"type": "array", "items": STRING},
            },
            "required": ["x"],
        },
    ),
    (Annotated[int, Meta(ge=1, le=9)], INTEGER | {"minimum": 1, "maximum": 9}),
    (
        Annotated[float, Meta(gt=0, lt=1, multiple_of=0.5)],
        {"type": "number", "format": "double", "minimum": 0, "exclusiveMinimum": True}
        | {"maximum": 1, "exclusiveMaximum": True, "multipleOf": 0.5},
    ),
    (
        Annotated[str, Meta(min_length=1, max_length=5, pattern="^[a-z]+$")],
        STRING | {"minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"},
    ),
    (Annotated[list[int], Meta(max_length=3)], {"type": "array", "items": INTEGER, "maxItems": 3}),
    (
        Annotated[dict[str, int], Meta(min_length=1)],
        {"type": "object", "additionalProperties": INTEGER, "minProperties": 1},
    ),
    (Annotated[bytes, Meta(max_length=4)], {"type": "string", "format": "byte", "maxLength": 8}),
    (Annotated[str, Meta(description="d", title="t")], STRING | {"description": "d", "title": "t"}),
    (Annotated[str, Meta(extra_json_schema={"format": "ipv4"})], STRING | {"format": "ipv4"}),
    (
        Annotated[list[Port], ListMap("portNumber")],
        {"type": "array", "items": PORT}
        | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["portNumber"]},
    ),
    (Annotated[list[str], ListSet()], {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}),
    (
        Annotated[list[str], Atomic()],
        {"type": "array", "items": STRING, "x-kubernetes-list-type": "atomic"},
    ),
    (Annotated[Port, Atomic()], PORT | {"x-kubernetes-map-type": "atomic"}),
    (Annotated[Port, PreserveUnknown()], PORT | ANYTHING),
    (
        Annotated[dict[str, Any], Embedded()],
        {"type": "object", "x-kubernetes-embedded-resource": True} | ANYTHING,
    ),
    (
        Annotated[int, Rule("self > 1", message="more", reason="FieldValueForbidden")],
        INTEGER
        | {
            "x-kubernetes-validations": [
                {"rule": "self > 1", "message": "more", "reason": "FieldValueForbidden"}
            ]
        },
    ),
    (
        Ruled,
        {
            "type": "object",
            "properties": {"low": INTEGER, "high": INTEGER},
            "required": ["low", "high"],
            "x-kubernetes-validations": [{"rule": "self.low <= self.high"}],
        },
    ),
    (
        Disk | Memory,
        {
            "type": "object",
            "properties": {
                "type": {"type": "string", "enum": ["disk", "memory"]},
                "size": INTEGER,
                "label": STRING,
                "limit": STRING,
            },
            "required": ["type"],
            "oneOf": [
                {"properties": {"type": {"enum": ["disk"]}}, "required": ["size"]},
                {"properties": {"type": {"enum": ["memory"]}}},
            ],
        },
    ),
]


@pytest.mark.parametrize(("type_", "schema"), TYPES, ids=[str(type_)[:60] for type_, _ in TYPES])
def test_a_type_has_a_schema_that_a_server_accepts(type_: Any, schema: dict[str, Any]) -> None:
    actual = schema_of(type_)
    assert actual == schema
    assert check_schema({"type": "object", "properties": {"field": actual}}) == []


def test_a_quantity_is_an_int_or_a_string_of_the_right_form() -> None:
    schema = schema_of(Quantity)
    assert schema["x-kubernetes-int-or-string"] is True
    assert schema["pattern"].startswith("^(\\+|-)?")
    assert check_schema({"type": "object", "properties": {"field": schema}}) == []


REFUSED: list[tuple[Any, str, str]] = [
    (Node, "children[]", "Node contains itself"),
    (datetime.timedelta, "the type", "ISO 8601"),
    (datetime.time, "the type", "time of day"),
    (complex, "the type", "JSON has no complex numbers"),
    (None.__class__, "the type", "only be null"),
    (str | bool, "the type", "only one type"),
    (Disk | str, "the type", "only one type"),
    (Disk | Tape, "size", "the Structs with the tag 'type' give it different types"),
    (Disk | Cloud, "the type", "different tag fields: 'type', 'kind'"),
    (Pair, "the type", "a list of several types"),
    (tuple[int, str], "the type", "the same type"),
    (dict[int, str], "the type", "strings"),
    (dict[Annotated[str, Meta(max_length=3)], str], "the type", "keys of a map"),
    (Literal[True, "a"], "the type", "strings or integers"),
    (Annotated[str, Meta(pattern="a(?=b)")], "the type", "Go's regular expressions"),
    (Annotated[str, Meta(pattern=r"(a)\1")], "the type", "Go's regular expressions"),
    (Annotated[str, ListMap("a")], "the type", "ListMap is only for lists"),
    (Annotated[int, Atomic()], "the type", "Atomic is only for"),
    (range, "the type", "no schema of Kubernetes describes range"),
    (Box[list[dict[str, complex]]], "content[]{}", "JSON has no complex numbers"),
]


@pytest.mark.parametrize(("type_", "path", "reason"), REFUSED, ids=[str(row[0])[:50] for row in REFUSED])
def test_a_type_without_a_schema_is_refused_with_path_and_reason(type_: Any, path: str, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema_of(type_)
    assert str(caught.value).startswith(f"{path}: ")
    assert reason in str(caught.value)


def test_recursion_through_two_classes_is_refused_with_the_first_class() -> None:
    class Tree(kp.Fields):
        root: Node

    Tree.__annotations__ = {"root": Node}
    with pytest.raises(SchemaError, match=r"root\.children\[\]: Node contains itself \(it begins at root\)"):
        schema_of(Tree)


class Defaults(kp.Fields):
    none: str | None = None
    text: str = ""
    numbers: list[int] = []
    map: dict[str, int] = {}
    colour: Colour = Colour.RED
    nullable: int | None = 3
    needed_null: int | None
    choice: Literal["a"] | None = None
    port: Port = msgspec.field(default_factory=lambda: Port(port_number=1))
    quantity: Quantity = Quantity("500m")
    wait: Duration = Duration.of(5)


def test_every_default_except_none_is_in_the_schema_as_json() -> None:
    schema = schema_of(Defaults)
    defaults = {
        name: property_["default"]
        for name, property_ in schema["properties"].items()
        if "default" in property_
    }
    assert defaults == {
        "text": "",
        "numbers": [],
        "map": {},
        "colour": "red",
        "nullable": 3,
        "quantity": "500m",
        "wait": "5s",
    }
    assert schema["required"] == ["neededNull"]
    nullable = [name for name, property_ in schema["properties"].items() if property_.get("nullable")]
    assert nullable == ["nullable", "neededNull"]
    assert schema["properties"]["choice"] == {"type": "string", "enum": ["a"]}
    assert check_schema({"type": "object", "properties": {"field": schema}}) == []


class Plain(kp.Object[Port, None], group="g.example.com", version="v1"):
    """An object."""


class WithStatus(kp.Object[Port, Port], group="g.example.com", version="v1"): ...


def test_the_schema_of_a_kind_has_no_metadata_and_no_untyped_status() -> None:
    assert schema_of(Plain) == {
        "type": "object",
        "description": "An object.",
        "properties": {"spec": PORT},
        "required": ["spec"],
    }
    assert list(schema_of(WithStatus)["properties"]) == ["spec", "status"]


class Odd(kp.Fields):
    """Types with unusual definitions."""

    needed: Colour | None
    names: tuple[str, ...] = ()
    data: bytes = b""
    template: kp.ObjectMeta | None = None


class Partial(TypedDict):
    one: int
    other: NotRequired[str]


def test_a_nullable_enum_allows_null_and_a_bytes_default_allows_an_empty_string() -> None:
    schema = schema_of(Odd)
    assert check_schema({"type": "object", "properties": {"field": schema}}) == []
    assert validate(schema, {"needed": None, "names": [], "data": ""}) == []
    (wrong,) = validate(schema, {"needed": None, "data": "a"})
    assert wrong.field == "data"
    assert [violation.field for violation in validate(schema, {"needed": "green"})] == ["needed", "<nil>"]


def test_any_enum_refuses_null_and_the_format_byte_an_empty_string() -> None:
    enum = {"type": "string", "nullable": True, "enum": ["a", None]}
    assert [str(violation) for violation in validate(enum, cast("Any", None))] == [
        ': Unsupported value: null: supported values: "a", "null"'
    ]
    assert validate({"type": "string", "format": "byte"}, cast("Any", "")) != []


def test_metadata_of_an_embedded_object_has_the_fields_that_users_write() -> None:
    schema = schema_of(Odd)
    assert list(schema["properties"]["template"]["properties"]) == [
        "annotations", "finalizers", "labels", "name", "namespace",
    ]  # fmt: skip
    obj = {"template": {"labels": {"a": "b"}, "uid": "x"}}
    assert prune(schema, obj) == ["template.uid"]


class Farm(kp.Object[PodTemplateSpec, None], group="g.example.com", version="v1"):
    """A custom resource whose spec is a template for pods with metadata."""


def test_a_pod_template_has_a_definition() -> None:
    names = definition_of(Farm).spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert "labels" in names["properties"]["metadata"]["properties"]


def test_a_tuple_is_a_list_in_a_default_and_not_required_is_no_type() -> None:
    assert schema_of(Odd)["properties"]["names"]["default"] == []
    assert schema_of(Partial) == {
        "type": "object",
        "properties": {"one": {"type": "integer", "format": "int64"}, "other": {"type": "string"}},
        "required": ["one"],
    }
