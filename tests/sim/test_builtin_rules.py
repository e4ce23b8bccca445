"""Invalid objects of built-in kinds are refused as a real server was seen to refuse them.

invalid_objects.json holds 374 of them with what a kube-apiserver 1.36.3 answered to each as a dry run: the
status, the reason and the fields of the causes. The few that come out in another way are listed by name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from asking import Asker

RECORDED: Final[list[Any]] = json.loads(Path(__file__).with_name("invalid_objects.json").read_text())
OTHERWISE: Final = frozenset((
    # The port is checked by the table and by the backend that has none.
    ("ingresses.networking.k8s.io", "spec.defaultBackend.service.port.number=0"),
))  # fmt: skip


def seen(asker: Asker, target: str, obj: dict[str, Any]) -> list[Any]:
    """The status, the reason and the fields of a refusal."""
    status: dict[str, Any] = asker.ask("POST", f"{target}?dryRun=All", obj)
    if asker.status < 300:
        return [asker.status, "", []]
    details: dict[str, Any] = status.get("details") or {}
    causes: list[dict[str, str]] = details.get("causes") or []
    return [status["code"], status.get("reason", ""), sorted({cause.get("field", "") for cause in causes})]


@pytest.mark.parametrize("profile", ["seccompProfile", "appArmorProfile"])
@pytest.mark.parametrize(
    ("value", "refused"),
    [
        ({"type": "RuntimeDefault"}, []),
        ({"type": "Localhost", "localhostProfile": "a.json"}, []),
        ({"type": "Localhost"}, ["localhostProfile"]),
    ],
)
def test_a_security_profile_names_a_file_only_if_it_is_one(
    profile: str, value: dict[str, str], refused: list[str]
) -> None:
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "securityContext": {profile: value}},
    }  # fmt: skip
    _, _, fields = seen(Asker(), "/api/v1/namespaces/default/pods", pod)
    assert [field.rpartition(".")[2] for field in fields] == refused


def test_invalid_objects_are_refused_as_by_a_real_server() -> None:
    asker = Asker()
    wrong = {
        (kind, label) for kind, label, target, obj, wanted in RECORDED if seen(asker, target, obj) != wanted
    }
    assert len(RECORDED) >= 200
    assert wrong == OTHERWISE
