"""Tests use public names. Where one looks inside, it stands here with the reason, and goes when that goes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent

# A module, or all of a package, and why tests look into it.
REASONS: Final[dict[str, str]] = {
    "kubeproto._yaml": "the parser is fuzzed by itself; what uses it refuses most of what it must survive",
    "kubeproto.config._oidc": "fuzzed by itself: the machine hides which answer of a provider failed",
    "kubeproto.config._plugin": "fuzzed by itself: the machine hides which output of a plugin failed",
    "kubeproto.control._election_values": "the rows of the table hold what the states hold, `ObservedLease`",
    "kubeproto.control._queue": "the queue's limits, which a test cannot reach in reasonable time",
    "kubeproto.control._transforms": "the transform that readers of a Store must not need",
    "kubeproto.crd._urls": "compared with Go's by itself; a rule shows one part of a URL at a time",
    "kubeproto.crd.cel._syntax": "the trees that expressions become; a rule shows their verdict alone",
    "kubeproto.crd.cel._versions": "compared with Go's by itself; a rule shows one number at a time",
    "kubeproto.crd.cel._evaluation": "which CEL library is there, as the skip of its tests",
    "kubeproto.kinds": "what generates the kinds: the tables and the source of modules",
    "kubeproto.objects": "parsers that only other parsers call are compared with Go's by themselves",
    "kubeproto.requests._logs": "how logs are cut into lines, at every place of a chunk",
    "kubeproto.sim": "the simulator's parts are compared with Go's own test cases, which have no request",
    "kubeproto.watching": "parts of the machine and of the line reader, whose every row is a test",
    "kubeproto.wire": "limits and decoders that every response goes through, at every place of a chunk",
    "kubeproto_asyncio": "what asyncio itself hands to the transport: sockets that break while they connect",
    "kubeproto_h11": "the frames and heads that a server never sends twice the same",
    "kubeproto_httpx": "the one line at which httpx's errors become ours, one by one",
    "kubeproto_runtime": "drivers whose limits and tasks a test has to reach; users get their results",
    "kubeproto_trio": "how long it dials, which a page of the documentation says",
    "kubeproto_serve._fixtures": "the fixtures that pytest loads by their module's name",
}


def private(path: Path) -> Iterator[str]:
    """The private modules of the project that a file imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("kubeproto"):
            continue
        for alias in node.names:
            parts = f"{node.module}.{alias.name}".split(".")
            at = next((i for i, part in enumerate(parts) if part.startswith("_")), None)
            if at is not None:
                yield ".".join(parts[: at + 1])


def reason(module: str) -> str | None:
    return next((why for prefix, why in REASONS.items() if f"{module}.".startswith(f"{prefix}.")), None)


def test_what_tests_import_is_public_or_has_its_reason() -> None:
    found = {
        f"{path.relative_to(HERE)}: {module}"
        for path in sorted(HERE.rglob("*.py"))
        for module in private(path)
        if reason(module) is None
    }
    assert found == set()


def test_each_reason_is_still_needed() -> None:
    used = {module for path in HERE.rglob("*.py") for module in private(path)}
    assert [
        prefix for prefix in REASONS if not any(f"{module}.".startswith(f"{prefix}.") for module in used)
    ] == []
