"""The Hello operator as a process, driven by kubectl, on the served simulator and on a real server."""

from __future__ import annotations

import urllib.request
from collections.abc import Generator
from pathlib import Path

import pytest
import trustme
from killing import Operator, kill_and_check
from program_rig import Site

pytestmark = [pytest.mark.needs("kubectl"), pytest.mark.one_python]

PROGRAM = "hello/hello.py"
WORLD = """
apiVersion: fraim.co.jp/v1
kind: Hello
metadata: {name: world}
spec: {replicas: 2, text: "Hello, world!"}
"""


@pytest.fixture(scope="module")
def with_definition(cluster: Site) -> Generator[Site]:
    with cluster.with_kind(cluster.printed(PROGRAM, "--definition"), "hellos.fraim.co.jp") as site:
        yield site


def write_pod_status(site: Site, name: str) -> None:
    """Write the status of each pod of a Hello, as a kubelet would."""
    ready = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    for pod in site.kubectl(f"get pods -l app.kubernetes.io/instance={name} -o name").split():
        site.kubectl(f"patch {pod} --subresource=status --type=merge -p {ready}")


def test_the_life_of_a_hello(with_definition: Site, site: Site) -> None:
    with site.running(PROGRAM, "--port", "0", OTEL_TRACES_EXPORTER="console") as operator:
        port = operator.until(r"health and metrics on port (\d+)")[1]
        assert site.kubectl("apply -f -", WORLD) == "hello.fraim.co.jp/world created"
        site.wait("deployment/world", "create", "jsonpath={.status.unavailableReplicas}=2")
        site.wait("hello/world", "jsonpath={.status.conditions[0].reason}=Progressing")
        assert site.kubectl("get hello/world --no-headers").split()[:4] == [
            "world",
            "2",
            "False",
            "Progressing",
        ]
        path = "{.spec.template.spec.containers[0].args[0]}"
        assert site.kubectl(f"get deployment/world -o jsonpath={path}") == "-text=Hello, world!"
        assert (
            site.kubectl("get hello/world -o jsonpath={.metadata.finalizers}")
            == '["fraim.co.jp/hello-operator"]'
        )

        site.until("get pods -o name", r"(pod/world-\S+\n?){2}")
        write_pod_status(site, "world")
        site.wait("hello/world", "condition=Ready")
        assert site.kubectl("get hello/world -o jsonpath={.status.replicas}") == "2"

        assert site.kubectl("scale hello/world --replicas=5") == "hello.fraim.co.jp/world scaled"
        site.wait("deployment/world", "jsonpath={.spec.replicas}=5")
        site.kubectl("scale deployment/world --replicas=1")  # changes of other writers are reverted
        site.wait("deployment/world", "jsonpath={.spec.replicas}=5")
        site.kubectl("delete deployment/world")
        site.wait("deployment/world", "create", "jsonpath={.spec.replicas}=5")
        too_many = site.failing_kubectl('patch hello/world --type=merge -p {"spec":{"replicas":21}}')
        assert too_many == (
            'The Hello "world" is invalid: spec.replicas: Invalid value: 21: '
            "spec.replicas in body should be less than or equal to 20"
        )

        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as page:
            assert b"[-]" not in page.read()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            assert (
                'controller_runtime_reconcile_total{controller="hello",result="success"}'
                in page.read().decode()
            )

        other = '[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/other"}]'
        site.kubectl(f"patch hello/world --type=json -p {other}")
        site.kubectl("delete hello/world --wait=false")
        site.wait("hello/world", "jsonpath={.metadata.finalizers[*]}=example.com/other")
        site.wait("deployment/world", "delete")
        site.kubectl('patch hello/world --type=merge -p {"metadata":{"finalizers":null}}')
        site.wait("hello/world", "delete")
        site.until("get pods,replicasets -o name", "")
        site.until("get events --field-selector reason=Goodbye -o jsonpath={.items[0].type}", "Normal")

        assert operator.terminate() == 0
        operator.until("drained: every run has ended")
        operator.until('"name": "reconcile Hello"')
        assert site.kubectl("get lease/hello-operator -o jsonpath={.spec.holderIdentity}") == ""


def make_hello(name: str, replicas: int) -> str:
    head = f"apiVersion: fraim.co.jp/v1\nkind: Hello\nmetadata: {{name: {name}}}"
    return f"{head}\nspec: {{replicas: {replicas}}}\n"


@pytest.mark.thorough("four processes; tests/runtime/test_exploring.py tests crashes in process")
def test_a_hello_reaches_its_desired_state_after_three_kills(with_definition: Site, site: Site) -> None:
    kill_and_check(site, Operator(PROGRAM, "hello", make_hello), range(3))


def test_failures_are_reported_in_the_status_and_in_events(with_definition: Site, site: Site) -> None:
    site.kubectl("create deployment taken --image=theirs:1 --replicas=0")
    with site.running(PROGRAM):
        site.kubectl("apply -f -", make_hello("taken", 1))
        site.wait("hello/taken", "jsonpath={.status.conditions[0].reason}=NameTaken")
        site.kubectl("delete hello/taken")  # the Deployment is unchanged
        image = "{.spec.template.spec.containers[0].image}"
        assert site.kubectl(f"get deployment/taken -o jsonpath={image}") == "theirs:1"
        site.kubectl("create quota none --hard=count/deployments.apps=1")
        site.wait("quota/none", "jsonpath={.status.used.count/deployments\\.apps}=1")
        site.kubectl("apply -f -", make_hello("beyond", 1))
        # At first the server may refuse because the usage of the quota is not known yet.
        site.until(
            "get events --field-selector reason=Refused -o jsonpath={.items[*].message}",
            ".*exceeded quota: none, requested: count/deployments.apps=1.*",
        )
        site.kubectl("delete hello/beyond")


