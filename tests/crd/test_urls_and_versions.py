"""URLs and semantic versions in rules that the recorded results of Go do not cover."""

from __future__ import annotations

from itertools import product

from cel_rules import STRING, thing

from kubeproto.crd import Passed, check_rules


def passes(rule: str, value: str) -> bool:
    """Return whether a string passes a rule."""
    schema = thing(f={**STRING, "x-kubernetes-validations": [{"rule": rule}]})
    [outcome] = check_rules(schema, {"f": value})
    return isinstance(outcome, Passed)


def test_a_fragment_is_parsed_only_for_the_parts_of_a_url() -> None:
    assert passes("isURL(self)", "https://a?#%zz")
    assert not passes("url(self).getScheme() == 'https'", "https://a?#%zz")
    assert passes("url(self).getScheme() == 'https'", "https://a?#%41")


def test_numbers_of_a_pre_release_are_ordered_by_value_and_below_words() -> None:
    ordered = ["1.0.0-2", "1.0.0-10", "1.0.0-a", "1.0.0-a.1", "1.0.0", "1.0.10"]
    compared = " && ".join(
        f"semver('{ordered[a]}').compareTo(semver('{ordered[b]}')) == {(a > b) - (a < b)}"
        for a, b in product(range(len(ordered)), repeat=2)
    )
    assert passes(compared, "")
