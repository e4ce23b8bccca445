"""Run storms: ``python -m storm --seeds 0:1000``, or ``--hours 8``; ``make storm`` calls it.

Workers are separate processes, each with every n-th seed, and send a line of JSON for each run. The progress
is stored in `.cache/storm`, so that an interrupted run continues.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any, Final, get_args

from msgspec.structs import replace

ROOT: Final = Path(__file__).resolve().parents[2]
STATE: Final = ROOT / ".cache/storm"
HERE: Final = Path(__file__).resolve().parent
MIN_COUNT: Final = 1000  # of each fault and of each arm, in a run of a million faults
MILLION: Final = 1_000_000
MIN_RUNS: Final = 30  # runs of a process: among fewer, a single large run would determine the growth


def main() -> int:
    """Read the arguments, and run."""
    parser = argparse.ArgumentParser(prog="storm", description=__doc__)
    parser.add_argument("--seeds", default="", help="from:to")
    parser.add_argument("--hours", type=float, default=0.0, help="go on with new seeds for so long")
    parser.add_argument("--faults", type=int, default=0, help="go on with new seeds until there were so many")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    single_run = "the run of this seed, or of this file in tests/storm/found"
    parser.add_argument("--show", default="", metavar="RUN", help=f"print the transcript of {single_run}")
    parser.add_argument(
        "--shrink",
        default="",
        metavar="RUN",
        help=f"find the smallest run that fails as {single_run}, and keep it there",
    )
    parser.add_argument("--backend", choices=("asyncio", "trio"))
    parser.add_argument("--duration", type=float, default=1800.0)
    parser.add_argument("--state", type=Path, default=STATE, help="the folder that keeps what is done")
    parser.add_argument("--anew", action="store_true", help="begin anew, whatever is kept")
    parser.add_argument("--sockets", action="store_true", help="the smaller storm, through sockets")
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    parser.add_argument("--broken", default="", help=argparse.SUPPRESS)  # a function of broken.py
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "storm", *sys.argv[1:]])
    if arguments.inside:
        return work(arguments)
    if arguments.show or arguments.shrink:
        return look(arguments)
    return through_sockets(arguments) if arguments.sockets else Runner(arguments).run()


def through_sockets(arguments: argparse.Namespace) -> int:
    """Make runs through sockets, over each transport."""
    from .sockets import STACKS, play_sockets

    # each interruption is a warning, and the proxy counts them
    logging.getLogger("kubeproto").propagate = False
    logging.getLogger("kubeproto").addHandler(logging.NullHandler())
    start = int.from_bytes(os.urandom(4))
    first, last = map(int, arguments.seeds.split(":")) if arguments.seeds else (start, start + 10)
    failed = 0
    for seed in range(first, last):
        for stack in STACKS:
            outcome = play_sockets(seed, stack)
            failed += bool(outcome.violations)
            met = ", ".join(f"{count} {name}" for name, count in sorted(outcome.counts.items()))
            sys.stdout.write(
                f"seed {seed} over {stack.label}: {outcome.connections} connections ({met}),"
                f" {outcome.written} writes acknowledged, {outcome.seconds:.1f} s\n"
            )
            for finding in outcome.violations:
                sys.stdout.write(f"  found: {finding}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{(last - first) * len(STACKS)} runs, {failed} failed\n")
    return failed


# One process


def work(arguments: argparse.Namespace) -> int:
    """Make the runs of a worker, with a line of JSON for each."""
    from . import arms

    arms.install()
    from .episode import play
    from .machines import play_machines
    from .plan import Backend, draw

    if arguments.broken:
        from . import broken

        getattr(broken, arguments.broken)(broken.Patch())
    for backend in get_args(Backend):  # the first imports and caches of a process are not growth
        play(replace(draw(0, backend=backend, duration=20.0), replicas=2, credentials="exec"))
    arms.take()
    start, end, step = map(int, arguments.inside.split(":"))
    for seed in range(start, end, step):
        outcome = play(draw(seed, backend=arguments.backend, duration=arguments.duration))
        findings = [*outcome.violations, *play_machines(seed)]
        line = {
            "seed": seed, "backend": outcome.plan.backend, "counts": outcome.counts, "found": findings[:5],
            "requests": outcome.requests, "seconds": outcome.seconds, "memory": _memory(),
            "digest": outcome.digest, "arms": arms.take(),
        }  # fmt: skip
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
    return 0


def look(arguments: argparse.Namespace) -> int:
    """Show a single run, or shrink it."""
    from .episode import Outcome, play
    from .plan import draw, read, write
    from .shrinking import in_words, shrink

    which: str = arguments.show or arguments.shrink
    if which.isdecimal():
        plan = draw(int(which), backend=arguments.backend, duration=arguments.duration)
    else:
        plan = read(Path(which).read_bytes())
    outcome = play(plan, keep=True)
    if arguments.shrink and outcome.violations:
        plan_path = HERE / "found" / f"seed-{plan.seed}.json"
        plan_path.parent.mkdir(exist_ok=True)

        def keep(smaller: Outcome) -> None:
            plan_path.write_bytes(write(smaller.plan))
            happenings, faults = len(smaller.plan.events), len(smaller.struck)
            sys.stdout.write(f"fails with {happenings} happenings and {faults} faults of requests\n")
            sys.stdout.flush()

        keep(outcome)
        outcome = shrink(outcome, on_smaller=keep)
        sys.stdout.write(f"kept in {plan_path}\n{in_words(outcome)}\n")
    elif arguments.shrink:
        sys.stdout.write(f"{in_words(outcome, lines=0)}\nso this run is not shrunk\n")
    else:
        sys.stdout.write("\n".join([*outcome.transcript, in_words(outcome, lines=0)]) + "\n")
    sys.stdout.write(f"digest {outcome.digest}\n")
    return len(outcome.violations)


def _memory() -> int:
    """Return the resident pages in KiB; 0 if the system does not report them."""
    gc.collect()  # garbage in cycles varies at random, and is not growth
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4
    except OSError:
        return 0


# All of them


class Runner:
    """Run workers until the seeds, the hours or the faults are complete, and add up their results."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.began = time.monotonic()
        self.counts: Counter[str] = Counter()
        self.arms: Counter[str] = Counter()
        self.failed: list[tuple[int, str]] = []
        self.memory: dict[int, list[int]] = {}
        self.runs = 0
        self.seconds = 0.0
        self.spent = 0.0  # seconds of real time before this process
        self.start, self.end = self._range()
        name = f"{arguments.seeds or 'new'}-{arguments.backend or 'both'}-{arguments.duration:g}"
        self.path: Path = arguments.state / f"{name.replace(':', '-')}.json"
        self.next_seeds = [self.start + worker_index for worker_index in range(arguments.processes)]

    def _range(self) -> tuple[int, int]:
        if self.arguments.seeds:
            start, end = map(int, self.arguments.seeds.split(":"))
            return start, end
        start = int.from_bytes(os.urandom(4)) << 16
        return start, start + (1 << 60 if self.arguments.hours or self.arguments.faults else 40)

    def run(self) -> int:
        """Run. Return how many runs had findings. An interruption preserves the progress."""
        self._resume()
        for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores SIGINT
            signal.signal(number, signal.default_int_handler)
        try:
            self._run_all()
        except KeyboardInterrupt:
            self._show()
            sys.stdout.write("interrupted; the same command goes on from here\n")
            return 1
        self._show()
        self._report()
        return len(self.failed)

    def _run_all(self) -> None:
        lines: Queue[tuple[int, str]] = Queue()
        workers = [self._worker(worker_index, lines) for worker_index in range(self.arguments.processes)]
        last_report = time.monotonic()
        try:
            alive = len(workers)
            while alive and not self._is_complete():
                worker_index, line = lines.get()
                if not line:
                    alive -= 1
                    continue
                self._take(worker_index, json.loads(line))
                if time.monotonic() - last_report > 10:
                    last_report = time.monotonic()
                    self._show()
        finally:
            for worker in workers:
                worker.terminate()
                worker.wait()

    def _worker(self, worker_index: int, lines: Queue[tuple[int, str]]) -> subprocess.Popen[str]:
        options = self.arguments
        inside = f"{self.next_seeds[worker_index]}:{self.end}:{options.processes}"
        command = [sys.executable, "-m", "storm", "--inside", inside, "--duration", str(options.duration)]
        command += ["--backend", options.backend] if options.backend else []
        command += ["--broken", options.broken] if options.broken else []
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

        def read() -> None:
            assert worker.stdout is not None
            with worker.stdout:
                for line in worker.stdout:
                    lines.put((worker_index, line))
            lines.put((worker_index, ""))

        Thread(target=read, daemon=True).start()
        return worker

    def _is_complete(self) -> bool:
        options = self.arguments
        if options.faults and self.counts.total() >= options.faults:
            return True
        return bool(options.hours) and self._elapsed() > options.hours * 3600

    def _elapsed(self) -> float:
        return self.spent + time.monotonic() - self.began

    def _take(self, worker_index: int, line: dict[str, Any]) -> None:
        self.runs += 1
        self.counts.update(line["counts"])
        self.arms.update(line["arms"])
        self.seconds += line["seconds"]
        self.memory.setdefault(worker_index, []).append(line["memory"])
        self.next_seeds[worker_index] = line["seed"] + self.arguments.processes
        for finding in line["found"][:1]:
            self.failed.append((line["seed"], finding))
            sys.stdout.write(f"seed {line['seed']} on {line['backend']}: {finding}\n")
        self._keep()

    # The progress, so that an interrupted run can continue

    def _resume(self) -> None:
        if self.arguments.anew or not self.path.exists():
            return
        stored = json.loads(self.path.read_text())
        self.start, self.end = stored["start"], stored["end"]
        if len(stored["done"]) == len(self.next_seeds):
            self.next_seeds = stored["done"]
        else:  # another number of processes: a few runs are repeated
            self.next_seeds = [
                min(stored["done"]) + worker_index for worker_index in range(len(self.next_seeds))
            ]
        self.counts.update(stored["counts"])
        self.arms.update(stored["arms"])
        self.runs, self.seconds, self.spent = stored["runs"], stored["seconds"], stored["spent"]
        self.failed += [(seed, finding) for seed, finding in stored["failed"]]
        sys.stdout.write(f"going on after {self.runs} runs, as {self.path} says; delete it to begin again\n")

    def _keep(self) -> None:
        stored = {
            "start": self.start, "end": self.end, "done": self.next_seeds, "counts": self.counts,
            "arms": self.arms, "runs": self.runs, "seconds": self.seconds, "spent": self._elapsed(),
            "failed": self.failed,
        }  # fmt: skip
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(stored))
        fresh.replace(self.path)

    def _show(self) -> None:
        faults = self.counts.total()
        rate = f"{faults / self.seconds:.0f} a CPU second" if self.seconds else "-"
        elapsed = self._elapsed()
        sys.stdout.write(
            f"{self.runs} runs, {faults} faults, {rate}, {elapsed:.0f} s, {len(self.failed)} failed\n"
        )
        sys.stdout.flush()

    def _report(self) -> None:
        """Print how often each fault and arm occurred, and which occurred too seldom."""
        for title, counts in (("faults", self.counts), ("arms", self.arms)):
            sys.stdout.write(f"\n{title}:\n")
            for name, count in sorted(counts.items()):
                few = "  too few" if self.counts.total() >= MILLION and count < MIN_COUNT else ""
                sys.stdout.write(f"  {count:9}  {name}{few}\n")
        for worker_index, levels in self.memory.items():
            first, last = max(levels[: len(levels) // 10 + 1]), levels[-1]
            grown = "" if last <= 1.2 * first else "  more than 20% above its level after the first tenth"
            sys.stdout.write(
                f"worker {worker_index}: {first} KiB after the first tenth, {last} KiB now{grown}\n"
            )
            if grown and len(levels) >= MIN_RUNS:
                self.failed.append((-1, f"memory{grown}"))
        for seed, finding in self.failed[:20]:
            sys.stdout.write(f"failed: seed {seed}: {finding}\n")
        if not self.failed:
            self.path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(min(main(), 100))
