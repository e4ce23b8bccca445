"""Random walks through the records of controllers: finalizers, Events, and their own writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any, Final

from kubeproto.control import (
    CachedObject,
    CacheScope,
    OwnWrite,
    OwnWrites,
    Recorder,
    finalizers,
)
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.kinds.events_v1 import Event
from kubeproto.objects import Status, StatusDetails, decode
from kubeproto.wire import Broken, Conflicted, Outcome, Refused, Rejected

from .walk import OUTCOMES, STEPS

_MINE: Final = "storm.example.com/mine"
_OTHERS: Final = ("a.example.com/x", "b.example.com/y")


def _object(rng: Random, uids: int) -> ConfigMap:
    """Return an object of a fixed name, with its own and other finalizers, perhaps being deleted."""
    present = [finalizer for finalizer in (*_OTHERS, _MINE) if rng.random() < 0.5]
    rng.shuffle(present)
    meta: dict[str, Any] = {"name": "o", "namespace": "n", "uid": f"u{rng.randrange(uids)}"}
    if rng.random() < 0.5:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return decode(json.dumps({"metadata": meta | {"finalizers": present}}).encode(), ConfigMap)


def walk_finalizers(rng: Random) -> Iterator[str]:
    """Decide about random objects, and again after patches that failed."""
    for _ in range(STEPS):
        obj = _object(rng, 2)
        decision: finalizers.Decision | finalizers.Failed = finalizers.decide(obj, _MINE)
        deleted, mine = obj.metadata.deletion_timestamp is not None, _MINE in obj.metadata.finalizers
        expected: type[object] = finalizers.Ignore if deleted else finalizers.AddFinalizer
        if mine:
            expected = finalizers.CleanUp if deleted else finalizers.Reconcile
        if type(decision) is not expected:
            yield f"{decision!r} for {obj.metadata!r}"
        while isinstance(decision, finalizers.AddFinalizer | finalizers.CleanUp):
            if isinstance(decision, finalizers.CleanUp) and obj.metadata.finalizers[decision.index] != _MINE:
                yield f"{decision!r} removes {obj.metadata.finalizers[decision.index]}"
            failure = rng.choice((None, Conflicted("no", 409), Rejected("no", 422), *OUTCOMES))
            if not isinstance(finalizers.interpret(failure), finalizers.ReadAgain):
                break
            assert failure is not None
            fresh = rng.choice((obj, None, _object(rng, 2)))
            previous, decision = decision, finalizers.decide_again(decision, failure, fresh)
            if fresh is None or fresh.metadata.uid != previous.uid:
                if not isinstance(decision, finalizers.Ignore):
                    yield f"{decision!r} for another object"
            elif decision == previous:
                yield f"{decision!r} is retried, and nothing has changed"
            obj = fresh or obj


def walk_recorder(rng: Random) -> Iterator[str]:
    """Record Events while the server fails; at the end all requests succeed, and nothing is left to send."""
    recorder = Recorder(Event, controller="storm.example.com/walk", instance="walk-1")
    now, under_way = 0.0, list[Any]()
    exists, not_found, unfit = Rejected("exists", 409), Refused("gone", 404), Rejected("no", 422)
    unsure = Broken("reset")  # the Event may have been created
    failures: tuple[Outcome | None, ...] = (
        *(None,) * 12, exists, exists, not_found, unfit, unsure, unsure, unsure,
        Refused("who", 401), *OUTCOMES,
    )  # fmt: skip
    for step in range(2 * STEPS):
        now += rng.choice((0.0, 0.5, 10.0, 70.0))
        uid = rng.choice(("u1",) * 9 + ("u2",))
        meta = {"name": f"o{rng.randrange(2)}", "namespace": "n", "uid": uid}
        obj = decode(
            json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}).encode(), ConfigMap
        )
        recorder.record(
            obj, reason=rng.choice(("Made", "Failed")), action="Walk",
            note=rng.choice(("n", "n", "n", f"n{step}")), now=now,
            wall_time=datetime.fromtimestamp(1_767_225_600 + now, UTC),
        )  # fmt: skip
        next_time = recorder.next_at(now)
        if (request := recorder.next_request(now)) is not None:
            under_way.append(request)
            if next_time is None or next_time > now:
                yield f"a request at {now}, which was due at {next_time}"
        if under_way and rng.random() < 0.7:
            recorder.finish(under_way.pop(rng.randrange(len(under_way))), rng.choice(failures), now)
    for request in under_way:
        recorder.finish(request, None, now)
    for _ in range(1000):
        if (next_time := recorder.next_at(now)) is None:
            return
        now = max(now, next_time)
        if (request := recorder.next_request(now)) is None:
            yield f"nothing to send at {now}, when it was due"
            return
        recorder.finish(request, None, now)
    yield "there is always another request"


def walk_own_writes(rng: Random) -> Iterator[str]:
    """Hold keys until caches show their writes; no key waits longer than the limit."""
    books: OwnWrites[str] = OwnWrites(limit=1.0)
    now, version, waiting = 0.0, 1, dict[str, float]()
    ever = set[str]()
    restored = rng.random() < 0.5  # the server is restored from a backup, repeatedly
    for _step in range(STEPS):
        now += rng.choice((0.0, 0.0, 0.1, 0.4))
        key, cache = rng.choice("abcdef"), rng.choice(("books", "shelves"))
        released: list[str] = []
        match rng.randrange(5):
            case 0 | 1 if key not in waiting:
                version += 1
                writes = [
                    (cache, OwnWrite(
                        group="", plural=cache, key=f"n/{key}", uid=rng.choice(("u", "u", "")),
                        deleted=(deleted := rng.random() < 0.3), removed=deleted and rng.random() < 0.5,
                        version=rng.choice((str(version), str(version), "opaque")),
                    ))
                    for _ in range(rng.choice((0, 1, 2)))
                ]  # fmt: skip
                if books.hold(key, writes, now) != bool(writes):
                    yield f"{key} waits for {writes!r}"
                if writes:
                    waiting[key] = now
                    ever.add(key)
            case 2 | 3:
                old = 1 if restored else version
                cached_object = rng.choice((None, CachedObject(str(old), b'{"metadata":{"uid":"u"}}')))
                shown_version = str(rng.choice((version, version, version - 1, 1)))
                relisted = restored and rng.random() < 0.5
                released = books.progress(
                    cache, shown_version, partial(_constant_lookup, cached_object), now, relisted=relisted
                )
                if lost_keys := [each_key for each_key in books.take_lost() if each_key not in ever]:
                    yield f"{lost_keys} are lost, and never wrote anything"
            case 4:
                released = books.expire(now)
                if late := [
                    each_key
                    for each_key, since in waiting.items()
                    if now - since >= 1.0 and each_key not in released
                ]:
                    yield f"{late} wait for longer than the limit"
            case _:
                pass
        for each_key in released:
            if waiting.pop(each_key, None) is None:
                yield f"{each_key} is released, and did not wait"
        if books.waiting != len(waiting) or any(each_key not in books for each_key in waiting):
            yield f"{books.waiting} keys wait, where {sorted(waiting)} should"
        next_time = books.next_at()
        if (next_time is None) != (not waiting) or (
            next_time is not None and next_time > min(waiting.values()) + 1.0
        ):
            yield f"the next one is late at {next_time}, and they wait since {waiting}"
    yield from _read_writes(rng)
    if sorted(books.clear(now)) != sorted(waiting) or books.waiting:
        yield "keys are left, or none waited"


_MISSING: Final = Status(status="Failure", code=404, details=StatusDetails(name="o"))
_OLD: Final = CachedObject("1", b'{"metadata":{"name":"o","namespace":"n","uid":"u"}}')
_ELSEWHERE: Final = CacheScope(group="", plural="configmaps", namespace="elsewhere")


def _constant_lookup(cached_object: CachedObject | None, key: str) -> CachedObject | None:
    """Return the object of a cache for any key."""
    return cached_object


def _read_writes(rng: Random) -> Iterator[str]:
    """Read the writes of requests from their responses."""
    obj = decode(b'{"metadata":{"name":"o","namespace":"n","uid":"u","resourceVersion":"7"}}', ConfigMap)
    deletion_status = Status(status="Success", details=StatusDetails(uid="u"))
    values: tuple[object, ...] = (obj, decode(b"{}", ConfigMap), deletion_status, Status(), b"text")
    paths = (
        "/api/v1/namespaces/n/configmaps/o", "/apis/example.com/v1/namespaces/n/books/o", "/api/v1/nodes/o",
        "/api/v1/namespaces/n/status", "/healthz", "/api/v1",
    )  # fmt: skip
    for _ in range(STEPS):
        method, path = rng.choice(("GET", "PUT", "PATCH", "DELETE", "POST")), rng.choice(paths)
        query, value = rng.choice(("", "", "?dryRun=All")), rng.choice(values)
        write = OwnWrite.from_response(method, path + query, value)
        if write is not None and (query or path in ("/healthz", "/api/v1")):
            yield f"{method} {path}{query} wrote {write!r}"
        if write is not None and method == "GET" and (write.deleted or not path.endswith("s/o")):
            yield f"{method} {path} read {write!r}"
        if write is not None and _ELSEWHERE.will_show(write, None):
            yield f"a cache of another namespace will show {write!r}"
        if write is not None and write.deleted != (method == "DELETE" or write.removed):
            yield f"{method} {path}{query} deleted {write!r}"
        absent = OwnWrite.from_not_found(path + query, rng.choice((_MISSING, Status())))
        if absent is not None and not path.endswith("s/o"):
            yield f"the 404 of {path}{query} says that {absent!r}"
        for written in filter(None, (write, absent)):
            if not written.is_lost("9", _OLD) or written.is_lost("6", _OLD) != written.deleted:
                yield f"a cache that was listed anew and shows {_OLD!r} has lost {written!r}, or not yet"
