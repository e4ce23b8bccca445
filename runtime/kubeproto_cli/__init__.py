"""The command line: ``kubeproto COMMAND``, or ``python -m kubeproto_cli`` where no scripts are installed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

# As a shell reports a process that a signal ended: 128 and the signal's number.
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status.

    0: success. 1: a failure, whose reason is one line on standard error. 2: the command line is wrong.
    130: Ctrl-C. 141: the reader of the output has closed the pipe.
    """
    try:
        # Imported here, so that Ctrl-C during the imports ends without a traceback, too.
        from ._main import run

        status = run(sys.argv[1:] if arguments is None else list(arguments))
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        print("kubeproto: the command line needs click: pip install kubeproto[cli]", file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more at exit, and would report the same broken pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status
