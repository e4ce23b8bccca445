"""The command line of the benchmarks: measure rows, compare two runs, write a report."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

from msgspec import structs

from benchmarks._compare import compare
from benchmarks._measure import MissingRequirement, Result, run_contest
from benchmarks._page import write_report
from benchmarks._peers import Peers
from benchmarks._report import as_json, as_table, header
from benchmarks._results import IncompatibleRuns, Outcome, Run, format_minute, load, outcome_of, run_of
from benchmarks._rows import Row, Setting, UnknownNames, all_rows, select
from benchmarks._speed_page import PAGE, IncompleteRun, speed_page

BOUND: Final = 20.0  # seconds after which a row starts no further round
QUICK: Final = 1.0
REPORT: Final = Path(__file__).parent / "report"


def main(arguments: Sequence[str], rows: Sequence[Row], out: TextIO, err: TextIO) -> int:
    """Run the command; return 0 on success and 2 for an unknown name."""
    if arguments and arguments[0] in ("compare", "report"):
        return _read(arguments[0], arguments[1:], out, err)
    return _measure(arguments, rows, out, err)


def _read(command: str, files: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Compare two files of results, or write the report of a file."""
    expected = {"compare": 2, "report": 1}[command]
    if len(files) != expected:
        usage = "compare BEFORE.json AFTER.json" if command == "compare" else "report RESULTS.json"
        print(f"usage: python -m benchmarks {usage}", file=err)
        return 2
    try:
        runs = [load(Path(file)) for file in files]
    except ValueError as error:
        print(error, file=err)
        return 2
    if command == "compare":
        print(compare(*runs), file=out)
    else:
        _report(runs[0], out, err)
    return 0


def _report(run: Run, out: TextIO, err: TextIO) -> None:
    print("\n".join(map(str, write_report(run, REPORT))), file=out)
    try:
        page = speed_page(run)
    except IncompleteRun as reason:
        print(f"docs/speed.md is as it was: {reason}", file=err)
    else:
        PAGE.write_text(page)
        print(PAGE, file=out)


def _measure(arguments: Sequence[str], rows: Sequence[Row], out: TextIO, err: TextIO) -> int:

    def log(message: str) -> None:
        print(message, file=err, flush=True)

    options = _parser().parse_intermixed_args(arguments)
    if not options.names:
        print(_listing(rows), file=out)
        return 0
    try:
        chosen = select(options.names, rows)
    except UnknownNames as names:
        log(f"no such benchmark: {names}\n{_listing(rows)}")
        return 2
    started, outcomes = datetime.now(UTC), list[Outcome]()
    try:
        previous_run = _previous_run(options.save, run_of((), quick=options.quick, started=started), rows)
    except (IncompatibleRuns, ValueError) as reason:
        log(f"{reason}; name another file, or remove this one")
        return 2
    peers, shared = Peers(log), dict[str, Any]()
    if not options.json:
        print(header(chosen), file=out, flush=True)
    for row in chosen:
        start = time.monotonic()
        result = _measured(row, quick=options.quick, peers=peers, shared=shared, err=err)
        print(as_json(row, result) if options.json else as_table(row, result, chosen), file=out, flush=True)
        if result is not None:
            took, now = time.monotonic() - start, format_minute(datetime.now(UTC))
            outcomes.append(outcome_of(row, result, took, measured=now))
        if options.save is not None:  # after each row, so that an interrupted run loses no results
            fresh = run_of(tuple(outcomes), quick=options.quick, started=started)
            (previous_run.with_rows_of(fresh) if previous_run else fresh).save(options.save)
    if len(outcomes) > 1:
        log(_durations(outcomes))
    return 0


def _previous_run(file: Path | None, fresh: Run, rows: Sequence[Row]) -> Run | None:
    """Return the run in the file without rows that no longer exist, or None if there is no file."""
    if file is None or not file.exists():
        return None
    previous_run = load(file)
    try:
        previous_run.check_compatible(fresh)
    except IncompatibleRuns as reason:
        raise IncompatibleRuns(f"{file} cannot take these rows: {reason}") from None
    names = {row.name for row in rows}
    return structs.replace(
        previous_run,
        rows=tuple(previous_row for previous_row in previous_run.rows if previous_row.name in names),
    )


def _durations(outcomes: Sequence[Outcome]) -> str:
    """Return the duration of each group of rows."""
    took: dict[str, float] = {}
    for outcome in outcomes:
        took[outcome.group] = took.get(outcome.group, 0.0) + outcome.took
    each = ", ".join(f"{group} {seconds:.0f} s" for group, seconds in took.items())
    return f"{sum(took.values()):.0f} s in all: {each}"


def _measured(row: Row, *, quick: bool, peers: Peers, shared: dict[str, Any], err: TextIO) -> Result | None:
    def log(message: str) -> None:
        print(f"{row.name}: {message}", file=err, flush=True)

    with ExitStack() as stack:
        try:
            contest = row.make(Setting(quick=quick, peers=peers, stack=stack, shared=shared))
            if row.once:
                return run_contest(contest, row.unit, log, rounds=1, warm=False)
            if quick:
                return run_contest(contest, row.unit, log, bound=QUICK, fewest=1)
            return run_contest(contest, row.unit, log, bound=BOUND)
        except (
            MissingRequirement,
            ModuleNotFoundError,
        ) as reason:  # ModuleNotFoundError: an extra that is not installed
            log(f"not measured: {reason}")
            return None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure how fast kubeproto is. Without a name, list what can be measured.",
        epilog="`compare BEFORE.json AFTER.json` says what changed between two files that --save wrote;"
        " `report RESULTS.json` makes benchmarks/report of one.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="a row, a prefix of rows such as decode.pods, or all"
    )
    parser.add_argument("--quick", action="store_true", help="less data, less time, fewer peers")
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the results to this file; other rows that it has stay",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of a table")
    return parser


def _listing(rows: Sequence[Row]) -> str:
    width = max((len(row.name) for row in rows), default=0)
    return "\n".join(f"{row.name:{width}}  {row.summary}" for row in rows)


def _run() -> int:
    """Return the exit status, with those of other programs for a closed pipe and for Ctrl-C."""
    try:
        status = main(sys.argv[1:], all_rows(), sys.stdout, sys.stderr)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Python flushes again at exit, and would report the same closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status


if __name__ == "__main__":
    sys.exit(_run())
