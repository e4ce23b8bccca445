"""Invalid objects of built-in kinds are refused as by a real server.

invalid_objects.json contains 374 objects with the responses of a kube-apiserver 1.36.3 to each as a dry run:
the status, the reason and the fields of the causes. The few objects with another response are listed by name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from raw_client import RawClient

VALID: Final[list[Any]] = json.loads(Path(__file__).with_name("minimal_objects.json").read_text())
RECORDED: Final[list[Any]] = json.loads(Path(__file__).with_name("invalid_objects.json").read_text())
OTHERWISE: Final = frozenset((
    # The port is reported by the table and by the backend without a port.
    ("ingresses.networking.k8s.io", "spec.defaultBackend.service.port.number=0"),
))  # fmt: skip


def summarize_refusal(client: RawClient, target: str, obj: dict[str, Any]) -> list[Any]:
    """Return the status, the reason and the fields of a refusal."""
    status: dict[str, Any] = client.fetch("POST", f"{target}?dryRun=All", obj)
    if client.status < 300:
        return [client.status, "", []]
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
def test_a_security_profile_names_a_file_only_if_it_is_a_file(
    profile: str, value: dict[str, str], refused: list[str]
) -> None:
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "securityContext": {profile: value}},
    }  # fmt: skip
    _, _, fields = summarize_refusal(RawClient(), "/api/v1/namespaces/default/pods", pod)
    assert [field.rpartition(".")[2] for field in fields] == refused


def test_invalid_objects_are_refused_as_by_a_real_server() -> None:
    client = RawClient()
    wrong = {
        (kind, label)
        for kind, label, target, obj, expected in RECORDED
        if summarize_refusal(client, target, obj) != expected
    }
    assert len(RECORDED) >= 200
    assert wrong == OTHERWISE


def test_objects_are_refused_whatever_objects_were_accepted_before() -> None:
    client = RawClient()
    for target, obj, *_ in VALID:
        client.send("POST", f"{target}?dryRun=All", obj)
    for kind, label, target, obj, expected in [*reversed(RECORDED), *RECORDED]:
        assert summarize_refusal(client, target, obj) == expected or (kind, label) in OTHERWISE


@pytest.mark.parametrize(("name", "code"), [("a" * 52, 201), ("a" * 53, 422)])
def test_a_name_can_be_too_long_for_a_cron_job_whose_spec_is_cached(name: str, code: int) -> None:
    client = RawClient()
    pod = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    for job_name, expected in (("a", 201), (name, code)):
        job = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": job_name}, "spec": spec}
        assert client.send("POST", "/apis/batch/v1/namespaces/default/cronjobs", job).status == expected


def test_the_number_of_cached_specs_is_limited() -> None:
    client = RawClient()
    client.watch("/api/v1/pods")
    [opened] = client.cluster.watches
    remembered = opened.viewer.served.valid_specs
    for number in range(1030):
        spec = {"containers": [{"name": "c", "image": str(number)}]}
        client.create("/api/v1/namespaces/default/pods", {"metadata": {"name": f"a{number}"}, "spec": spec})
        assert 0 < len(remembered) <= 1024
