"""The same requests to two servers: requests as templates, and responses with common names for random values.

A uid, a version, a time and a generated name differ from server to server. Each server's uids and versions
are numbered in the order of their first occurrence, so that two responses with the same version on one server
must have the same version on the other, and a write that changed nothing is visible.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml
from msgspec import Struct

from conformance.client import JSON, Client, FullResponse
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


class RequestTemplate(Struct, frozen=True):
    """A request as a template: ``<rv KEY>`` and ``<uid KEY>`` stand for the last known values of an object.

    The key of an object is ``plural/name``. ``<token>`` is the last continue token, ``<list>`` the version of
    the last list.
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


class ComparedServer:
    """A compared server, with the values of its earlier responses."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._identities: dict[str, tuple[str, str]] = {}
        self._token: str = "none"
        self._list: str = "0"

    def respond(self, template: RequestTemplate) -> FullResponse:
        """Return the response to a request."""
        body = template.body
        if isinstance(body, dict | list):
            body = json.loads(self._expand(json.dumps(body)))
        target = self._expand(template.target)
        if template.method == "GET" and "resourceVersion" in target and "/namespaces/" in target:
            # A read at any version may miss the latest write; a consistent read waits for it.
            self.client.send("GET", target.partition("?")[0].partition("/nope")[0])
        answer = self.client.send(template.method, target, body, template.media, **dict(template.headers))
        if answer.body[:1] == b"{":
            self._remember(target, answer.json)
        return answer

    def plain(self, answer: FullResponse) -> str:
        """Return a response as text that must be equal for the other server."""
        headers = sorted((name, value) for name, value in answer.headers if name.title() in SHOWN)
        body = answer.body.decode()
        if "application/yaml" in answer.header("Content-Type"):
            body = json.dumps(self._normalize(yaml.safe_load(body)), indent=1, sort_keys=True, default=str)
        elif body[:1] == "{":
            body = json.dumps(self._normalize(answer.json), indent=1)
        return f"{answer.status}\n{json.dumps(headers)}\n{self._text(body)}"

    def _expand(self, text: str) -> str:
        def fill(placeholder: re.Match[str]) -> str:
            match placeholder[1]:
                case "token":
                    return self._token
                case "list":
                    return self._list
                case what:
                    uid, version = self._identities.get(
                        placeholder[2], ("00000000-0000-0000-0000-000000000000", "1")
                    )
                    return uid if what == "uid" else version

        return _PLACE.sub(fill, text).replace("<ns>", self.client.namespace)

    def _remember(self, target: str, body: Any) -> None:
        meta: dict[str, Any] = body.get("metadata") or {}
        if "items" in body or "rows" in body:
            self._token = meta.get("continue") or "none"
            self._list = meta.get("resourceVersion", "0")
            plural = target.partition("?")[0].rpartition("/")[2]
            for item in body.get("items") or ():
                self._record_identity(plural, item.get("metadata", {}))
        elif "uid" in meta and "dryRun" not in target:
            segments = target.partition("?")[0].split("/")
            plural = (
                segments[segments.index("namespaces") + 2] if "namespaces" in segments[:-2] else segments[4]
            )
            self._record_identity(plural, meta)

    def _record_identity(self, plural: str, meta: dict[str, Any]) -> None:
        if "uid" in meta and "resourceVersion" in meta:
            self._identities[f"{plural}/{meta['name']}"] = (meta["uid"], meta["resourceVersion"])

    def _normalize(self, value: Any, *, within: str = "") -> Any:
        """Return a value with names for its random parts."""
        if is_object(value):
            return self._normalize_map(value, within)
        if is_list(value):
            entries = sorted(value, key=_entry_order) if within == "managedFields" else value
            return [self._normalize(entry, within="item") for entry in entries]
        return value

    def _normalize_map(self, value: dict[str, Any], within: str) -> dict[str, Any]:
        listed = "items" in value or "rows" in value
        result: dict[str, Any] = {}
        for key, entry in value.items():
            if key == "cells":
                entry = [
                    "<age>" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell for cell in entry
                ]
            if key == "causes" and is_list(entry):
                # Properties are checked in the random order of a Go map. A problem at two positions is
                # reported twice, by some kinds three times.
                entry = sorted({json.dumps(each): each for each in entry}.values(), key=str)
            if key == "message" and isinstance(entry, str) and entry.startswith(_UNTYPED):
                # The fields that are checked before the first undeclared field are random.
                entry = entry.partition("): ")[0]
            elif key == "message" and isinstance(entry, str) and ": [" in entry:
                entry = _unordered(entry)
            if key == "metadata" and listed and is_object(entry):
                entry = {name: _drawn(name, inner) for name, inner in entry.items()}
                result[key] = entry
            elif key == "resourceVersion" and within == "metadata" and isinstance(entry, str):
                result[key] = self._version(entry)
            else:
                result[key] = self._normalize(entry, within=key)
        return result

    def _version(self, version: str) -> str:
        return self._versions.setdefault(version, f"v{len(self._versions) + 1}")

    def _text(self, text: str) -> str:
        text = _UID.sub(lambda match: self._uids.setdefault(match[0], f"u{len(self._uids) + 1}"), text)
        text = _TIME.sub("<time>", text)
        text = _GENERATED.sub("gen-<drawn>", text)
        text = _CURRENT.sub("<version>", text)
        for pattern in _VERSION_IN_TEXT:
            text = pattern.sub(lambda match: self._version(match[0]), text)
        return text.replace(self.client.namespace, "<ns>")


def _drawn(name: str, value: Any) -> Any:
    return f"<{name}>" if name in ("resourceVersion", "continue") and value else value


def _unordered(message: str) -> str:
    """Return a message with several faults, without their order."""
    start, _, faults = message.partition(": [")
    return f"{start}: {sorted(faults.removesuffix(']').split(', '))}"


def _entry_order(entry: dict[str, Any]) -> tuple[str, ...]:
    return tuple(entry.get(key, "") for key in ("operation", "manager", "subresource", "apiVersion"))


class Difference(Exception):
    """Two servers disagree."""


def compare(first: ComparedServer, second: ComparedServer, template: RequestTemplate) -> FullResponse:
    """Send a request to both servers. Raise `Difference` unless they agree."""
    first_response, second_response = first.respond(template), second.respond(template)
    mine, theirs = first.plain(first_response), second.plain(second_response)
    if mine != theirs:
        raise Difference(f"{template}\n--- {_name(first)}\n{mine}\n--- {_name(second)}\n{theirs}")
    return first_response


def _name(side: ComparedServer) -> str:
    return "real" if side.client.server.real else "simulated"
