"""A driver of the resync machine in virtual time, and scripted responses.

`Driver.perform` makes no decisions, like a real driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

import kubeproto as kp
from kubeproto.control import Change, Store
from kubeproto.watching import WatchEvent, resync
from kubeproto.watching.resync import (
    Closed,
    Endpoint,
    Failed,
    Listed,
    Opened,
    SendList,
    SendWatch,
    Settings,
    Started,
    SyncFailure,
)
from kubeproto.wire import Outcome


class BookSpec(kp.Fields):
    title: str = ""


class Book(kp.Object[BookSpec, None], group="example.io", version="v1", plural="books"):
    """The kind that the tests cache."""


Event = WatchEvent[Book]
FULL: Final = Settings(streaming=False)
NEW_ENDPOINT: Final = Endpoint()


def book(name: str, version: object, title: str = "", uid: str = "") -> Book:
    metadata = kp.ObjectMeta(name=name, resource_version=str(version), uid=uid)
    return Book(metadata=metadata, spec=BookSpec(title=title))


def added(name: str, version: object, title: str = "") -> Event:
    return kp.Added(book(name, version, title))


def modified(name: str, version: object, title: str = "") -> Event:
    return kp.Modified(book(name, version, title))


def deleted(name: str, version: object, title: str = "") -> Event:
    return kp.Deleted(book(name, version, title))


def bookmark(version: object) -> Event:
    return kp.Bookmark(str(version))


def end_bookmark(version: object) -> Event:
    return kp.Bookmark(str(version), initial_events_end=True)


class Page(Struct):
    """A page of a list."""

    version: object
    items: Sequence[Book | kp.Malformed] = ()
    token: str = ""


class Stream(Struct):
    """A watch: chunks, some seconds of silence, and its end; None leaves it open."""

    chunks: Sequence[Sequence[Event]] = ()
    lasts: float = 5.0
    end: Outcome | Closed | None = Closed()


Response = Page | Stream | Outcome


class Driver:
    """A cache: machine, Store and clock, with a record of its requests, their times and the reported
    failures.
    """

    def __init__(
        self,
        settings: Settings = FULL,
        version: str = "",
        endpoint: Endpoint = NEW_ENDPOINT,
        draw: float = 0.0,
    ) -> None:
        self.store = Store(Book)
        self.state: resync.State = resync.begin(settings, version=version, endpoint=endpoint)
        self.now = 1000.0
        self.draw = draw
        self.planned: SendList | SendWatch | None = None
        self.open = False
        self.requests: list[SendList | SendWatch] = []
        self.times: list[float] = []
        self.changes: list[Change[Book]] = []
        self.failures: list[SyncFailure] = []
        self.abandoned: Outcome | None = None
        self.delivered: list[Event] = []

    def step(self, event: resync.Event, batch: Iterable[Any] = ()) -> None:
        self.state, actions = resync.step(self.state, event, self.now)
        for action in actions:
            self.perform(action, list(batch))

    def perform(self, action: resync.Action, batch: list[Any]) -> None:
        match action:
            case SendList() | SendWatch():
                assert not self.open, "a second request beside an open stream"
                self.planned = action
            case resync.Stage():
                self.store.stage(batch)
            case resync.Update(after):
                fresh = resync.newer(batch, after)
                self.delivered += fresh
                self.changes += self.store.update(fresh)
            case resync.Replace(version):
                self.changes += self.store.replace(version)
            case resync.Discard():
                self.store.discard()
            case resync.Close():
                self.open, self.planned = False, None
            case resync.Report(failure):
                self.failures.append(failure)
            case resync.Abandon(outcome):
                self.abandoned = outcome

    def send(self) -> SendList | SendWatch:
        """Wait until the planned request may go out, and send it."""
        planned = self.planned
        assert planned is not None, f"nothing is planned in {self.state}"
        self.now = max(self.now, planned.earliest + (planned.latest - planned.earliest) * self.draw)
        self.planned = None
        self.requests.append(planned)
        self.times.append(self.now)
        return planned

    def feed(self, chunk: Sequence[Event]) -> None:
        for batch, event in resync.digest(list(chunk)):
            if not self.open:
                break
            self.step(event, batch)

    def end(self, end: Outcome | Closed) -> None:
        self.open = False
        self.step(end if isinstance(end, Closed) else Failed(end))

    def respond(self, respond: Response) -> None:
        """Send the planned request, and process this response."""
        planned = self.send()
        match respond:
            case Page(version, items, token):
                assert isinstance(planned, SendList)
                self.step(Listed(str(version), token, len(items)), items)
            case Stream(chunks, lasts, end):
                assert isinstance(planned, SendWatch)
                self.open = True
                self.step(Opened())
                for chunk in chunks:
                    self.feed(chunk)
                self.now += lasts
                if self.open and end is not None:
                    self.end(end)
            case outcome:
                self.step(Failed(outcome))

    def snapshot(self) -> dict[str, str]:
        """Return the names and versions that readers see."""
        return {key: entry.version for key, entry in self.store.entries().items()}

    def waits(self) -> list[float]:
        """Return the seconds between the requests."""
        return [round(b - a, 6) for a, b in zip(self.times, self.times[1:], strict=False)]


def play(*responses: Response, **settings: Any) -> Driver:
    """Start a cache, and process these responses in turn."""
    driver = Driver(**settings)
    driver.step(Started())
    for respond in responses:
        driver.respond(respond)
    return driver


def changes(driver: Driver) -> list[tuple[str, str]]:
    """Return the type and key of each change."""
    return [(change.type, change.key) for change in driver.changes]


def requests(driver: Driver) -> list[tuple[str, str]]:
    """Return each request: list, watch or streaming list, and its version."""
    return [
        ("list" if isinstance(a, SendList) else "stream" if a.initial else "watch", a.version)
        for a in driver.requests
    ]
