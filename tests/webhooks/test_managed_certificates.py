"""Certificates that the leader issues: the first certificate, renewals for years, and constant trust."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from webhook_rig import Book, Spec, make_webhooks

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import Connection
from kubeproto.control import certificates as c
from kubeproto.kinds.admissionregistration_v1 import MutatingWebhookConfiguration
from kubeproto.kinds.core_v1 import Secret
from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client, Operator
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated
from kubeproto_runtime.webhooks import ManagedCertificates, WebhookAddress, WebhookServer
from kubeproto_runtime.webhooks._issued_certificates import apply_decision, authority_ids, read_chain
from kubeproto_serve import serve

ADDRESS = WebhookAddress(namespace="default", service="hooks")
SHORT = c.Lifetimes(authority=20_000.0, leaf=3_000.0, overlap=4_000.0, propagation=300.0)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend_name: Backend = request.param
    return backend_name


# Thousands of virtual seconds with a check of each certificate; the other tests run on both event loops.
ONE_LOOP = pytest.mark.parametrize(
    "backend",
    ["asyncio", pytest.param("trio", marks=pytest.mark.thorough("the same on the other event loop"))],
)
LEADER = "system:serviceaccount:default:leader"
PERMISSIONS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: leader, namespace: default}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch, create, update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: leader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: leader}
subjects: [{kind: ServiceAccount, name: leader, namespace: default}]
"""
CLUSTER_PERMISSIONS = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: leader}}
rules:
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [books]
  verbs: [get, list, watch, patch]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [{Book.resource.plural}.{Book.resource.group}]
  verbs: [get, list, watch, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: leader}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: leader}}
