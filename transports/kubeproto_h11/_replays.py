"""When a request may go out a second time: only if the server cannot have begun to do it twice."""

from __future__ import annotations

# A server may close an idle connection in the very moment in which a request sets out on it. The request then
# fails through no fault of its own, and nobody above can tell that from a server that died in the middle.


def may_replay(method: str, *, reused: bool, begun: bool, touched: bool) -> bool:
    """Whether a request whose connection was lost may go out again, on a new connection.

    `reused`: the connection had carried an exchange before, so it may have been stale. `begun`: the first
    byte of the request may have left. `touched`: a byte of a response came. The second time is on a new
    connection, which is not reused: so there is no third.
    """
    if not reused or touched:
        return False
    return not begun or method in ("GET", "HEAD")
