"""The simulated server authorizes random requests under random roles like a real server."""

from __future__ import annotations

import collections
import json
from typing import Any

import pytest
from access_cases import RECORDED, SEED, Cases, verdicts
from hypothesis import given, strategies as st
from simulated_access import make_sender, simulated_cluster

from kubeproto_sim.access._escalation import uncovered
from kubeproto_sim.access._policy_rules import PolicyRule


def test_verdicts_and_messages_equal_those_of_a_real_server() -> None:
    recorded: list[Any] = json.loads(RECORDED.read_text())
    cases, cluster = Cases(SEED, len(recorded)), simulated_cluster()
    send = make_sender(cluster)
    for request in cases.objects:
        status, body = send(request)
        assert status == 201, body
        cluster.settle()
    simulated = verdicts(cases, send)
    differences = [
        (request, simulated_verdict, recorded_verdict)
        for request, simulated_verdict, recorded_verdict in zip(
            cases.requests, simulated, recorded, strict=True
        )
        if simulated_verdict != recorded_verdict
    ]
    assert differences == []
    kinds = collections.Counter(verdict if isinstance(verdict, str) else verdict[0] for verdict in recorded)
    assert kinds["passed"] > 100
    assert kinds[403] > 100
    assert kinds[201] > 50  # reviews


@pytest.mark.parametrize(
    ("granted_names", "required", "is_covered"),
    [
        ((), (), True),
        (("one",), (), False),
        (("one",), ("one",), True),
        (("one",), ("one", "two"), False),
        ((), ("one",), True),
    ],
)
def test_a_permission_for_an_object_does_not_cover_all_objects(
    granted_names: tuple[str, ...], required: tuple[str, ...], is_covered: bool
) -> None:
    rules = [PolicyRule(("get",), ("",), ("pods",), names) for names in (granted_names, required)]
    assert (uncovered(rules[:1], rules[1:]) == []) == is_covered


_names = st.lists(st.sampled_from(["a", "b", "*", "a/x", "*/x"]), max_size=2).map(tuple)
_rules = st.builds(
    PolicyRule, verbs=_names, api_groups=_names, resources=_names, resource_names=_names
) | st.builds(
    PolicyRule,
    verbs=_names,
    non_resource_urls=st.lists(st.sampled_from(["/a", "/a*", "/ab", "*"]), max_size=2).map(tuple),
)


@given(st.lists(_rules, max_size=4))
def test_each_rule_of_a_user_can_be_granted(rules: list[PolicyRule]) -> None:
    assert uncovered(rules, rules) == []


@given(st.lists(_rules, max_size=3), st.lists(_rules, max_size=3), _rules)
def test_an_additional_rule_never_removes_a_permission(
    granted_names: list[PolicyRule], required: list[PolicyRule], more: PolicyRule
) -> None:
    lacking = uncovered(granted_names, required)
    assert all(permission in lacking for permission in uncovered([*granted_names, more], required))
    assert len(lacking) <= len(uncovered([], required))
