"""Quantities: Kubernetes' text forms, exact arithmetic, canonical output."""

import copy
import pickle
from fractions import Fraction

import pytest
from hypothesis import example, given, strategies as st

from kubeproto.objects import Duration, Quantity

SUFFIXES = {
    **{
        name: Fraction(1000) ** power
        for power, name in enumerate(("n", "u", "m", "", "k", "M", "G", "T"), -3)
    },
    **{name: Fraction(1024) ** power for power, name in enumerate(("Ki", "Mi", "Gi", "Ti"), 1)},
    "e3": Fraction(1000),
    "E2": Fraction(100),
    "e-2": Fraction(1, 100),
}

numbers = st.from_regex(r"[+-]?[0-9]{1,5}(\.[0-9]{0,4})?", fullmatch=True)
texts = st.builds(str.__add__, numbers, st.sampled_from(sorted(SUFFIXES)))
quantities = texts.map(Quantity)


def exact(quantity: Quantity) -> Fraction:
    """Return the value of the canonical form."""
    text = str(quantity)
    number, marked, exponent = text.partition("e")
    if marked:
        return Fraction(number) * Fraction(10) ** int(exponent)
    number = text.rstrip("numkMGTPEiK")
    return (
        Fraction(number)
        * {**SUFFIXES, "P": Fraction(10) ** 15, "Pi": Fraction(1024) ** 5}[text[len(number) :]]
    )


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("-0.0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("007", "7"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("5.", "5"),
        ("500m", "500m"),
        ("1000m", "1"),
        ("1.500", "1500m"),
        ("0.1m", "100u"),
        ("0.0000000001", "1n"),
        ("-0.0000000001", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("0.1n", "1n"),
        ("1n", "1n"),
        ("1u", "1u"),
        ("1000k", "1M"),
        ("1500k", "1500k"),
        ("2G", "2G"),
        ("3T", "3T"),
        ("4P", "4P"),
        ("1E", "1E"),
        ("1000E", "1000E"),
        ("1e3", "1e3"),
        ("1E3", "1e3"),
        ("1e2", "100"),
        ("1e+4", "10e3"),
        ("1.5e-3", "1500e-6"),
        ("1e-12", "1e-9"),
        ("1024", "1024"),
        ("1Ki", "1Ki"),
        ("-2Ki", "-2Ki"),
        ("1024Mi", "1Gi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.5Mi", "512Ki"),
        ("0.0001Ki", "102400u"),
        ("1.0001Ki", "1024102400u"),
        ("1Ti", "1Ti"),
        ("1Pi", "1Pi"),
        ("1Ei", "1Ei"),
        ("9Ei", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807"),
    ],
)
def test_a_quantity_is_printed_like_by_a_server(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical
    assert repr(Quantity(text)) == f"Quantity('{canonical}')"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            ".",
            "-",
            "+",
            "Ki",
            "m",
            "e3",
            "1e",
            "1e+",
            "1ee3",
            "1e3m",
            "1m3",
            "1.2.3",
            "1,5",
            "--1",
            "+-1",
            "1 ",
        ),
        *(
            " 1",
            "1K",
            "1ki",
            "1mi",
            "1KiB",
            "1kk",
            "0x1",
            "1_000",
            "\u0661",
            "1²",
            "inf",
            "nan",
            "1e1000",
            "1e+-3",
            "1e³",
        ),
        "9" * 300,
    ],
)
def test_the_error_for_an_invalid_quantity_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity") as refused:
        Quantity.parse(text)
    assert repr(text)[1:20].rstrip("'") in str(refused.value)
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("value", [0.5, True, None, b"1"])
def test_only_text_and_ints_make_a_quantity(value: object) -> None:
    with pytest.raises(TypeError, match="made from a string or an int"):
        Quantity(value)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


