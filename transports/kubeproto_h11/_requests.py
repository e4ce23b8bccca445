"""A request as it goes to one server: the `Head`, and what the `Connection` adds to it."""

from __future__ import annotations

from typing import Final

from kubeproto.config import Connection
from kubeproto.wire import Head

# Hop-by-hop headers and lengths determine how a request is carried, which is decided here.
_OURS: Final = frozenset(("host", "content-length", "transfer-encoding", "connection", "keep-alive"))
_UPGRADE: Final = frozenset(("connection",))


def addressed(head: Head, connection: Connection) -> Head:
    """Return the request with the server's base path, Host, and the headers of every request."""
    target = connection.target(head.target)  # which may refuse it, before a variable holds a token
    upgrade = any(name.lower() == "upgrade" for name, _ in head.headers)
    refused = _OURS - _UPGRADE if upgrade else _OURS
    own = [(name, value) for name, value in head.headers if name.lower() not in refused]
    if not connection.compression:
        own = [(name, "identity" if name.lower() == "accept-encoding" else value) for name, value in own]
    said = {name.lower() for name, _ in own}
    added = [(name, value) for name, value in connection.headers if name.lower() not in said | refused]
    proxy = connection.proxy_headers if connection.forwarded else ()
    headers = (("Host", connection.host_header), *own, *added, *proxy)
    return Head(head.method, target, headers, head.body, head.check)


def named(head: Head) -> str:
    """A request in an error: the method and the path, never the query, which may hold what is private."""
    return f"{head.method} {head.target.partition('?')[0][:200]}"
