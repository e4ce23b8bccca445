"""Field selectors: terms, escapes, matching."""

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import FieldRequirement, FieldSelector

paths = st.sampled_from(["metadata.name", "metadata.namespace", "spec.nodeName", "status.phase"])
values = st.text(st.sampled_from("ab\\,=! é\n"), max_size=6)
selectors = st.lists(
    st.builds(FieldRequirement, paths, st.sampled_from(["=", "!="]), values), max_size=4
).map(lambda requirements: FieldSelector(tuple(requirements)))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        (",,", ""),
        ("a=b", "a=b"),
        ("a==b", "a=b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a!=", "a!="),
        ("b=1,a=2", "a=2,b=1"),
        ("a=1,,b=2,", "a=1,b=2"),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        (r"a=x\,y,b=z", r"a=x\,y,b=z"),
        (r"a=\\,b=z", r"a=\\,b=z"),
        ("a=b c!d", "a=b c!d"),
        ("metadata.name=é", "metadata.name=é"),
    ],
)
def test_a_field_selector_is_parsed_like_in_kubectl_and_printed_sorted(text: str, printed: str) -> None:
    assert str(FieldSelector.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "'a' has neither = nor !="),
        ("a=b,c", "'c' has neither = nor !="),
        ("a!b", "has neither = nor !="),
        ("a=b=c", "'=' must follow a backslash"),
        ("a===b", "'=' must follow a backslash"),
        ("a!==b", "'=' must follow a backslash"),
        (r"a=\b", r"'\\\\b' escapes nothing"),
        ("a=b\\", r"'\\\\' escapes nothing"),
    ],
)
def test_a_field_selector_that_a_server_would_refuse_is_refused_with_the_reason(
    text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        FieldSelector.parse(text)


@pytest.mark.parametrize(
    ("text", "fields", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=b", {}, False),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a=", {}, True),
        ("a!=", {}, False),
        ("a=b,c!=d", {"a": "b", "c": "x"}, True),
        ("a=b,c!=d", {"a": "b", "c": "d"}, False),
    ],
)
def test_a_missing_field_counts_as_empty(text: str, fields: dict[str, str], matches: bool) -> None:
    assert FieldSelector.parse(text).matches(fields) is matches


@given(selectors)
def test_a_printed_field_selector_is_parsed_back(selector: FieldSelector) -> None:
    assert FieldSelector.parse(str(selector)) == selector


@given(selectors, selectors, st.dictionaries(paths, values))
def test_and_selects_the_intersection(a: FieldSelector, b: FieldSelector, fields: dict[str, str]) -> None:
    assert (a & b).matches(fields) is (a.matches(fields) and b.matches(fields))
    assert bool(a) is bool(str(a))


@given(st.dictionaries(paths, values))
def test_a_selector_of_any_field_values_matches_these_fields(fields: dict[str, str]) -> None:
    assert FieldSelector.of(fields).matches(fields)
    assert FieldSelector.parse(str(FieldSelector.of(fields))).matches(fields)


@given(st.text(st.sampled_from("ab=!,\\ ")))
def test_any_text_is_a_field_selector_or_a_value_error(text: str) -> None:
    try:
        selector = FieldSelector.parse(text)
    except ValueError:
        return
    assert FieldSelector.parse(str(selector)) == selector


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(ValueError, match="'==' is not an operator of a field selector"):
        FieldRequirement("a", "==", "b")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
