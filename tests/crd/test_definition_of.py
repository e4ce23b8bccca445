"""Classes become a definition, which is the same in each run, or an error that names the misfit."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest
import yaml

import kubeproto as kp
from kubeproto.crd import CustomResourceDefinition, DefinitionError, check_definition, definition_of
from kubeproto.objects import Column, ConversionWebhook, Definition, ListMap, Rule, Scale
from kubeproto.watching import WatchDecoder

GROUP = "library.example.com"


class Chapter(kp.Fields):
    title: str


class BookSpec(kp.Fields):
    title: str
    copies: Annotated[int, msgspec.Meta(ge=0)] = 1
    chapters: Annotated[list[Chapter], ListMap("title")] = []


class BookStatus(kp.Fields):
    lent: int | None = None


class Book(
    kp.Object[BookSpec, BookStatus],
    group=GROUP,
    version="v1",
    categories=("all",),
    definition=Definition(
        short_names=("bk",),
        labels={"team": "library"},
        annotations={"note": "x"},
        columns=(Column("Copies", ".spec.copies", "integer", priority=1),),
        scale=Scale(".spec.copies", ".status.lent"),
        selectable_fields=(".spec.title",),
        rules=(Rule("self.metadata.name != 'x'", message="no x"),),
        conversion=ConversionWebhook(namespace="n", name="convert", ca_bundle=b"ca"),
        storage=True,
    ),
):
    """A book on a shelf."""


class OldBook(
    kp.Object[BookSpec, None],
    group=GROUP,
    version="v1beta1",
    kind="Book",
    definition=Definition(deprecated="use v1", served=False),
): ...


KEEPS: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}


def test_a_definition_contains_everything_of_its_class_and_definition() -> None:
    crd = definition_of(OldBook, Book)
    assert crd.metadata.name == f"books.{GROUP}"
    assert (crd.metadata.labels, crd.metadata.annotations) == ({"team": "library"}, {"note": "x"})
    assert crd.spec["names"] == {
        "plural": "books",
        "singular": "book",
        "kind": "Book",
        "listKind": "BookList",
        "shortNames": ["bk"],
        "categories": ["all"],
    }
    assert crd.spec["conversion"] == {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {
                "service": {"namespace": "n", "name": "convert", "port": 443},
                "caBundle": "Y2E=",
            },
            "conversionReviewVersions": ["v1"],
        },
    }
    stable, beta = crd.spec["versions"]
    assert stable["name"] == "v1"
    assert (stable["storage"], stable["served"]) == (True, True)
    assert stable["subresources"] == {
        "status": {},
        "scale": {"specReplicasPath": ".spec.copies", "statusReplicasPath": ".status.lent"},
    }
    assert stable["selectableFields"] == [{"jsonPath": ".spec.title"}]
    assert stable["additionalPrinterColumns"] == [
        {"name": "Copies", "type": "integer", "jsonPath": ".spec.copies", "priority": 1}
    ]
    assert stable["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] == [
        {"rule": "self.metadata.name != 'x'", "message": "no x"}
    ]
    assert {name: beta[name] for name in beta if name != "schema"} == {
        "name": "v1beta1",
        "served": False,
        "storage": False,
        "deprecated": True,
        "deprecationWarning": "use v1",
    }
    assert check_definition(msgspec.to_builtins(crd)) == []


def test_further_versions_may_be_named_by_the_definition_itself() -> None:
    class Newest(
        kp.Object[BookSpec, None],
        group=GROUP,
        version="v2",
        kind="Book",
        definition=Definition(versions=(OldBook,), storage=True),
    ): ...

    names = [version["name"] for version in definition_of(Newest).spec["versions"]]
    assert names == ["v2", "v1beta1"]


def test_json_and_yaml_are_equal_and_in_a_stable_order() -> None:
    crd = definition_of(Book)
    assert crd.to_json() == definition_of(Book).to_json()
    assert crd.to_yaml() == definition_of(Book).to_yaml()
    assert yaml.safe_load(crd.to_yaml()) == msgspec.json.decode(crd.to_json())
    assert list(msgspec.json.decode(crd.to_json())) == ["kind", "apiVersion", "metadata", "spec"]


def test_a_definition_from_a_server_can_be_written() -> None:
    wire: dict[str, Any] = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {
            "name": "books.e.io",
            "uid": "u",
            "resourceVersion": "1",
            "managedFields": [{"manager": "m", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {"group": "e.io", "description": "x" * 4000},
        "status": {},
    }
    for write in (CustomResourceDefinition.to_json, CustomResourceDefinition.to_yaml):
        line = msgspec.json.encode({"type": "ADDED", "object": wire}) + b"\n"
        [event] = WatchDecoder(CustomResourceDefinition).feed(line)
        assert isinstance(event, kp.Added)
        assert yaml.safe_load(write(event.object)) == wire


def _other(**options: Any) -> type[kp.KubeObject]:
    keywords: dict[str, Any] = {"group": GROUP, "version": "v2", "kind": "Book", **options}
    make: Any = type(kp.KubeObject)
    cls: type[kp.KubeObject] = make("Other", (kp.KubeObject,), {}, **keywords)
    return cls


MISMATCHES: list[tuple[dict[str, Any], str]] = [
    ({"group": "other.example.com"}, "group is 'library.example.com' and 'other.example.com'"),
    ({"kind": "Tome", "plural": "books"}, "kind is 'Book' and 'Tome'"),
    ({"plural": "tomes"}, "plural is 'books' and 'tomes'"),
    ({"singular": "tome"}, "singular is 'book' and 'tome'"),
    ({"namespaced": False}, "namespaced is True and False"),
    ({"version": "v1"}, "Book and Other are both version 'v1'"),
    ({"definition": Definition(short_names=("b",))}, "short_names is ('bk',) and ('b',)"),
    ({"categories": ("some",)}, "categories is ('all',) and ('some',)"),
    ({"definition": Definition(conversion=ConversionWebhook(url="https://c"))}, "conversion is"),
    ({"definition": Definition(labels={"team": "x"})}, "labels 'team' is 'library' in another version"),
    (
        {"definition": Definition(storage=True)},
        "exactly one version must be the stored version, and v1 and v2 of v1, v2",
    ),
]


@pytest.mark.parametrize(("options", "message"), MISMATCHES, ids=[row[1][:40] for row in MISMATCHES])
def test_versions_of_different_kinds_are_refused_with_the_difference(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        definition_of(Book, _other(**options))
    assert message in str(caught.value)


def test_without_a_stored_version_the_error_names_the_remedy() -> None:
    with pytest.raises(DefinitionError, match="none of v2, v3 has storage=True; set storage=True"):
        definition_of(_other(), _other(version="v3"))
    crd = definition_of(_other(), _other(version="v3"), storage="v3")
    assert [version["storage"] for version in crd.spec["versions"]] == [True, False]
    with pytest.raises(DefinitionError, match="exactly one version marked as storage"):
        definition_of(_other(), storage="v9")


def test_a_class_without_a_version_has_no_definition() -> None:
    with pytest.raises(DefinitionError, match="Object has no group, version and kind"):
        definition_of(kp.Object)
    with pytest.raises(DefinitionError, match="at least one class"):
        definition_of()


def test_a_definition_without_a_version_is_refused_when_the_class_is_created() -> None:
    with pytest.raises(TypeError, match="class Lost: definition= also requires group= and version="):

        class Lost(kp.KubeObject, definition=Definition()):  # pyright: ignore[reportUnusedClass]
            pass


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"group": "short"}, 'spec.group: Invalid value: "short": should be a domain with at least one dot'),
    ({"group": ""}, "spec.group: Required value"),
    ({"group": "Up.example.com"}, "spec.group: Invalid value"),
    ({"version": "1"}, 'spec.versions[0].name: Invalid value: "1"'),
    ({"kind": "My_Book"}, 'spec.names.kind: Invalid value: "My_Book": may have mixed case'),
    ({"plural": "Books"}, "spec.names.plural: Invalid value"),
    ({"singular": "a.b"}, "spec.names.singular: Invalid value"),
    ({"short_names": ("B",)}, "spec.names.shortNames[0]: Invalid value"),
    ({"categories": ("a b",)}, "spec.names.categories[0]: Invalid value"),
    ({"definition": Definition(list_kind="Book")}, "kind and listKind may not be the same"),
    ({"definition": Definition(deprecated="")}, ""),
    ({"definition": Definition(deprecated="a\nb")}, "must only contain printable"),
    ({"definition": Definition(deprecated="x" * 257)}, "must be <= 256 characters long"),
    ({"definition": Definition(columns=(Column("", ".a"),))}, "additionalPrinterColumns[0].name: Required"),
    ({"definition": Definition(columns=(Column("A", "a"),))}, "must be a simple json path starting with ."),
    ({"definition": Definition(columns=(Column("A", ""),))}, "[0].JSONPath: Required value"),
    (
        {"definition": Definition(columns=(Column("A", ".a", "text"),))},  # type: ignore[arg-type]
        'additionalPrinterColumns[0].type: Invalid value: "text": must be one of boolean,date,integer',
    ),
    ({"definition": Definition(columns=(Column("A", ".a", format="hex"),))}, "[0].format: Invalid value"),
    ({"definition": Definition(scale=Scale(".status.a"))}, "should be a json path under .spec"),
    ({"definition": Definition(scale=Scale("spec.a"))}, "must be a simple json path starting with ."),
    ({"definition": Definition(scale=Scale(label_selector=".a"))}, "under either .spec or .status"),
    ({"definition": Definition(selectable_fields=(".spec.a",))}, "selectableFields[0].jsonPath: Invalid"),
    (
        {"definition": Definition(selectable_fields=(".metadata.name",))},
        "must not point to fields in meta",
    ),
    ({"definition": Definition(conversion=ConversionWebhook())}, "exactly one of url or service is required"),
    ({"definition": Definition(conversion=ConversionWebhook(url="http://c"))}, "'https' is the only allowed"),
    ({"definition": Definition(conversion=ConversionWebhook(name="c"))}, "service namespace is required"),
    ({"definition": Definition(rules=(Rule(" "),))}, "x-kubernetes-validations[0].rule: Required value"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[f"{row[0]}"[:60] for row in REFUSED])
def test_an_invalid_definition_is_refused_with_path_and_reason(options: dict[str, Any], message: str) -> None:
    if not message:
        assert check_definition(msgspec.to_builtins(definition_of(_other(**options)))) == []
        return
    with pytest.raises(DefinitionError) as caught:
        definition_of(_other(**options))
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{options.get('kind', 'Book')}: ")


def test_selectable_fields_are_scalars_without_duplicates_and_at_most_eight() -> None:
    class Spec(kp.Fields):
        many: list[str]
        name: str

    def define(*paths: str) -> str:
        class Thing(
            kp.Object[Spec, None], group=GROUP, version="v1", definition=Definition(selectable_fields=paths)
        ): ...

        with pytest.raises(DefinitionError) as caught:
            definition_of(Thing)
        return str(caught.value)

    Spec.__module__ = __name__
    globals()["Spec"] = Spec
    assert "must point to a field of type string, boolean or integer" in define(".spec.many")
    assert 'Duplicate value: ".spec.name"' in define(".spec.name", ".spec.name")
    assert "does not refer to a valid field" in define(".spec['name']")
    assert "Too many: 9: must have at most 8 items" in define(*(f".spec.n{index}" for index in range(9)))


def test_a_definition_read_back_from_a_server_is_valid() -> None:
    created: dict[str, Any] = {
        "metadata": {"name": "quxs.wire.test"},
        "spec": {
            "group": "wire.test",
            "names": {"plural": "quxs", "singular": "qux", "kind": "Qux", "listKind": "QuxList"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                    },
                }
            ],
            "conversion": {"strategy": "None"},
        },
    }
    assert check_definition(created) == []
    created["metadata"]["name"] = "other"
    assert [str(wrong) for wrong in check_definition(created)] == [
        'metadata.name: Invalid value: "other": must be spec.names.plural+"."+spec.group'
    ]
    assert len(check_definition({})) > 3
