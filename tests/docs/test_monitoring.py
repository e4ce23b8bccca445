"""The dashboard and the alerts in docs/monitoring ask for metrics and labels that an operator has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from kubeproto.control import OwnWrites, WorkQueue
from kubeproto_runtime.reconciling._metrics import ControllerStats, ReconcileStats, exposition

FOLDER: Final = Path(__file__).parents[2] / "docs" / "monitoring"
DASHBOARD: Final[dict[str, Any]] = json.loads((FOLDER / "dashboard.json").read_text())
RULES: Final[list[dict[str, Any]]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0][
    "rules"
]
FUNCTIONS: Final = {"sum", "max", "rate", "increase", "histogram_quantile"}
TOKEN: Final = re.compile(
    r"""\s+|(?P<name>[a-zA-Z_:][\w:]*)|(?P<text>"[^"]*")|(?P<range>\[(?:\d+[smhd]|\$__rate_interval)\])"""
    r"""|(?P<number>\d+(?:\.\d+)?)|(?P<sign>=~|!=|[-+*/<>=(){},])"""
)


def exposed() -> dict[str, set[str]]:
    """Each sample that an operator exposes, with its labels."""
    stats = ControllerStats("book", 1, 0, ReconcileStats(), WorkQueue[str]().metrics(0.0), OwnWrites())
    text = exposition([stats], {("200", "GET", "host"): 1}, {"lease": True})
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


EXPOSED: Final = exposed()


def tokens(expression: str) -> list[tuple[str, str]]:
    """The expression in pieces: every character of it belongs to one."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(expression):
        match = TOKEN.match(expression, at)
        assert match, f"{expression[at:]!r} in {expression}"
        if match.lastgroup:
            found.append((match.lastgroup, match.group()))
        at = match.end()
    return found


def asked_for(expression: str) -> tuple[set[str], set[str]]:
    """The metrics and the labels that an expression names; its brackets are balanced."""
    metrics, labels, open_brackets = set[str](), set[str](), list[str]()
    pieces = tokens(expression)
    grouping = False
    for at, (sort, text) in enumerate(pieces):
        following = pieces[at + 1][1] if at + 1 < len(pieces) else ""
        if text in ("(", "{"):
            grouping = at > 0 and pieces[at - 1][1] == "by"
            open_brackets.append(text)
        elif text in (")", "}"):
            assert open_brackets.pop() == {")": "(", "}": "{"}[text], expression
            grouping = False
        elif sort == "name":
            if grouping or (open_brackets and open_brackets[-1] == "{"):
                labels.add(text)
            elif text in FUNCTIONS:
                assert following in ("(", "by"), expression
            elif text != "by":
                metrics.add(text)
    assert not open_brackets, expression
    return metrics, labels


EXPRESSIONS: Final = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(rule["expr"] for rule in RULES),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_names_metrics_and_labels_that_there_are(expression: str) -> None:
    metrics, labels = asked_for(expression)
    assert metrics
    assert metrics <= EXPOSED.keys(), expression
    for metric in metrics:
        assert labels <= EXPOSED[metric], expression


@pytest.mark.parametrize(
    "expression", ["sum(a", "sum)a(", 'rate(a{b="c")[5m]}', "sum a", "a ~ b", 'a{b="c}', "rate(a[5])"]
)
def test_an_expression_that_prometheus_would_refuse_is_found(expression: str) -> None:
    with pytest.raises((AssertionError, IndexError)):
        asked_for(expression)


def test_what_a_legend_or_a_summary_shows_is_a_label_of_its_expression() -> None:
    shown = [(target["expr"], target["legendFormat"], r"{{(\w+)}}") for panel in DASHBOARD["panels"]
             for target in panel["targets"]]  # fmt: skip
    shown += [(rule["expr"], rule["annotations"]["summary"], r"{{ \$labels\.(\w+) }}") for rule in RULES]
    for expression, text, pattern in shown:
        kept = {label for labels in re.findall(r"by \(([^)]*)\)", expression) for label in labels.split(", ")}
        assert set(re.findall(pattern, text)) <= kept, expression
        assert "{{" not in re.sub(pattern, "", text), text


def test_every_family_of_metrics_is_on_the_dashboard() -> None:
    asked = {metric for expression in EXPRESSIONS for metric in asked_for(expression)[0]}
    of_histograms = re.compile("_(bucket|sum|count)$")
    left = {of_histograms.sub("", name) for name in EXPOSED} - {of_histograms.sub("", name) for name in asked}
    assert left == {
        "kubeproto_own_writes_timeouts_total",  # contained in the time that is waited
        "workqueue_unfinished_work_seconds",  # the longest run says more
        "workqueue_work_duration_seconds",  # the time of reconciles, without what goes around them
    }


def test_the_dashboard_can_be_imported() -> None:
    panels: list[dict[str, Any]] = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len({panel["title"] for panel in panels}) == len(panels)
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels]
    assert len(set(places)) == len(places)
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(panels)))
    assert used == variables | {"__rate_interval"}
    query = DASHBOARD["templating"]["list"][1]["query"]["query"]
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", query).groups()  # type: ignore[union-attr]
    assert label in EXPOSED[metric]


def test_every_alert_says_how_bad_it_is() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    assert {rule["labels"]["severity"] for rule in RULES} == {"warning", "critical"}
    assert all(re.search(r"[<>] [\d.]+\s*$", rule["expr"]) for rule in RULES)
