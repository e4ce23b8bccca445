"""A driver of the credentials machine in twenty lines, and what requests see of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from kubeproto.config import Credentials, CredentialsError, Identity, Plugin, credentials as c

IDENTITY: Final = Identity(plugin=Plugin(command="login"))


class Driver:
    """Performs what the machine says, and decides nothing."""

    def __init__(self, perform: Callable[[c.Task], Awaitable[c.Event]]) -> None:
        self.now = 1000.0
        self.state = c.begin(IDENTITY, self.now)
        self.perform = perform
        self.changed = asyncio.Event()
        self.closed = 0
        self.warned: list[str] = []

    async def tell(self, event: c.Event) -> tuple[c.Action | None, asyncio.Event]:
        """Step and perform. Gives the response to a `Wanted`, and what the next step will set."""
        self.state, actions = c.step(self.state, event, self.now)
        self.changed.set()
        self.changed = changed = asyncio.Event()
        answer: c.Action | None = None
        for action in actions:
            match action:
                case c.ReadFiles() | c.RunPlugin() | c.Discover() | c.Redeem():
                    came: c.Event = c.Cancelled()
                    try:
                        came = await self.perform(action)
                    finally:
                        if isinstance(came, c.Cancelled):
                            await self.tell(came)
                    await self.tell(came)
                case c.CloseConnections():
                    self.closed += 1
                case c.Warn(why):
                    self.warned.append(why)
                case c.SaveTokens():
                    pass
                case _:
                    answer = action
        return answer, changed

    async def credentials(self) -> Credentials:
        while True:
            match await self.tell(c.CredentialsRequested()):
                case c.UseCredentials(credentials), _:
                    return credentials
                case c.RefuseRequest() as refused, _:
                    raise refused.error
                case _, changed:
                    await changed.wait()  # no wait at all for the performer of the task

    async def send(self, server: Callable[[Credentials], int]) -> int:
        """One request: sent again once, if a 401 brought other credentials."""
        first = await self.credentials()
        status = server(first)
        if status == 401:
            await self.tell(c.CredentialsRejected(first.generation))
            second = await self.credentials()
            if second.generation != first.generation:
                status = server(second)
        return status


class Plugins:
    """Runs of a plugin that end when they are told to; each gives another token."""

    def __init__(self) -> None:
        self.runs = 0
        self.go = asyncio.Event()
        self.fails = False

    async def __call__(self, task: c.Task) -> c.Event:
        assert isinstance(task, c.RunPlugin)
        self.runs += 1
        assert self.runs < 20, "a loop of plugins"
        token = f"t{self.runs}"
        await self.go.wait()
        if self.fails:
            return c.PluginExited(1, b"")
        status = {"token": token, "expirationTimestamp": "1970-01-01T00:33:20Z"}  # 2000
        messages = {
            "kind": "ExecCredential",
            "apiVersion": "client.authentication.k8s.io/v1",
            "status": status,
        }
        return c.PluginExited(0, json.dumps(messages).encode())


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def accepts(token: str) -> Callable[[Credentials], int]:
    return lambda credentials: 200 if credentials.authorization == f"Bearer {token}" else 401


def test_ten_requests_at_once_run_one_plugin() -> None:
    async def main() -> None:
        plugins = Plugins()
        driver = Driver(plugins)
        requests = [asyncio.create_task(driver.send(accepts("t1"))) for _ in range(10)]
        await settle()
        plugins.go.set()
        assert await asyncio.gather(*requests) == [200] * 10
        assert plugins.runs == 1
        driver.now = 3000.0  # all expired
        requests = [asyncio.create_task(driver.send(accepts("t2"))) for _ in range(10)]
        assert await asyncio.gather(*requests) == [200] * 10
        assert plugins.runs == 2

    asyncio.run(main())


def test_ten_401s_renew_once_and_each_request_is_sent_once_more() -> None:
    async def main() -> None:
        plugins = Plugins()
        plugins.go.set()
        driver = Driver(plugins)
        await driver.credentials()
        plugins.go.clear()
        sent: list[str] = []

        def server(credentials: Credentials) -> int:
            sent.append(credentials.authorization)
            return accepts("t2")(credentials)

        requests = [asyncio.create_task(driver.send(server)) for _ in range(10)]
        await settle()
        plugins.go.set()
        assert await asyncio.gather(*requests) == [200] * 10
        assert plugins.runs == 2
        # The nine that come after the first 401 wait for its renewal and never send what was refused.
        assert sorted(sent) == ["Bearer t1", *["Bearer t2"] * 10]

    asyncio.run(main())


def test_a_request_that_is_refused_anew_is_not_sent_a_third_time() -> None:
    async def main() -> None:
        plugins = Plugins()
        plugins.go.set()
        driver = Driver(plugins)
        requests: list[int] = []

        def server(credentials: Credentials) -> int:
            requests.append(credentials.generation)
            return 401

        assert await driver.send(server) == 401
        assert requests == [1, 2]
        assert await driver.send(server) == 401  # at the same time: no other run of the plugin
        assert requests == [1, 2, 2]
        assert plugins.runs == 2

    asyncio.run(main())


def test_the_task_that_runs_the_plugin_may_be_cancelled_and_another_takes_over() -> None:
    async def main() -> None:
        plugins = Plugins()
        driver = Driver(plugins)
        first = asyncio.create_task(driver.credentials())
        await settle()
        others = [asyncio.create_task(driver.credentials()) for _ in range(3)]
        await settle()
        assert plugins.runs == 1
        first.cancel()
        await settle()
        plugins.go.set()
        assert {credentials_list.authorization for credentials_list in await asyncio.gather(*others)} == {
            "Bearer t2"
        }
        assert plugins.runs == 2
        assert driver.warned == []

    asyncio.run(main())


def test_all_who_wait_for_a_plugin_that_fails_are_told_why_at_once() -> None:
    async def main() -> None:
        plugins = Plugins()
        plugins.fails = True
        driver = Driver(plugins)
        requests = [asyncio.create_task(driver.credentials()) for _ in range(3)]
        await settle()
        plugins.go.set()
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
