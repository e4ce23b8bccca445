"""Machine and Store hold exactly the objects of a server, whatever it does: tested by random steps."""

from __future__ import annotations

from asked_examples import examples
from driving import Driver
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from model import GONE, Server, Stream, unreadable_event

from kubeproto.control import CachedObject
from kubeproto.watching import resync
from kubeproto.watching.resync import Closed, Failed, Listed, Opened, SendList, Started
from kubeproto.wire import (
    Broken,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    Unreachable,
)

NAMES = st.sampled_from("abcde")

# Faults that a server, or a proxy in front of it, may return to any request.
FAULTS: list[Outcome] = [
    Throttled("busy", 429), Throttled("busy", 429, 7.0),
    ServerFailed("down", 503), ServerFailed("error", 500, 3.0),
    Refused("unauthorized", 401), Refused("forbidden", 403), Refused("not found", 404), Rejected("bad", 400),
    Unreachable("refused"), Broken("reset"), TimedOut("late"), Garbled("html"), GONE,
]  # fmt: skip
ENDS: list[Outcome | Closed] = [Closed(), *FAULTS]


class ResyncModel(RuleBasedStateMachine):
    """Machine, Store, a server, and time."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.stream: Stream | None = None
        self.faults: list[Outcome] = []
        self.hang_up = False  # the server ends each watch immediately
        self.checked_changes = 0
        self.accumulated: dict[str, CachedObject] = {}  # the sum of the changes
        self.has_lost_event = False  # an unreadable event was sent, and no new snapshot has arrived since

    @initialize(
        streaming=st.booleans(), page_size=st.sampled_from([0, 2]),
        initial_version=st.sampled_from(["0", ""]),
        draw=st.floats(0, 1),
    )  # fmt: skip
    def begin(self, streaming: bool, page_size: int, initial_version: str, draw: float) -> None:
        settings = resync.Settings(
            streaming=streaming, page_size=page_size, initial_version="0" if initial_version else ""
        )
        self.driver = Driver(settings, draw=draw)
        self.driver.step(Started())

    # The cluster changes

    @rule(name=NAMES, is_deletion=st.booleans(), lag=st.booleans())
    def write(self, name: str, is_deletion: bool, lag: bool) -> None:
        if not is_deletion or name in self.server.snapshot(self.server.latest):
            self.server.write(name, is_deletion=is_deletion, lag=lag)

    @rule()
    def write_another_kind(self) -> None:
        self.server.write(None)

    @rule()
    def catch_up(self) -> None:
        self.server.visible = self.server.latest

    @rule()
    def compact(self) -> None:
        self.server.compacted_version = self.server.visible

    # The server misbehaves

    @rule(faults=st.lists(st.sampled_from(FAULTS), max_size=6))
    def fail_next(self, faults: list[Outcome]) -> None:
        self.faults = faults

    @rule(
        hang_up=st.booleans(),
        sends_end_bookmarks=st.booleans(),
        streaming=st.booleans(),
        page_size=st.integers(1, 6),
    )
    def change_behaviour(
        self, hang_up: bool, sends_end_bookmarks: bool, streaming: bool, page_size: int
    ) -> None:
        self.hang_up = hang_up
        self.server.sends_end_bookmarks, self.server.streaming, self.server.page_size = (
            sends_end_bookmarks,
            streaming,
            page_size,
        )

    @precondition(lambda self: self.stream is not None)
    @rule(end=st.sampled_from(ENDS), maximum=st.integers(0, 3))
    def end_the_stream(self, end: Outcome | Closed, maximum: int) -> None:
        assert self.stream is not None
        self.driver.feed(self.stream.read(maximum))
        if self.driver.open:
            self.driver.end(end)
        self.check_changes()

    @precondition(lambda self: self.stream is not None)
    @rule()
    def garble_an_event(self) -> None:
        assert self.stream is not None
        events = self.stream.read(3)
        if events:
            self.has_lost_event = True
            self.driver.feed([*events[:-1], unreadable_event()])
        self.check_changes()

    # The program calls the driver

    @rule()
    def refresh(self) -> None:
        self.driver.step(resync.Refreshed())
        self.check_changes()

    @rule()
    def pause(self) -> None:
        self.driver.step(resync.Paused())
        self.check_changes()
        self.driver.step(Started())

    # Time passes

    @rule(
        seconds=st.sampled_from([0.1, 0.9, 5.0, 61.0, 300.0]),
        maximum=st.integers(1, 4),
        times=st.integers(1, 3),
    )
    def wait(self, seconds: float, maximum: int, times: int) -> None:
        until = self.driver.now + seconds
        self.serve(until, maximum, times)
        self.driver.now = max(self.driver.now, until)

    @precondition(lambda self: self.driver.planned is None)
    @rule(seconds=st.sampled_from([1.0, 1000.0]))
    def set_the_clock_back(self, seconds: float) -> None:
        self.driver.now -= seconds
        self.driver.times.clear()  # the bound is one of the clock's own minutes

    def serve(self, until: float, maximum: int, times: int) -> None:
        """Respond to each request that is due, and deliver a few chunks whenever the stream has events."""
        driver = self.driver
        while True:
            planned = driver.planned
            if planned is not None:
                if planned.earliest + (planned.latest - planned.earliest) * driver.draw > until:
                    return
                self.respond(driver.send())
            for _ in range(times):
                if self.stream is not None and driver.open:
                    driver.feed(self.stream.read(maximum) or self.stream.bookmark())
                    self.check_changes()
            if driver.open and self.hang_up:
                driver.end(Closed())
                self.check_changes()
            if driver.planned is None:
                return

    def respond(self, request: SendList | resync.SendWatch) -> None:
        driver = self.driver
        if self.faults:
            driver.step(Failed(self.faults.pop(0)))
        elif isinstance(request, SendList):
            page = self.server.list(request)
            if isinstance(page, Outcome):
                driver.step(Failed(page))
            else:
                driver.step(Listed(str(page.version), page.token, len(page.items)), page.items)
        else:
            stream = self.server.open(request)
            if isinstance(stream, Stream):
                self.stream, driver.open = stream, True
                driver.step(Opened())
            else:
                driver.step(Failed(stream))
        self.check_changes()

    # The invariants

    def check_changes(self) -> None:
        """Check after each step that the changes add up to the snapshot, and that the snapshot was true at
        its version.
        """
        driver = self.driver
        if not driver.open:
            self.stream = None
        for change in driver.changes[self.checked_changes :]:
            assert self.accumulated.get(change.key) == change.old
            if change.type == "DELETED":
                del self.accumulated[change.key]
            else:
                assert change.new is not None
                self.accumulated[change.key] = change.new
        self.checked_changes = len(driver.changes)
        snapshot = driver.store.entries()
        assert snapshot == self.accumulated
        reached = resync.sync_status(driver.state, driver.now).version
        # A lost event does not advance the machine, though the Store has taken the other events of its chunk.
        # A pause before the relist lets the watch continue at the machine's version, and catch up.
        if isinstance(driver.state, resync.Opening | resync.Watching) and driver.store.version == reached:
            self.has_lost_event = False
        if driver.store.version and not self.has_lost_event:
            now = {key: int(entry.version) for key, entry in snapshot.items()}
            assert now == self.server.snapshot(int(driver.store.version))
            assert driver.store.version == reached

    @invariant()
    def no_server_makes_a_hot_loop(self) -> None:
        times = self.driver.times[-200:]
        assert all(late - early > 60.0 for early, late in zip(times, times[72:], strict=False))

    def teardown(self) -> None:
        """Check that the Store equals the server's objects after a quiet time."""
        if not hasattr(self, "driver"):
            return
        server = self.server
        server.visible, server.page_size = server.latest, 500
        self.faults, self.hang_up, server.sends_end_bookmarks = [], False, True
        for _ in range(5):
            self.serve(self.driver.now + 100.0, 50, 3)
            self.driver.now += 100.0
        assert resync.sync_status(self.driver.state, self.driver.now).live
        assert {k: int(e.version) for k, e in self.driver.store.entries().items()} == server.snapshot(
            server.latest
        )


TestResyncModel = ResyncModel.TestCase
TestResyncModel.settings = settings(
    max_examples=examples(200),
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
