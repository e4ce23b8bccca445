"""A random walk through the credentials."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from kubeproto.config import Identity, Oidc, Plugin, UnreadableFile, credentials as c

from .walk import STEPS, Walk

_IDENTITIES: Final = (
    Identity(plugin=Plugin(command="login")),
    Identity(plugin=Plugin(command="login", install_hint="install it")),
    Identity(token_file="/token"),
    Identity(oidc=Oidc(issuer="https://id", client_id="me", refresh_token="r")),
    Identity(token="fixed"),
)  # fmt: skip
_EXEC: Final = "client.authentication.k8s.io/v1"


def walk_credentials(rng: Random) -> Iterator[str]:
    """Request credentials of each type, whose sources fail, and which the server rejects."""
    walk = Walk(c.step, None, now=1_000_000.0)
    for identity in _IDENTITIES:
        walk.state = c.begin(identity, walk.now)
        generation, task, token = 0, None, 0
        for _ in range(STEPS // 2):
            walk.now += rng.choice((0.0, 0.5, 2.0, 61.0, 400.0))
            events: list[Any] = [
                c.CredentialsRequested(),
                c.CredentialsRequested(),
                c.CredentialsRejected(generation),
            ]
            if task is not None:
                token += 1
                came = _came(rng, task, token, walk.now)
                rejected = c.CredentialsRejected(generation)
                events = [came, came, came, c.CredentialsRequested(), c.Failed("no"), c.Cancelled(), rejected]
                if isinstance(task, c.RunPlugin):
                    events.append(c.PluginMissing())
            event = rng.choice(events)
            yield from filter(None, [walk.go(event)])
            if task is not None and not isinstance(walk.state, c.Renewing):
                task = None
            for action in walk.actions:
                if isinstance(action, c.ReadFiles | c.RunPlugin | c.Discover | c.Redeem):
                    task = action
                if isinstance(action, c.UseCredentials):
                    if action.credentials.generation < generation:
                        yield f"older credentials after newer ones, for {event!r}"
                    generation = action.credentials.generation
            replies = [
                reply
                for reply in walk.actions
                if isinstance(reply, c.UseCredentials | c.Wait | c.RefuseRequest)
            ]
            if isinstance(event, c.CredentialsRequested) and len(replies) != 1:
                yield f"{len(replies)} replies to a request"


def _came(rng: Random, task: Any, number: int, now: float) -> Any:
    bad = rng.random() < 0.3
    expires = now + rng.choice((-50.0, 30.0, 600.0))
    match task:
        case c.ReadFiles(paths):
            content: Any = UnreadableFile("gone") if bad else f"token-{rng.choice((0, number))}".encode()
            return c.FilesRead(tuple(content for _ in paths))
        case c.RunPlugin():
            stamp = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            status = {"token": f"token-{number}", "expirationTimestamp": stamp}
            text = json.dumps({"apiVersion": _EXEC, "kind": "ExecCredential", "status": status}).encode()
            return c.PluginExited(int(bad), text)
        case c.Discover():
            return c.Responded(503 if bad else 200, (), b'{"token_endpoint":"https://id/token"}')
        case _:
            claims = urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=")
            body = json.dumps({"id_token": f"e30.{claims}.{number}", "refresh_token": "r"}).encode()
            return c.Responded(400 if bad else 200, (), body)
