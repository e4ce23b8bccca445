"""External bytes are decoded in a few places, which handle the three errors of msgspec.

msgspec raises `DecodeError`, `UnicodeDecodeError` or `RecursionError`, and the sender of the bytes chooses
which. So only `Reader` decodes data of a server; this module lists the other places that decode JSON.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

_CATCHES: Final = "reads bytes from outside, and catches all three errors itself"
_OWN: Final = "reads what this process has just written, or values that are in memory"
_STORED: Final = "the simulator reads its own storage, which holds what it has written"
_SHIPPED: Final = "reads a table that is part of the package"

# A module or package, and the reason why it may call msgspec's decoders.
PERMITTED: Final = {
    "kubeproto/config/_located_documents.py": "text of files; catches all errors, and checks the depth",
    "kubeproto/config/_kubeconfig.py": "documents that `_located_documents` has checked",
    "kubeproto/config/_oidc.py": _CATCHES,
    "kubeproto/crd": _OWN,
    "kubeproto/kinds/__main__.py": "the API's description, in the tool that generates the kinds",
    "kubeproto/kinds/_kind_table.py": _SHIPPED,
    "kubeproto/objects/_manifest_parsing.py": _OWN,
    "kubeproto/objects/_json_hooks.py": "makes the decoders of `Reader`",
    "simulator/kubeproto_sim/_direct_objects.py": _STORED,
    "simulator/kubeproto_sim/_snapshots.py": "a file of the simulator's own",
    "simulator/kubeproto_sim/access": _STORED,
    "simulator/kubeproto_sim/admission": "responses of webhooks, with all three errors caught, and storage",
    "simulator/kubeproto_sim/apply": "texts of objects that were read before; catches all three errors",
    "simulator/kubeproto_sim/controllers": _STORED,
    "simulator/kubeproto_sim/kinds": _STORED,
    "simulator/kubeproto_sim/nodes": _STORED,
    "simulator/kubeproto_sim/workloads": _STORED,
    "simulator/kubeproto_sim/reading/_columns.py": _SHIPPED,
    "simulator/kubeproto_sim/reading/_field_selectors.py": _STORED,
    "simulator/kubeproto_sim/reading/_continue_tokens.py": _CATCHES,
    "simulator/kubeproto_sim/reading/_object_views.py": _STORED,
    "simulator/kubeproto_sim/reading/_watch_streams.py": _STORED,
    "simulator/kubeproto_sim/serving": _STORED,
    "simulator/kubeproto_sim/writing": "`_request_bodies` reads what clients send, the others read storage",
    "kubeproto/streams/_command_channels.py": _CATCHES,
    "kubeproto/wire/_secret_scrubber.py": _CATCHES,
    "kubeproto/wire/_responses.py": _CATCHES,
    "runtime/kubeproto_cli": "files that the user names, with all three errors caught, and its own text",
    "runtime/kubeproto_runtime/_documents.py": _OWN,
    "runtime/kubeproto_runtime/credentials/_files.py": "documents that `kubeproto.config` has read before",
    "runtime/kubeproto_runtime/testing/_state_comparison.py": _STORED,
}


_DECODERS: Final = ("decode", "Decoder", "convert", "loads")


# A search of the text excludes most modules, which decode nothing.
_ANY: Final = re.compile(rf"\b(msgspec|json)\b[\w.]*\.({'|'.join(_DECODERS)})\b|\bfrom (msgspec\.|json)")


@cache
def decoders() -> frozenset[tuple[str, str]]:
    """Yield each use of a decoder of msgspec or json with its module."""
    return frozenset(
        (path.relative_to(ROOT).as_posix(), used)
        for folder in ("kubeproto", "transports", "runtime", "simulator")
        for path in (ROOT / folder).rglob("*.py")
        for used in decoders_in(path.read_text())
    )


def decoders_in(source: str) -> Iterator[str]:
    if _ANY.search(source) is None:
        return
    for node in ast.walk(ast.parse(source)):
        # `encode(value).decode()` decodes text, not JSON.
        if isinstance(node, ast.Attribute) and not isinstance(node.value, ast.Call):
            if node.attr in _DECODERS and (used := ast.unparse(node)).startswith(("msgspec.", "json.")):
                yield used
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("msgspec.", "json")):
            yield from (alias.name for alias in node.names if alias.name in _DECODERS)


def is_permitted(module: str) -> str | None:
    return next((prefix for prefix in PERMITTED if module == prefix or module.startswith(f"{prefix}/")), None)


def test_no_other_module_decodes_external_bytes() -> None:
    assert {use for use in decoders() if is_permitted(use[0]) is None} == set()


def test_each_permitted_place_is_still_needed() -> None:
    assert PERMITTED.keys() - {is_permitted(module) for module, _ in decoders()} == set()
