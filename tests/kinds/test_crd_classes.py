"""`python -m kubeproto.kinds` generates classes for a user's definitions."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kubeproto as kp
from kubeproto.kinds.__main__ import main
from kubeproto.objects import HasScale, HasStatus, decode, encode

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["title", "from", "chapters"],
    "properties": {
        "title": {"type": "string"},
        "from": {"type": "string", "format": "date-time", "nullable": True},
        "shelfURL": {"type": "string"},
        "shelf-url": {"type": "string"},
        "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "chapters": {
            "type": "array",
            "items": {
                "type": "object",
                "description": "A chapter. It has pages.",
                "properties": {
                    "pages": {"type": "integer"},
                    "notes": {"type": "array", "items": {"type": "string", "nullable": True}},
                    "list": {"type": "boolean"},
                },
            },
        },
        "pod": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"x": {}}},
        "anything": {"x-kubernetes-preserve-unknown-fields": True},
        "weight": {"type": "number"},
        "cover": {"type": "string", "format": "byte"},
    },
}
STATUS: dict[str, Any] = {"type": "object", "properties": {"copies": {"type": "integer"}}}


def version(name: str, properties: dict[str, Any], **options: Any) -> dict[str, Any]:
    schema = {"type": "object", "description": 'A "book" on a shelf.', "properties": properties}
    return {"name": name, "served": True, "storage": False, "schema": {"openAPIV3Schema": schema}} | options


def crd(*versions: dict[str, Any], scope: str = "Namespaced") -> dict[str, Any]:
    names = {
        "kind": "Book",
        "plural": "books",
        "singular": "book",
        "shortNames": ["bk"],
        "categories": ["all"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "books.example.com"},
        "spec": {"group": "example.com", "names": names, "scope": scope, "versions": list(versions)},
    }


FULL = crd(
    version(
        "v1",
        {"apiVersion": {"type": "string"}, "metadata": {"type": "object"}, "spec": SPEC, "status": STATUS},
        storage=True,
        subresources={"status": {}, "scale": {}},
    )
)
FULL["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["required"] = ["spec"]


def source_of(*documents: Any) -> str:
    """Return the source that the command prints for these documents."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
        path = Path(folder, "crds.json")
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": documents}))
        assert main([str(path)]) == 0
    return printed.getvalue()


def load(*documents: Any) -> Any:
    """Generate a module from these documents, and import it."""
    module_of_classes = ModuleType("library")
    sys.modules["library"] = module_of_classes  # msgspec resolves annotations in this module
    exec(compile(source_of(*documents), "library.py", "exec"), vars(module_of_classes))
    return module_of_classes


def test_a_definition_becomes_a_kind_with_its_resource() -> None:
    book: Any = load(FULL).Book
    assert kp.Object in book.__mro__
    assert book.resource == kp.Resource(
        group="example.com",
        version="v1",
        kind="Book",
        plural="books",
        namespaced=True,
        singular="book",
        short_names=("bk",),
        categories=("all",),
        subresources=("scale", "status"),
    )
    assert kp.Api(book).get("moby").target == "/apis/example.com/v1/namespaces/default/books/moby"


def test_every_field_of_a_custom_resource_round_trips() -> None:
    wire: dict[str, Any] = {
        "kind": "Book",
        "apiVersion": "example.com/v1",
        "metadata": {"name": "moby"},
        "spec": {
            "title": "Moby-Dick",
            "from": None,
            "chapters": [{"pages": 3, "notes": ["a", None], "list": True}],
            "shelfURL": "a",
            "shelf-url": "b",
            "port": "http",
            "labels": {"genre": "sea"},
            "pod": {"kind": "Pod"},
            "anything": [1, {}],
            "weight": 0.5,
            "cover": "AAE=",
        },
        "status": {"copies": 2},
    }
    book = decode(json.dumps(wire).encode(), load(FULL).Book, strict=True)
    assert (book.spec.shelf_url, book.spec.shelf_url_, book.spec.cover) == ("a", "b", b"\x00\x01")
    assert book.spec.chapters[0].list_ is True
    assert json.loads(encode(book)) == wire


def test_a_kind_without_a_spec_has_the_capabilities_of_its_subresources() -> None:
    data = version("v1", {"data": {"type": "string"}}, storage=True, subresources={"status": {}, "scale": {}})
    book = load(crd(data)).Book
    assert issubclass(book, HasStatus)
    assert issubclass(book, HasScale)
    assert kp.Api(book).scale.get("a").target.endswith("/books/a/scale")


