"""The order in which a client prefers API versions."""

import random

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import api_version_priority

# The list in Kubernetes' documentation of CRD versioning, then cases of the rules.
DOCUMENTED = ["v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
ORDERED = [
    "v2",
    "v1",
    "v2beta1",
    "v1beta2",
    "v1beta1",
    "v1alpha2",
    "v1alpha1",
    "V1",
    "v1gamma1",
    "v1x",
    "vbeta1",
]


@pytest.mark.parametrize("ordered", [DOCUMENTED, ORDERED])
@given(seed=st.integers(0, 1000))
def test_sorting_puts_the_preferred_version_first(ordered: list[str], seed: int) -> None:
    shuffled = random.Random(seed).sample(ordered, len(ordered))
    assert sorted(shuffled, key=api_version_priority) == ordered


@pytest.mark.parametrize(
    "odd", ["", "v", "v1beta", "v1 ", "v1\n", "v\u0661", "1", "v1alpha1beta1", "v1.2", "v" + "1" * 5000]
)
def test_other_strings_are_sorted_after_kubernetes_versions(odd: str) -> None:
    assert api_version_priority(odd) > api_version_priority("v0alpha0")


@given(st.text(), st.text())
def test_only_the_same_version_has_the_same_priority(a: str, b: str) -> None:
    assert (api_version_priority(a) == api_version_priority(b)) is (a == b)
