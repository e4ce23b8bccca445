"""The command line: which rows, how much data, and a table or JSON lines."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TextIO

from benchmarks._measure import Absent, Result, hold
from benchmarks._peers import Peers
from benchmarks._report import as_json, as_table, header
from benchmarks._rows import Row, Setting, UnknownNames, every_row, select


def main(arguments: Sequence[str], rows: Sequence[Row], out: TextIO, err: TextIO) -> int:
    """Measure the rows that the arguments name; 0 when that was possible, 2 when a name is unknown."""

    def say(message: str) -> None:
        print(message, file=err, flush=True)

    options = _parser().parse_intermixed_args(arguments)
    if not options.names:
        print(_listing(rows), file=out)
        return 0
    try:
        chosen = select(options.names, rows)
    except UnknownNames as names:
        say(f"no such benchmark: {names}\n{_listing(rows)}")
        return 2
    peers = Peers(say)
    if not options.json:
        print(header(chosen), file=out, flush=True)
    for row in chosen:
        result = _measured(row, quick=options.quick, peers=peers, err=err)
        print(as_json(row, result) if options.json else as_table(row, result, chosen), file=out, flush=True)
    return 0


def _measured(row: Row, *, quick: bool, peers: Peers, err: TextIO) -> Result | None:
    def say(message: str) -> None:
        print(f"{row.name}: {message}", file=err, flush=True)

    with ExitStack() as stack:
        try:
            return hold(row.make(Setting(quick=quick, peers=peers, stack=stack)), row.unit, say)
        except (Absent, ModuleNotFoundError) as reason:  # the latter: an extra that is not installed
            say(f"not measured: {reason}")
            return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure how fast kubeproto is. Without a name, list what can be measured.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a row, or a prefix of rows, such as decode.pods"
    )
    parser.add_argument("--quick", action="store_true", help="less data, just as many rounds")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    return parser


def _listing(rows: Sequence[Row]) -> str:
    width = max((len(row.name) for row in rows), default=0)
    return "\n".join(f"{row.name:{width}}  {row.says}" for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], every_row(), sys.stdout, sys.stderr))