def test_an_optional_spec_is_created_if_it_has_no_required_fields() -> None:
    spec_only_version = version(
        "v1", {"spec": {"type": "object", "properties": {"title": {"type": "string"}}}}, storage=True
    )
    assert load(crd(spec_only_version)).Book().spec.title is None
    full_version = version("v1", {"spec": SPEC, "status": STATUS}, storage=True)
    assert load(crd(full_version)).Book().spec is None
    untyped = version("v1", {"spec": {"type": "object"}}, storage=True)
    assert load(crd(untyped)).Book(spec={"a": 1}).spec == {"a": 1}


def test_each_served_version_has_a_class_and_the_storage_version_the_plain_name() -> None:
    module_of_classes = load(
        crd(version("v1alpha1", {}, served=False), version("v1beta1", {}), version("v1", {}, storage=True))
    )
    assert module_of_classes.__all__ == ["Book", "BookV1beta1"]
    assert module_of_classes.BookV1beta1.resource.kind == "Book"
    assert module_of_classes.BookV1beta1.resource.version == "v1beta1"


def test_top_level_fields_that_clash_with_attributes_of_every_kind_are_renamed() -> None:
    module_of_classes = load(
        crd(version("v1", {"resource": {"type": "string"}}, storage=True), scope="Cluster")
    )
    assert json.loads(encode(module_of_classes.Book(resource_="x")))["resource"] == "x"
    assert module_of_classes.Book.resource.namespaced is False


def test_a_file_may_contain_lists_and_other_objects(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "crds.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod"}, FULL]}))
    assert main([str(path)]) == 0
    assert "class Book(" in capsys.readouterr().out


@pytest.mark.needs("yaml")
def test_a_file_may_be_yaml_with_several_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "crds.yaml"
    path.write_text(f"kind: ConfigMap\napiVersion: v1\n---\n{json.dumps(FULL)}\n")
    assert main([str(path)]) == 0
    assert "class BookSpecChapters(kp.Fields):\n" in capsys.readouterr().out
    path.write_text("kind: {")
    assert main([str(path)]) == 1
    assert "crds.yaml, line " in capsys.readouterr().err


def test_a_dash_reads_the_definitions_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(json.dumps(FULL).encode())))
    assert main(["-"]) == 0
    assert "class Book(" in capsys.readouterr().out


def test_a_file_without_a_definition_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"kind":"Pod"}')
    assert main([str(path)]) == 1
    assert "no CustomResourceDefinition" in capsys.readouterr().err
    path.write_text("{")
    assert main([str(path)]) == 1
    assert "x.json" in capsys.readouterr().err
    for garbage in (b"[" * 100_000, b'{"\xff": 1}'):
        path.write_bytes(garbage)
        assert main([str(path)]) == 1
        assert "x.json" in capsys.readouterr().err
    path.write_text(json.dumps({**FULL, "spec": {"names": {}}}))
    assert main([str(path)]) == 1
    assert "books.example.com is incomplete" in capsys.readouterr().err
    assert main([str(tmp_path / "missing.json")]) == 1
    assert main([]) == 2
    assert "usage" in capsys.readouterr().err


def test_a_description_becomes_the_docstring() -> None:
    module_of_classes = load(FULL)
    assert module_of_classes.BookSpecChapters.__doc__ == "A chapter."
    assert "shelf" not in (module_of_classes.Book.__doc__ or "")  # a description with a quote is omitted


def test_a_definition_cannot_inject_code_into_the_module() -> None:
    code = 'x"); raise SystemExit; ("'
    properties = {code: {"type": "string"}, "a b');": {"type": "string"}, "class": {"type": "string"}}
    definition = crd(version("v1", {"spec": {"type": "object", "properties": properties}}, storage=True))
    definition["metadata"]["name"] = '"""\nraise SystemExit'
    definition["spec"]["names"] |= {"kind": code, "plural": code, "categories": [code, code]}
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = '"""\nraise SystemExit'
    text = source_of(definition)
    tree = ast.parse(text)
    assert {type(node).__name__ for node in tree.body} == {
        "Expr",
        "ImportFrom",
        "Import",
        "Assign",
        "ClassDef",
    }
    assert "SystemExit" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def test_a_field_that_msgspec_cannot_name_is_unknown() -> None:
    properties_with_spaces = {'a"b': {"type": "string"}, "a b": {"type": "string"}}
    module_of_classes = load(
        crd(
            version(
                "v1",
                {"spec": {"type": "object", "properties": properties_with_spaces}, **properties_with_spaces},
                storage=True,
            )
        )
    )
    assert module_of_classes.BookSpec.__struct_encode_fields__ == ("a b",)
    assert 'a"b' not in module_of_classes.Book.__struct_encode_fields__
    assert "a b" in module_of_classes.Book.__struct_encode_fields__
