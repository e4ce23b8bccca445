"""Ways through a proxy, byte by byte."""

from __future__ import annotations

import traceback
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproto import ConnectError, KubeprotoError, LocalProtocolError, RemoteProtocolError
from kubeproto.config import Connection
from kubeproto_h11 import Tunnel, tunnel

REPLY: Final = b"\5\0\0\1\0\0\0\0\0\0"


def through(proxy: str, server: str = "https://h.example:6443") -> Tunnel:
    return tunnel(Connection(server=server, proxy=proxy))


def talk(digging: Tunnel, says: list[bytes], *, step: int = 1000) -> bytes:
    """Everything that this side sends while the proxy says these."""
    sent = digging.outgoing
    for words in says:
        for at in range(0, len(words), step):
            sent += digging.feed(words[at : at + step])
    return sent


@pytest.mark.parametrize("step", [1, 1000])
def test_an_http_proxy_is_asked_to_connect(step: int) -> None:
    digging = through("http://p:3128")
    asked = talk(digging, [b"HTTP/1.1 200 Connection established\r\n\r\n"], step=step)
    assert asked == b"CONNECT h.example:6443 HTTP/1.1\r\nHost: h.example:6443\r\n\r\n"
    assert digging.done


def test_a_password_that_socks_cannot_carry_is_in_no_variable_of_the_traceback() -> None:
    with pytest.raises(LocalProtocolError) as raised:
        through(f"socks5://u:{'p' * 256}@p")
    frames = [frame for frame, _ in traceback.walk_tb(raised.tb) if "/tests/" not in frame.f_code.co_filename]
    assert frames
    assert "ppp" not in repr([frame.f_locals for frame in frames])


def test_an_http_proxy_hears_the_password_and_nothing_of_the_server_s() -> None:
    connection = Connection(
        server="https://h", proxy="http://u:p@p", headers=(("Authorization", "Bearer hunter2"),)
    )
    asked = tunnel(connection).outgoing
    assert b"Proxy-Authorization: Basic dTpw\r\n" in asked
    assert b"hunter2" not in asked


@pytest.mark.parametrize(
    ("says", "error", "match"),
    [
        (b"HTTP/1.1 407 Login\r\nContent-Length: 0\r\n\r\n", ConnectError, "407 and asks for a password"),
        (b"HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\nnever", ConnectError, "responds with 403"),
        (b"HTTP/1.1 301 There\r\nLocation: /\r\n\r\n", ConnectError, "responds with 301"),
        (b"hello\r\n\r\n", RemoteProtocolError, "not HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\nand", RemoteProtocolError, "sends more"),
    ],
)
def test_an_http_proxy_that_opens_no_tunnel_is_told(
    says: bytes, error: type[KubeprotoError], match: str
) -> None:
    with pytest.raises(error, match=match):
        talk(through("http://p"), [says])


@pytest.mark.parametrize(
    ("server", "address"),
    [
        ("https://h.example:6443", b"\3\x09h.example"),
        ("https://10.1.2.3:6443", b"\1\x0a\1\2\3"),
        ("https://[fe80::1%25eth0]:6443", b"\4\xfe\x80" + bytes(13) + b"\1"),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_socks_is_asked_for_a_name_or_an_address(server: str, address: bytes, step: int) -> None:
    digging = through("socks5://p", server)
    asked = talk(digging, [b"\5\0", REPLY], step=step)
    assert asked == b"\5\1\0" + b"\5\1\0" + address + b"\x19\x2b"
    assert digging.done


@pytest.mark.parametrize("step", [1, 1000])
def test_socks_hears_a_user_and_a_password_where_it_asks(step: int) -> None:
    digging = through("socks5h://user:pa%20ss@p")
    asked = talk(digging, [b"\5\2", b"\1\0", b"\5\0\0\3\1x\0\0"], step=step)
    assert asked == b"\5\2\0\2" + b"\1\4user\5pa ss" + b"\5\1\0\3\x09h.example\x19\x2b"
    assert digging.done


def test_socks_may_do_without_the_password_that_it_was_offered() -> None:
    digging = through("socks5://user:pass@p")
    assert b"pass" not in talk(digging, [b"\5\0", REPLY])
    assert digging.done


@pytest.mark.parametrize(
    ("proxy", "says", "error", "match"),
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
def test_socks_that_opens_no_tunnel_is_told(
    proxy: str, says: list[bytes], error: type[KubeprotoError], match: str
) -> None:
    with pytest.raises(error, match=match):
        talk(through(proxy), says)


@pytest.mark.parametrize(
    ("proxy", "server"),
    [
        (f"socks5://{'u' * 256}:p@p", "https://h"),
        (f"socks5://u:{'p' * 256}@p", "https://h"),
        ("socks5://u@p", "https://h"),
    ],
)
def test_what_socks_has_no_room_for_is_refused(proxy: str, server: str) -> None:
    with pytest.raises(LocalProtocolError, match="SOCKS takes"):
        through(proxy, server)


def test_without_a_proxy_there_is_nothing_to_dig() -> None:
    with pytest.raises(LocalProtocolError, match="no proxy"):
        tunnel(Connection(server="https://h"))


@given(st.sampled_from(["http://p", "socks5://p", "socks5://u:p@p"]), st.lists(st.binary(max_size=12)))
def test_whatever_a_proxy_says_is_a_tunnel_or_an_error_of_ours(proxy: str, says: list[bytes]) -> None:
    digging = through(proxy)
    try:
        for words in says:
            if not digging.done:
                digging.feed(words)
    except (ConnectError, RemoteProtocolError):
        pass
