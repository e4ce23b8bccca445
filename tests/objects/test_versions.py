"""Resource versions: an order where KEP-5504 defines it, an error elsewhere."""

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import comparable, compare_versions, is_newer

numbers = st.one_of(st.integers(1, 1000), st.integers(1, 2**128), st.integers(1, 10**80))


@given(numbers, numbers)
def test_versions_are_ordered_as_numbers_of_any_length(a: int, b: int) -> None:
    assert compare_versions(str(a), str(b)) == (a > b) - (a < b)
    assert is_newer(str(a), str(b)) is (a > b)


def test_a_version_may_be_longer_than_pythons_limit_for_integers() -> None:
    assert is_newer("1" + "0" * 10_000, "9" * 10_000)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("", "latest state"),
        ("0", "any state"),
        *(
            (text, "not a plain decimal number")
            for text in ("00", "01", "-1", "+1", "1.0", "1e3", " 1", "1\n", "abc")
        ),
        ("\u0661", "not a plain decimal number"),
        ("²", "not a plain decimal number"),
    ],
)
def test_a_version_without_an_order_is_refused_on_either_side(version: str, reason: str) -> None:
    assert not comparable(version)
    for a, b in ((version, "5"), ("5", version), (version, version)):
        with pytest.raises(ValueError, match=f"cannot be compared: it .*{reason}"):
            compare_versions(a, b)


@given(st.text())
def test_comparing_any_text_gives_an_order_or_a_value_error(version: str) -> None:
    if comparable(version):
        assert compare_versions(version, version) == 0
    else:
        with pytest.raises(ValueError):
            is_newer(version, "1")
