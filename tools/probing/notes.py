"""Observations of a real server: its treatment of the fields of each type."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.objects import is_list, is_object

Json = dict[str, Any]
MISSING = "<missing>"


class Observations:
    """Collects the responses of a server by type and field."""

    def __init__(self) -> None:
        self._root = ""
        self.defaults: dict[str, dict[str, list[tuple[str, Json, Any]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.orders: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.zeros: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.faults: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))

    def record_accepted(self, type_: str, sent: Json, response: Json) -> None:
        """Record an accepted object and the response."""
        self._root = type_
        self._walk(type_, sent, response, top=True)

    def _walk(self, type_: str, sent: Json, response: Json, *, top: bool = False) -> None:
        self.orders[type_].add(tuple(response))
        for name, field in kind_table().types[type_].fields.items():
            if (top and name in ("metadata", "apiVersion", "kind")) or field.type == "meta_v1.ObjectMeta":
                continue
            if name not in sent:
                neighbours = {key: value for key, value in response.items() if key != name}
                entry = (self._root, neighbours, response.get(name, MISSING))
                if entry not in self.defaults[type_][name]:
                    self.defaults[type_][name].append(entry)
                if "." in field.type:
                    self._order(field, response.get(name), 0)
                continue
            value = sent[name]
            if value in (0, "", False) and not isinstance(value, (dict, list)):
                self.zeros[type_][name].add("kept" if name in response else "dropped")
            if isinstance(value, (dict, list)) and not value:
                self.zeros[type_][name].add("dropped" if response.get(name) is None else "kept")
            if "." in field.type and name in response:
                self._walk_nested(field, value, response[name], 0)

    def _order(self, field: BuiltinField, response: Any, level: int) -> None:
        """Record the order of the fields that a server has filled in."""
        if level < len(field.form):
            for element in (
                response.values() if is_object(response) else response if is_list(response) else ()
            ):
                self._order(field, element, level + 1)
        elif is_object(response):
            self.orders[field.type].add(tuple(response))
            for name, inner in kind_table().types[field.type].fields.items():
                if "." in inner.type and name in response:
                    self._order(inner, response[name], 0)

    def _walk_nested(self, field: BuiltinField, sent: Any, response: Any, level: int) -> None:
        if level == len(field.form):
            if is_object(sent) and is_object(response):
                self._walk(field.type, sent, response)
        elif field.form[level] == "list" and is_list(sent) and is_list(response):
            if len(sent) == len(response):
                for sent_element, response_element in zip(sent, response, strict=True):
                    self._walk_nested(field, sent_element, response_element, level + 1)
        elif is_object(sent) and is_object(response):
            for key, sent_element in sent.items():
                if key in response:
                    self._walk_nested(field, sent_element, response[key], level + 1)

    def record_response(self, type_: str, name: str, value: Any, path: str, code: int, body: Json) -> None:
        """Record the response to a value of a field: the causes at its path."""
        if code == 201:
            self.faults[type_][name][json.dumps(value)] = None
            return
        details: Json = body.get("details") or {}
        causes: list[Json] = details.get("causes") or []
        own_causes = [[cause["reason"], cause["message"]] for cause in causes if cause.get("field") == path]
        if code == 422 and own_causes:
            self.faults[type_][name][json.dumps(value)] = [len(causes) - len(own_causes), *own_causes]


def format_path(path: tuple[str | int, ...]) -> str:
    """Return a path as a server writes it: `spec.containers[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
