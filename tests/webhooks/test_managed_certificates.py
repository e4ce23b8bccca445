"""Certificates that the leader makes: from nothing to a call, renewed for years, and never distrusted."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from webhook_rig import Book, Spec, webhooks

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
from kubeproto_runtime.webhooks._issued_certificates import ids_in, perform, read_chain
from kubeproto_serve import serve

WHERE = WebhookAddress(namespace="default", service="hooks")
SHORT = c.Lifetimes(authority=20_000.0, leaf=3_000.0, overlap=4_000.0, settle=300.0)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


# Thousands of seconds with a look at each certificate; the other tests are on both loops anyway.
ONE_LOOP = pytest.mark.parametrize(
    "backend", ["asyncio", pytest.param("trio", marks=pytest.mark.thorough("the same on the other loop"))]
)
LEADER = "system:serviceaccount:default:leader"
RIGHTS = """
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
MORE_RIGHTS = f"""
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


def configured(rights: str = "") -> tuple[sim.Cluster, list[kp.KubeObject]]:
    """A cluster in which webhooks are configured without a bundle, and what configures them."""
    application = webhooks()
    shipped = application.manifests("books", WHERE)[::-1]  # the definition last
    cluster = sim.Cluster(
        crds=[application.definition(WHERE)], authorization="RBAC" if rights else "AlwaysAllow"
    )
    for right in kp.parse_manifest(rights):
        cluster.put(right)
    for one in shipped[:-1]:
        cluster.put(one)
    return cluster, shipped


def bundles(cluster: sim.Cluster, shipped: list[kp.KubeObject]) -> list[frozenset[str]]:
    """The authorities in each place where a server looks."""
    found: list[frozenset[str]] = []
    for one in shipped:
        obj: Any = cluster.get(type(one), one.metadata.name)
        if "webhooks" in obj:
            clients = [webhook["clientConfig"] for webhook in obj["webhooks"]]
        else:
            clients = [obj["spec"]["conversion"]["webhook"]["clientConfig"]]
        found += [ids_in(base64.b64decode(client.get("caBundle", ""))) for client in clients]
    return found


@ONE_LOOP
def test_a_certificate_is_made_and_renewed_and_trusted_at_every_moment(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def main() -> None:
        cluster, shipped = configured()
        leaves, authorities, longest = set[float](), set[str](), 0
        async with simulated(cluster) as client:
            managed = ManagedCertificates(
                client, WHERE, secret="hooks", configurations=shipped, lifetimes=SHORT
            )
            with pytest.raises(OSError, match="no certificate in the Secret default/hooks"):
                managed.context()
            client.start(managed.run())
            client.start(managed.renew())
            await anyio.sleep(60)
            for _ in range(500):
                await anyio.sleep(97)
                held = await client.api(Secret).get("hooks")
                chain = read_chain(held.data)
                assert chain is not None
                assert chain.leaf.hosts == frozenset(WHERE.hosts)
                assert chain.leaf.not_after > now(client)
                assert all(chain.leaf.issuer in ids for ids in bundles(cluster, shipped))
                leaves.add(chain.leaf.not_before)
                authorities |= {one.id for one in chain.authorities}
                longest = max(longest, len(chain.authorities))
            managed.context()
        assert (len(authorities), longest) == (4, 2)
        assert len(leaves) > 20

    run(main, backend=backend)
    assert "PRIVATE" not in caplog.text


def test_an_operator_makes_its_certificate_and_a_server_calls_it(backend: Backend) -> None:
    async def main() -> None:
        cluster, shipped = configured()
        async with simulated(cluster) as inside:
            client = Client(inside.transport)  # on the clock of the machine, as TLS is
            managed = ManagedCertificates(client, WHERE, secret="hooks", configurations=shipped)
            server = WebhookServer(webhooks(), managed, port=0, host="127.0.0.1")
            operator = Operator(webhooks=server, grace=0)
            with anyio.fail_after(30):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run)
                    mutating = client.api(MutatingWebhookConfiguration)
                    await mutating.wait_for("books", lambda one: has_bundle(one))
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
# Of two Secrets with good certificates, one that nobody can use.
UNUSABLE: dict[str, Callable[[Data, Data], Data]] = {
    "garbage": lambda good, other: {"tls.crt": b"garbage", "tls.key": b"x"},
    "the key of another certificate": lambda good, other: {**good, "tls.key": other["tls.key"]},
    "the key of another authority": lambda good, other: {**good, "ca.key": other["ca.key"]},
    "another authority": lambda good, other: {**good, "ca.crt": good["ca.crt"] + other["ca.crt"]},
    "an empty bundle": lambda good, other: {**good, "ca.crt": b""},
}


@pytest.mark.parametrize("spoiled", UNUSABLE.values(), ids=list(UNUSABLE))
def test_what_cannot_be_used_is_made_anew(
    backend: Backend, spoiled: Callable[[Data, Data], Data], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto.webhooks")

    async def main() -> None:
        cluster, shipped = configured()
        async with simulated(cluster) as client:
            meta = kp.ObjectMeta(name="hooks", namespace="default")
            good, other = (
                perform(c.Begin(), None, WHERE.hosts, now(client), c.Lifetimes()) for _ in range(2)
            )
            await client.create(Secret(metadata=meta, data=spoiled(good, other)))
            managed = ManagedCertificates(client, WHERE, secret="hooks", configurations=shipped)
            client.start(managed.run())
            client.start(managed.renew())
            await anyio.sleep(60)
            managed.context()
            chain = read_chain((await client.api(Secret).get("hooks")).data)
            assert chain is not None
            assert [one.id for one in chain.authorities] == [chain.leaf.issuer]
            assert caplog.text.count("the certificate of the webhooks: ") == 1
            await client.api(Secret).delete("hooks")
            await anyio.sleep(5)
            assert cluster.get(Secret, "hooks") is not None

    run(main, backend=backend)


def now(client: Client) -> float:
    return client.wall_clock().timestamp()


@ONE_LOOP
def test_certificates_of_a_leader_whose_clock_was_ahead_are_replaced(backend: Backend) -> None:
    async def main() -> None:
        cluster, shipped = configured()
        async with simulated(cluster) as client:
            meta = kp.ObjectMeta(name="hooks", namespace="default")
            tomorrow = now(client) + 86_400.0
            early = perform(c.Begin(), None, WHERE.hosts, tomorrow, c.Lifetimes())
            await client.create(Secret(metadata=meta, data=early))
            managed = ManagedCertificates(client, WHERE, secret="hooks", configurations=shipped)
            client.start(managed.renew())
            await anyio.sleep(60)
            chain = read_chain((await client.api(Secret).get("hooks")).data)
            assert chain is not None
            assert chain.leaf.not_before <= now(client)
            assert all(chain.leaf.issuer in ids for ids in bundles(cluster, shipped))

    run(main, backend=backend)


def test_a_configuration_that_comes_later_or_loses_its_bundle_has_it_at_once(backend: Backend) -> None:
    async def main() -> None:
        cluster, shipped = configured()
        cluster.remove(type(shipped[0]), shipped[0].metadata.name)
        async with simulated(cluster) as client:
            managed = ManagedCertificates(client, WHERE, secret="hooks", configurations=shipped)
            client.start(managed.renew())
            await anyio.sleep(60)
            assert all(bundles(cluster, shipped[1:]))
            cluster.put(shipped[0])
            cluster.put(shipped[1])  # as by a user who applies manifests without a bundle
            assert not any(bundles(cluster, shipped[:2]))
            await anyio.sleep(5)
            assert all(bundles(cluster, shipped))

    run(main, backend=backend)


@ONE_LOOP
def test_the_rights_that_the_documentation_names_are_enough(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster, shipped = configured(RIGHTS + "---" + MORE_RIGHTS)
        async with simulated(cluster, user=LEADER) as client:
            managed = ManagedCertificates(
                client, WHERE, secret="hooks", configurations=shipped, lifetimes=SHORT
            )
            client.start(managed.run())
            client.start(managed.renew())
            await anyio.sleep(SHORT.authority)
            managed.context()
        assert all(bundles(cluster, shipped))

    run(main, backend=backend)
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


@ONE_LOOP
def test_a_certificate_is_renewed_although_a_bundle_cannot_be_written(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster, shipped = configured(RIGHTS)
        async with simulated(cluster, user=LEADER) as client:
            managed = ManagedCertificates(
                client, WHERE, secret="hooks", configurations=shipped, lifetimes=SHORT
            )
            client.start(managed.renew())
            await anyio.sleep(SHORT.leaf * 2.5)
            chain = read_chain((await client.api(Secret).get("hooks")).data)
            assert chain is not None
            assert chain.leaf.not_after > now(client)

    run(main, backend=backend)
    assert "the bundle of authorities was not written to" in caplog.text


def test_a_certificate_ends_with_its_authority_at_the_latest() -> None:
    held = perform(c.Begin(), None, WHERE.hosts, 0.0, SHORT)
    late = SHORT.authority - 100.0
    chain = read_chain(perform(c.Issue(), held, WHERE.hosts, late, SHORT))
    assert chain is not None
    assert (chain.leaf.not_before, chain.leaf.not_after) == (late, SHORT.authority)
    assert chain.leaf.issuer == chain.authorities[-1].id


def test_a_leader_that_may_not_write_says_so_and_retries(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster, shipped = configured(RIGHTS.replace(", create, update", ""))
        async with simulated(cluster, user=LEADER) as client:
            managed = ManagedCertificates(client, WHERE, secret="hooks", configurations=shipped)
            client.start(managed.renew())
            await anyio.sleep(60)
            assert cluster.get(Secret, "hooks") is None
            for right in kp.parse_manifest(RIGHTS):
                cluster.put(right)
            await anyio.sleep(60)
            assert cluster.get(Secret, "hooks") is not None

    run(main, backend=backend)
    assert "could not be checked: POST" in caplog.text
