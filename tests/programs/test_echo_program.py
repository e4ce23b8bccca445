"""The Echo operator as a process, driven by kubectl, on the served simulator and on a real server."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Generator

import pytest
from killing import Operator, kill_and_check
from program_rig import Site

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

PROGRAM = "echo/echo.py"


@pytest.fixture(scope="module")
def with_definition(cluster: Site) -> Generator[Site]:
    with cluster.with_kind(cluster.printed(PROGRAM, "--definition"), "echoes.example.com") as site:
        yield site


def make_echo(name: str, replicas: int) -> str:
    head = f"apiVersion: example.com/v1\nkind: Echo\nmetadata: {{name: {name}}}"
    return f"{head}\nspec: {{replicas: {replicas}}}\n"


@pytest.mark.thorough("two processes; tests/runtime/test_leading.py tests the same in process")
def test_the_second_replica_takes_over_when_the_leader_stops(with_definition: Site, site: Site) -> None:
    holder = "get lease/echo-operator -o jsonpath={.spec.holderIdentity}"
    with site.running(PROGRAM, "--port", "0", POD_NAME="echo-0") as first:
        assert site.kubectl("apply -f -", make_echo("canyon", 2)) == "echo.example.com/canyon created"
        site.wait("deployment/canyon", "create", "jsonpath={.status.unavailableReplicas}=2")
        assert site.kubectl(holder) == "echo-0"
        with site.running(PROGRAM, "--port", "0", POD_NAME="echo-1") as second:
            pages = {
                name: f"http://127.0.0.1:{program.until(r'health and metrics on port ([0-9]+)')[1]}"
                for name, program in (("echo-0", first), ("echo-1", second))
            }
            second.until("the cache of echoes.example.com/v1 synced")
            lease = f'leader_election_master_status{{name="{site.namespace}/echo-operator"}}'
            assert f"{lease} 1" in read(f"{pages['echo-0']}/metrics")
            assert f"{lease} 0" in read(f"{pages['echo-1']}/metrics")
            assert "[-]" not in read(f"{pages['echo-0']}/healthz")
            assert first.terminate() == 0
            first.until("drained: every run has ended")
            site.until(holder, "echo-1")  # at once: the lease was released
            site.kubectl('patch echo/canyon --type=merge -p {"spec":{"replicas":3}}')
            site.wait("deployment/canyon", "jsonpath={.spec.replicas}=3")
            site.kubectl("delete echo/canyon")
            assert site.kubectl("get deployments -o name") == ""
            assert second.terminate() == 0
    assert json.loads(site.kubectl("get lease/echo-operator -o json"))["spec"]["holderIdentity"] == ""


def read(url: str) -> str:
    with urllib.request.urlopen(url) as page:
        return str(page.read().decode())


@pytest.mark.thorough("the same is done to the Hello operator")
def test_every_echo_has_its_deployment_after_three_kills(with_definition: Site, site: Site) -> None:
    kill_and_check(site, Operator(PROGRAM, "echo", make_echo), range(3))
