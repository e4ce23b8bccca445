"""URLs and semantic versions where the recorded questions to Go do not reach."""

from __future__ import annotations

import pytest

from kubeproto.crd._urls import check_url, parse_url
from kubeproto.crd.cel._versions import order


def test_a_fragment_counts_only_where_parts_are_asked_for() -> None:
    check_url("https://a?#%zz")
    with pytest.raises(ValueError, match="invalid URL escape"):
        parse_url("https://a?#%zz")


def test_numbers_before_a_release_are_ordered_by_value_and_below_words() -> None:
    ordered = ["1.0.0-2", "1.0.0-10", "1.0.0-a", "1.0.0-a.1", "1.0.0", "1.0.10"]
    places = range(len(ordered))
    assert [[order(ordered[a], ordered[b]) for b in places] for a in places] == [
        [(a > b) - (a < b) for b in places] for a in places
    ]
