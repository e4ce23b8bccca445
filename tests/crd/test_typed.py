"""Objects of a class fit its schema; class and schema refuse hostile objects with the same path."""

from __future__ import annotations

import datetime
import enum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import Meta

import kubeproto as kp
from kubeproto.crd import (
    CustomResourceDefinition,
    Passed,
    RuleViolated,
    check_object_rules,
    definition_of,
    prune,
    validate,
    validate_object,
)
from kubeproto.crd.definitions._structural_checks import check_schema
from kubeproto.objects import Definition, ListMap, Rule, decode


class Genre(enum.Enum):
    SEA = "sea"
    LAND = "land"


class Author(kp.Fields):
    name: Annotated[str, Meta(min_length=1, max_length=8)]
    born: int | None = None


class BookSpec(kp.Fields):
    title: Annotated[str, Meta(pattern="^[A-Z]")]
    page_count: Annotated[int, Meta(ge=1, le=999)] = 1
    genre: Genre = Genre.SEA
    cover: Literal["hard", "soft"] | None = None
    authors: Annotated[list[Author], ListMap("name"), Meta(max_length=2)] = []
    tags: set[str] = set()
    notes: dict[str, str] = {}
    printed: datetime.datetime | None = None
    price: int | str = 0
    weight: float | None = 1.5
    extra: Any = None


class BookStatus(kp.Fields):
    lent: bool = False


class Book(
    kp.Object[BookSpec, BookStatus],
    group="library.example.com",
    version="v1",
    definition=Definition(
        rules=(Rule("self.spec.pageCount > 1 || size(self.spec.authors) < 2", "too thin"),)
    ),
): ...


SCHEMA = definition_of(Book).spec["versions"][0]["schema"]["openAPIV3Schema"]

AUTHORS = st.lists(
    st.builds(Author, name=st.text("ab", min_size=1, max_size=8), born=st.none() | st.integers(0, 9)),
    max_size=2,
    unique_by=lambda author: author.name,
)
SPECS = st.builds(
    BookSpec,
    title=st.from_regex(r"\A[A-Z][a-z ]{0,5}\Z"),
    page_count=st.integers(2, 999),
    genre=st.sampled_from(Genre),
    cover=st.sampled_from([None, "hard", "soft"]),
    authors=AUTHORS,
    tags=st.sets(st.text("xyz", max_size=3), max_size=3),
    notes=st.dictionaries(st.text("kl", min_size=1, max_size=3), st.text(max_size=5), max_size=3),
    printed=st.none() | st.datetimes(timezones=st.just(datetime.UTC)),
    price=st.integers(-5, 5) | st.text(max_size=3),
    weight=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    extra=st.none() | st.dictionaries(st.text("m", max_size=2), st.integers(), max_size=2),
)


@given(SPECS, st.none() | st.builds(BookStatus, lent=st.booleans()))
def test_every_object_of_a_class_fits_its_schema_and_round_trips(
    spec: BookSpec, status: BookStatus | None
) -> None:
    book = Book(spec=spec, status=status)
    assert validate_object(book) == []
    wire = msgspec.json.decode(msgspec.json.encode(book))
    assert prune(SCHEMA, wire) == []
    assert msgspec.convert(wire, Book) == book


def good() -> dict[str, Any]:
    obj: dict[str, Any] = msgspec.to_builtins(Book(spec=BookSpec(title="Moby", authors=[Author(name="a")])))
    return obj


HOSTILE: list[tuple[tuple[str | int, ...], Any, str, str]] = [
    (("title",), 5, "spec.title", "$.spec.title"),
    (("title",), "moby", "spec.title", "$.spec.title"),
    (("pageCount",), 0, "spec.pageCount", "$.spec.pageCount"),
    (("pageCount",), 1000, "spec.pageCount", "$.spec.pageCount"),
    (("pageCount",), "1", "spec.pageCount", "$.spec.pageCount"),
    (("pageCount",), None, "spec.pageCount", "$.spec.pageCount"),
    (("genre",), "sky", "spec.genre", "$.spec.genre"),
    (("cover",), "none", "spec.cover", "$.spec.cover"),
    (("authors",), {}, "spec.authors", "$.spec.authors"),
    (("authors", 0, "name"), "", "spec.authors[0].name", "$.spec.authors[0].name"),
    (("authors", 0, "born"), "then", "spec.authors[0].born", "$.spec.authors[0].born"),
    (("authors", 0), 5, "spec.authors[0]", "$.spec.authors[0]"),
    (("notes",), [1], "spec.notes", "$.spec.notes"),
    (("notes",), {"a": 1}, "spec.notes.a", "$.spec.notes[...]"),
    (("printed",), "yesterday", "spec.printed", "$.spec.printed"),
    (("price",), True, "spec.price", "$.spec.price"),
    (("weight",), "x", "spec.weight", "$.spec.weight"),
]


@pytest.mark.parametrize(
    ("path", "value", "field", "path_in_class"), HOSTILE, ids=[f"{r[0]}={r[1]}" for r in HOSTILE]
)
def test_a_hostile_object_is_refused_at_the_same_field_by_class_and_schema(
    path: tuple[str | int, ...], value: Any, field: str, path_in_class: str
) -> None:
    obj = good()
    assert validate(SCHEMA, obj) == []
    container: Any = obj["spec"]
    for step in path[:-1]:
        container = container[step]
    container[path[-1]] = value
    violated_fields = {violation.field for violation in validate(SCHEMA, obj)} - {"<nil>"}
    assert violated_fields == {field}
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(obj, Book)
    assert f"`{path_in_class}`" in str(caught.value)


def test_the_schema_refuses_values_that_the_class_accepts() -> None:
    twins = Book(spec=BookSpec(title="Moby", page_count=0, authors=[Author(name="a"), Author(name="a")]))
    assert [str(violation) for violation in validate_object(twins)] == [
        "spec.pageCount: Invalid value: 0: spec.pageCount in body should be greater than or equal to 1",
        'spec.authors[1]: Duplicate value: {"name":"a"}',
        "<nil>: Invalid value: too thin",
    ]


def test_rules_of_the_definition_have_an_outcome_for_a_typed_object() -> None:
    thin = Book(spec=BookSpec(title="Moby", authors=[Author(name="a"), Author(name="b")]))
    assert [type(outcome) for outcome in check_object_rules(thin)] == [RuleViolated]
    thin.spec.page_count = 2
    assert [type(outcome) for outcome in check_object_rules(thin)] == [Passed]
    assert validate_object(thin, thin) == []


def test_a_lazy_object_is_checked_with_its_undecoded_fields() -> None:
    wire = good() | {"metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "namespace": "n"}}
    wire["spec"]["title"] = "moby"
    lazy = decode(msgspec.json.encode(wire), Book)
    assert [violation.field for violation in validate_object(lazy)] == ["spec.title"]
    with pytest.raises(TypeError, match="Dynamic is not a kind with its own class"):
        validate_object(kp.Dynamic())


def test_a_definition_is_a_kind_that_the_client_can_send() -> None:
    crd = definition_of(Book)
    request = kp.Api(CustomResourceDefinition).create(crd)
    assert request.target.startswith("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    assert check_schema(SCHEMA) == []