@pytest.mark.thorough("a second definition, and a dozen calls of kubectl")
def test_an_invalid_object_of_an_older_definition_is_reported_and_can_be_deleted(
    with_definition: Site, site: Site
) -> None:
    definition = with_definition.printed(PROGRAM, "--definition")
    assert "maximum: 20" in definition
    with_definition.kubectl("apply -f -", definition.replace("maximum: 20", "maximum: 100"))
    # A server validates with the old definition for a moment.
    site.kubectl("apply -f -", make_hello("crowd", 7))
    more = 'patch hello/crowd --type=json -p [{"op":"add","path":"/metadata/finalizers","value":["%s"]},%s]'
    many = '{"op":"replace","path":"/spec/replicas","value":50}'
    site.until(more % ("fraim.co.jp/hello-operator", many), "hello.fraim.co.jp/crowd patched")
    with_definition.kubectl("apply -f -", definition)
    with site.running(PROGRAM):
        fields = "{.items[0]['type','involvedObject.name','message']}"
        output = site.until(
            f"get events --field-selector reason=InvalidSpec -o jsonpath={fields}", "Warning .+"
        )
        reference = f"Hello {site.namespace}/crowd"
        assert output == f"Warning crowd {reference}: Expected `int` <= 20 - at `$.spec.replicas`"
        assert site.kubectl("describe hello/crowd").count("InvalidSpec") == 1
        assert site.kubectl("get deployments -o name") == ""
        site.kubectl("delete hello/crowd")


OLD = """
apiVersion: fraim.co.jp/v1alpha1
kind: Hello
metadata: {name: old}
spec: {size: 3}
"""


def test_the_webhooks_of_hello_default_refuse_and_convert(
    with_definition: Site, site: Site, tmp_path: Path
) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    (tmp_path / "tls.crt").write_bytes(b"".join(part.bytes() for part in certificate.cert_chain_pems))
    (tmp_path / "tls.key").write_bytes(certificate.private_key_pem.bytes())
    (tmp_path / "ca.crt").write_bytes(authority.cert_pem.bytes())
    with site.running(PROGRAM, "--certificates", str(tmp_path), "--webhook-port", "0") as operator:
        url = f"https://127.0.0.1:{operator.until(r'serving .*/validate/.* on port ([0-9]+)')[1]}"
        webhook_options = ("--webhooks-url", url, "--webhooks-ca", str(tmp_path / "ca.crt"))
        configured = with_definition.printed(PROGRAM, "--definition", *webhook_options)
        try:
            with_definition.kubectl("apply -f -", configured)
            # A server needs some time until it calls new webhooks, for each kind separately.
            site.until(
                "create --dry-run=server -o jsonpath={.spec.text} -f -",
                "Warning: Hello quiet has no replicas: .*Hello from quiet!",
                make_hello("quiet", 0),
            )
            output = site.kubectl("apply -f -", make_hello("quiet", 0))
            assert output.startswith("Warning: Hello quiet has no replicas: nobody will say hello")
            site.wait("deployment/quiet", "create")
            refusal = site.failing_kubectl('patch hello/quiet --type=merge -p {"spec":{"text":"~"}}')
            assert refusal.endswith(
                'The Hello "quiet" is invalid: spec.text: Invalid value: " ": it cannot be read'
            )
            long = "a" * 64
            assert "a Hello's name is a label too" in site.failing_kubectl("create -f -", make_hello(long, 1))
            check_conversion(site)
            site.kubectl("delete hello --all")
        finally:
            configurations = "validatingwebhookconfiguration,mutatingwebhookconfiguration"
            with_definition.kubectl(f"delete {configurations} hello-operator")
        assert operator.terminate() == 0


@pytest.mark.thorough("a process for what the image runs")
def test_hello_in_a_cluster_issues_the_certificate_of_its_webhooks(with_definition: Site, site: Site) -> None:
    with site.running(PROGRAM, "--in-cluster", "--port", "0", "--webhook-port", "0") as operator:
        operator.until(r"serving .*/validate/.* on port [0-9]+")
        secret = "get secret/hello-operator-webhooks -o jsonpath={.type}"
        assert site.kubectl(secret) == "kubernetes.io/tls"
        # The authority is added to these once they exist.
        operator.until("ValidatingWebhookConfiguration hello-operator-hellos.* does not exist")
        assert operator.terminate() == 0
        assert "PRIVATE" not in operator.printed


def check_conversion(site: Site) -> None:
    """Check that an object is written and read in different versions."""
    site.until("apply -f -", ".*hello.fraim.co.jp/old (created|unchanged)", OLD)
    fields = "{.apiVersion}/{.spec.replicas}/{.spec.text}"
    new = site.kubectl(f"get hellos.v1.fraim.co.jp/old -o jsonpath={fields}")
    assert new == "fraim.co.jp/v1/3/Hello from old!"
    fields = "{.apiVersion}/{.spec.size}/{.spec.text}"
    old = site.kubectl(f"get hellos.v1alpha1.fraim.co.jp/old -o jsonpath={fields}")
    assert old.startswith("Warning: fraim.co.jp/v1alpha1 Hello is deprecated: use fraim.co.jp/v1")
    assert old.endswith("fraim.co.jp/v1alpha1/3/Hello from old!")
    site.wait("deployment/old", "create", "jsonpath={.spec.replicas}=3")
