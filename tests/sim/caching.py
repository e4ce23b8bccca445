"""A cache of books over a transport: the resync machine, the Store, and a driver without decisions."""

from __future__ import annotations

from typing import Any

from raw_client import Book

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Store
from kubeproto.watching import resync
from kubeproto.wire import classify


class Cache:
    """Follow a cluster; `run` continues until a time of the cluster's clock."""

    def __init__(self, cluster: sim.Cluster, transport: sim.BlockingSimTransport, seed: int = 0) -> None:
        self.cluster = cluster
        self.transport = transport
        self.store = Store(Book)
        self.books = kp.Api(Book, namespace="default")
        self.state: resync.State = resync.begin()
        self.planned: Any = None
        self.open = False
        self.seed = seed
        self.requests = 0

    @property
    def now(self) -> float:
        return self.cluster.now

    def snapshot(self) -> dict[str, str]:
        """Return the names and versions that readers see."""
        return {key: entry.version for key, entry in self.store.entries().items()}

    def stored_versions(self) -> dict[str, str]:
        """Return the names and versions of the cluster's objects."""
        stored = [obj["metadata"] for obj in self.cluster.objects(Book)]
        return {f"{meta['namespace']}/{meta['name']}": meta["resourceVersion"] for meta in stored}

    def step(self, event: resync.Event, batch: Any = ()) -> None:
        self.state, actions = resync.step(self.state, event, self.now)
        for action in actions:
            match action:
                case resync.SendList() | resync.SendWatch():
                    self.planned = action
                case resync.Stage():
                    self.store.stage(batch)
                case resync.Update(after):
                    self.store.update(resync.newer(batch, after))
                case resync.Replace(version):
                    self.store.replace(version)
                case resync.Discard():
                    self.store.discard()
                case resync.Close():
                    self.open, self.planned = False, None
                case _:
                    pass

    def run(self, seconds: float) -> None:
        """Send requests and process responses for some seconds."""
        self.cluster.later(seconds, self._end)
        self.step(resync.Started())
        try:
            while True:
                self._send_request()
        except TimeIsOver:
            pass

    def _end(self) -> None:
        raise TimeIsOver

    def _send_request(self) -> None:
        planned = self.planned
        assert planned is not None, self.state
        share = ((self.seed * 7 + self.requests) % 10) / 10
        self.cluster.advance_to(max(planned.earliest + (planned.latest - planned.earliest) * share, self.now))
        self.planned, self.requests = None, self.requests + 1
        try:
            if isinstance(planned, resync.SendList):
                self._list(planned)
            else:
                self._watch(planned)
        except (kp.ApiError, kp.TransportError, kp.RemoteProtocolError) as error:
            self.open = False
            self.step(resync.Failed(classify(error)))

    def _list(self, planned: resync.SendList) -> None:
        request = self.books.list(
            resource_version=planned.version, resource_version_match="NotOlderThan" if planned.match else "",
            limit=planned.limit, continue_=planned.token,
        )  # fmt: skip
        with self.transport.send(request, timeout=60) as incoming:
            page = request.parse(incoming.status, incoming.headers, b"".join(incoming)).value
        self.step(resync.Listed(page.version, page.next_page, len(page.items)), page.items)

    def _watch(self, planned: resync.SendWatch) -> None:
        request = self.books.watch(
            resource_version=planned.version, send_initial_events=planned.initial or None,
            timeout_seconds=planned.seconds[0],
        )  # fmt: skip
        with self.transport.send(
            request, idle=planned.idle, timeout=planned.seconds[0] + planned.grace
        ) as incoming:
            decoder = request.open(incoming.status, incoming.headers)
            if incoming.status != 200:
                decoder.feed(b"".join(incoming))
                [failed] = decoder.finish()
                assert isinstance(failed, kp.WatchFailed)
                self.step(resync.Failed(classify(failed.status)))
                return
            self.open = True
            self.step(resync.Opened())
            for chunk in incoming:
                self._process(decoder.feed(chunk))
                if not self.open:
                    return
            self._process(decoder.finish())
        if self.open:
            self.open = False
            self.step(resync.Closed())

    def _process(self, events: list[kp.WatchEvent[Book]]) -> None:
        for batch, event in resync.digest(events):
            if self.open:
                self.step(event, batch)


class TimeIsOver(Exception):
    """The time of a cache has expired."""
