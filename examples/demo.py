"""A mirror of a custom resource, and what a network and a server can do to it: `python examples/demo.py`.

Everything runs in this process, on a virtual clock: the API server is simulated, and minutes of trouble
cost nothing. The client is the real one: its requests, its decoders, its resync machine, its Store.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import kubeproto as kp
from kubeproto import sim
from kubeproto.control import Change, Store
from kubeproto.watching import resync
from kubeproto.wire import classify

COLOURS = {"ADDED": "32", "MODIFIED": "33", "DELETED": "31", "asks": "36", "trouble": "35", "writes": "1"}


class BookSpec(kp.Fields):
    title: str
    year: int | None = None


class Book(kp.Object[BookSpec, None], group="example.com", version="v1", plural="books"):
    """A book on a shelf."""


class Over(Exception):
    """The story has been told."""


class Demo:
    """A cluster, a client that mirrors its books, and a page to tell of it."""

    def __init__(self, *, colour: bool) -> None:
        self.cluster = sim.Cluster(crds=[Book])
        self.began = self.cluster.now
        self.faults = sim.Faults(self.cluster)
        self.transport = self.faults.blocking_transport()
        self.books = kp.Api(Book, namespace="default")
        self.store = Store(Book)
        self.state: resync.State = resync.begin(resync.Settings(streaming=False))
        self.planned: Any = None
        self.open = False
        self.colour = colour

    def say(self, who: str, what: str) -> None:
        """One line of the story."""
        mark = f"\033[{COLOURS.get(who, '0')}m{who:>9}\033[0m" if self.colour else f"{who:>9}"
        print(f"{self.cluster.now - self.began:8.1f} s {mark}  {what}")

    # What happens on the other side, by its own clock.

    def script(self) -> None:
        """Who writes what when, and what goes wrong."""
        later = self.cluster.later
        for name, title, year in [("moby-dick", "Moby-Dick", 1851), ("typee", "Typee", 1846)]:
            self.write(name, title, year)
        later(5, lambda: self.write("omoo", "Omoo", 1847))
        later(20, lambda: self.write("typee", "Typee: A Peep at Polynesian Life", 1846))
        later(30, lambda: self.cut("the connection breaks in the middle of an event", sim.Cut(after=700)))
        later(40, lambda: self.write("mardi", "Mardi", 1849))
        later(70, lambda: self.write("redburn", "Redburn", 1849))
        later(150, self.forget)
        later(260, lambda: self.write("pierre", "Pierre", 1852))
        later(300, self.end)

    def write(self, name: str, title: str, year: int) -> None:
        """Somebody else writes a book."""
        self.say("writes", f"{name}: {title} ({year})")
        book = Book(
            metadata=kp.ObjectMeta(name=name, namespace="default"), spec=BookSpec(title=title, year=year)
        )
        self.cluster.put(book)

    def cut(self, what: str, fault: sim.Fault) -> None:
        """The watch ends now, and something happens to the next one."""
        self.say("trouble", what)
        self.faults.script.append(fault)
        self.cluster.end_watches(Book)

    def forget(self) -> None:
        """A deletion that nobody sees, and a server that forgets its history."""
        self.say("trouble", "the watch ends, typee is deleted, and the server forgets what happened")
        self.cluster.end_watches(Book)
        self.cluster.remove(Book, "typee")
        self.cluster.compact()

    def end(self) -> None:
        """Time is up."""
        raise Over

    # The client: a driver of the resync machine. It decides nothing.

    def run(self) -> None:
        """Mirror until the story is over."""
        self.tell(resync.Started())
        try:
            while True:
                self.ask()
        except Over:
            pass

    def tell(self, event: resync.Event, batch: list[Any] | None = None) -> None:
        """Step, and do what the actions say."""
        self.state, actions = resync.step(self.state, event, self.cluster.now)
        for action in actions:
            match action:
                case resync.SendList() | resync.SendWatch():
                    self.planned = action
                case resync.Stage():
                    self.store.stage(batch or [])
                case resync.Apply(after):
                    self.show(self.store.apply(resync.newer(batch or [], after)))
                case resync.Commit(version):
                    self.show(self.store.commit(version))
                    self.say("mirror", f"{len(self.store)} books, exact at version {version}")
                case resync.Discard():
                    self.store.discard()
                case resync.Close():
                    self.open, self.planned = False, None
                case resync.Report(trouble):
                    self.say("trouble", trouble.text)
                case _:
                    pass

    def show(self, changes: Sequence[Change[Book]]) -> None:
        """What readers of the mirror see."""
        for change in changes:
            now = self.store.get(change.key.rpartition("/")[2], "default")
            self.say(change.type, f"{change.key}" + (f": {now.spec.title}" if now else ""))

    def ask(self) -> None:
        """Send what is planned when it is time, and hand on what comes."""
        planned = self.planned
        self.cluster.advance_to(max(planned.at, self.cluster.now))
        try:
            self.read_list(planned) if isinstance(planned, resync.SendList) else self.follow(planned)
        except (kp.ApiError, kp.TransportError, kp.RemoteProtocolError) as error:
            self.open = False
            self.tell(resync.Failed(classify(error)))

    def read_list(self, planned: resync.SendList) -> None:
        """One page of a list."""
        self.say("asks", f"list at version {planned.version or 'latest'}")
        request = self.books.list(
            resource_version=planned.version,
            resource_version_match="NotOlderThan" if planned.match else "",
            limit=planned.limit,
            continue_=planned.token,
        )
        with self.transport.send(request, timeout=60) as incoming:
            page = request.parse(incoming.status, incoming.headers, b"".join(incoming)).value
        self.tell(resync.Listed(page.version, page.next_page, len(page.items)), page.items)

    def follow(self, planned: resync.SendWatch) -> None:
        """A watch, until it ends."""
        self.say("asks", f"watch from version {planned.version}")
        request = self.books.watch(resource_version=planned.version, timeout_seconds=planned.seconds[0])
        with self.transport.send(request, idle=planned.idle) as incoming:
            decoder = request.open(incoming.status, incoming.headers)
            self.open = True
            self.tell(resync.Opened())
            for piece in incoming:
                for batch, event in resync.digest(decoder.feed(piece)):
                    if self.open:
                        self.tell(event, batch)
                if not self.open:
                    return
        self.open = False
        self.tell(resync.Closed())


def main() -> None:
    """Tell the story."""
    demo = Demo(colour=sys.stdout.isatty())
    demo.script()
    demo.run()
    held = {one["metadata"]["name"] for one in demo.cluster.objects(Book)}
    mirrored = {key.rpartition("/")[2] for key in demo.store.entries()}
    same = "the same as" if held == mirrored else "NOT the same as"
    print(f"\nFive minutes later the mirror holds {len(mirrored)} books, {same} the server:")
    print(", ".join(sorted(mirrored)))
    if held != mirrored:
        sys.exit(1)


if __name__ == "__main__":
    main()
