"""Tests use public names; private modules that a test imports are listed with the reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent

# A module, and the reason why tests import it; two packages are compared with Go's own test cases.
REASONS: Final[dict[str, str]] = {
    "kubeproto.config._oidc": "fuzzed by itself: the machine hides which answer of a provider failed",
    "kubeproto.config._plugin": "fuzzed by itself: the machine hides which output of a plugin failed",
    "kubeproto.control._election_phases": "what a storm breaks, to see that it finds it",
    "kubeproto.control._queue": "the queue's limits, which a test cannot reach in reasonable time",
    "kubeproto.control._transforms": "the transform that readers of a Store must not need",
    "kubeproto.crd._go_urls": "compared with Go's by itself; a rule shows one part of a URL at a time",
    "kubeproto.crd.cel._cel_syntax": "the trees that expressions become; a rule shows their verdict alone",
    "kubeproto.crd.cel._semantic_versions": "compared with Go's by itself; a rule shows one number at a time",
    "kubeproto.crd.definitions._structural_checks": "one schema, without the names of a definition",
    "kubeproto.kinds._python_names": "each name by itself; generated source shows each once",
    "kubeproto.objects._json_hooks": "how a field of a generated kind is decoded by itself",
    "kubeproto_sim.access": "rules compared with Go's verdicts one by one; a request needs several at once",
    "kubeproto_sim.apply": "compared with Go's own cases of structured-merge-diff, which have no request",
    "kubeproto_sim.kinds._protobuf_bodies": "the bits of all integers; a rejection shows those of one",
    "kubeproto_sim.kinds._schema_quick_check": "that the quick check agrees with the full one",
    "kubeproto_sim.kinds._kind_registry": "the kinds of a release, without a server",
    "kubeproto_sim.kinds._kubernetes_releases": "what a release lacks, type by type",
    "kubeproto_sim.kinds._stored_form": "that the quick check agrees with the plan; no write can show it",
    "kubeproto_sim.kinds._typed_codec": "the plan of a type, beside the quick check",
    "kubeproto_sim.reading._routes": "that remembered routes are those found anew; only speed shows them",
    "kubeproto_sim.storage._storage": "the history behind a watch, which its model compares entry by entry",
    "kubeproto_sim.workloads": "indexes, orders and shares against a search; a cluster needs all at once",
    "kubeproto_sim.writing._cron_schedules": "schedules one by one; a CronJob would have to wait for each",
    "kubeproto_sim.writing._object_shapes": "that cached shapes equal those of the objects",
    "kubeproto.watching._resync_pace": "the bucket and the backoff of the machine, row by row",
    "kubeproto_asyncio._happy_eyeballs": "sockets that break while they connect, handed over by asyncio",
    "kubeproto_h11._exchange": "the headers of a request; a driver shows them on one connection",
    "kubeproto_h11._request_driver": "the table of replays; a driver shows one row at a time",
    "kubeproto_h11._tunnels": "tunnels from bytes to bytes; a proxy shows one answer at a time",
    "kubeproto_h11._websocket_handshake": "handshakes from bytes to bytes",
    "kubeproto_httpx._blocking_transport": "the line at which httpx's errors become ours, error by error",
    "kubeproto_cli._commands": "the examples of a command, each of which is parsed",
    "kubeproto_cli._connecting": "the options of a connection, without a server",
    "kubeproto_cli._command_errors": "the line of each error, most of which no command can be brought to",
    "kubeproto_cli._output": "when there is color, stream by stream",
    "kubeproto_cli._watch": "the resources of a command line, in a table",
    "kubeproto_cli._live_table": "rows that are read while their objects go, which no terminal can time",
    "kubeproto_cli._main": "the table of commands, against the commands themselves",
    "kubeproto_cli._supervising": "which files count as changed, without a process",
    "kubeproto_cli._serve": "the cluster that options describe, without a process",
    "kubeproto_httpx._chunk_merging": "how chunks are merged, read by read",
    "kubeproto_httpx._network_backends": "streams under a transport of httpx, to be cut at every byte",
    "kubeproto_runtime.caches._reflector": "the sink of the driver, without a cache that others share",
    "kubeproto_runtime.calls._request_tracing": "how often OpenTelemetry is looked for, which no span shows",
    "kubeproto_runtime.client._connect": "the login kept in its file, of a configuration made by hand",
    "kubeproto_runtime.client._installed": "what is found, beside what the standard library finds",
    "kubeproto_runtime.credentials._authorized_transport": "a plugin in virtual time, without a process",
    "kubeproto_runtime.credentials._files": "reading files and writing tokens, without connecting",
    "kubeproto_runtime.credentials._plugins": "one run of a plugin and its terminal, without a server",
    "kubeproto_runtime.pods._container_runs": "the events of each status of a container, in a table",
    "kubeproto_runtime.pods._extracting": "hostile archives, without a container",
    "kubeproto_runtime.pods._packing": "the archive of a folder, byte by byte",
    "kubeproto_runtime.pods._port_pairs": "ports as text, in a table",
    "kubeproto_runtime.pods._tar_reader": "archives that are split at every byte",
    "kubeproto_runtime.operator._debug_page": "the page of a state that no operator reaches in a test",
    "kubeproto_runtime.operator._debug_state": "a state that no operator reaches in a test",
    "kubeproto_runtime.operator._health": "the pages of the health port, and a socket that fails to accept",
    "kubeproto_runtime.operator._lease_clocks": "the clock of an election, which a test turns",
    "kubeproto_runtime.operator._lease_fence": "a storm removes the fence, to see that the storm notices",
    "kubeproto_runtime.reconciling._failing_keys": "what may be shown of an error, error by error",
    "kubeproto_runtime.reconciling._metrics": "the exposition of counts that no controller reaches in a test",
    "kubeproto_runtime.reconciling._plans": "the check of an awaitable, for a plain form of a run",
    "kubeproto_runtime.reconciling._controller_runner": "runs of a controller, beside a plain form of them",
    "kubeproto_runtime.tasks._stray_cancellations": "what counts as a failure, for a plain form of a run",
    "kubeproto_runtime.reconciling._workers": "limits and cancellations of workers, without a controller",
    "kubeproto_runtime.tasks._listener": "a listener without file descriptors, handed over by the test",
    "kubeproto_runtime.tasks._background": "a task that is left behind, to see that a storm finds it",
    "kubeproto_runtime.tasks._logged_lines": "what a storm breaks, to see that it finds it",
    "kubeproto_runtime.webhooks._issued_certificates": "the content of a Secret, which callers never read",
    "kubeproto_serve._server_certificates": "certificates that have expired, and those of another authority",
}

# Files that name modules in strings without importing them.
NAMES: Final[dict[str, str]] = {
    "docs/test_snippets.py": "pytest's plugins, which entry points load for users",
    "test_private_imports.py": "the reasons themselves",
    "storm/arms.py": "whose lines are counted, to see that each arm of a machine is taken",
}


# A search of the text excludes most files, which import nothing private.
_NAMED: Final = re.compile(r"\bkubeproto(?:_[a-z0-9]+)?(?:\.[a-z]\w*)*\._[a-z]\w*")
_PRIVATE: Final = re.compile(rf"\bfrom kubeproto[\w.]*(\._| import (\([^)]*|.*)\b_)|\"{_NAMED.pattern}")


def private(path: Path) -> Iterator[str]:
    """Yield the private modules that a file imports, or names in a string to patch them."""
    text = path.read_text()
    if _PRIVATE.search(text) is None:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if module := _NAMED.match(node.value):
                yield module[0]
            continue
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("kubeproto"):
            continue
        for alias in node.names:
            parts = f"{node.module}.{alias.name}".split(".")
            index = next(
                (i for i, part in enumerate(parts) if part.startswith("_") and part != "__main__"), None
            )
            if index is not None:
                yield ".".join(parts[: index + 1])


@cache
def imports() -> tuple[tuple[str, str], ...]:
    """Return each test file that imports a private module, with that module."""
    return tuple(
        (path.relative_to(HERE).as_posix(), module)
        for path in sorted(HERE.rglob("*.py"))
        if path.relative_to(HERE).as_posix() not in NAMES
        for module in private(path)
    )


def reason(module: str) -> str | None:
    return next((text for prefix, text in REASONS.items() if f"{module}.".startswith(f"{prefix}.")), None)


def test_private_imports_of_tests_have_a_reason() -> None:
    assert {f"{name}: {module}" for name, module in imports() if reason(module) is None} == set()


def test_each_reason_is_still_needed() -> None:
    used = {module for _, module in imports()}
    assert [
        prefix for prefix in REASONS if not any(f"{module}.".startswith(f"{prefix}.") for module in used)
    ] == []
