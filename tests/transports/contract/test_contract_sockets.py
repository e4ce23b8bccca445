"""The contract's server asks the kernel whether a connection has an end that is still open."""

from __future__ import annotations

import socket

import pytest
from contract_server import BOUND
from contract_sockets import has_connection, has_tcp_diag


@pytest.mark.parametrize("first", ["the client", "the server"])
def test_a_connection_exists_until_both_kernels_have_closed_it(first: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not has_connection(port)  # a listener has no connection
        client = socket.create_connection(("127.0.0.1", port), timeout=BOUND)
        server, _ = listener.accept()
        with client, server:
            assert has_connection(port)
            assert has_connection(client.getsockname()[1])
            closes, hears = (client, server) if first == "the client" else (server, client)
            closes.close()
            assert hears.recv(1) == b""
            assert not has_connection(port)


def test_a_system_without_a_list_of_connections_is_recognized(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert has_tcp_diag()
    monkeypatch.delattr(socket, "AF_NETLINK")
    assert not has_tcp_diag()
