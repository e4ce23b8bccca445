"""What the tests of the example programs share: a server, kubectl, and programs, each a process of its own.

Everything waits for what it needs, up to `LIMIT`; nothing waits for a time.
"""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import yaml
from anyio.from_thread import BlockingPortal, start_blocking_portal
from kubectl_commands.running import kubectl
from realserver._real_proxy import Proxy

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT: Final = 120.0  # seconds; what takes longer has failed
LOOKS: Final = 200  # how often kubectl is asked for what it cannot wait for


_numbers = itertools.count(1)


class Site:
    """A server that kubectl and programs reach by a kubeconfig, in a namespace of their own."""

    def __init__(
        self,
        folder: Path,
        kubeconfig: str,
        *,
        real: bool,
        compact: Callable[[], object],
        namespace: str = "",
    ) -> None:
        self.folder = folder
        self.real = real
        self.compact = compact  # lets the server forget its history
        self.namespace = namespace
        self.kubeconfig = folder / f"{namespace or 'cluster'}.kubeconfig"
        self.kubeconfig.write_text(kubeconfig)
        self._kubeconfig_text = kubeconfig

    @contextmanager
    def within(self) -> Generator[Site]:
        """The same in a new namespace, which is deleted afterwards."""
        namespace = f"programs-{next(_numbers)}"
        document = yaml.safe_load(self._kubeconfig_text)
        for context in document["contexts"]:
            context["context"]["namespace"] = namespace
        self.kubectl(f"create namespace {namespace}")
        site = self._with(document, namespace)
        site.kubectl("wait --for=create serviceaccount/default --timeout=60s")  # pods are refused before
        try:
            yield site
        finally:
            self.kubectl(f"delete namespace {namespace} --wait=false")

    @contextmanager
    def behind_a_proxy(self) -> Generator[tuple[Site, Line]]:
        """The same by way of a proxy, which can be cut."""
        document = yaml.safe_load(self._kubeconfig_text)
        [cluster] = document["clusters"][:1]
        server = urlsplit(str(cluster["cluster"]["server"]))
        assert server.port is not None
        proxy = Proxy(server.port)
        with start_blocking_portal("trio") as portal, portal.wrap_async_context_manager(proxy.serving()):
            cluster["cluster"]["server"] = f"{server.scheme}://127.0.0.1:{proxy.port}"
            yield self._with(document, f"{self.namespace}-by-proxy"), Line(portal, proxy)

    def _with(self, document: object, namespace: str) -> Site:
        text = yaml.safe_dump(document)
        return Site(self.folder, text, real=self.real, compact=self.compact, namespace=namespace)

    @property
    def environment(self) -> dict[str, str]:
        # kubectl is a process of 100 ms, which needs no garbage collector.
        variables = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder), "GOGC": "off"}
        return {**os.environ, **variables, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error"}

    def attempt(self, command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Call kubectl; its words have no spaces but where there is a `~`."""
        program = kubectl()
        assert program is not None, "kubectl is here, but not the version that the tests ask for"
        words = [word.replace("~", " ") for word in command.split()]
        return subprocess.run(
            [program, *words], input=stdin, env=self.environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT,
        )  # fmt: skip

    def kubectl(self, command: str, stdin: str = "") -> str:
        """What kubectl prints, which has to succeed."""
        completed = self.attempt(command, stdin)
        assert completed.returncode == 0, f"kubectl {command}: {completed.stdout}"
        return completed.stdout.strip()

    def refused(self, command: str, stdin: str = "") -> str:
        """What kubectl prints where it has to fail."""
        completed = self.attempt(command, stdin)
        assert completed.returncode != 0, f"kubectl {command}: {completed.stdout}"
        return completed.stdout.strip()

    @contextmanager
    def defining(self, manifest: str, name: str) -> Generator[Site]:
        """Define a kind, until the block is left.

        It is discovered a moment after it is established, and each part of a server learns of it by itself.
        """
        self.kubectl("apply -f -", manifest)
        self.wait(f"crd/{name}", "condition=Established")
        self.until(f"get {name} -o name", "(?!error|Error).*")
        yield self
        self.kubectl(f"delete crd {name} --timeout={LIMIT:.0f}s")  # the next test may define it again

    def wait(self, target: str, *conditions: str) -> None:
        """Wait for conditions of `kubectl wait --for`, one after the other."""
        for condition in conditions:
            self.kubectl_once_there_is_a_status(f"wait {target} --for={condition} --timeout={LIMIT:.0f}s")

    def kubectl_once_there_is_a_status(self, command: str) -> None:
        """Call `kubectl wait`, which ends with an error as long as an object has no conditions at all."""
        looks = threading.Event()
        for _ in range(LOOKS):
            if "accessor error" not in self.attempt(command).stdout:
                break
            looks.wait(0.2)
        self.kubectl(command)

    def until(self, command: str, pattern: str, stdin: str = "") -> str:
        """Call kubectl until what it prints matches: for what `kubectl wait` cannot see."""
        looks, printed = threading.Event(), ""
        for _ in range(LOOKS):
            if re.fullmatch(pattern, printed := self.attempt(command, stdin).stdout.strip(), re.DOTALL):
                return printed
            looks.wait(0.2)  # kubectl tells of no change: it is asked again
        raise AssertionError(f"kubectl {command} goes on to print {printed!r}, and not {pattern}")

    def printed(self, program: str, *options: str) -> str:
        """What a program of the examples prints, and then ends."""
        completed = subprocess.run(
            [sys.executable, str(ROOT / "examples" / program), *options],
            env=self.environment, text=True, check=True, stdout=subprocess.PIPE, timeout=LIMIT,
        )  # fmt: skip
        return completed.stdout

    @contextmanager
    def running(self, program: str, *options: str, **environment: str) -> Generator[Program]:
        """A program of the examples, until the block is left."""
        command = [sys.executable, str(ROOT / "examples" / program), *options]
        running = Program(command, {**self.environment, **environment})
        try:
            yield running
        finally:
            running.kill()


class Line:
    """What connects a program to its server."""

    def __init__(self, portal: BlockingPortal, proxy: Proxy) -> None:
        self._portal = portal
        self._proxy = proxy

    @contextmanager
    def disconnect(self) -> Generator[None]:
        """Reset every connection, and let none be made until the block is left."""
        self._proxy.closed = True
        self._portal.call(self._proxy.disconnect)
        yield
        self._proxy.closed = False


class Program:
    """A process, and the lines that it has printed so far."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._finished = False
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._finished = True
            self._news.notify_all()

    @property
    def printed(self) -> str:
        return "\n".join(self.lines)

    def until(self, pattern: str) -> re.Match[str]:
        """Wait for a line in which the pattern is found, now or earlier."""

        def matches() -> re.Match[str] | None:
            return next(filter(None, (re.search(pattern, line) for line in self.lines)), None)

        with self._news:
            self._news.wait_for(lambda: matches() or self._finished, LIMIT)
            match = matches()
        assert match is not None, f"{pattern} was not printed, but:\n{self.printed}"
        return match

    def terminate(self) -> int:
        """End it as a cluster does, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        return status

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        if self.process.stdout is not None:
            self.process.stdout.close()
