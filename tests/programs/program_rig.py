"""The rig of the example programs: a server, kubectl and programs, each in a separate process.

Every wait is for a condition, up to `LIMIT`; nothing sleeps for a fixed time.
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
from kubectl_commands.running import find_kubectl
from realserver._real_proxy import Proxy

ROOT: Final = Path(__file__).resolve().parents[2]
LIMIT: Final = 120.0  # seconds
LOOKS: Final = 200  # attempts of kubectl for conditions that it cannot wait for


_numbers = itertools.count(1)


class Site:
    """A server with a kubeconfig, and a namespace for the test."""

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
        self.compact = compact  # compacts the history
        self.namespace = namespace
        self.kubeconfig = folder / f"{namespace or 'cluster'}.kubeconfig"
        self.kubeconfig.write_text(kubeconfig)
        self._kubeconfig_text = kubeconfig

    @contextmanager
    def in_new_namespace(self) -> Generator[Site]:
        """Yield the same server in a new namespace, which is deleted afterwards."""
        namespace = f"programs-{next(_numbers)}"
        document = yaml.safe_load(self._kubeconfig_text)
        for context in document["contexts"]:
            context["context"]["namespace"] = namespace
        self.kubectl(f"create namespace {namespace}")
        site = self._with(document, namespace)
        site.kubectl("wait --for=create serviceaccount/default --timeout=60s")  # pods are refused before that
        try:
            yield site
        finally:
            self.kubectl(f"delete namespace {namespace} --wait=false")

    @contextmanager
    def behind_a_proxy(self) -> Generator[tuple[Site, Line]]:
        """Yield the same server behind a proxy that can disconnect."""
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
        # kubectl runs for 100 ms and needs no garbage collector.
        variables = {"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder), "GOGC": "off"}
        return {**os.environ, **variables, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error"}

    def attempt(self, command: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Call kubectl; a `~` in an argument stands for a space."""
        program = find_kubectl()
        assert program is not None, "kubectl is here, but not in the version that the tests need"
        words = [argument.replace("~", " ") for argument in command.split()]
        return subprocess.run(
            [program, *words], input=stdin, env=self.environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT,
        )  # fmt: skip

    def kubectl(self, command: str, stdin: str = "") -> str:
        """Return the output of kubectl, which must succeed."""
        completed = self.attempt(command, stdin)
        assert completed.returncode == 0, f"kubectl {command}: {completed.stdout}"
        return completed.stdout.strip()

    def failing_kubectl(self, command: str, stdin: str = "") -> str:
        """Return the output of kubectl, which must fail."""
        completed = self.attempt(command, stdin)
        assert completed.returncode != 0, f"kubectl {command}: {completed.stdout}"
        return completed.stdout.strip()

    @contextmanager
    def with_kind(self, manifest: str, name: str) -> Generator[Site]:
        """Define a kind for the block.

        A kind is discovered shortly after it is established, by each part of a server separately.
        """
        self.kubectl("apply -f -", manifest)
        self.wait(f"crd/{name}", "condition=Established")
        self.until(f"get {name} -o name", "(?!error|Error).*")
        yield self
        self.kubectl(f"delete crd {name} --timeout={LIMIT:.0f}s")  # the next test may define the kind again

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
        """Call kubectl until its output matches, for conditions that `kubectl wait` cannot see."""
        looks, printed = threading.Event(), ""
        for _ in range(LOOKS):
            if re.fullmatch(pattern, printed := self.attempt(command, stdin).stdout.strip(), re.DOTALL):
                return printed
            looks.wait(0.2)  # kubectl does not report changes
        raise AssertionError(f"kubectl {command} goes on to print {printed!r}, and not {pattern}")

    def printed(self, program: str, *options: str) -> str:
        """Return the output of an example program that ends."""
        completed = subprocess.run(
            [sys.executable, str(ROOT / "examples" / program), *options],
            env=self.environment, text=True, check=True, stdout=subprocess.PIPE, timeout=LIMIT,
        )  # fmt: skip
        return completed.stdout

    @contextmanager
    def running(self, program: str, *options: str, **environment: str) -> Generator[Program]:
        """Run an example program for the block."""
        command = [sys.executable, str(ROOT / "examples" / program), *options]
        running = Program(command, {**self.environment, **environment})
        try:
            yield running
        finally:
            running.kill()


class Line:
    """The connection between a program and its server."""

    def __init__(self, portal: BlockingPortal, proxy: Proxy) -> None:
        self._portal = portal
        self._proxy = proxy

    @contextmanager
    def disconnect(self) -> Generator[None]:
        """Reset every connection, and refuse new ones during the block."""
        self._proxy.closed = True
        self._portal.call(self._proxy.disconnect)
        yield
        self._proxy.closed = False


class Program:
    """A process and its output."""

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
        """Wait for a printed line that matches the pattern."""

        def matches() -> re.Match[str] | None:
            return next(filter(None, (re.search(pattern, line) for line in self.lines)), None)

        with self._news:
            self._news.wait_for(lambda: matches() or self._finished, LIMIT)
            match = matches()
        assert match is not None, f"{pattern} was not printed, but:\n{self.printed}"
        return match

    def terminate(self) -> int:
        """Stop the process like a cluster, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        return status

    def kill(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait(LIMIT)
        self._reader.join(LIMIT)
        if self.process.stdout is not None:
            self.process.stdout.close()
