"""Label selectors: kubectl's grammar, matching, the API's object form."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import Requirement, Selector

keys = st.sampled_from(["app", "tier", "in", "notin", "example.com/app", "A_b.c"])
values = st.sampled_from(["", "a", "b", "in", "notin", "7", "x_y.z"])
some_values = st.lists(values, min_size=1, max_size=3).map(tuple)
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from(["In", "NotIn"]), some_values),
    st.builds(Requirement, keys, st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(Requirement, keys, st.sampled_from(["Gt", "Lt"]), st.integers(0, 9).map(lambda n: (str(n),))),
)
selectors = st.lists(requirements, max_size=4).map(lambda listed: Selector(tuple(listed)))
labels = st.dictionaries(keys, values, max_size=4)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        (" \t\r\n", ""),
        ("app", "app"),
        ("!app", "!app"),
        ("! app", "!app"),
        ("app=web", "app=web"),
        ("app==web", "app=web"),
        (" app  = web ", "app=web"),
        ("app!=web", "app!=web"),
        ("app=", "app="),
        ("app= ,b", "app=,b"),
        ("app!=", "app!="),
        ("app in (web)", "app=web"),
        ("app in (web,api)", "app in (api,web)"),
        ("app in(web,api,web)", "app in (api,web)"),
        ("app notin ( web\t,api )", "app notin (api,web)"),
        ("app in ()", "app="),
        ("app in (,a)", "app in (,a)"),
        ("app in (a,)", "app in (,a)"),
        ("app in (,)", "app="),
        ("app in (a,,b)", "app in (,a,b)"),
        ("app notin ()", "app!="),
        ("size>3", "size>3"),
        ("size < 007", "size<007"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin notin (in)", "notin!=in"),
        ("app=in,in", "app=in,in"),
        ("x in (a,b),app,!b,example.com/c=d", "app,!b,example.com/c=d,x in (a,b)"),
        ("a,a,a", "a"),
    ],
)
def test_a_selector_is_parsed_like_in_kubectl_and_printed_sorted_by_key(text: str, printed: str) -> None:
    assert str(Selector.parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",", "found ',' where a key or '!' is expected"),
        ("a,", "found the end where a key or '!' is expected"),
        (",a", "found ',' where"),
        ("a,,b", "found ',' where"),
        ("a b", "found 'b' where one of in, notin, =, ==, !=, > and < is expected"),
        ("a = b c", "found 'c' where ',' or the end is expected"),
        ("!a=b", "found '=' where ',' or the end is expected"),
        ("!", "found the end where a key is expected"),
        ("!!a", "found '!' where a key is expected"),
        ("=a", "found '=' where a key"),
        ("a===b", "found '=' where a value is expected"),
        ("a in", r"found the end where '\(' is expected"),
        ("a in b", r"found 'b' where '\(' is expected"),
        ("a in (b", r"found the end where ',' or '\)' is expected"),
        ("a in (b c)", r"found 'c' where ',' or '\)' is expected"),
        ("a in (", "found the end where a value is expected"),
        ("a in ((b))", r"found '\(' where a value is expected"),
        ("a in (=)", "found '=' where a value is expected"),
        ("a in (b))", r"found '\)' where"),
        ("(a)", r"found '\(' where a key"),
        ("a>", "needs one 64-bit whole number"),
        ("a>b", "needs one 64-bit whole number"),
        ("a<9223372036854775808", "needs one 64-bit whole number"),
        ("a>-1", "is not a valid label value"),
        ("a=b/c", "is not a valid label value"),
        ("a=" + "b" * 64, "is not a valid label value"),
        ("-a", "is not a valid qualified name"),
        ("a/b/c", "is not a valid qualified name"),
        ("a\x00", "is not a valid qualified name"),
        ("a\xa0=b", "is not a valid qualified name"),
    ],
)
def test_a_selector_that_a_server_would_refuse_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Selector.parse(text)


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", None, True),
        ("", {"a": "b"}, True),
        ("a", {"a": ""}, True),
        ("a", {}, False),
        ("a", None, False),
        ("!a", None, True),
        ("!a", {"a": ""}, False),
        ("a=b", {"a": "b", "c": "d"}, True),
        ("a=b", {"a": "c"}, False),
        ("a=", {}, False),
        ("a=", {"a": ""}, True),
        ("a!=b", {"a": "c"}, True),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a in (b,c)", {"a": "c"}, True),
        ("a in (b,c)", {"a": "d"}, False),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a notin (b,c)", None, True),
        ("a>3", {"a": "4"}, True),
        ("a>3", {"a": "3"}, False),
        ("a>3", {"a": "10"}, True),
        ("a>3", {"a": "x"}, False),
        ("a>3", {}, False),
        ("a<3", {"a": "2"}, True),
        ("a<3", {"a": "3"}, False),
        ("a<3", {"a": ""}, False),
        ("a>3", {"a": "9223372036854775808"}, False),
        ("a,b", {"a": "x"}, False),
        ("a,b", {"a": "x", "b": ""}, True),
        ("a=b,a=c", {"a": "b"}, False),
    ],
)
def test_matching_follows_the_rules_of_a_server(
    text: str, labels: dict[str, str] | None, matches: bool
) -> None:
    assert Selector.parse(text).matches(labels) is matches


@given(selectors)
def test_a_printed_selector_is_parsed_back(selector: Selector) -> None:
    assert Selector.parse(str(selector)) == selector


@given(st.lists(requirements, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_requirements_does_not_matter(listed: list[Requirement], random: Any) -> None:
    shuffled = random.sample(listed, len(listed))
    assert Selector(tuple(shuffled)) == Selector(tuple(listed))
    assert hash(Selector(tuple(shuffled))) == hash(Selector(tuple(listed)))


@given(selectors, selectors, labels)
def test_and_selects_the_intersection(a: Selector, b: Selector, listed: dict[str, str]) -> None:
    assert (a & b).matches(listed) is (a.matches(listed) and b.matches(listed))
    assert a & Selector() == a
    assert bool(a) is bool(str(a))


@given(selectors)
def test_the_object_form_is_parsed_back(selector: Selector) -> None:
    if "<" in str(selector) or ">" in str(selector):
        with pytest.raises(ValueError, match="has no form in a LabelSelector object"):
            selector.to_object()
    else:
        assert Selector.from_object(selector.to_object()) == selector


def test_the_object_form_equals_that_of_the_api() -> None:
    selector = Selector.parse("app=web,app=api,tier in (a,b),env!=dev,gone,!here")
    assert selector.to_object() == {
        "matchLabels": {"app": "api"},
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["web"]},
            {"key": "env", "operator": "NotIn", "values": ["dev"]},
            {"key": "gone", "operator": "Exists"},
            {"key": "here", "operator": "DoesNotExist"},
            {"key": "tier", "operator": "In", "values": ["a", "b"]},
        ],
    }
    assert Selector().to_object() == {}


@pytest.mark.parametrize("empty", [{}, {"matchLabels": {}}, {"matchLabels": None, "matchExpressions": None}])
def test_an_empty_label_selector_selects_everything(empty: dict[str, Any]) -> None:
    assert Selector.from_object(empty) == Selector() == Selector.of({})


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            {"key": "a", "operator": "Gt", "values": ["1"]},
            "'Gt' is not an operator of a LabelSelector object",
        ),
        ({"key": "a"}, "None is not an operator"),
        ({"operator": "Exists"}, "'' is not a valid qualified name"),
        ({"key": "a", "operator": "In"}, "In on the label 'a' needs a value"),
        ({"key": "a", "operator": "Exists", "values": ["b"]}, "Exists on the label 'a' takes no values"),
    ],
)
def test_a_wrong_expression_is_refused_with_the_reason(expression: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Selector.from_object({"matchExpressions": [expression]})


@pytest.mark.parametrize("operator", ["Equals", "in", ""])
def test_an_unknown_operator_is_refused(operator: Any) -> None:
    with pytest.raises(ValueError, match="is not an operator of a label selector"):
        Requirement("a", operator, ("b",))


@given(st.text(st.sampled_from("ab=!<>(), in\\/")))
def test_any_text_is_a_selector_or_a_value_error(text: str) -> None:
    try:
        selector = Selector.parse(text)
    except ValueError:
        return
    assert Selector.parse(str(selector)) == selector
