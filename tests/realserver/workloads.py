"""Runs the cases on the real controllers, and records the outcomes: ``make workloads``."""

from __future__ import annotations

import contextlib
import datetime
import difflib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from simulated_workloads import SimulatedCluster, course
from workload_cases import CASES
from workload_random import RANDOM, random_case
from workload_recording import read_outcomes, write_outcomes
from workload_steps import Case, Json, take
from workload_summary import Summary, alike

from kubeproto.config import Connection
from kubeproto.wire import RawRequest, inflate
from kubeproto_httpx import BlockingHttpxTransport

from . import start

_AT_ONCE: Final = 5  # concurrent cases: most of the time is spent waiting
_POLL: Final = 0.3
_REST: Final = 0.8  # seconds for which the expected state must persist
_LONGEST: Final = 90.0
_STILL: Final = 20.0  # seconds for which another state must persist, to be the outcome
_STEP: Final = 1.1  # minimum of seconds between steps: times are whole seconds


class RealCluster:
    """The real server and its controllers."""

    def __init__(self, transport: BlockingHttpxTransport) -> None:
        self._transport = transport

    def send(
        self, method: str, target: str, body: Any = None, media: str = "application/json"
    ) -> tuple[int, Any]:
        data = b"" if body is None else json.dumps(body).encode()
        headers = (("Accept", "application/json"), ("Content-Type", media), ("User-Agent", "suite/1.0"))
        with self._transport.send(RawRequest(method, target, headers, data), timeout=30) as incoming:
            return incoming.status, json.loads(inflate(incoming.headers, b"".join(incoming)))

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def stamp(self) -> str:
        """Return the time as a kubelet writes it."""
        return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def outcomes(cluster: RealCluster, case: Case) -> Iterator[tuple[Json, Json]]:
    """Yield the state after each step of a case, with the state of the simulator.

    A controller is done when nothing changes any more. The expected state is accepted at once; another state
    only after it had time to become the expected one.
    """
    namespace = f"w-{case.name}"
    cluster.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    summary = Summary(cluster, namespace)
    expected = course(SimulatedCluster(), case)
    for step in case.steps:
        started = time.monotonic()
        answer = summary_answer(summary, take(cluster, namespace, step))
        expectation = next(expected)
        settled = _settled(summary, {name: value for name, value in expectation.items() if name != "answer"})
        time.sleep(max(0.0, started + _STEP - time.monotonic()))
        yield {"answer": answer, **settled}, expectation


def differences(real: Json, simulated: Json) -> Iterator[str]:
    """Return the differences of two outcomes, line by line."""
    for name in sorted({*real, *simulated}):
        real_lines, simulated_lines = (_lines(outcome.get(name)) for outcome in (real, simulated))
        yield from (
            line.rstrip()
            for line in difflib.unified_diff(simulated_lines, real_lines, f"{name} simulated", "real", n=0)
        )


def _lines(value: Any) -> list[str]:
    if isinstance(value, list):
        several: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return [line for item in several for line in _lines(item)]
    if isinstance(value, str) and value.endswith("}"):
        head, brace, remainder = value.partition("{")
        return [head, *json.dumps(json.loads(brace + remainder), indent=1).splitlines()]
    return json.dumps(value, indent=1, sort_keys=True).splitlines()


def summary_answer(summary: Summary, answer: Any) -> Any:
    """Return the response to a step, in the numbers of the summary after it."""
    summary.take()
    return summary.plain(answer)


def _settled(summary: Summary, expectation: Json) -> Json:
    started = since = time.monotonic()
    last: Json = {}
    while time.monotonic() < started + _LONGEST:
        state = summary.take()
        if state != last:
            last, since = state, time.monotonic()
        elif time.monotonic() - since > (_REST if alike(state, expectation) else _STILL):
            break
        time.sleep(_POLL)
    return last


def main(arguments: list[str]) -> None:
    """Record the outcomes for `make test`: of all cases, or of those with this prefix."""
    cases = [*CASES, *map(random_case, RANDOM)]
    names = {case.name for case in cases}
    recorded = {name: steps for name, steps in read_outcomes().items() if name in names}
    cases = [case for case in cases if not arguments or case.name.startswith(tuple(arguments))]
    different = 0
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(start(Path(folder)))
        # Processes instead of threads: msgspec crashes when several threads are the first to decode a type.
        workers = stack.enter_context(ProcessPoolExecutor(_AT_ONCE))
        tried = workers.map(partial(on, server.connection), cases)
        for case, outcomes_of_case in zip(cases, tried, strict=True):
            recorded[case.name] = [real for real, _ in outcomes_of_case]
            wrong = [
                index
                for index, (real, simulated) in enumerate(outcomes_of_case)
                if not alike(real, simulated)
            ]
            different += bool(wrong)
            sys.stdout.write(f"{case.name}: {len(outcomes_of_case)} steps, different after {wrong}\n")
            for index in wrong[:1]:
                sys.stdout.writelines(f"  {line}\n" for line in differences(*outcomes_of_case[index]))
            sys.stdout.flush()
    write_outcomes(recorded)
    sys.stdout.write(f"{len(cases)} cases, {different} of them different\n")


def on(connection: Connection, case: Case) -> list[tuple[Json, Json]]:
    """Return the outcomes of a case on a server, each with that of the simulator."""
    with BlockingHttpxTransport(connection) as transport:
        return list(outcomes(RealCluster(transport), case))


if __name__ == "__main__":
    main(sys.argv[1:])
