"""What a command prints: colours on a terminal alone, objects as YAML, JSON, JSON lines or names."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TextIO

    from kubeproto import KubeObject

# Colours of a terminal, by what they mean here.
BOLD: Final = "1"
RED: Final = "31"
GREEN: Final = "32"
YELLOW: Final = "33"
BLUE: Final = "34"
CYAN: Final = "36"
DIM: Final = "2"


def use_color(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Whether to color what is written to a stream: a terminal, unless $NO_COLOR or TERM=dumb forbid it.

    $FORCE_COLOR colors a pipe too, for ``| less -R``.
    """
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def styled(text: str, style: str, color: bool) -> str:
    """Return the text in a style, where there is color."""
    return f"\x1b[{style}m{text}\x1b[0m" if color and text else text


def note(line: str) -> None:
    """Write what is not the result: to standard error, so that a pipe carries results alone."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def result(text: str) -> None:
    """Write a part of the result, at once: somebody may be reading."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def columns_of(stream: TextIO) -> int:
    """The width of a terminal; 0 for what is none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


def as_json(obj: KubeObject, *, indent: int = 0) -> str:
    """Return an object as JSON: in one line, or indented as kubectl does."""
    import msgspec

    from kubeproto import encode

    text = encode(obj)
    return (msgspec.json.format(text, indent=indent) if indent else text).decode()


def as_yaml(obj: KubeObject) -> str:
    """Return an object as YAML."""
    from kubeproto import dump_yaml

    return dump_yaml(obj)


def list_as_json(objects: Iterable[KubeObject]) -> str:
    """Return several objects as kubectl does: one List."""
    import msgspec

    return msgspec.json.format(msgspec.json.encode(_list_of(objects)), indent=4).decode()


def _list_of(objects: Iterable[KubeObject]) -> dict[str, Any]:
    import msgspec

    from kubeproto import encode

    return {
        "apiVersion": "v1",
        "items": [msgspec.Raw(encode(one)) for one in objects],
        "kind": "List",
        "metadata": {"resourceVersion": ""},
    }