subjects: [{{kind: ServiceAccount, name: leader, namespace: default}}]
"""


def make_cluster(permissions: str = "") -> tuple[sim.Cluster, list[kp.KubeObject]]:
    """Return a cluster whose webhook configurations lack a CA bundle, and the shipped configurations."""
    application = make_webhooks()
    shipped = application.manifests("books", ADDRESS)[::-1]  # the definition last
    cluster = sim.Cluster(
        crds=[application.definition(ADDRESS)], authorization="RBAC" if permissions else "AlwaysAllow"
    )
    for role in kp.parse_manifest(permissions):
        cluster.put(role)
    for shipped_obj in shipped[:-1]:
        cluster.put(shipped_obj)
    return cluster, shipped


def bundles(cluster: sim.Cluster, shipped: list[kp.KubeObject]) -> list[frozenset[str]]:
    """Return the ids of the trusted authorities in each webhook of the configurations."""
    id_sets: list[frozenset[str]] = []
    for shipped_obj in shipped:
        obj: Any = cluster.get(type(shipped_obj), shipped_obj.metadata.name)
        if "webhooks" in obj:
            clients = [webhook["clientConfig"] for webhook in obj["webhooks"]]
        else:
            clients = [obj["spec"]["conversion"]["webhook"]["clientConfig"]]
        id_sets += [authority_ids(base64.b64decode(client.get("caBundle", ""))) for client in clients]
    return id_sets


@ONE_LOOP
def test_a_certificate_is_issued_renewed_and_always_trusted(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def main() -> None:
        cluster, shipped = make_cluster()
        leaves, authorities, max_authorities = set[float](), set[str](), 0
        async with simulated(cluster) as client:
            managed = ManagedCertificates(
                client, ADDRESS, secret="hooks", configurations=shipped, lifetimes=SHORT
            )
            with pytest.raises(OSError, match="no certificate in the Secret default/hooks"):
                managed.context()
            client.start(managed.run())
            client.start(managed.renew())
            await anyio.sleep(60)
            for _ in range(500):
                await anyio.sleep(97)
                secret = await client.api(Secret).get("hooks")
                chain = read_chain(secret.data)
                assert chain is not None
                assert chain.leaf.hosts == frozenset(ADDRESS.hosts)
                assert chain.leaf.not_after > timestamp_of(client)
                assert all(chain.leaf.issuer in ids for ids in bundles(cluster, shipped))
                leaves.add(chain.leaf.not_before)
                authorities |= {authority.id for authority in chain.authorities}
                max_authorities = max(max_authorities, len(chain.authorities))
            managed.context()
        assert (len(authorities), max_authorities) == (4, 2)
        assert len(leaves) > 20

    run(main, backend=backend)
    assert "PRIVATE" not in caplog.text


def test_a_server_calls_an_operator_that_issues_its_certificate(backend: Backend) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster()
        async with simulated(cluster) as inside:
            client = Client(inside.transport)  # with the clock of the machine, which TLS uses
            managed = ManagedCertificates(client, ADDRESS, secret="hooks", configurations=shipped)
            server = WebhookServer(make_webhooks(), managed, port=0, host="127.0.0.1")
            operator = Operator(webhooks=server, grace=0)
            with anyio.fail_after(30):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run)
                    mutating = client.api(MutatingWebhookConfiguration)
                    await mutating.wait_for("books", has_bundle)
                    while not operator.ready()[0]:
                        await anyio.lowlevel.checkpoint()
                    hooks = {"default/hooks": f"127.0.0.1:{server.port}"}
                    async with (
                        serve(cluster, webhooks=hooks) as url,
                        HttpxTransport(Connection(server=str(url))) as transport,
                    ):
                        moby = Book(metadata=kp.ObjectMeta(name="moby"), spec=Spec(title="Moby-Dick"))
                        assert (await Client(transport).create(moby)).spec.pages == 1
                    operator.stop()

    anyio.run(main, backend=backend)


def has_bundle(configuration: MutatingWebhookConfiguration) -> bool:
    return all(webhook.client_config.ca_bundle for webhook in configuration.webhooks or [])


Data = dict[str, bytes]
# Functions that derive unusable data from the data of two valid Secrets.
UNUSABLE: dict[str, Callable[[Data, Data], Data]] = {
    "garbage": lambda valid_data, other_data: {"tls.crt": b"garbage", "tls.key": b"x"},
    "the key of another certificate": lambda valid_data, other_data: {
        **valid_data,
        "tls.key": other_data["tls.key"],
    },
    "the key of another authority": lambda valid_data, other_data: {
        **valid_data,
        "ca.key": other_data["ca.key"],
    },
    "another authority": lambda valid_data, other_data: {
        **valid_data,
        "ca.crt": valid_data["ca.crt"] + other_data["ca.crt"],
    },
    "an empty bundle": lambda valid_data, other_data: {**valid_data, "ca.crt": b""},
}


@pytest.mark.parametrize("make_unusable", UNUSABLE.values(), ids=list(UNUSABLE))
def test_an_unusable_secret_is_replaced(
    backend: Backend, make_unusable: Callable[[Data, Data], Data], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto.webhooks")

    async def main() -> None:
        cluster, shipped = make_cluster()
        async with simulated(cluster) as client:
            meta = kp.ObjectMeta(name="hooks", namespace="default")
            valid_data, other_data = (
                apply_decision(c.Begin(), None, ADDRESS.hosts, timestamp_of(client), c.Lifetimes())
                for _ in range(2)
            )
            await client.create(Secret(metadata=meta, data=make_unusable(valid_data, other_data)))
            managed = ManagedCertificates(client, ADDRESS, secret="hooks", configurations=shipped)
            client.start(managed.run())
            client.start(managed.renew())
            await anyio.sleep(60)
            managed.context()
            chain = read_chain((await client.api(Secret).get("hooks")).data)
            assert chain is not None
            assert [authority.id for authority in chain.authorities] == [chain.leaf.issuer]
            assert caplog.text.count("the certificate of the webhooks: ") == 1
            await client.api(Secret).delete("hooks")
            await anyio.sleep(5)
            assert cluster.get(Secret, "hooks") is not None

    run(main, backend=backend)


def timestamp_of(client: Client) -> float:
    return client.wall_clock().timestamp()


@ONE_LOOP
def test_certificates_of_a_leader_whose_clock_was_ahead_are_replaced(backend: Backend) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster()
        async with simulated(cluster) as client:
            meta = kp.ObjectMeta(name="hooks", namespace="default")
            tomorrow = timestamp_of(client) + 86_400.0
            future_data = apply_decision(c.Begin(), None, ADDRESS.hosts, tomorrow, c.Lifetimes())
            await client.create(Secret(metadata=meta, data=future_data))
            managed = ManagedCertificates(client, ADDRESS, secret="hooks", configurations=shipped)
            client.start(managed.renew())
            await anyio.sleep(60)
            chain = read_chain((await client.api(Secret).get("hooks")).data)
            assert chain is not None
            assert chain.leaf.not_before <= timestamp_of(client)
            assert all(chain.leaf.issuer in ids for ids in bundles(cluster, shipped))

    run(main, backend=backend)


@ONE_LOOP
def test_a_leader_that_leads_again_does_not_know_which_authorities_were_published_meanwhile(
    backend: Backend,
) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster()
        async with simulated(cluster) as client:

            def candidate() -> ManagedCertificates:
                return ManagedCertificates(
                    client, ADDRESS, secret="hooks", configurations=shipped, lifetimes=SHORT
                )

            async def chain() -> c.Chain:
                current_chain = read_chain((await client.api(Secret).get("hooks")).data)
                assert current_chain is not None
                return current_chain

            first = candidate()
            async with anyio.create_task_group() as term:
                term.start_soon(first.renew)
                await anyio.sleep(60)
                while len((await chain()).authorities) < 2:
                    await anyio.sleep(50)
                await anyio.sleep(50)
                term.cancel_scope.cancel()
            await anyio.sleep(SHORT.propagation)
            cluster.put(shipped[0])  # without a bundle
            async with anyio.create_task_group() as term:
                term.start_soon(candidate().renew)
                await anyio.sleep(10)
                term.cancel_scope.cancel()
            assert len(set(bundles(cluster, shipped))) == 1
            client.start(first.renew())
            await anyio.sleep(SHORT.propagation - 30)
            oldest, newest = (await chain()).authorities
            assert (await chain()).leaf.issuer == oldest.id
            await anyio.sleep(60)
            assert (await chain()).leaf.issuer == newest.id

    run(main, backend=backend)


def test_a_new_or_overwritten_configuration_gets_the_bundle(backend: Backend) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster()
        cluster.remove(type(shipped[0]), shipped[0].metadata.name)
        async with simulated(cluster) as client:
            managed = ManagedCertificates(client, ADDRESS, secret="hooks", configurations=shipped)
            client.start(managed.renew())
            await anyio.sleep(60)
            assert all(bundles(cluster, shipped[1:]))
            cluster.put(shipped[0])
            cluster.put(shipped[1])  # like a user who applies manifests without a bundle
            assert not any(bundles(cluster, shipped[:2]))
            await anyio.sleep(5)
            assert all(bundles(cluster, shipped))

    run(main, backend=backend)


@ONE_LOOP
def test_the_documented_permissions_are_sufficient(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster(PERMISSIONS + "---" + CLUSTER_PERMISSIONS)
        async with simulated(cluster, user=LEADER) as client:
            managed = ManagedCertificates(
                client, ADDRESS, secret="hooks", configurations=shipped, lifetimes=SHORT
            )
            client.start(managed.run())
            client.start(managed.renew())
            await anyio.sleep(SHORT.authority)
            managed.context()
        assert all(bundles(cluster, shipped))

    run(main, backend=backend)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@ONE_LOOP
def test_a_certificate_is_renewed_even_if_a_bundle_cannot_be_written(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster(PERMISSIONS)
        async with simulated(cluster, user=LEADER) as client:
            managed = ManagedCertificates(
                client, ADDRESS, secret="hooks", configurations=shipped, lifetimes=SHORT
            )
            client.start(managed.renew())
            await anyio.sleep(SHORT.leaf * 2.5)
            chain = read_chain((await client.api(Secret).get("hooks")).data)
            assert chain is not None
            assert chain.leaf.not_after > timestamp_of(client)

    run(main, backend=backend)
    assert "the bundle of authorities was not written to" in caplog.text


@ONE_LOOP
def test_an_authority_issues_nothing_before_all_bundles_have_it(backend: Backend) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster(PERMISSIONS + "---" + CLUSTER_PERMISSIONS)
        async with simulated(cluster, user=LEADER) as client:
            managed = ManagedCertificates(
                client, ADDRESS, secret="hooks", configurations=shipped, lifetimes=SHORT
            )
            client.start(managed.renew())
            await anyio.sleep(60)
            binding = "rbac.authorization.k8s.io/v1/ClusterRoleBinding"
            cluster.remove(binding, "leader", "")
            await anyio.sleep(SHORT.authority - SHORT.overlap + 3 * SHORT.propagation)
            chain = read_chain((await client.api(Secret).get("hooks")).data)
            assert chain is not None
            assert len(chain.authorities) == 2
            assert all(chain.leaf.issuer in ids for ids in bundles(cluster, shipped))

    run(main, backend=backend)


def test_a_certificate_expires_no_later_than_its_authority() -> None:
    issued_data = apply_decision(c.Begin(), None, ADDRESS.hosts, 0.0, SHORT)
    issue_time = SHORT.authority - 100.0
    chain = read_chain(apply_decision(c.Issue(), issued_data, ADDRESS.hosts, issue_time, SHORT))
    assert chain is not None
    assert (chain.leaf.not_before, chain.leaf.not_after) == (issue_time, SHORT.authority)
    assert chain.leaf.issuer == chain.authorities[-1].id


def test_a_leader_without_write_permission_logs_the_error_and_retries(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster, shipped = make_cluster(PERMISSIONS.replace(", create, update", ""))
        async with simulated(cluster, user=LEADER) as client:
            managed = ManagedCertificates(client, ADDRESS, secret="hooks", configurations=shipped)
            client.start(managed.renew())
            await anyio.sleep(60)
            assert cluster.get(Secret, "hooks") is None
            for role in kp.parse_manifest(PERMISSIONS):
                cluster.put(role)
            await anyio.sleep(60)
            assert cluster.get(Secret, "hooks") is not None

    run(main, backend=backend)
    assert "could not be checked: POST" in caplog.text
