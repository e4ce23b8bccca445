"""Names: each rule at its limits."""

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from kubeproto import objects as names

Check = Callable[[str], None]

LONG_SUBDOMAIN = ".".join(["a" * 63] * 3) + "." + "b" * 61
RULES: list[tuple[Check, list[str], list[str]]] = [
    (
        names.check_dns_subdomain,
        ["a", "a.b", "1.2", "a-b.c", LONG_SUBDOMAIN, "a" * 253],
        ["", ".", "a.", ".a", "a..b", "a.-b", "A.b", LONG_SUBDOMAIN + "b", "a/b", "a\n"],
    ),
    (
        names.check_path_segment,
        ["a", "system:node", "A B", "...", "a?b", "é", "a\\b", "\n"],
        ["", ".", "..", "a/b", "/", "a%2fb", "%"],
    ),
    (
        names.check_label_key,
        ["app", "App.k8s_io-x", "example.com/app", "a/b", "a" * 63, LONG_SUBDOMAIN + "/" + "a" * 63],
        ["", "-a", "a-", "a/", "/a", "a/b/c", "Example.com/a", "a b", "a" * 64, "é", "example..com/a", "a\n"],
    ),
    (
        names.check_label_value,
        ["", "a", "A.b_c-1", "1", "a" * 63],
        ["-", "a-", ".a", "a/b", "a b", "a" * 64, "é", "a\n", "²"],
    ),
    (
        names.check_finalizer,
        ["example.com/cleanup", "orphan", "foregroundDeletion", "kubernetes"],
        ["", "cleanup", "example.com/", "a/b/c"],
    ),
]


ERRORS: list[tuple[Callable[[str], tuple[str, ...]], list[str], list[str]]] = [
    (
        names.dns_label_errors,
        ["a", "0", "a-b", "1a", "a" * 63, "a--b"],
        ["", "A", "-a", "a-", "a.b", "a_b", "a" * 64, "é", "a\n", " a", "²"],
    ),
    (names.dns_1035_label_errors, ["a", "a-1", "a" * 63], ["", "1a", "A", "-a", "a-", "a" * 64, "a.b"]),
    (names.dns_subdomain_errors, ["a.b", "a" * 253], ["", "a..b", "a" * 254, "a\n"]),
    (names.qualified_name_errors, ["app", "a/b"], ["", "/a", "a/", "a/b/c", "a" * 64]),
    (names.label_value_errors, ["", "A"], ["-", "a" * 64]),
]


@pytest.mark.parametrize(("errors", "valid", "invalid"), ERRORS)
def test_an_invalid_name_has_the_errors_of_its_rule(
    errors: Callable[[str], tuple[str, ...]], valid: list[str], invalid: list[str]
) -> None:
    assert [text for text in valid if errors(text)] == []
    assert [text for text in invalid if not errors(text)] == []


@pytest.mark.parametrize(("check", "text"), [(check, text) for check, good, _ in RULES for text in good])
def test_a_valid_name_is_accepted(check: Check, text: str) -> None:
    check(text)


@pytest.mark.parametrize(("check", "text"), [(check, text) for check, _, bad in RULES for text in bad])
def test_the_error_for_an_invalid_name_quotes_it(check: Check, text: str) -> None:
    with pytest.raises(ValueError, match=r"^'.*' is not a valid .*: .*") as refused:
        check(text)
    assert repr(text)[1:60].rstrip("'") in str(refused.value)


@given(st.text(st.sampled_from("./%aé ?#\\\n")))
def test_an_accepted_path_segment_cannot_change_a_path(text: str) -> None:
    try:
        names.check_path_segment(text)
    except ValueError:
        assert text in ("", ".", "..") or "/" in text or "%" in text
    else:
        assert f"/a/{text}/b".split("/") == ["", "a", text, "b"]
        assert text.strip(".") or len(text) > 2


def test_a_very_long_name_does_not_flood_the_message() -> None:
    with pytest.raises(ValueError) as refused:
        names.check_dns_subdomain("a" * 100_000)
    assert len(str(refused.value)) < 400


def test_lengths_are_bytes_and_each_broken_rule_of_a_prefix_is_an_error() -> None:
    assert "must be no more than 63 bytes" in names.label_value_errors("é" * 32)
    assert "must be no more than 63 bytes" not in names.label_value_errors("é" * 31)
    assert len(names.qualified_name_errors("é" * 127 + "/a")) == 2
    # A lone surrogate, as in a file name that is not UTF-8, is reported, not raised.
    assert names.dns_subdomain_errors("a\udce9")
