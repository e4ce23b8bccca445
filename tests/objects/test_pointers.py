"""JSON pointers: RFC 6901 and its examples."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import format_pointer, parse_pointer, resolve_pointer

# RFC 6901, section 5.
DOCUMENT = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_a_pointer_finds_its_value(pointer: str, value: Any) -> None:
    assert resolve_pointer(DOCUMENT, pointer) == value


@pytest.mark.parametrize(
    "pointer", ["/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/-1", "/foo/+1", "/foo/", "/foo/1e0"]
)
def test_an_invalid_list_index_is_refused(pointer: str) -> None:
    with pytest.raises(LookupError, match="index"):
        resolve_pointer(DOCUMENT, pointer)


@pytest.mark.parametrize("pointer", ["/nope", "/foo/0/x", "/a~1b/c"])
def test_a_pointer_to_nothing_is_a_lookup_error(pointer: str) -> None:
    with pytest.raises(LookupError, match=r"nothing below|has no"):
        resolve_pointer(DOCUMENT, pointer)


@pytest.mark.parametrize("text", ["foo", "~", "/~", "/~2", "/a~", "#/foo", " /a"])
def test_a_string_that_is_not_a_pointer_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a JSON pointer"):
        parse_pointer(text)


def test_an_escaped_tilde_before_a_one_stays_a_tilde() -> None:
    assert parse_pointer("/~01") == ("~1",)
    assert format_pointer(("~1", "/", 0)) == "/~01/~1/0"


@given(st.lists(st.text(st.sampled_from("~/01a é")), max_size=4).map(tuple))
def test_a_formatted_pointer_is_parsed_back(parts: tuple[str, ...]) -> None:
    assert parse_pointer(format_pointer(parts)) == parts
