"""Two servers asked the same: requests as templates, and answers with one name for what each server draws.

A uid, a version, a time and a generated name differ from server to server. Each server's uids and versions
are numbered in the order in which they were first seen, so that two answers with the same version on one
server must have the same version on the other, and a write that changed nothing shows.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml
from msgspec import Struct

from conformance.client import JSON, Answer, Client
from kubeproto.objects import is_list, is_object

SHOWN: Final = ("Content-Type", "Retry-After", "Warning", "Vary")
_UID: Final = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_GENERATED: Final = re.compile(r"\b(gen|Bad)-[b-z2-9]{5}\b")
_VERSION_IN_TEXT: Final = (
    re.compile(r"""(?<=resourceVersion":")\d+"""),
    re.compile(r"""(?<=resourceVersion\\":\\")\d+"""),
    re.compile(r"""(?<=resourceVersion\\\\\\":\\\\\\")\d+"""),
    re.compile(r"(?<=ResourceVersion in the precondition \()\d+"),
    re.compile(r"(?<=ResourceVersion in record \()\d+"),
)
_AGE: Final = re.compile(r"(\d+[smhd])+")
_UNTYPED: Final = "failed to create typed patch object"
_CURRENT: Final = re.compile(r"(?<=current: )\d+")
_PLACE: Final = re.compile(r"<(rv|uid|token|list)(?: ([^>]+))?>")


class Ask(Struct, frozen=True):
    """A request as a template: ``<rv KEY>`` and ``<uid KEY>`` stand for what a server last said of an object.

    The key of an object is ``plural/name``. ``<token>`` is the last continue token, ``<list>`` the version
    of the last list.
    """

    method: str
    target: str
    body: Any = None
    media: str = JSON
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        body = "" if self.body is None else f" {self.body!r}"
        media = "" if self.media == JSON else f" ({self.media})"
        return f"{self.method} {self.target}{media}{body} {dict(self.headers) or ''}".rstrip()


class Side:
    """One of the servers, with what it said so far."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._known: dict[str, tuple[str, str]] = {}
        self._token: str = "none"
        self._list: str = "0"

    def respond(self, ask: Ask) -> Answer:
        """The response to a request."""
        body = ask.body
        if isinstance(body, dict | list):
            body = json.loads(self._filled(json.dumps(body)))
        target = self._filled(ask.target)
        if ask.method == "GET" and "resourceVersion" in target and "/namespaces/" in target:
            # A read at any version may miss what was written just now; a consistent one waits for it.
            self.client.send("GET", target.partition("?")[0].partition("/nope")[0])
        answer = self.client.send(ask.method, target, body, ask.media, **dict(ask.headers))
        if answer.body[:1] == b"{":
            self._remember(target, answer.json)
        return answer

    def plain(self, answer: Answer) -> str:
        """An answer as text that must be the same from the other server."""
        headers = sorted((name, value) for name, value in answer.headers if name.title() in SHOWN)
        body = answer.body.decode()
        if "application/yaml" in answer.header("Content-Type"):
            body = json.dumps(self._named(yaml.safe_load(body)), indent=1, sort_keys=True, default=str)
        elif body[:1] == "{":
            body = json.dumps(self._named(answer.json), indent=1)
        return f"{answer.status}\n{json.dumps(headers)}\n{self._text(body)}"

    def _filled(self, text: str) -> str:
        def fill(found: re.Match[str]) -> str:
            match found[1]:
                case "token":
                    return self._token
                case "list":
                    return self._list
                case what:
                    uid, version = self._known.get(found[2], ("00000000-0000-0000-0000-000000000000", "1"))
                    return uid if what == "uid" else version

        return _PLACE.sub(fill, text).replace("<ns>", self.client.namespace)

    def _remember(self, target: str, body: Any) -> None:
        meta: dict[str, Any] = body.get("metadata") or {}
        if "items" in body or "rows" in body:
            self._token = meta.get("continue") or "none"
            self._list = meta.get("resourceVersion", "0")
            plural = target.partition("?")[0].rpartition("/")[2]
            for item in body.get("items") or ():
                self._note(plural, item.get("metadata", {}))
        elif "uid" in meta and "dryRun" not in target:
            segments = target.partition("?")[0].split("/")
            plural = (
                segments[segments.index("namespaces") + 2] if "namespaces" in segments[:-2] else segments[4]
            )
            self._note(plural, meta)

    def _note(self, plural: str, meta: dict[str, Any]) -> None:
        if "uid" in meta and "resourceVersion" in meta:
            self._known[f"{plural}/{meta['name']}"] = (meta["uid"], meta["resourceVersion"])

    def _named(self, value: Any, *, within: str = "") -> Any:
        """A value with names for what is drawn."""
        if is_object(value):
            return self._named_map(value, within)
        if is_list(value):
            entries = sorted(value, key=_entry_order) if within == "managedFields" else value
            return [self._named(one, within="item") for one in entries]
        return value

    def _named_map(self, value: dict[str, Any], within: str) -> dict[str, Any]:
        listed = "items" in value or "rows" in value
        named: dict[str, Any] = {}
        for key, one in value.items():
            if key == "cells":
                one = ["<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell for cell in one]
            if key == "causes" and is_list(one):
                # Properties are checked in the order of a Go map, which is another each time.
                # One that is found in two places is told twice, by some kinds three times.
                one = sorted({json.dumps(each): each for each in one}.values(), key=str)
            if key == "message" and isinstance(one, str) and one.startswith(_UNTYPED):
                # Which fields are looked at before the first that is not declared is chance.
                one = one.partition("): ")[0]
            elif key == "message" and isinstance(one, str) and ": [" in one:
                one = _unordered(one)
            if key == "metadata" and listed and is_object(one):
                one = {name: _drawn(name, inner) for name, inner in one.items()}
                named[key] = one
            elif key == "resourceVersion" and within == "metadata" and isinstance(one, str):
                named[key] = self._version(one)
            else:
                named[key] = self._named(one, within=key)
        return named

    def _version(self, version: str) -> str:
        return self._versions.setdefault(version, f"v{len(self._versions) + 1}")

    def _text(self, text: str) -> str:
        text = _UID.sub(lambda found: self._uids.setdefault(found[0], f"u{len(self._uids) + 1}"), text)
        text = _TIME.sub("<time>", text)
        text = _GENERATED.sub("gen-<drawn>", text)
        text = _CURRENT.sub("<version>", text)
        for pattern in _VERSION_IN_TEXT:
            text = pattern.sub(lambda found: self._version(found[0]), text)
        return text.replace(self.client.namespace, "<ns>")


def _drawn(name: str, value: Any) -> Any:
    return f"<{name}>" if name in ("resourceVersion", "continue") and value else value


def _unordered(message: str) -> str:
    """A message that lists several faults, without their order."""
    start, _, faults = message.partition(": [")
    return f"{start}: {sorted(faults.removesuffix(']').split(', '))}"


def _entry_order(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entry.get(key, "") for key in ("operation", "manager", "subresource", "apiVersion"))


class Difference(Exception):
    """Two servers that disagree."""


def compare(left: Side, right: Side, ask: Ask) -> Answer:
    """Send a request to both; `Difference` unless they agree."""
    one, other = left.respond(ask), right.respond(ask)
    mine, theirs = left.plain(one), right.plain(other)
    if mine != theirs:
        raise Difference(f"{ask}\n--- {_name(left)}\n{mine}\n--- {_name(right)}\n{theirs}")
    return one


def _name(side: Side) -> str:
    return "real" if side.client.server.real else "simulated"
