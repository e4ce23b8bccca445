"""A server for measurements of controllers, in a separate process, with a custom resource and the few
endpoints that controllers need at their start.

Run as `python -m benchmarks._controller_server`, it reads its options as a JSON line, prints its address as
another line, and serves until it is killed. Each watch receives the same events and then stays open. The
times of events are those of the machine's monotonic clock, which all processes share.
"""

import json
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from benchmarks._data import books
from benchmarks._measure import MissingRequirement

Course = Literal["burst", "paced", "listed", "silent", "hot", "flooded"]
"""All events at once, so many a second, all of it in the list, nothing at all, the same few objects again
and again, or one object's events in a flood among which the others come one by one."""

PACE: Final = 1000.0  # paced events a second
HOT: Final = 10  # objects that change continuously
FLOOD: Final = 20  # events of the first object for each event of another object
_PAUSE: Final = 0.3  # seconds that a watch is open before its first event
_PATIENCE: Final = 60.0  # seconds until it listens
_ROOT: Final = Path(__file__).resolve().parent.parent
_GROUP: Final = "example.technosophos.com"
_KIND: Final = {"apiVersion": f"{_GROUP}/v1", "kind": "Book"}


class Options(msgspec.Struct, frozen=True):
    """Options: number and seed of the objects, and the course of events."""

    count: int
    course: Course
    seed: int = 7
    pace: float = PACE


@contextmanager
def controller_server(options: Options) -> Generator[str]:
    """Start a server with this course of events, and yield its address."""
    command = [sys.executable, "-m", "benchmarks._controller_server"]
    with subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            if process.stdin is None or process.stdout is None:
                raise ValueError("the server is started with pipes on both ends")
            process.stdin.write(msgspec.json.encode(options) + b"\n")
            process.stdin.flush()
            if not select.select([process.stdout], [], [], _PATIENCE)[0]:
                raise MissingRequirement(f"the server did not start within {_PATIENCE:g} s")
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()


def main() -> None:
    options = msgspec.json.decode(sys.stdin.readline(), type=Options)
    course = _Course(options)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        print(json.dumps({"url": f"http://127.0.0.1:{listening.getsockname()[1]}"}), flush=True)
        while True:
            accepted, _ = listening.accept()
            threading.Thread(target=course.serve, args=(accepted,), daemon=True).start()


class _Course:
    """The responses, prepared before any request."""

    def __init__(self, options: Options) -> None:
        objects = books(options.count, options.seed)
        self.course = options.course
        self.pause = 1 / options.pace
        self.started = 0.0
        listed = objects if options.course == "listed" else []
        self.list = (
            b'{"apiVersion":"%b/v1","items":[%b],"kind":"BookList","metadata":{"resourceVersion":"9"}}'
            % (
                _GROUP.encode(),
                b",".join(listed),
            )
        )
        self.lines = [b'{"type":"ADDED","object":%b}\n' % obj for obj in objects]
        self.chunks = [_chunk(line) for line in self.lines]
        if options.course == "hot":
            self.chunks = _updates(objects, options.count)
        if options.course == "flooded":
            self.lines = _flood(objects)

    def serve(self, accepted: socket.socket) -> None:
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with suppress(OSError), accepted as line:
            while target := _read_request(line):
                path, _, query = target.partition("?")
                if "watch=" in query:
                    self.watch(line, initial="sendInitialEvents=true" in query)
                else:
                    _send(line, self.answer(path))

    def answer(self, path: str) -> bytes:
        if path == "/began":
            return json.dumps({"began": self.started}).encode()
        if path.endswith("/books"):
            return self.list
        return json.dumps(_DISCOVERY.get(path, {"kind": "Status", "items": []})).encode()

    def watch(self, line: socket.socket, *, initial: bool) -> None:
        line.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        if initial:
            if self.course == "listed":
                line.sendall(b"".join(self.chunks))
            annotations = {"k8s.io/initial-events-end": "true"}
            marked = {**_KIND, "metadata": {"resourceVersion": "9", "annotations": annotations}}
            line.sendall(_chunk(json.dumps({"type": "BOOKMARK", "object": marked}).encode() + b"\n"))
        if self.course in ("burst", "hot", "paced", "flooded"):
            time.sleep(_PAUSE)
            self.started = time.monotonic()
            self.pace(line) if self.course in ("paced", "flooded") else self.burst(line)
        while line.recv(65536):  # until the other side closes
            pass

    def burst(self, line: socket.socket) -> None:
        for chunk in self.chunks:
            if (size := line.send(chunk)) < len(chunk):
                line.sendall(chunk[size:])

    def pace(self, line: socket.socket) -> None:
        for number, text in enumerate(self.lines):
            due_time = self.started + number * self.pause
            if (wait := due_time - time.monotonic()) > 0:
                time.sleep(wait)
            head, spec, tail = text.partition(b'"spec":{')
            line.sendall(_chunk(b'%b%b"sent":%.7f,%b' % (head, spec, time.monotonic(), tail)))


