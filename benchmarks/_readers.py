"""Runs of kubeproto's decoders over a watch or a list, for the rows of decoding and of limits."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Raw

import kubeproto as kp
from kubeproto.kinds.core_v1 import Pod
from kubeproto.objects import encode
from kubeproto.watching import ListDecoder, WatchDecoder, read_page

Read = Callable[[Sequence[bytes]], int]
"""Reads the segments of a stream or a body, and counts the events or objects that it reached."""


class BookSpec(kp.Fields):
    title: str
    authors: list[str] = []
    pages: int | None = None


class BookStatus(kp.Fields):
    copy_objects: int | None = None
    observed_generation: int | None = None
    phase: str | None = None


class Book(kp.Object[BookSpec, BookStatus], group="example.technosophos.com", version="v1"):
    """The custom resource that `benchmarks._data.books` makes."""


class RawPod(kp.KubeObject, version="v1", kind="Pod"):
    """A pod whose every byte is parsed and whose metadata is typed; the rest stays JSON."""

    spec: Raw
    status: Raw


class RawBook(kp.KubeObject, group="example.technosophos.com", version="v1", kind="Book"):
    """A custom resource of the same form."""

    spec: Raw
    status: Raw


class RawConfigMap(kp.KubeObject, version="v1", kind="ConfigMap"):
    """A ConfigMap of the same form."""

    data: Raw


def events(kind: type[kp.KubeObject], *, strict: bool = False) -> Read:
    """Read a watch and reach each event."""

    def read(pieces: Sequence[bytes]) -> int:
        decoder = WatchDecoder(kind, strict=strict)
        count = 0
        for chunk in pieces:
            for _ in decoder.feed(chunk):
                count += 1
        return count + len(decoder.finish())

    return read


def use_share(kind: type[kp.KubeObject]) -> Callable[[Sequence[bytes], int], int]:
    """Read a watch and use a share of its objects, in hundredths."""

    def read(pieces: Sequence[bytes], share: int) -> int:
        decoder: WatchDecoder[Any] = WatchDecoder(kind)
        count = credit = 0
        for chunk in pieces:
            for event in decoder.feed(chunk):
                count += 1
                credit += share
                if credit >= 100 and isinstance(event, kp.Added | kp.Modified | kp.Deleted):
                    credit -= 100
                    use_object(event.object)
        return count + len(decoder.finish())

    return read


def use_object(obj: Any) -> None:
    """Use the labels and the main parts of an object, as a program does."""
    _ = obj.metadata.labels
    for name in ("spec", "status", "data"):
        getattr(obj, name, None)


def copy_objects(kind: type[kp.KubeObject]) -> Read:
    """Read a watch and copy the bytes of each object, as a Store does."""

    def read(pieces: Sequence[bytes]) -> int:
        decoder: WatchDecoder[Any] = WatchDecoder(kind)
        count = 0
        for chunk in pieces:
            for event in decoder.feed(chunk):
                if isinstance(event, kp.Added | kp.Modified | kp.Deleted):
                    encode(event.object)
                count += 1
        return count + len(decoder.finish())

    return read


def parse_page(pieces: Sequence[bytes]) -> int:
    """Read a page in a single call."""
    count = 0
    for _ in read_page(pieces[0], Pod):
        count += 1
    return count


def feed_page(pieces: Sequence[bytes]) -> int:
    """Read a page as it arrives."""
    decoder = ListDecoder(Pod)
    count = 0
    for chunk in pieces:
        for _ in decoder.feed(chunk):
            count += 1
    return count + len(decoder.finish())
