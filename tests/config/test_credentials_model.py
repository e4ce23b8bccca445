"""The credentials machine against an issuer whose tokens expire, are revoked, arrive late or not at all.

Invariants: one task at a time, one reply for each request, no expired token is sent, a server that refuses
every request causes no loop of tasks, and nothing shows a token. After the last fault requests are served.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from typing import Final

from asked_examples import examples
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kubeproto.config import Credentials, Identity, Oidc, Plugin, UnreadableFile, credentials as c

BEGIN: Final = 1_000_000.0
API: Final = "client.authentication.k8s.io/v1"
IDENTITIES: Final = {
    "plugin": Identity(plugin=Plugin(command="login")),
    "files": Identity(token_file="/token"),
    "oidc": Identity(oidc=Oidc(issuer="https://id", client_id="me", refresh_token="SECRET-refresh")),
}
LIFETIMES: Final = (
    -50.0,
    5.0,
    30.0,
    600.0,
    7200.0,
)  # seconds; the negative lifetime is a token that expired before its arrival

Task = c.ReadFiles | c.RunPlugin | c.Discover | c.Redeem


def jwt(name: str, expires: float) -> str:
    claims = urlsafe_b64encode(json.dumps({"sub": name, "exp": expires}).encode()).decode().rstrip("=")
    return f"e30.{claims}.SECRET"


class CredentialsModel(RuleBasedStateMachine):
    """The simplest driver, issuer and API server."""

    @initialize(identity=st.sampled_from(sorted(IDENTITIES)))
    def begin(self, identity: str) -> None:
        self.now = BEGIN
        self.state = c.begin(IDENTITIES[identity], self.now)
        self.task: Task | None = None
        self.issued = 0
        self.expirations: dict[str, float] = {}  # the expiration of each token that the machine knows
        self.revoked: set[str] = set()
        self.used: list[Credentials] = []
        self.failure_streak: tuple[int, float] = (
            0,
            BEGIN,
        )  # consecutive failures, and the time of the last failure
        self.renewal_streak: tuple[int, float] = (
            0,
            BEGIN,
        )  # consecutive renewals after a 401, and the time of the last renewal
        self.is_after_401 = False

    def step(self, event: c.Event) -> list[c.Action]:
        """Step, store the task, and return the other actions."""
        self.state, actions = c.step(self.state, event, self.now)
        other_actions: list[c.Action] = []
        for action in actions:
            assert "SECRET" not in repr(action)
            if isinstance(action, Task):
                assert self.task is None, "two tasks at a time"
                failures, last = self.failure_streak
                assert not failures or self.now >= last + min(60.0, 2.0 ** (failures - 1)), "no backoff"
                self.task = action
            else:
                other_actions.append(action)
        return other_actions

    def request(self) -> c.UseCredentials | c.Wait | c.RefuseRequest:
        """Ask for credentials, and check the reply."""
        previous_task = self.task
        [reply] = self.step(c.CredentialsRequested())
        if previous_task is None and self.task is not None:
            self.is_after_401 = False
        match reply:
            case c.UseCredentials(credentials):
                token = credentials.authorization
                assert self.now < self.expirations[token], "an expired token was sent"
                assert not self.used or credentials.generation >= self.used[-1].generation
                if self.used and credentials.generation == self.used[-1].generation:
                    assert token == self.used[-1].authorization
                self.used.append(credentials)
            case c.Wait():
                assert self.task is not None, "a request waits for nothing"
            case c.RefuseRequest(until=until):
                assert self.now < until
                assert self.task is None
            case _:
                raise AssertionError(f"{reply} is not a reply to a request")
        return reply

    def refuse(self, credentials: Credentials) -> None:
        """Report a 401 to the machine."""
        previous_task = self.task
        assert self.step(c.CredentialsRejected(credentials.generation)) == []
        if previous_task is None and self.task is not None:
            self.is_after_401 = True
            failure_count, since = self.renewal_streak
            assert not failure_count or self.now >= since + min(300.0, 2.0 ** (failure_count - 1)), (
                "a loop of renewals"
            )

    @rule(seconds=st.sampled_from((0.1, 1.0, 9.0, 60.0, 301.0, 4000.0)))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def send(self) -> None:
        reply = self.request()
        if isinstance(reply, c.UseCredentials) and reply.credentials.authorization in self.revoked:
            self.refuse(reply.credentials)

    @rule()
    def revoke(self) -> None:
        self.revoked |= set(self.expirations)

    @precondition(lambda self: len(self.used) > 1)
    @rule(data=st.data())
    def receive_a_late_401(self, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(self.used))
        previous, task = self.state, self.task
        self.refuse(old)
        if old.generation != self.used[-1].generation and not isinstance(previous, c.Renewing):
            current = previous.current.credentials.generation if isinstance(previous, c.Active) else 0
            assert old.generation == current or (self.state, self.task) == (previous, task)

    @precondition(lambda self: self.task is not None)
    @rule(lifetime=st.sampled_from(LIFETIMES))
    def succeed(self, lifetime: float) -> None:
        current = self.state.current if isinstance(self.state, c.Renewing) else None
        while self.task is not None:
            task, self.task = self.task, None
            self.step(self.outcome_of(task, lifetime))
            assert isinstance(self.state, c.Active | c.Renewing)
        self.failure_streak = (0, self.now)
        if self.is_after_401:
            failure_count, since = self.renewal_streak
            is_recovered = current is not None and self.now >= since + 300.0
            self.renewal_streak = (1 if is_recovered else failure_count + 1, self.now)
        elif current is None:
            self.renewal_streak = (0, self.now)

    def outcome_of(self, task: Task, lifetime: float) -> c.Event:
        """Return the result of a successful task; the last task returns a new token."""
        if isinstance(task, c.Discover):
            return c.Responded(200, (), b'{"token_endpoint": "https://id/token"}')
        self.issued += 1
        name, end = f"SECRET-{self.issued}", self.now + lifetime
        if isinstance(task, c.Redeem):
            token = jwt(name, end)
            self.expirations[f"Bearer {token}"] = max(end, self.now + 10.0)
            return c.Responded(200, (), json.dumps({"id_token": token}).encode())
        if isinstance(task, c.ReadFiles):
            self.expirations[f"Bearer {name}"] = float("inf")
            return c.FilesRead((name.encode(),))
        self.expirations[f"Bearer {name}"] = max(int(end), self.now + 10.0)
        stamp = datetime.fromtimestamp(int(end), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = {"token": name, "expirationTimestamp": stamp}
        output = {"apiVersion": API, "kind": "ExecCredential", "status": status}
        return c.PluginExited(0, json.dumps(output).encode())

    @precondition(lambda self: self.task is not None)
    @rule(how=st.sampled_from(("failed", "garbage")))
    def fail(self, how: str) -> None:
        task, self.task = self.task, None
        event: c.Event = c.Failed("it took too long")
        if how == "garbage":
            match task:
                case c.ReadFiles():
                    event = c.FilesRead((UnreadableFile("no such file", missing=True),))
                case c.RunPlugin():
                    event = c.PluginExited(0, b"SECRET: [")
                case _:
                    event = c.Responded(500, (), b"<html>SECRET")
        [warning] = self.step(event)
        assert isinstance(warning, c.Warn)
        assert "SECRET" not in warning.reason
        self.failure_streak = (self.failure_streak[0] + 1, self.now)

    @precondition(lambda self: self.task is not None)
    @rule()
    def abandon(self) -> None:
        self.task = None
        assert self.step(c.Cancelled()) == []
        failures, _ = self.failure_streak
        self.failure_streak = (failures, -1e9)  # the next request may start the task again

    @invariant()
    def task_matches_the_state(self) -> None:
        renewing = self.state if isinstance(self.state, c.Renewing) else None
        assert (renewing.task if renewing else None) == self.task

    @invariant()
    def no_token_is_shown(self) -> None:
        assert "SECRET" not in repr(self.state)

    def teardown(self) -> None:
        """End all faults: a request is served after the maximum backoff and the maximum delay of renewals."""
        if not hasattr(self, "state"):
            return
        if self.task is not None:
            self.succeed(7200.0)
        for _ in range(3):
            self.now += 301.0
            reply = self.request()
            if isinstance(reply, c.UseCredentials) and reply.credentials.authorization not in self.revoked:
                return
            if isinstance(reply, c.UseCredentials):
                self.refuse(reply.credentials)
            if self.task is not None:
                self.succeed(7200.0)
        raise AssertionError(f"no request is served though all is well: {self.state}")


TestCredentialsModel = CredentialsModel.TestCase
TestCredentialsModel.settings = settings(max_examples=examples(150), stateful_step_count=40)
