"""Manifests: files with many documents become the same objects as in kubectl, or errors with a position."""

from __future__ import annotations

import contextlib
import json
import sys
import textwrap
from typing import Any

import pytest
from hypothesis import example, given, strategies as st
from request_kinds import ConfigMap, Foo, FooSpec

import kubeproto as kp
from kubeproto.objects import InvalidManifest, decode, dump_yaml, encode, parse_manifest

SHELF = """\
# what a team applies
apiVersion: wire.test/v1
kind: Foo
metadata: {name: f, labels: {on: "yes"}}
spec:
  color: red
---
---
# nothing but a comment
---
apiVersion: v1
kind: ConfigMapList
items:
- metadata: {name: a}
  data: {day: 2026-01-31, time: "12:30"}
- metadata: {name: b}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: b}}
"""


def parse_value(text: str) -> Any:
    """Parse a YAML text as the field of an object, and return its value."""
    (obj,) = parse_manifest(indent_in_manifest(text))
    return json.loads(encode(obj))["value"]


def indent_in_manifest(text: str) -> str:
    return "apiVersion: v1\nkind: A\nvalue:\n" + textwrap.indent(text, "  ")


def parse_invalid(text: str | bytes, *kinds: type[kp.KubeObject]) -> InvalidManifest:
    with pytest.raises(InvalidManifest) as caught:
        parse_manifest(text, kinds)
    return caught.value


def test_known_kinds_are_typed_lists_are_flattened_and_empty_documents_skipped() -> None:
    foo, a, b, secret = parse_manifest(SHELF, [Foo, ConfigMap])
    assert isinstance(foo, Foo)
    assert foo.spec == FooSpec(color="red")
    assert foo.metadata.labels == {"true": "yes"}
    assert isinstance(a, ConfigMap)
    assert a.data == {"day": "2026-01-31", "time": "12:30"}
    assert isinstance(b, ConfigMap)
    assert isinstance(secret, kp.Dynamic)
    assert (secret.kind, secret["stringData"]) == ("Secret", {"a": "b"})


@pytest.mark.parametrize(
    "value",
    ["*hunter2", "!hunter2", "!!hunter2", "!!int hunter2", "!!bool hunter2", "'hunter2", '"\\hunter2"'],
)
def test_an_error_in_a_secret_does_not_quote_its_value(value: str) -> None:
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n"
    with pytest.raises(InvalidManifest, match=r"document 1, line [56]: ") as raised:
        parse_manifest(f"{head}  password: {value}\n")
    error: BaseException | None = raised.value
    while error is not None:
        assert "hunter2" not in f"{error} {error.args}"
        error = error.__context__


def test_another_version_of_a_known_kind_is_dynamic() -> None:
    (foo,) = parse_manifest("apiVersion: wire.test/v2\nkind: Foo\nspec: {color: [1]}\n", [Foo])
    assert isinstance(foo, kp.Dynamic)


@pytest.mark.parametrize("text", ["", "---\n", "# nothing\n", "---\n---\n", "null", "\ufeff"])
def test_an_empty_file_contains_no_objects(text: str) -> None:
    assert parse_manifest(text) == []


def test_json_objects_lists_and_sequences_are_read() -> None:
    document = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}'
    listed = '{"apiVersion": "v1", "kind": "List", "items": [%s, %s]}' % (document, document)  # noqa: UP031
    for text, count in ((document, 1), (document + "\n" + document, 2), (listed, 2), (listed + document, 3)):
        assert len(parse_manifest(text.encode(), [ConfigMap])) == count


