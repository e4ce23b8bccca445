"""A test suite of an operator and its webhook, for pytest: no cluster, no sleep, and faults from a seed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from book import Book, BookSpec
from operator_labels import labels

import kubeproto as kp
from kubeproto.crd import (
    AdmissionRequest,
    AdmissionVerdict,
    allow,
    deny,
    read_admission,
    respond_to_admission,
)
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated
from kubeproto_sim import Cluster, Faults


def validate(request: AdmissionRequest) -> AdmissionVerdict:
    return allow() if (request.object or {}).get("spec", {}).get("title") else deny("a book has a title")


def review(title: str) -> bytes:
    book = (
        b'{"apiVersion":"example.technosophos.com/v1","kind":"Book","spec":{"title":"%s"}}' % title.encode()
    )
    kind = b'{"group":"example.technosophos.com","version":"v1","kind":"Book"}'
    resource = kind.replace(b'"kind":"Book"', b'"resource":"books"')
    request = b'{"uid":"1","kind":%s,"resource":%s,"operation":"CREATE","object":%s}' % (kind, resource, book)
    return b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":%s}' % request


@asynccontextmanager
async def running_operator(cluster: Cluster) -> AsyncGenerator[SimulatedClient]:
    faults = Faults(cluster, seed=7, share=0.2)
    async with simulated(cluster) as user, simulated(cluster, faults=faults) as client:
        client.start(labels(client))
        yield user


@pytest.mark.parametrize(("title", "allowed"), [("Moby", b'"allowed":true'), ("", b'"allowed":false')])
def test_a_book_has_a_title(title: str, allowed: bytes) -> None:
    assert allowed in respond_to_admission(request := read_admission(review(title)), validate(request))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_book_gets_its_label_back(backend: Backend) -> None:
    async def body() -> None:
        cluster = Cluster(crds=[Book])
        async with running_operator(cluster) as user:
            book = Book(metadata=kp.ObjectMeta(name="moby"), spec=BookSpec(title="Moby-Dick"))
            await user.api(Book).create(book)
            await user.until(lambda: cluster.get(ConfigMap, "moby"), within=600)
            await user.api(ConfigMap).delete("moby")
            await user.until(lambda: cluster.get(ConfigMap, "moby"), within=600)

    run(body, backend=backend)
