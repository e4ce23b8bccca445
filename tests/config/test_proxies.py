"""The proxy for a server is read from the environment as in Go programs.

`no_proxy.json` contains the results of Go 1.26's `net/http` for each entry of NO_PROXY, with a character per
server: ``p`` for the proxy, ``-`` for a direct connection.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st

from kubeproto.config import ConfigError, proxy_for

TABLE: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "no_proxy.json").read_text())
HOSTS: Final[list[str]] = TABLE["hosts"]
ANSWERS: Final[dict[str, str]] = dict(TABLE["answers"])


@pytest.mark.parametrize("entry", ANSWERS)
def test_an_entry_of_no_proxy_matches_like_in_go(entry: str) -> None:
    environ = {"HTTPS_PROXY": "http://p", "NO_PROXY": entry}
    proxies_by_host = {host: "p" if proxy_for(f"https://{host}", environ) else "-" for host in HOSTS}
    assert proxies_by_host == dict(zip(HOSTS, ANSWERS[entry], strict=True))


@given(st.lists(st.sampled_from([*ANSWERS])), st.integers(0, len(HOSTS) - 1), st.sampled_from([",", " , "]))
def test_a_list_matches_if_an_entry_matches(entries: list[str], host: int, comma: str) -> None:
    environ = {"HTTPS_PROXY": "http://p", "NO_PROXY": comma.join(entries)}
    direct = any(ANSWERS[entry][host] == "-" for entry in entries) or ANSWERS[""][host] == "-"
    assert bool(proxy_for(f"https://{HOSTS[host]}", environ)) is not direct


@given(st.text(), st.sampled_from(HOSTS))
def test_any_text_is_a_valid_list(no_proxy: str, host: str) -> None:
    proxy_for(f"https://{host}", {"HTTPS_PROXY": "http://p", "NO_PROXY": no_proxy})


@pytest.mark.parametrize(
    ("environ", "server", "proxy"),
    [
        ({}, "https://h", ""),
        ({"HTTPS_PROXY": "http://p:3128"}, "https://h", "http://p:3128"),
        ({"HTTPS_PROXY": "http://p:3128"}, "http://h", ""),
        ({"HTTP_PROXY": "http://p:3128"}, "https://h", ""),
        ({"HTTP_PROXY": "http://p:3128"}, "http://h", "http://p:3128"),
        ({"https_proxy": "http://p"}, "https://h", "http://p"),
        ({"HTTPS_PROXY": "http://a", "https_proxy": "http://b"}, "https://h", "http://a"),
        ({"HTTPS_PROXY": "", "https_proxy": "http://b"}, "https://h", "http://b"),
        ({"HTTPS_PROXY": "p:3128"}, "https://h", "http://p:3128"),
        ({"HTTPS_PROXY": "p"}, "https://h", "http://p"),
        ({"HTTPS_PROXY": "socks5://p"}, "https://h", "socks5://p"),
        ({"ALL_PROXY": "http://p"}, "https://h", ""),
        ({"HTTPS_PROXY": "http://p", "no_proxy": "h"}, "https://h", ""),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "x", "no_proxy": "h"}, "https://h", "http://p"),
        ({"HTTPS_PROXY": "http://p", "REQUEST_METHOD": "GET"}, "https://h", "http://p"),
    ],
)
def test_variables_set_the_proxy_by_scheme(environ: dict[str, str], server: str, proxy: str) -> None:
    assert proxy_for(server, environ) == proxy


def test_the_caller_of_a_cgi_program_cannot_set_its_proxy() -> None:
    with pytest.raises(ConfigError, match="CGI"):
        proxy_for("http://h", {"HTTP_PROXY": "http://p", "REQUEST_METHOD": "GET"})


def test_an_invalid_proxy_is_an_error_instead_of_a_direct_connection() -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY is") as raised:
        proxy_for("https://h", {"HTTPS_PROXY": "http://u:MARK@p:99999"})
    assert "MARK" not in str(raised.value)
    with pytest.raises(ConfigError, match="HTTPS_PROXY is"):
        proxy_for("https://h", {"HTTPS_PROXY": "foo://host"})


def test_an_entry_with_a_port_matches_only_that_port() -> None:
    environ = {"HTTP_PROXY": "http://p", "HTTPS_PROXY": "http://p", "NO_PROXY": "x.org:443"}
    assert proxy_for("https://A.X.ORG", environ) == ""
    assert proxy_for("http://a.x.org", environ) == "http://p"
