"""Output of commands: results to standard output, all other text to standard error; colors on a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from kubeproto import KubeObject

# Colors of a terminal.
BOLD: Final = "1"
RED: Final = "31"
GREEN: Final = "32"
YELLOW: Final = "33"
CYAN: Final = "36"
DIM: Final = "2"


def use_color(stream: TextIO, environ: Mapping[str, str] | None = None) -> bool:
    """Return whether output to a stream is colored: on a terminal, unless $NO_COLOR or TERM=dumb is set.

    With $FORCE_COLOR the output to a pipe is colored too, for ``| less -R``.
    """
    environ = os.environ if environ is None else environ
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and environ.get("TERM") != "dumb"


def styled(text: str, style: str, color: bool) -> str:
    """Return the text in a style, if colors are on."""
    return f"\x1b[{style}m{text}\x1b[0m" if color and text else text


def plain_object(obj: KubeObject) -> dict[str, Any]:
    """Return an object as plain JSON, without managedFields, which people rarely read."""
    import msgspec

    from kubeproto import encode

    plain: dict[str, Any] = msgspec.json.decode(encode(obj))
    plain.get("metadata", {}).pop("managedFields", None)
    return plain


def print_note(line: str) -> None:
    """Write a line to standard error, so that a pipe carries only results."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201


def print_result(text: str) -> None:
    """Write a part of the result, and flush it: another program may be reading."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