@pytest.mark.parametrize(
    ("text", "document", "line", "message"),
    [
        (SHELF.replace("color: red", "color: [1]"), 1, 6, "$.spec.color"),
        (SHELF.replace("- metadata: {name: b}", "- metadata: {name: 7}"), 4, 16, "$.metadata.name"),
        (SHELF.replace("kind: Foo", "kind: 5"), 1, 3, "its kind is 5"),
        (SHELF.replace("kind: List", "kind: ''"), 5, 19, "its kind is ''"),
        (SHELF.replace("v1, kind: Secret", "a/b/c, kind: Secret"), 5, 21, "not a kind of the API"),
        (SHELF.replace("  color: red", "  color: red\n color: red"), 1, 7, "expected"),
        (SHELF + "---\n- just\n- a list\n", 6, 23, "this is a list"),
        ("a: 1\nb: 2\na: 3\n", 1, 3, "'a' occurs twice"),
        ("a: !!python/object/apply:os.system [ls]\n", 1, 1, "has no meaning in JSON"),
        ("a: !secret x\n", 1, 1, "has no meaning in JSON"),
        ("a: !!int x\n", 1, 1, "this is not a valid int"),
        ("a: *nothing\n", 1, 1, "stands for nothing"),
        ("a:\n  <<: 5\n", 1, 2, "merged"),
        ("a: .inf\n", 1, 1, "not a valid JSON number"),
        ("? [a]\n: b\n", 1, 1, "key must be a string"),
        ("a: &x\n  b: *x\n", 1, 2, "contains itself"),
        ("\n\n{\n", 1, 4, "Expecting"),
        ('{"apiVersion": "v1", "kind": "ConfigMap"}\n{"a": 1, "a": 2}', 2, 2, "'a' occurs twice"),
        ('{\n"apiVersion": "v1", "kind": "A"\n}\n{"apiVersion": "v1"}', 2, 4, "its kind is None"),
        ('{"a": NaN}', 1, 1, "NaN"),
        ('{"apiVersion": "v1"}\n', 1, 1, "its kind is None"),
        (b"a: 1\nb: \xff\n", 1, 2, "not UTF-8"),
        ("a: \x07\n", 1, 1, "control characters"),
        ("{" * 100_000, 1, 1, ""),
    ],
)
def test_an_error_names_the_document_and_the_line(
    text: str | bytes, document: int, line: int, message: str
) -> None:
    error = parse_invalid(text, Foo, ConfigMap)
    assert (error.document, error.line) == (document, line)
    assert str(error).startswith(f"document {document}, line {line}: ")
    assert message in str(error)


def test_nested_aliases_cannot_expand_to_billions_of_values() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for here, prefix in zip("bcdefghij", "abcdefghi", strict=True):
        lines.append(f"{here}: &{here} [{', '.join([f'*{prefix}'] * 9)}]")
    assert "aliases" in str(parse_invalid("\n".join(lines)))


@pytest.mark.parametrize("documents", [1, 40])
def test_aliases_cannot_expand_kilobytes_to_hundreds_of_megabytes(documents: int) -> None:
    copies = 4000 // documents
    document = f"a: &a {'x' * 5000}\nb: [{', '.join(['*a'] * copies)}]\n"
    text = "---\n".join([indent_in_manifest(document)] * documents)
    assert "its aliases stand for over" in str(parse_invalid(text))


def test_long_texts_and_small_aliases_are_read() -> None:
    assert parse_value(f"a: {'x' * 20_000_000}")["a"] == "x" * 20_000_000
    assert parse_value(f"a: &a {'x' * 5000}\nb: [{', '.join(['*a'] * 100)}]")["b"] == ["x" * 5000] * 100


TYPOS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  lables: {app: web}
datta: {x: z}
"""
CUSTOM_LIST = """\
apiVersion: wire.test/v1
kind: FooCollection
items:
- metadata: {name: f}
  spec: {color: red}
