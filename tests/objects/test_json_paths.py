"""`JsonPath` finds what kubectl finds; tests/cli compares the two on real output."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import JsonPath

POD: Final[dict[str, Any]] = {
    "metadata": {"name": "web", "labels": {"app.kubernetes.io/name": "web", "tier": "front"}},
    "spec": {
        "containers": [
            {"name": "a", "image": "one:1", "ports": [{"port": 80}, {"port": 443}]},
            {"name": "b", "image": "two:2", "restarts": 3},
            {"name": "c", "image": "three:3", "restarts": 7},
        ]
    },
    "status": {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Scheduled", "status": "False"}],
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("{.status.phase}", ["Running"]),
        (".status.phase", ["Running"]),
        ("status.phase", ["Running"]),
        ("{$.status.phase}", ["Running"]),
        ("{.}", [POD]),
        (".missing.deeper", []),
        (".spec.containers[0].image", ["one:1"]),
        (".spec.containers[-1].name", ["c"]),
        (".spec.containers[9].name", []),
        (".spec.containers[*].name", ["a", "b", "c"]),
        (".spec.containers[0,2].name", ["a", "c"]),
        (".spec.containers[1:].name", ["b", "c"]),
        (".spec.containers[:2].name", ["a", "b"]),
        (".spec.containers[::2].name", ["a", "c"]),
        (".spec.containers[*]['name','image']", ["a", "one:1", "b", "two:2", "c", "three:3"]),
        (r".metadata.labels.app\.kubernetes\.io/name", ["web"]),
        (".metadata.labels['app.kubernetes.io/name']", ["web"]),
        (".metadata.labels.*", ["web", "front"]),
        ("..port", [80, 443]),
        ("..ports[0].port", [80]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        ("{.status.conditions[?(@.type!='Ready')].type}", ["Scheduled"]),
        (".spec.containers[?(@.restarts>3)].name", ["c"]),
        (".spec.containers[?(@.restarts>=3)].name", ["b", "c"]),
        (".spec.containers[?(@.restarts)].name", ["b", "c"]),
        (".spec.containers[?(@.image<3)].name", []),
        (".status.phase.deeper", []),
        (".status.phase[0]", []),
    ],
)
def test_a_path_finds_all_matching_values(path: str, expected: list[Any]) -> None:
    assert JsonPath.parse(path).find(POD) == expected


@pytest.mark.parametrize(
    "path", [".a[", ".a[x]", ".a[?(x)]", ".a b", ".a..", ".a[?(@.b==c)]", "...a", ".a{b}", "x" * 5000]
)
def test_the_error_for_an_invalid_path_quotes_it(path: str) -> None:
    with pytest.raises(ValueError, match=r"JSONPath|filter|quoted string|longer"):
        JsonPath.parse(path)


@given(st.text(alphabet=".[]{}()*?@='\"a1:,\\- <>", max_size=40))
def test_any_text_is_a_path_or_a_value_error(text: str) -> None:
    try:
        path = JsonPath.parse(text)
    except ValueError:
        return
    assert isinstance(path.find(POD), list)
