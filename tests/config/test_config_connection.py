"""A connection determines address, targets and headers, and refuses invalid values."""

from __future__ import annotations

import pytest

from kubeproto.config import ConfigError, Connection
from kubeproto.wire import RawRequest

PEM = b"-----BEGIN CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("server", "host", "port", "host_header", "authority"),
    [
        ("https://h", "h", 443, "h", "h:443"),
        ("http://h", "h", 80, "h", "h:80"),
        ("https://h:", "h", 443, "h", "h:443"),
        ("https://h:6443/", "h", 6443, "h:6443", "h:6443"),
        ("http://h:443", "h", 443, "h:443", "h:443"),
        ("HTTPS://Api.Example", "api.example", 443, "api.example", "api.example:443"),
        ("https://10.0.0.1:443", "10.0.0.1", 443, "10.0.0.1", "10.0.0.1:443"),
        ("https://[::1]", "::1", 443, "[::1]", "[::1]:443"),
        ("https://[fd00::1]:6443", "fd00::1", 6443, "[fd00::1]:6443", "[fd00::1]:6443"),
        ("https://[fe80::1%25eth0]:6443", "fe80::1%eth0", 6443, "[fe80::1]:6443", "[fe80::1]:6443"),
        ("https://under_score.svc", "under_score.svc", 443, "under_score.svc", "under_score.svc:443"),
    ],
)
def test_a_server_url_is_split_into_its_parts(
    server: str, host: str, port: int, host_header: str, authority: str
) -> None:
    it = Connection(server=server)
    assert (it.host, it.port, it.host_header, it.authority) == (host, port, host_header, authority)
    assert it.address == (host, port)
    assert it.secure is server.lower().startswith("https")


