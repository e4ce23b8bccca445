"""When a request may be sent a second time: only if the server cannot have begun to do it twice."""

from __future__ import annotations

# A server may close an idle connection at the moment when a request is sent on it. The request then fails,
# and a caller cannot distinguish that from a server that died in the middle.


def may_replay(method: str, *, reused: bool, begun: bool, touched: bool) -> bool:
    """Return whether a request whose connection was lost may be sent again, on a new connection.

    `reused`: the connection had carried an exchange before, so it may have been stale. `begun`: the first
    byte of the request may have left. `touched`: a byte of a response came. The second attempt is on a new
    connection, so there is no third.
    """
    if not reused or touched:
        return False
    return not begun or method in ("GET", "HEAD")
