"""Contenders with their CPU time: functions in this process, and other processes."""

import base64
import json
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks._measure import MissingRequirement, Probe
from benchmarks._peers import PeerProcess
from benchmarks._rows import Setting
from benchmarks._stopwatch import Stopwatch

# They need milliseconds for an object: with a tenth of the objects their rate is the same, and a row ends
# sooner.
SLOW: Final = ("kr8s", "kubernetes", "kubernetes_asyncio")
FEWER: Final = 10


def omitted_peer() -> float:
    """Return a probe of a peer that a quick run omits."""
    raise MissingRequirement("left out of a quick run, which it would make too long")


def share(name: str, events: int) -> int:
    """Return the number of events that this peer receives."""
    return events // FEWER if name in SLOW else events


class FunctionProbe:
    """A probe of a function in this process that receives `events`; a miss is refused."""

    def __init__(
        self,
        run: Callable[[], int],
        events: int,
        figure: Callable[[float], float],
        *,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        """Store the function that computes the figure of a row from the seconds of a run."""
        if (met := run()) != events:
            raise ValueError(f"a run met {met} events, not {events}: its speed would mean nothing")
        self._stopwatch = Stopwatch(run, clock=clock)
        self._events = events
        self._figure = figure

    def __call__(self) -> float:
        return self._figure(self._stopwatch())

    @property
    def cpu_times(self) -> tuple[float, float]:
        """Seconds of CPU an event."""
        user, system = self._stopwatch.cpu_times
        return user / self._events, system / self._events


class ProcessProbe:
    """A probe of another process, which is started in the first round."""

    def __init__(
        self,
        begin: Callable[[], PeerProcess],
        events: int,
        figure: Callable[[Any], float],
        name: str,
        *,
        total_events: int = 0,
    ) -> None:
        """Store the function that computes the figure of a row from the reply to a round.

        `total_events` is the number of sent events, if the reply counts only some of them.
        """
        self._begin, self._events, self._figure, self._name = begin, events, figure, name
        self._total_events = total_events or events
        self._process: PeerProcess | None = None

    def __call__(self) -> float:
        if self._process is None:
            self._process = self._begin()
        figure = self._figure(self._process.run_round(self._events))
        if figure <= 0:
            raise MissingRequirement(f"{self._name} told {figure}, which means nothing")
        return figure

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Seconds of CPU an event."""
        if self._process is None or (cpu_times := self._process.cpu_times) is None:
            return None
        user, system = (seconds * self._events / self._total_events for seconds in cpu_times)
        return user, system


class Peer(ProcessProbe):
    """A probe of a peer: `MissingRequirement` if it cannot be started."""

    def __init__(
        self, setting: Setting, name: str, work: str, events: int, figure: Callable[[Any], float], /,
        total_events: int = 0, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            lambda: setting.enter_context(setting.peers.start(name, work, **options)),
            events,
            figure,
            name,
            total_events=total_events,
        )


def peers(
    setting: Setting,
    names: Mapping[str, str],
    work: str,
    events: int,
    figure: Callable[[Any], float],
    /,
    **options: Any,
) -> dict[str, Probe]:
    """Return a probe for each peer, by its label in the row."""
    return {label: Peer(setting, name, work, events, figure, **options) for label, name in names.items()}


@contextmanager
def kubeconfig(server: str, ca: str = "", *, token: str = "") -> Generator[Path]:
    """Write a kubeconfig, which all peers can read."""
    cluster: dict[str, object] = {"server": server}
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(ca.encode()).decode()
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": token} if token else {}}],
        "contexts": [
            {"name": "bench", "context": {"cluster": "bench", "user": "bench", "namespace": "default"}}
        ],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config"
        path.write_text(json.dumps(config))
        yield path
