"""The dashboard and the alerts in docs/monitoring ask for metrics and labels that an operator has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final, cast

import promql_parser
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard, prometheus, timeseries
from prometheus_client.parser import text_string_to_metric_families

from kubeproto.control import OwnWrites, WorkQueue
from kubeproto_runtime.reconciling._metrics import ControllerStats, ReconcileStats, exposition
from kubeproto_runtime.webhooks import WebhookStats

FOLDER: Final = Path(__file__).parents[2] / "docs" / "monitoring"
DASHBOARD: Final[dict[str, Any]] = json.loads((FOLDER / "dashboard.json").read_text())
RULES: Final[list[dict[str, Any]]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0][
    "rules"
]


def exposed() -> dict[str, set[str]]:
    """Each sample that an operator exposes, with its labels."""
    stats = ControllerStats("book", 1, 0, ReconcileStats(), WorkQueue[str]().metrics(0.0), OwnWrites())
    calls = {"/validate/books": WebhookStats()}
    text = exposition([stats], {("200", "GET", "host"): 1}, {"lease": True}, calls, (1, 0))
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


EXPOSED: Final = exposed()


def parsed(expression: str) -> promql_parser.Expr:
    """The expression as Prometheus reads it; Grafana fills in the interval before it sends it."""
    return promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def asked_for(expression: str) -> tuple[set[str], set[str]]:
    """The metrics and the labels that an expression names."""
    metrics, labels = set[str](), set[str]()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            metrics.add(str(node.name))
            labels.update(matcher.name for matcher in node.matchers.matchers)
        elif isinstance(node, promql_parser.MatrixSelector):
            visit(node.vector_selector)
        elif isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            labels.update(node.modifier.labels)

    promql_parser.walk(parsed(expression), pre_visit=visit)
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
    "expression",
    ["sum(a", "sum)a(", 'rate(a{b="c")[5m]}', "sum a", "a ~ b", 'a{b="c}', "rate(a)"],
)
def test_an_expression_that_prometheus_would_refuse_is_found(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(expression)


def test_the_dashboard_has_the_fields_of_grafanas_schema_and_no_others() -> None:
    """What a class of Grafana's own does not know is lost when it reads a dashboard and writes it again."""
    assert lost(DASHBOARD, written(dashboard.Dashboard.from_json(DASHBOARD))) == []
    for panel in DASHBOARD["panels"]:
        assert panel["type"] == "timeseries"
        options = timeseries.Options.from_json(panel["options"])
        assert lost(panel["options"], written(options)) == [], panel["title"]
        for target in panel["targets"]:
            assert lost(target, written(prometheus.Dataquery.from_json(target))) == [], panel["title"]


def test_a_field_that_grafana_does_not_know_is_found() -> None:
    wrong = json.loads(json.dumps(DASHBOARD))
    wrong["panels"][0]["gridPos"]["width"] = 12
    assert lost(wrong, written(dashboard.Dashboard.from_json(wrong))) == [".panels[0].gridPos.width"]


def written(value: object) -> Any:
    return json.loads(JSONEncoder(sort_keys=True).encode(value))


def lost(before: Any, after: Any, path: str = "") -> list[str]:
    """Where a value has something that another one has not, or has otherwise."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            place
            for key, value in cast("dict[str, Any]", before).items()
            for place in (lost(value, after[key], f"{path}.{key}") if key in after else [f"{path}.{key}"])
        ]
    if isinstance(before, list) and isinstance(after, list):
        pairs = enumerate(zip(cast("list[Any]", before), cast("list[Any]", after), strict=True))
        return [place for index, (one, other) in pairs for place in lost(one, other, f"{path}[{index}]")]
    return [] if before == after else [path]


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
