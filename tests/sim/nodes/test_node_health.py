"""The machine of a node's health: a row for each arrow of its diagram, and every other pair refused."""

from __future__ import annotations

from typing import Final, get_args

import pytest
from diagrams import arrows

from kubeproto import LocalProtocolError
from kubeproto_sim.nodes import node_health as node
from kubeproto_sim.nodes.node_health import (
    Failed,
    Healthy,
    Lost,
    Recovered,
    RenewLease,
    ReportNode,
    Silent,
    Started,
    Stopped,
    TimePassed,
    Unhealthy,
)

NOW: Final = 1000.0

ROWS: Final[list[tuple[node.State, node.Event, node.State, tuple[node.Action, ...]]]] = [
    (Healthy(NOW, NOW + 50), TimePassed(), Healthy(NOW + 10, NOW + 50), (RenewLease(),)),
    (Healthy(NOW + 5, NOW), TimePassed(), Healthy(NOW + 5, NOW + 300), (ReportNode(),)),
    (Healthy(NOW + 5, NOW + 9), TimePassed(), Healthy(NOW + 5, NOW + 9), ()),
    (Healthy(NOW + 5, NOW + 9), Failed("disk"), Unhealthy(NOW + 5, NOW + 300, "disk"), (ReportNode(),)),
    (Healthy(NOW + 4, NOW + 9), Stopped(), Silent(NOW - 6 + 50), ()),
    (Unhealthy(NOW, NOW + 9, "disk"), TimePassed(), Unhealthy(NOW + 10, NOW + 9, "disk"), (RenewLease(),)),
    (Unhealthy(NOW + 5, NOW + 9, "disk"), Failed("memory"), Unhealthy(NOW + 5, NOW + 300, "memory"),
     (ReportNode(),)),
    (Unhealthy(NOW + 5, NOW + 9, "disk"), Recovered(), Healthy(NOW + 5, NOW + 300), (ReportNode(),)),
    (Unhealthy(NOW + 5, NOW + 9, "disk"), Stopped(), Silent(NOW - 5 + 50), ()),
    (Silent(NOW + 1), TimePassed(), Silent(NOW + 1), ()),
    (Silent(NOW), TimePassed(), Lost(), (ReportNode(),)),
    (Silent(NOW + 9), Started(), Healthy(NOW + 10, NOW + 300), (ReportNode(), RenewLease())),
    (Lost(), Started(), Healthy(NOW + 10, NOW + 300), (ReportNode(), RenewLease())),
]  # fmt: skip


def name(value: object) -> str:
    return type(value).__name__


@pytest.mark.parametrize(("state", "event", "next_state", "actions"), ROWS)
def test_a_row_of_the_health_table(
    state: node.State, event: node.Event, next_state: node.State, actions: tuple[node.Action, ...]
) -> None:
    assert node.step(state, event, NOW) == (next_state, actions)


def test_the_arrows_of_the_health_diagram_have_rows_and_no_others_do() -> None:
    assert {(name(row[0]), name(row[1]), name(row[2])) for row in ROWS} == arrows(node.__doc__)


def test_every_other_pair_of_node_and_event_is_refused() -> None:
    states = {name(row[0]): row[0] for row in ROWS}
    events = {name(row[1]): row[1] for row in ROWS}
    assert set(states) == {class_.__name__ for class_ in get_args(node.State)}
    assert set(events) == {class_.__name__ for class_ in get_args(node.Event)}
    drawn = {(state_name, event) for state_name, event, _ in arrows(node.__doc__)}
    for state in states.values():
        for event in events.values():
            if (name(state), name(event)) not in drawn:
                with pytest.raises(LocalProtocolError, match="cannot happen to a node that is"):
                    node.step(state, event, NOW)


def test_a_day_of_a_healthy_node_renews_its_lease_every_ten_seconds() -> None:
    state, actions = node.begin(0.0)
    counted = list(actions)
    while (time := node.next_due(state)) is not None and time <= 86_400:
        state, actions = node.step(state, TimePassed(), time)
        assert actions
        counted += actions
    assert counted.count(RenewLease()) == 1 + 8640
    assert counted.count(ReportNode()) == 1 + 288
