"""The simulated server says of random requests under random roles what a real one said of them."""

from __future__ import annotations

import collections
import json
from typing import Any

import pytest
from access_cases import RECORDED, SEED, Cases, verdicts
from hypothesis import given, strategies as st
from simulated_access import sender, simulated

from kubeproto_sim.access._escalation import uncovered
from kubeproto_sim.access._policy_rules import PolicyRule


def test_each_verdict_and_each_message_is_that_of_the_real_server() -> None:
    recorded: list[Any] = json.loads(RECORDED.read_text())
    cases, cluster = Cases(SEED, len(recorded)), simulated()
    send = sender(cluster)
    for ask in cases.objects:
        status, body = send(ask)
        assert status == 201, body
        cluster.settle()
    mine = verdicts(cases, send)
    differences = [
        (ask, mine_says, theirs)
        for ask, mine_says, theirs in zip(cases.asks, mine, recorded, strict=True)
        if mine_says != theirs
    ]
    assert differences == []
    kinds = collections.Counter(verdict if isinstance(verdict, str) else verdict[0] for verdict in recorded)
    assert kinds["passed"] > 100
    assert kinds[403] > 100
    assert kinds[201] > 50  # reviews


@pytest.mark.parametrize(
    ("granted", "required", "covered"),
    [
        ((), (), True),
        (("one",), (), False),
        (("one",), ("one",), True),
        (("one",), ("one", "two"), False),
        ((), ("one",), True),
    ],
)
def test_a_right_to_one_object_covers_no_right_to_all(
    granted: tuple[str, ...], required: tuple[str, ...], covered: bool
) -> None:
    rules = [PolicyRule(("get",), ("",), ("pods",), names) for names in (granted, required)]
    assert (uncovered(rules[:1], rules[1:]) == []) == covered


_names = st.lists(st.sampled_from(["a", "b", "*", "a/x", "*/x"]), max_size=2).map(tuple)
_rules = st.builds(
    PolicyRule, verbs=_names, api_groups=_names, resources=_names, resource_names=_names
) | st.builds(
    PolicyRule,
    verbs=_names,
    non_resource_urls=st.lists(st.sampled_from(["/a", "/a*", "/ab", "*"]), max_size=2).map(tuple),
)


@given(st.lists(_rules, max_size=4))
def test_who_holds_rules_may_grant_each_of_them(rules: list[PolicyRule]) -> None:
    assert uncovered(rules, rules) == []


@given(st.lists(_rules, max_size=3), st.lists(_rules, max_size=3), _rules)
def test_another_rule_never_takes_a_permission_away(
    granted: list[PolicyRule], required: list[PolicyRule], more: PolicyRule
) -> None:
    lacking = uncovered(granted, required)
    assert all(permission in lacking for permission in uncovered([*granted, more], required))
    assert len(lacking) <= len(uncovered([], required))
