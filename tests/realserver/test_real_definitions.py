"""A real server accepts definitions made from classes, and judges objects as we do."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec
import pytest
from conformance.definitions import stored_spec
from hypothesis import assume, given, settings
from msgspec.structs import replace

import kubeproto as kp
from kubeproto.crd import (
    CustomResourceDefinition,
    apply_defaults,
    definition_of,
    schema_of,
    validate,
    validate_object,
)
from kubeproto.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from kubeproto.objects import decode
from kubeproto.requests import Request
from realserver import RealServer

from ._real_asking import Asker, asking

ROOT: Final = Path(__file__).resolve().parent.parent.parent
DEFINES: Final = re.compile(r"^    kp\.Object\[|^class \w+\((kp\.)?Object\[", re.MULTILINE)


def kinds() -> list[Any]:
    """Return every custom kind of the examples and of the tests of `crd`, with all its versions."""
    classes: list[Any] = []
    for path in sorted([*ROOT.glob("examples/**/*.py"), *ROOT.glob("tests/crd/*.py")]):
        if not DEFINES.search(path.read_text()):
            continue
        module = load(path)
        local = [
            cls
            for cls in vars(module).values()
            if isinstance(cls, type) and issubclass(cls, kp.KubeObject) and cls.__module__ == module.__name__
        ]
        by_kind: dict[tuple[str, str], list[Any]] = {}
        for cls in local:
            by_kind.setdefault((cls.resource.group, cls.resource.kind), []).append(cls)
        for (_, kind), versions in by_kind.items():
            classes.append(pytest.param(versions, id=f"{path.stem}-{kind}"))
    return classes


def load(path: Path) -> ModuleType:
    """Import a module under a unique name: several examples have a module of the same name."""
    name = "kinds_of_" + "_".join(path.relative_to(ROOT).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TYPED: Final[Any] = importlib.import_module("test_typed")
TYPES: Final[list[tuple[Any, Any]]] = importlib.import_module("test_schema_of").TYPES


@pytest.fixture(scope="module")
def asker(real_server: RealServer) -> Generator[Asker]:
    with asking(real_server.connection) as asker:
        yield asker


@contextmanager
def defined(asker: Asker, definition: CustomResourceDefinition) -> Generator[dict[str, Any]]:
    if asker.defines(definition):  # other tests leave their definitions
        asker.undefine(definition)
    try:
        yield asker.define(definition)
    finally:
        asker.undefine(definition)


@pytest.mark.parametrize("versions", kinds())
def test_each_kind_of_the_project_is_served_and_its_definition_stored_unchanged(
    asker: Asker, versions: list[type[kp.KubeObject]]
) -> None:
    definition = definition_of(*versions)
    # A server refuses the invented certificate of a test.
    if "conversion" in definition.spec:
        del definition.spec["conversion"]
    with defined(asker, definition) as stored:
        assert stored == {"conversion": {"strategy": "None"}} | stored_spec(definition.spec)


def test_the_schema_of_every_type_is_stored_unchanged(asker: Asker) -> None:
    properties = {f"f{number}": schema_of(type_) for number, (type_, _) in enumerate(TYPES)}
    definition = definition_of(TYPED.Book)
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    definition.spec["versions"][0]["schema"]["openAPIV3Schema"] = schema
    with defined(asker, definition) as stored:
        assert stored["versions"][0]["schema"]["openAPIV3Schema"] == schema


def test_objects_of_a_class_are_returned_unchanged(asker: Asker) -> None:
    books: Any = kp.Api(TYPED.Book, namespace=asker.namespace("typed"))

    @settings(max_examples=60)
    @given(TYPED.SPECS)
    def comes_back(spec: Any) -> None:
        # Integers beyond 64 bits become floats there.
        extra: dict[str, int] = spec.extra or {}
        assume(all(abs(number) < 1 << 63 for number in extra.values()))
        # None is not sent, so the server sets its default.
        weight = 1.5 if spec.weight is None else spec.weight
        book = TYPED.Book(metadata=kp.ObjectMeta(generate_name="b-"), spec=replace(spec, weight=weight))
        assert validate_object(book) == []
        assert asker.ask(books.create(book, dry_run=True)).spec == book.spec

    with defined(asker, definition_of(TYPED.Book)):
        comes_back()


@pytest.mark.kubernetes("1.36")
def test_a_hostile_object_is_refused_with_the_predicted_message(asker: Asker) -> None:
    books = kp.Api(kp.Dynamic, resource=TYPED.Book.resource, namespace=asker.namespace("hostile"))
    with defined(asker, definition_of(TYPED.Book)):
        for path, value, field, _ in TYPED.HOSTILE:
            obj = TYPED.good() | {"metadata": {"name": "hostile"}}
            parent = obj["spec"]
            for step in path[:-1]:
                parent = parent[step]
            parent[path[-1]] = value
            request = books.create(decode(msgspec.json.encode(obj), kp.Dynamic), dry_run=True)
            apply_defaults(TYPED.SCHEMA, obj)
            foretold = {(violation.field, violation.message) for violation in validate(TYPED.SCHEMA, obj)}
            assert refused_fields(asker, request) == foretold, field


def test_a_pod_template_in_a_custom_resource_keeps_its_metadata(asker: Asker) -> None:
    farm: Any = importlib.import_module("test_schema_of").Farm
    farms: Any = kp.Api(farm, namespace=asker.namespace("farm"))
    pod = PodSpec(containers=[Container(name="c", image="i", args=["a"])])
    template = PodTemplateSpec(metadata=kp.ObjectMeta(labels={"a": "b"}, annotations={"n": "o"}), spec=pod)
    with defined(asker, definition_of(farm)):
        stored = asker.ask(farms.create(farm(metadata=kp.ObjectMeta(name="f"), spec=template)))
        assert stored.spec.metadata.labels == {"a": "b"}
        assert stored.spec.metadata.annotations == {"n": "o"}
        assert stored.spec.spec.containers[0].args == ["a"]


def refused_fields(asker: Asker, request: Request[Any]) -> set[tuple[str, str]]:
    """Return the fields that a real server refuses, and its messages."""
    try:
        asker.ask(request)
    except kp.Invalid as error:
        return {(cause.field, cause.message) for cause in error.status.details.causes}
    return set()
