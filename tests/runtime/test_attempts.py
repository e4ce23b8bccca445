"""The namespace of the requests of both clients."""

from __future__ import annotations

from typing import Any

import pytest
from virtual_time import Book, library

import kubeproto as kp
from kubeproto.kinds.core_v1 import Node
from kubeproto_runtime import BlockingClient, Client


def clients() -> list[Any]:
    cluster = library()
    return [
        pytest.param(Client(cluster.transport(), namespace="mine"), id="asynchronous"),
        pytest.param(BlockingClient(cluster.blocking_transport(), namespace="mine"), id="blocking"),
    ]


@pytest.mark.parametrize("client", clients())
def test_the_default_namespace_is_the_namespace_of_the_client(client: Client | BlockingClient) -> None:
    assert client.requests(Book).namespace == "mine"
    assert client.requests(Book, namespace="theirs").namespace == "theirs"
    assert client.requests(Book, namespace=kp.ALL).namespace is kp.ALL


@pytest.mark.parametrize("client", clients())
def test_a_cluster_scoped_kind_accepts_all_namespaces(client: Client | BlockingClient) -> None:
    assert client.requests(Node).list().target == "/api/v1/nodes"
    assert client.requests(Node, namespace=kp.ALL).list().target == "/api/v1/nodes"
    with pytest.raises(kp.InvalidRequest):
        client.requests(Node, namespace="theirs")
