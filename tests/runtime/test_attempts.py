"""Which namespace a client means, whether it awaits or blocks."""

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
        pytest.param(Client(cluster.transport(), namespace="mine"), id="awaiting"),
        pytest.param(BlockingClient(cluster.blocking_transport(), namespace="mine"), id="blocking"),
    ]


@pytest.mark.parametrize("client", clients())
def test_a_namespace_is_the_one_that_is_named_or_the_clients_own(client: Client | BlockingClient) -> None:
    assert client.requests(Book).namespace == "mine"
    assert client.requests(Book, namespace="theirs").namespace == "theirs"
    assert client.requests(Book, namespace=kp.ALL).namespace is kp.ALL


@pytest.mark.parametrize("client", clients())
def test_a_kind_without_namespaces_can_be_asked_for_in_all_of_them(client: Client | BlockingClient) -> None:
    assert client.requests(Node).list().target == "/api/v1/nodes"
    assert client.requests(Node, namespace=kp.ALL).list().target == "/api/v1/nodes"
    with pytest.raises(kp.InvalidRequest):
        client.requests(Node, namespace="theirs")