"""


@pytest.mark.parametrize("kinds", [(), (ConfigMap,)], ids=["dynamic", "known"])
def test_unknown_fields_are_sent_unchanged(kinds: tuple[type[kp.KubeObject], ...]) -> None:
    (obj,) = parse_manifest(TYPOS, kinds)
    assert obj.metadata.name == "a"
    text = json.loads(encode(obj))
    assert text["metadata"] == {"name": "a", "lables": {"app": "web"}}
    assert text["datta"] == {"x": "z"}


@pytest.mark.parametrize(
    ("text", "kinds", "line", "path"),
    [
        (TYPOS, (), 5, "metadata.lables"),
        (TYPOS, (ConfigMap,), 5, "metadata.lables"),
        (TYPOS.replace("lables", "labels"), (ConfigMap,), 6, "datta"),
        (SHELF.replace("color: red", "colour: red"), (Foo, ConfigMap), 6, "spec.colour"),
    ],
)
def test_strict_refuses_unknown_fields(
    text: str, kinds: tuple[type[kp.KubeObject], ...], line: int, path: str
) -> None:
    with pytest.raises(InvalidManifest, match=f"has no field {path}:") as caught:
        parse_manifest(text, kinds, strict=True)
    assert caught.value.line == line


def test_strict_does_not_change_a_valid_manifest() -> None:
    assert parse_manifest(SHELF, [Foo, ConfigMap], strict=True) == parse_manifest(SHELF, [Foo, ConfigMap])


def test_a_list_may_have_the_list_kind_of_its_definition() -> None:
    class Collected(
        kp.Object[FooSpec, None], group="wire.test", version="v1", kind="Foo", plural="foos",
        definition=kp.Definition(list_kind="FooCollection"),
    ): ...  # fmt: skip

    (foo,) = parse_manifest(CUSTOM_LIST, [Collected])
    assert isinstance(foo, Collected)
    assert foo.spec.color == "red"


@pytest.mark.parametrize(
    "text", ["[" * 50_000 + "]" * 50_000, "a: " + "[" * 50_000 + "]" * 50_000, "- " * 5_000 + "x"]
)
def test_deep_nesting_is_refused_without_a_crash(text: str) -> None:
    parse_invalid(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("On", True), ("y", True), ("TRUE", True), ("no", False), ("OFF", False), ("n", False),
        ("yEs", "yEs"), ("~", None), ("Null", None), ("'yes'", "yes"), ('"5"', "5"),
        ("!!str 5", "5"), ("! 5", "5"), ("!!int '5'", 5), ("!!float 1", 1),
        ("0755", 493), ("0o755", 493), ("0x1F", 31), ("0b101", 5), ("-7", -7), ("+7", 7), ("1_000", 1000),
        ("08", 8), ("1e3", 1000), ("1.5", 1.5), (".5", 0.5), ("-2.", -2), ("1.2.3", "1.2.3"),
        ("12:30:45", "12:30:45"), ("2026-01-31", "2026-01-31"), ("2026-01-31T00:00:00Z",) * 2,
        ("100m", "100m"), ("0x", "0x"), ("-", [None]), ("=", "="),
        ("1e400", "1e400"), ("1_e2", 100), ("-0.0", 0), ("1e21", 1e21),
    ],
)  # fmt: skip
def test_scalars_are_read_like_in_kubectl(text: str, value: Any) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_keys_become_strings_and_override_merged_keys() -> None:
    assert parse_value("{1: a, true: b, yes: c}".replace("yes: c", "x: c")) == {
        "1": "a",
        "true": "b",
        "x": "c",
    }
    assert parse_value("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: {z: 0, <<: [{x: 1}, {x: 2, w: 4}]}") == {
        "a": {"x": 1, "true": 2},
        "b": {"x": 3, "true": 2},
        "c": {"x": 1, "w": 4, "z": 0},
    }


SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=12)
TRICKY = st.sampled_from(
    [
        "",
        "y",
        "No",
        "~",
        "null",
        "0755",
        "0o7",
        "1e3",
        "1_0",
        "12:30",
        "2026-01-31",
        "<<",
        "=",
        "- a",
        "a: b",
        "a\nb\n",
    ]
)
VALUES = st.recursive(
    SCALARS | TRICKY | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | TRICKY, inner, max_size=3)
    ),
    max_leaves=8,
)


def is_valid_in_yaml(value: Any) -> bool:
    """Check that YAML can represent a value: surrogates cannot be written."""
    text = json.dumps(value, ensure_ascii=False)
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def object_with_value(value: Any) -> kp.Dynamic:
    """Return an object that contains the value."""
    return decode(json.dumps({"apiVersion": "v1", "kind": "A", "value": value}).encode(), kp.Dynamic)


@given(values=st.lists(VALUES.filter(is_valid_in_yaml), min_size=1, max_size=3))
def test_written_yaml_is_read_back(values: list[Any]) -> None:
    objects = [object_with_value(value) for value in values]
    assert [json.loads(encode(obj))["value"] for obj in parse_manifest(dump_yaml(objects))] == values


@given(values=VALUES.filter(is_valid_in_yaml))
@example(values={"\x85": "a\u2028b\nc"})
def test_written_yaml_has_the_same_values_in_yaml_1_1(values: Any) -> None:
    import yaml

    assert yaml.safe_load(dump_yaml(object_with_value(values)))["value"] == values


@given(text=st.text(max_size=60) | st.text(st.sampled_from("a:-&* []{}\n|>'\"!#%@0y"), max_size=40))
def test_any_text_is_parsed_or_is_an_error(text: str) -> None:
    with contextlib.suppress(InvalidManifest):
        parse_manifest(text)


def test_objects_are_written_in_a_stable_order_with_wire_names() -> None:
    foo = Foo(metadata=kp.ObjectMeta(name="f", labels={"b": "yes", "a": "1"}), spec=FooSpec(color="a\nb\n"))
    text = dump_yaml(foo)
    assert text == (
        "apiVersion: wire.test/v1\nkind: Foo\nmetadata:\n  name: f\n  labels:\n    b: 'yes'\n    a: '1'\n"
        "spec:\n  color: |\n    a\n    b\n"
    )
    assert parse_manifest(dump_yaml([foo, foo]), [Foo]) == [foo, foo]


def test_json_works_without_pyyaml_and_the_error_for_yaml_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert len(parse_manifest('{"apiVersion": "v1", "kind": "ConfigMap"}')) == 1
    with pytest.raises(ImportError, match=r"kubeproto\[yaml\]"):
        parse_manifest("kind: ConfigMap")
