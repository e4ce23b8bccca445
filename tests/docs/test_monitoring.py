"""The dashboard and the alerts in docs/monitoring use existing metrics and labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard, prometheus, timeseries
from prometheus_client.parser import text_string_to_metric_families

from kubeproto.control import OwnWrites, WorkQueue
from kubeproto.objects import is_list, is_object
from kubeproto_runtime.reconciling._metrics import ControllerStats, ReconcileStats, exposition
from kubeproto_runtime.webhooks import WebhookStats

FOLDER: Final = Path(__file__).parents[2] / "docs" / "monitoring"
DASHBOARD: Final[dict[str, Any]] = json.loads((FOLDER / "dashboard.json").read_text())
RULES: Final[list[dict[str, Any]]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0][
    "rules"
]


def exposed_samples() -> dict[str, set[str]]:
    """Return each sample of an operator with its labels."""
    stats = ControllerStats("book", 1, 0, ReconcileStats(), WorkQueue[str]().metrics(0.0), OwnWrites())
    calls = {"/validate/books": WebhookStats()}
    text = exposition([stats], {("200", "GET", "host"): 1}, {"lease": True}, calls, (1, 0))
    labels_of: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels_of.setdefault(sample.name, set()).update(sample.labels)
    return labels_of


EXPOSED: Final = exposed_samples()


def parse_expression(expression: str) -> promql_parser.Expr:
    """Return the expression as Prometheus parses it; Grafana fills in the interval."""
    return promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def referenced_names(expression: str) -> tuple[set[str], set[str]]:
    """Return the metrics and the labels of an expression."""
    metrics, labels = set[str](), set[str]()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            metrics.add(str(node.name))
            labels.update(matcher.name for matcher in node.matchers.matchers)
        elif isinstance(node, promql_parser.MatrixSelector):
            visit(node.vector_selector)
        elif isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            labels.update(node.modifier.labels)

    promql_parser.walk(parse_expression(expression), pre_visit=visit)
    return metrics, labels


EXPRESSIONS: Final = [
    *(target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *(rule["expr"] for rule in RULES),
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_uses_existing_metrics_and_labels(expression: str) -> None:
    metrics, labels = referenced_names(expression)
    assert metrics
    assert metrics <= EXPOSED.keys(), expression
    for metric in metrics:
        assert labels <= EXPOSED[metric], expression


@pytest.mark.parametrize(
    "expression",
    ["sum(a", "sum)a(", 'rate(a{b="c")[5m]}', "sum a", "a ~ b", 'a{b="c}', "rate(a)"],
)
def test_an_invalid_expression_is_detected(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_expression(expression)


def test_the_dashboard_has_the_fields_of_grafanas_schema_and_no_others() -> None:
    """Grafana's classes lose unknown fields when they read and write a dashboard."""
    assert changed_paths(DASHBOARD, to_json(dashboard.Dashboard.from_json(DASHBOARD))) == []
    for panel in DASHBOARD["panels"]:
        assert panel["type"] == "timeseries"
        options = timeseries.Options.from_json(panel["options"])
        assert changed_paths(panel["options"], to_json(options)) == [], panel["title"]
        for target in panel["targets"]:
            assert changed_paths(target, to_json(prometheus.Dataquery.from_json(target))) == [], panel[
                "title"
            ]


def test_a_field_unknown_to_grafana_is_detected() -> None:
    dashboard_with_mistake = json.loads(json.dumps(DASHBOARD))
    dashboard_with_mistake["panels"][0]["gridPos"]["width"] = 12
    assert changed_paths(
        dashboard_with_mistake, to_json(dashboard.Dashboard.from_json(dashboard_with_mistake))
    ) == [".panels[0].gridPos.width"]


def to_json(value: object) -> Any:
    return json.loads(JSONEncoder(sort_keys=True).encode(value))


def changed_paths(original: Any, rewritten: Any, path: str = "") -> list[str]:
    """Return the paths at which a rewritten value differs from the original."""
    if is_object(original) and is_object(rewritten):
        return [
            member_path
            for key, value in original.items()
            for member_path in (
                changed_paths(value, rewritten[key], f"{path}.{key}")
                if key in rewritten
                else [f"{path}.{key}"]
            )
        ]
    if is_list(original) and is_list(rewritten):
        pairs = enumerate(zip(original, rewritten, strict=True))
        return [
            member_path
            for index, (item, rewritten_item) in pairs
            for member_path in changed_paths(item, rewritten_item, f"{path}[{index}]")
        ]
    return [] if original == rewritten else [path]