@given(numbers, st.sampled_from(sorted(SUFFIXES)))
@example("1.0001", "Ki")
def test_the_value_is_exact_and_below_nano_rounded_away_from_zero(number: str, suffix: str) -> None:
    expected = Fraction(number.removesuffix(".")) * SUFFIXES[suffix]
    nanos = expected * 10**9
    rounded = -((-nanos) // 1) if nanos > 0 else nanos // 1
    assert exact(Quantity(number + suffix)) == Fraction(rounded, 10**9)


@given(quantities)
def test_the_canonical_form_is_parsed_back_and_printed_unchanged(quantity: Quantity) -> None:
    parsed_back = Quantity.parse(str(quantity))
    assert parsed_back == quantity
    assert str(parsed_back) == str(quantity)


@given(quantities, quantities, st.integers(-1000, 1000))
def test_arithmetic_agrees_with_fractions(a: Quantity, b: Quantity, factor: int) -> None:
    assert exact(a + b) == exact(a) + exact(b)
    assert exact(a - b) == exact(a) - exact(b)
    assert exact(a * factor) == exact(factor * a) == exact(a) * factor
    assert exact(-a) == -exact(a)
    assert exact(abs(a)) == abs(exact(a))
    assert bool(a) is bool(exact(a))


@given(quantities, quantities)
def test_order_equality_and_hash_depend_only_on_the_value(a: Quantity, b: Quantity) -> None:
    x, y = exact(a), exact(b)
    assert (a < b, a <= b, a == b, a != b, a >= b, a > b) == (x < y, x <= y, x == y, x != y, x >= y, x > y)
    if x == y:
        assert hash(a) == hash(b)


@pytest.mark.parametrize(("a", "b"), [("1", "1000m"), ("1Ki", "1024"), ("1e3", "1k"), ("-0", "0Gi")])
def test_spelling_does_not_matter_for_equality(a: str, b: str) -> None:
    assert Quantity(a) == Quantity(b)
    assert len({Quantity(a), Quantity(b)}) == 1


@given(quantities)
def test_rounding_to_units_goes_away_from_zero(quantity: Quantity) -> None:
    value = exact(quantity)
    sign = -1 if value < 0 else 1
    assert quantity.to_integer() == -(-abs(value) // 1) * sign
    assert quantity.to_millis() == -(-abs(value) * 1000 // 1) * sign


def test_int_is_exact_or_refused() -> None:
    assert int(Quantity("2k")) == 2000
    assert int(Quantity("-1Gi")) == -(2**30)
    with pytest.raises(ValueError, match=r"Quantity\('1500m'\) is not a whole number"):
        int(Quantity("1.5"))


def test_a_sum_keeps_the_form_of_its_first_part_that_is_not_zero() -> None:
    assert str(sum([Quantity("512Mi"), Quantity("512Mi")])) == "1Gi"
    assert str(Quantity(0) + Quantity("2Ki")) == "2Ki"
    assert str(Quantity(0) - Quantity("2Ki")) == "-2Ki"
    assert str(Quantity("1Ki") + Quantity("1k")) == "2024"
    assert str(Quantity("1k") + Quantity("1Ki")) == "2024"
    assert str(Quantity("2Ki") + Quantity("48")) == "2096"
    assert str(Quantity("2e3") * 3) == "6e3"


def test_a_binary_quantity_below_one_becomes_decimal() -> None:
    assert str(Quantity("0.0005Ki") * 2000) == "1024"
    assert str(Quantity("1Ki") * 1) == "1Ki"


def test_a_quantity_divided_by_another_is_their_ratio() -> None:
    assert Quantity("1Gi") / Quantity("2Gi") == 0.5
    assert float(Quantity("250m")) == 0.25


def test_a_quantity_cannot_be_combined_with_other_types() -> None:
    single = Quantity(1)
    assert single != 1
    assert single != Duration(10**9)
    for mix in (
        lambda: single + 1,  # type: ignore[operator] # pyright: ignore
        lambda: 1 + single,
        lambda: single - 1,  # type: ignore[operator] # pyright: ignore
        lambda: single * 1.5,  # type: ignore[operator] # pyright: ignore
        lambda: single < 1,  # type: ignore[operator] # pyright: ignore
        lambda: single / 2,  # type: ignore[operator] # pyright: ignore
        lambda: single + Duration(1),  # type: ignore[operator] # pyright: ignore
    ):
        with pytest.raises(TypeError):
            mix()


@given(quantities)
def test_a_quantity_survives_copy_and_pickle(quantity: Quantity) -> None:
    for parsed_back in (copy.copy(quantity), copy.deepcopy(quantity), pickle.loads(pickle.dumps(quantity))):
        assert parsed_back == quantity
        assert parsed_back.format == quantity.format
