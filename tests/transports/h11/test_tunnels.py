"""Tunnels through a proxy, byte by byte."""

from __future__ import annotations

import traceback
from typing import Final

import pytest
from hypothesis import given, strategies as st

from kubeproto import ConnectError, KubeprotoError, LocalProtocolError, RemoteProtocolError
from kubeproto.config import Connection
from kubeproto_h11._tunnels import Tunnel, make_tunnel

REPLY: Final = b"\5\0\0\1\0\0\0\0\0\0"


def tunnel_through(proxy: str, server: str = "https://h.example:6443") -> Tunnel:
    return make_tunnel(Connection(server=server, proxy=proxy))


def converse(tunnel: Tunnel, responses: list[bytes], *, step: int = 1000) -> bytes:
    """Return all bytes that this side sends while the proxy sends these responses."""
    outgoing = tunnel.outgoing
    for response in responses:
        for start in range(0, len(response), step):
            outgoing += tunnel.feed(response[start : start + step])
    return outgoing


@pytest.mark.parametrize("step", [1, 1000])
def test_a_tunnel_through_an_http_proxy_is_requested_by_connect(step: int) -> None:
    tunnel = tunnel_through("http://p:3128")
    outgoing = converse(tunnel, [b"HTTP/1.1 200 Connection established\r\n\r\n"], step=step)
    assert outgoing == b"CONNECT h.example:6443 HTTP/1.1\r\nHost: h.example:6443\r\n\r\n"
    assert tunnel.open


def test_a_password_too_long_for_socks_is_in_no_variable_of_the_traceback() -> None:
    with pytest.raises(LocalProtocolError) as raised:
        tunnel_through(f"socks5://u:{'p' * 256}@p")
    frames = [frame for frame, _ in traceback.walk_tb(raised.tb) if "/tests/" not in frame.f_code.co_filename]
    assert frames
    assert "ppp" not in repr([frame.f_locals for frame in frames])


def test_an_http_proxy_gets_its_password_and_no_headers_of_the_server() -> None:
    connection = Connection(
        server="https://h", proxy="http://u:p@p", headers=(("Authorization", "Bearer hunter2"),)
    )
    request = make_tunnel(connection).outgoing
    assert b"Proxy-Authorization: Basic dTpw\r\n" in request
    assert b"hunter2" not in request


@pytest.mark.parametrize(
    ("response", "error", "match"),
    [
        (b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n", ConnectError, "407 and requires a password"),
        (b"HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nnever", ConnectError, "responds with 403"),
        (b"HTTP/1.1 301 There\r\nLocation: /\r\n\r\n", ConnectError, "responds with 301"),
        (b"hello\r\n\r\n", RemoteProtocolError, "not HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\nand", RemoteProtocolError, "sends data"),
    ],
)
def test_an_http_proxy_that_opens_no_tunnel_is_an_error(
    response: bytes, error: type[KubeprotoError], match: str
) -> None:
    with pytest.raises(error, match=match):
        converse(tunnel_through("http://p"), [response])


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("https://h.example:6443", b"\3\x09h.example"),
        ("https://10.1.2.3:6443", b"\1\x0a\1\2\3"),
        ("https://[fe80::1%25eth0]:6443", b"\4\xfe\x80" + bytes(13) + b"\1"),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_a_socks_proxy_gets_a_name_or_an_address(server: str, address: bytes, step: int) -> None:
    tunnel = tunnel_through("socks5://p", server)
    outgoing = converse(tunnel, [b"\5\0", REPLY], step=step)
    assert outgoing == b"\5\1\0" + b"\5\1\0" + address + b"\x19\x2b"
    assert tunnel.open


@pytest.mark.parametrize("step", [1, 1000])
def test_a_socks_proxy_gets_user_and_password_if_it_requires_them(step: int) -> None:
    tunnel = tunnel_through("socks5h://user:pa%20ss@p")
    outgoing = converse(tunnel, [b"\5\2", b"\1\0", b"\5\0\0\3\1x\0\0"], step=step)
    assert outgoing == b"\5\2\0\2" + b"\1\4user\5pa ss" + b"\5\1\0\3\x09h.example\x19\x2b"
    assert tunnel.open


def test_a_socks_proxy_gets_no_password_if_it_requires_none() -> None:
    tunnel = tunnel_through("socks5://user:pass@p")
    assert b"pass" not in converse(tunnel, [b"\5\0", REPLY])
    assert tunnel.open


@pytest.mark.parametrize(
    ("proxy", "responses", "error", "match"),
    [
        ("socks5://p", [b"\5\xff"], ConnectError, "another kind"),
        ("socks5://p", [b"\5\2"], ConnectError, "another kind"),
        ("socks5://p", [b"HT"], RemoteProtocolError, "does not speak SOCKS"),
        ("socks5://u:p@p", [b"\5\2", b"\1\1"], ConnectError, "user or the password"),
        ("socks5://p", [b"\5\0", b"\5\5"], ConnectError, "connection was refused"),
        ("socks5://p", [b"\5\0", b"\5\x63"], ConnectError, "code 99"),
        ("socks5://p", [b"\5\0", b"\5\0\0\x09\0"], RemoteProtocolError, "not SOCKS"),
        ("socks5://p", [b"\5\0", REPLY + b"!"], RemoteProtocolError, "not SOCKS"),
    ],
)
def test_a_socks_proxy_that_opens_no_tunnel_is_an_error(
    proxy: str, responses: list[bytes], error: type[KubeprotoError], match: str
) -> None:
    with pytest.raises(error, match=match):
        converse(tunnel_through(proxy), responses)


@pytest.mark.parametrize(
    ("proxy", "server"),
    [
        (f"socks5://{'u' * 256}:p@p", "https://h"),
        (f"socks5://u:{'p' * 256}@p", "https://h"),
        ("socks5://u@p", "https://h"),
    ],
)
def test_credentials_that_do_not_fit_into_socks_are_refused(proxy: str, server: str) -> None:
    with pytest.raises(LocalProtocolError, match=r"SOCKS (requires|allows)"):
        tunnel_through(proxy, server)


def test_a_tunnel_needs_a_proxy() -> None:
    with pytest.raises(LocalProtocolError, match="no proxy"):
        make_tunnel(Connection(server="https://h"))


@given(st.sampled_from(["http://p", "socks5://p", "socks5://u:p@p"]), st.lists(st.binary(max_size=12)))
def test_any_bytes_of_a_proxy_give_a_tunnel_or_a_kubeproto_error(proxy: str, responses: list[bytes]) -> None:
    tunnel = tunnel_through(proxy)
    try:
        for response in responses:
            if not tunnel.open:
                tunnel.feed(response)
    except (ConnectError, RemoteProtocolError):
        pass