def _updates(objects: list[bytes], count: int) -> list[bytes]:
    """Return events of a few objects in turn, each with its own version; the last events are marked."""
    lines: list[bytes] = []
    for number in range(count):
        text = _versioned(objects[number % HOT], number)
        if number >= count - HOT:
            text = text.replace(b'"spec":{', b'"spec":{"sent":1.0,', 1)
        lines.append(
            _chunk(b'{"type":"%b","object":%b}\n' % (b"ADDED" if number < HOT else b"MODIFIED", text))
        )
    return lines


def _flood(objects: list[bytes]) -> list[bytes]:
    """Return the events of one object, and after every twentieth an event of another object."""
    order = [(objects[0], index > 0) for index in range(FLOOD)]
    for other in objects[1:]:
        order += [(other, False), *[(objects[0], True)] * FLOOD]
    return [
        b'{"type":"%b","object":%b}\n' % (b"MODIFIED" if again else b"ADDED", _versioned(text, index))
        for index, (text, again) in enumerate(order)
    ]


def _versioned(text: bytes, number: int) -> bytes:
    """Return an object at a later version: a server never goes back."""
    version = json.loads(text)["metadata"]["resourceVersion"].encode()
    return text.replace(b'"resourceVersion":"%b"' % version, b'"resourceVersion":"%d"' % (10**8 + number))


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _send(line: socket.socket, body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    line.sendall(head + body)


def _read_request(line: socket.socket) -> str:
    """Return the head of a request: controllers send no bodies here."""
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        if not (received := line.recv(65536)):
            return ""
        request += received
    return request.split(b" ", 2)[1].decode()


def _resources(version: str, *resources: tuple[str, str, bool]) -> dict[str, Any]:
    return {
        "kind": "APIResourceList",
        "groupVersion": version,
        "resources": [
            {
                "name": name,
                "singularName": kind.lower(),
                "kind": kind,
                "namespaced": namespaced,
                "verbs": ["get", "list", "watch", "create", "patch", "update", "delete"],
            }
            for name, kind, namespaced in resources
        ],
    }


def _groups(*groups: str) -> dict[str, Any]:
    versions = {group: {"groupVersion": f"{group}/v1", "version": "v1"} for group in groups}
    return {
        "kind": "APIGroupList",
        "groups": [
            {"name": group, "versions": [version], "preferredVersion": version}
            for group, version in versions.items()
        ],
    }


_EXTENSIONS: Final = "apiextensions.k8s.io"
_DISCOVERY: Final[dict[str, dict[str, Any]]] = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": _resources("v1", ("namespaces", "Namespace", False), ("events", "Event", True)),
    "/apis": _groups(_GROUP, _EXTENSIONS),
    f"/apis/{_GROUP}/v1": _resources(f"{_GROUP}/v1", ("books", "Book", True)),
    f"/apis/{_EXTENSIONS}/v1": _resources(
        f"{_EXTENSIONS}/v1", ("customresourcedefinitions", "CustomResourceDefinition", False)
    ),
}


if __name__ == "__main__":
    main()
