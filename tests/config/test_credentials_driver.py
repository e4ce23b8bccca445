"""A driver of the credentials machine in twenty lines, and the credentials of its requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from kubeproto.config import Credentials, CredentialsError, Identity, Plugin, credentials as c

IDENTITY: Final = Identity(plugin=Plugin(command="login"))


class Driver:
    """Performs the actions of the machine, and makes no decisions."""

    def __init__(self, perform: Callable[[c.Task], Awaitable[c.Event]]) -> None:
        self.now = 1000.0
        self.state = c.begin(IDENTITY, self.now)
        self.perform = perform
        self.changed = asyncio.Event()
        self.closed = 0
        self.warnings: list[str] = []

    async def handle_event(self, event: c.Event) -> tuple[c.Action | None, asyncio.Event]:
        """Step and perform the actions; return the reply, and the event that the next step sets."""
        self.state, actions = c.step(self.state, event, self.now)
        self.changed.set()
        self.changed = state_changed = asyncio.Event()
        answer: c.Action | None = None
        for action in actions:
            match action:
                case c.ReadFiles() | c.RunPlugin() | c.Discover() | c.Redeem():
                    task_result: c.Event = c.Cancelled()
                    try:
                        task_result = await self.perform(action)
                    finally:
                        if isinstance(task_result, c.Cancelled):
                            await self.handle_event(task_result)
                    await self.handle_event(task_result)
                case c.CloseConnections():
                    self.closed += 1
                case c.Warn(reason):
                    self.warnings.append(reason)
                case c.SaveTokens():
                    pass
                case _:
                    answer = action
        return answer, state_changed

    async def credentials(self) -> Credentials:
        while True:
            match await self.handle_event(c.CredentialsRequested()):
                case c.UseCredentials(credentials), _:
                    return credentials
                case c.RefuseRequest() as refusal, _:
                    raise refusal.error
                case _, state_changed:
                    await state_changed.wait()  # already set for the caller that performed the task

    async def send(self, server: Callable[[Credentials], int]) -> int:
        """Send a request, and send it again if a 401 led to new credentials."""
        credentials_ = await self.credentials()
        status = server(credentials_)
        if status == 401:
            await self.handle_event(c.CredentialsRejected(credentials_.generation))
            renewed_credentials = await self.credentials()
            if renewed_credentials.generation != credentials_.generation:
                status = server(renewed_credentials)
        return status


class Plugins:
    """Runs of a plugin that end after `may_finish` is set; each run returns another token."""

    def __init__(self) -> None:
        self.runs = 0
        self.may_finish = asyncio.Event()
        self.fails = False

    async def __call__(self, task: c.Task) -> c.Event:
        assert isinstance(task, c.RunPlugin)
        self.runs += 1
        assert self.runs < 20, "a loop of plugins"
        token = f"t{self.runs}"
        await self.may_finish.wait()
        if self.fails:
            return c.PluginExited(1, b"")
        status = {"token": token, "expirationTimestamp": "1970-01-01T00:33:20Z"}  # 2000
        messages = {
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "status": status,
        }
        return c.PluginExited(0, json.dumps(messages).encode())


async def run_pending_tasks() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def accepts(token: str) -> Callable[[Credentials], int]:
    return lambda credentials: 200 if credentials.authorization == f"Bearer {token}" else 401


def test_ten_concurrent_requests_run_a_single_plugin() -> None:
    async def main() -> None:
        plugins = Plugins()
        driver = Driver(plugins)
        requests = [asyncio.create_task(driver.send(accepts("t1"))) for _ in range(10)]
        await run_pending_tasks()
        plugins.may_finish.set()
        assert await asyncio.gather(*requests) == [200] * 10
        assert plugins.runs == 1
        driver.now = 3000.0  # all expired
        requests = [asyncio.create_task(driver.send(accepts("t2"))) for _ in range(10)]
        assert await asyncio.gather(*requests) == [200] * 10
        assert plugins.runs == 2

    asyncio.run(main())


def test_ten_401s_cause_one_renewal_and_each_request_is_sent_again() -> None:
    async def main() -> None:
        plugins = Plugins()
        plugins.may_finish.set()
        driver = Driver(plugins)
        await driver.credentials()
        plugins.may_finish.clear()
        sent_tokens: list[str] = []

        def server(credentials: Credentials) -> int:
            sent_tokens.append(credentials.authorization)
            return accepts("t2")(credentials)

        requests = [asyncio.create_task(driver.send(server)) for _ in range(10)]
        await run_pending_tasks()
        plugins.may_finish.set()
        assert await asyncio.gather(*requests) == [200] * 10
        assert plugins.runs == 2
        # The nine requests after the first 401 wait for the renewal and never send the refused token.
        assert sorted(sent_tokens) == ["Bearer t1", *["Bearer t2"] * 10]

    asyncio.run(main())


def test_a_request_that_is_refused_twice_is_not_sent_again() -> None:
    async def main() -> None:
        plugins = Plugins()
        plugins.may_finish.set()
        driver = Driver(plugins)
        requests: list[int] = []

        def server(credentials: Credentials) -> int:
            requests.append(credentials.generation)
            return 401

        assert await driver.send(server) == 401
        assert requests == [1, 2]
        assert await driver.send(server) == 401  # in the same moment: the plugin does not run again
        assert requests == [1, 2, 2]
        assert plugins.runs == 2

    asyncio.run(main())


def test_another_task_runs_the_plugin_after_a_cancellation() -> None:
    async def main() -> None:
        plugins = Plugins()
        driver = Driver(plugins)
        credentials_ = asyncio.create_task(driver.credentials())
        await run_pending_tasks()
        others = [asyncio.create_task(driver.credentials()) for _ in range(3)]
        await run_pending_tasks()
        assert plugins.runs == 1
        credentials_.cancel()
        await run_pending_tasks()
        plugins.may_finish.set()
        assert {credentials_list.authorization for credentials_list in await asyncio.gather(*others)} == {
            "Bearer t2"
        }
        assert plugins.runs == 2
        assert driver.warnings == []

    asyncio.run(main())


def test_a_failed_plugin_refuses_all_waiting_requests_with_the_reason() -> None:
    async def main() -> None:
        plugins = Plugins()
        plugins.fails = True
        driver = Driver(plugins)
        requests = [asyncio.create_task(driver.credentials()) for _ in range(3)]
        await run_pending_tasks()
        plugins.may_finish.set()
        results = await asyncio.gather(*requests, return_exceptions=True)
        assert {str(result) for result in results} == {"the plugin 'login' exited with 1"}
        assert plugins.runs == 1
        with pytest.raises(CredentialsError):
            await driver.credentials()
        assert plugins.runs == 1
        driver.now += 1
        plugins.fails = False
        assert (await driver.credentials()).authorization == "Bearer t2"

    asyncio.run(main())