@pytest.mark.parametrize(
    ("server", "complaint"),
    [
        ("", "no scheme"),
        ("h:6443", "no scheme"),
        ("//h", "no scheme"),
        ("unix:///run/x", "one of the schemes"),
        ("https://", "no valid host"),
        ("https://:6443", "no valid host"),
        ("https://h:99999", "no valid host and port"),
        ("https://h:0", "no valid host and port"),
        ("https://h:six", "no valid host and port"),
        ("https://[zz]", "no valid host"),
        ("https://[::1]x", "no valid host"),
        ("https://::1", "no valid host"),
        ("https://h%41", "no valid host"),
        ("https://h /", "a space"),
        ("https://h\n/", "a control character"),
        ("https://bücher", "beyond ASCII"),
        ("https://h/?x=1", "a query"),
        ("https://h#x", "a fragment"),
        ("https://user:MARK@h", "credentials"),
        ("https://@h", "credentials"),
        ("https://user:MA/RK@h", "no valid host"),
        ("https://user:MARK%40h", "no valid host"),
        ("https://user:MARK@h?MARK", "a query"),
    ],
)
def test_an_invalid_server_is_refused_with_the_reason(server: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as raised:
        Connection(server=server)
    assert "MARK" not in repr(raised.value)
    assert "RK@" not in repr(raised.value)


@pytest.mark.parametrize(
    ("server", "target"),
    [
        ("https://h", "/api/v1?limit=1"),
        ("https://h/", "/api/v1?limit=1"),
        ("https://h/k8s/c-1", "/k8s/c-1/api/v1?limit=1"),
        ("https://h/k8s/c-1/", "/k8s/c-1/api/v1?limit=1"),
    ],
)
def test_a_target_is_appended_to_the_base_path(server: str, target: str) -> None:
    it = Connection(server=server)
    assert it.target("/api/v1?limit=1") == target
    assert it.url("/api/v1?limit=1") == f"https://h{target}"


def test_a_target_without_a_slash_is_refused() -> None:
    with pytest.raises(ValueError, match="must begin with a slash"):
        Connection(server="https://h").target(".evil/api")


@pytest.mark.parametrize(
    ("server", "proxy", "address", "tunnelled", "target"),
    [
        ("https://h", "", ("h", 443), False, "/x"),
        ("https://h", "http://p", ("p", 80), True, "/x"),
        ("https://h", "https://p", ("p", 443), True, "/x"),
        ("https://h", "http://[::2]:3128/", ("::2", 3128), True, "/x"),
        ("https://h", "socks5://p", ("p", 1080), True, "/x"),
        ("http://h:81/a", "socks5://p", ("p", 1080), True, "/a/x"),
        ("http://h:81/a", "http://p", ("p", 80), False, "http://h:81/a/x"),
    ],
)
def test_a_proxy_opens_a_tunnel_for_https_and_forwards_requests_for_http(
    server: str, proxy: str, address: tuple[str, int], tunnelled: bool, target: str
) -> None:
    it = Connection(server=server, proxy=proxy)
    assert (it.address, it.tunnelled, it.target("/x")) == (address, tunnelled, target)
    assert it.forwarded is (bool(proxy) and not tunnelled)


def test_the_password_of_a_proxy_is_sent_unescaped_and_never_shown() -> None:
    it = Connection(server="https://h", proxy="http://us%65r:M%41RK@p:3128")
    assert it.proxy_headers == (("Proxy-Authorization", "Basic dXNlcjpNQVJL"),)
    assert it.proxy_url is not None
    assert (it.proxy_url.user, it.proxy_url.password) == ("user", "MARK")
    text = repr(it) + repr(it.proxy_url) + str(it) + repr(it.__rich_repr__())
    assert "p:3128" in text
    assert not any(secret in text for secret in ("MARK", "M%41RK", "dXNlc"))


def test_socks_and_a_proxy_without_a_user_need_no_header() -> None:
    assert Connection(server="https://h", proxy="socks5://u:p@p").proxy_headers == ()
    assert Connection(server="https://h", proxy="http://p").proxy_headers == ()
    assert Connection(server="https://h").proxy_headers == ()


@pytest.mark.parametrize(
    "proxy", ["p:3128", "ftp://u:MARK@p", "http://u:MA/MARK@p", "http://u:MARK@", "http://u:MARK@p/x?y"]
)
def test_an_invalid_proxy_is_refused_without_its_password(proxy: str) -> None:
    with pytest.raises(ConfigError, match="the proxy") as raised:
        Connection(server="https://h", proxy=proxy)
    assert "MARK" not in repr(raised.value)


def test_the_name_in_the_certificate_may_differ_from_the_host() -> None:
    assert Connection(server="https://10.0.0.1:6443").tls_name == "10.0.0.1"
    assert Connection(server="https://[fe80::1%25eth0]").tls_name == "fe80::1"
    assert Connection(server="https://10.0.0.1", tls_server_name="api").tls_name == "api"


def test_a_certificate_requires_a_key() -> None:
    with pytest.raises(ConfigError, match="the client key is missing"):
        Connection(server="https://h", client_certificate=PEM)
    with pytest.raises(ConfigError, match="the client certificate is missing"):
        Connection(server="https://h", client_key=PEM)


def test_an_unused_ca_is_refused() -> None:
    with pytest.raises(ConfigError, match="insecure connection"):
        Connection(server="https://h", ca=PEM, insecure=True)


def test_a_value_that_is_not_pem_is_refused_with_a_clear_error() -> None:
    with pytest.raises(ConfigError, match="ca is not PEM"):
        Connection(server="https://h", ca=b"0\x82")


@pytest.mark.parametrize("header", [("", "x"), ("a\n", "x"), ("a", "MARK\r\nb: c")])
def test_a_header_value_cannot_inject_another_header(header: tuple[str, str]) -> None:
    with pytest.raises(ConfigError, match="the header") as raised:
        Connection(server="https://h", headers=(header,))
    assert "MARK" not in str(raised.value)


def test_secrets_are_not_shown() -> None:
    it = Connection(
        server="https://h",
        client_certificate=PEM,
        client_key=PEM + b"MARK",
        headers=(("Authorization", "MARK"), ("User-Agent", "me")),
    )
    for text in (repr(it), str(it), f"{it}", repr(it.__rich_repr__())):
        assert "MARK" not in text
        assert "me" in text


def test_equal_connections_may_share_a_pool() -> None:
    connection, other = Connection(server="https://h"), Connection(server="https://h")
    assert connection == other
    assert len({connection, other}) == 1
    assert connection != Connection(server="https://h", client_certificate=PEM, client_key=PEM)


def test_missing_headers_are_added_to_a_request() -> None:
    it = Connection(server="https://h:6443/base", headers=(("User-Agent", "me"), ("X-Tenant", "a")))
    request = RawRequest("GET", "/api", (("accept", "x"), ("user-agent", "other")), b"body")
    assert it.outgoing(request) == RawRequest(
        "GET",
        "/base/api",
        (("Host", "h:6443"), ("accept", "x"), ("user-agent", "other"), ("X-Tenant", "a")),
        b"body",
    )


def test_a_request_through_a_forwarding_proxy_has_a_full_url_and_the_password() -> None:
    it = Connection(server="http://h", proxy="http://u:p@proxy")
    assert it.outgoing(RawRequest("GET", "/api")) == RawRequest(
        "GET", "http://h/api", (("Host", "h"), ("Proxy-Authorization", "Basic dTpw"))
    )
    assert Connection(server="https://h", proxy="http://u:p@proxy").outgoing(
        RawRequest("GET", "/api")
    ) == RawRequest("GET", "/api", (("Host", "h"),))
