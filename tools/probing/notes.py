"""What a real server was seen to do with the fields of each type, and the table that follows from it."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from kubeproto.kinds import FieldFacts, table
from kubeproto.objects import is_list, is_object

Json = dict[str, Any]
MISSING = "<missing>"


class Notes:
    """Notes what came back, by type and field."""

    def __init__(self) -> None:
        self._root = ""
        self.defaults: dict[str, dict[str, list[tuple[str, Json, Any]]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self.orders: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.zeros: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.faults: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))

    def accepted(self, type_: str, sent: Json, got: Json) -> None:
        """An object that a server took, and what it made of it."""
        self._root = type_
        self._walk(type_, sent, got, top=True)

    def _walk(self, type_: str, sent: Json, got: Json, *, top: bool = False) -> None:
        self.orders[type_].add(tuple(got))
        for name, field in table().types[type_].fields.items():
            if (top and name in ("metadata", "apiVersion", "kind")) or field.type == "meta_v1.ObjectMeta":
                continue
            if name not in sent:
                beside = {key: value for key, value in got.items() if key != name}
                entry = (self._root, beside, got.get(name, MISSING))
                if entry not in self.defaults[type_][name]:
                    self.defaults[type_][name].append(entry)
                if "." in field.type:
                    self._order(field, got.get(name), 0)
                continue
            value = sent[name]
            if value in (0, "", False) and not isinstance(value, (dict, list)):
                self.zeros[type_][name].add("kept" if name in got else "dropped")
            if isinstance(value, (dict, list)) and not value:
                self.zeros[type_][name].add("dropped" if got.get(name) is None else "kept")
            if "." in field.type and name in got:
                self._below(field, value, got[name], 0)

    def _order(self, field: FieldFacts, got: Any, level: int) -> None:
        """Note the order of the fields in what a server filled in."""
        if level < len(field.form):
            for one in got.values() if is_object(got) else got if is_list(got) else ():
                self._order(field, one, level + 1)
        elif is_object(got):
            self.orders[field.type].add(tuple(got))
            for name, inner in table().types[field.type].fields.items():
                if "." in inner.type and name in got:
                    self._order(inner, got[name], 0)

    def _below(self, field: FieldFacts, sent: Any, got: Any, level: int) -> None:
        if level == len(field.form):
            if is_object(sent) and is_object(got):
                self._walk(field.type, sent, got)
        elif field.form[level] == "list" and is_list(sent) and is_list(got):
            if len(sent) == len(got):
                for one, other in zip(sent, got, strict=True):
                    self._below(field, one, other, level + 1)
        elif is_object(sent) and is_object(got):
            for key, one in sent.items():
                if key in got:
                    self._below(field, one, got[key], level + 1)

    def refused(self, type_: str, name: str, value: Any, where: str, code: int, body: Json) -> None:
        """What a server said of a value of a field: the causes at its place."""
        if code == 201:
            self.faults[type_][name][json.dumps(value)] = None
            return
        details: Json = body.get("details") or {}
        causes: list[Json] = details.get("causes") or []
        here = [[one["reason"], one["message"]] for one in causes if one.get("field") == where]
        if code == 422 and here:
            self.faults[type_][name][json.dumps(value)] = [len(causes) - len(here), *here]


def text_of(path: tuple[str | int, ...]) -> str:
    """A path as a server writes it."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
