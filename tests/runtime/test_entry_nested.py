"""A commit of nested lists and maps with null changes what was edited and nothing else.

Built-in kinds have hardly any list of lists, and custom resources may have all of them. A shape is
drawn, then a class that knows a part of it, a document, and edits, which are made to the document by hand.
"""

from __future__ import annotations

import random
from itertools import count
from types import new_class
from typing import Any, Final

import msgspec
from asked_examples import examples
from hypothesis import given, settings, strategies as st
from patched_server import PatchedObject

import kubeproto as kp

DEPTH: Final = 3


class Text:
    """A string."""

    typed: Any = str


class Nullable:
    """A string or null, as an element of a list or a value of a map."""

    typed: Any = str | None


class Part:
    """An object of which a class knows some fields.

    An element of a list has a mark: one that was removed and a new one in its place could otherwise look the
    same to the class, and the new one is then merged into what was there.
    """

    def __init__(self, rng: random.Random, depth: int, *, marked: bool = False) -> None:
        self.fields: dict[str, Shape] = {f"f{number}": drawn(rng, depth - 1) for number in range(3)}
        self.known = [name for name in self.fields if rng.random() < 0.7]
        if marked:
            self.fields["mark"] = Text()
            self.known.append("mark")
        declared = [(name, self.fields[name].typed | None, None) for name in self.known]
        self.typed: Any = msgspec.defstruct("Part", declared, omit_defaults=True)


class Listed:
    """A list, of lists too."""

    def __init__(self, rng: random.Random, depth: int) -> None:
        self.of = drawn(rng, depth - 1, nulls=True, marked=True)
        self.typed: Any = list[self.of.typed]  # type: ignore[name-defined]


class Mapped:
    """A map, of lists and of null too."""

    def __init__(self, rng: random.Random, depth: int) -> None:
        self.of = drawn(rng, depth - 1, nulls=True)
        self.typed: Any = dict[str, self.of.typed]  # type: ignore[name-defined]


Shape = Text | Nullable | Part | Listed | Mapped


def drawn(rng: random.Random, depth: int, *, nulls: bool = False, marked: bool = False) -> Shape:
    if depth <= 0:
        return Nullable() if nulls and rng.random() < 0.5 else Text()
    kinds: tuple[type[Part | Listed | Mapped], ...] = (Part, Listed, Listed, Mapped)
    kind = rng.choice(kinds)
    return kind(rng, depth) if kind is not Part else Part(rng, depth, marked=marked)


def holds_parts(shape: Shape) -> bool:
    match shape:
        case Listed(of=of) | Mapped(of=of):
            return holds_parts(of)
        case _:
            return isinstance(shape, Part)


class Editor:
    """Makes documents of a shape, and edits objects of its class together with their documents."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self._count = count(1)

    def text(self) -> str:
        return f"s{next(self._count)}"

    def document(self, shape: Shape) -> Any:
        match shape:
            case Text():
                return self.text()
            case Nullable():
                return self.rng.choice([None, self.text()])
            case Listed(of=of):
                return [self.document(of) for _ in range(self.rng.randint(1, 3))]
            case Mapped(of=of):
                return {f"k{number}": self.document(of) for number in range(self.rng.randint(1, 3))}
            case Part(fields=fields):
                held = {
                    name: self.document(one)
                    for name, one in fields.items()
                    if name == "mark" or self.rng.random() < 0.8
                }
                return held | {"unheardOf": self.text(), "empty": None}

    def made(self, shape: Shape) -> tuple[Any, Any]:
        """Something new, and what it is in JSON."""
        match shape:
            case Listed(of=of):
                pairs = [self.made(of) for _ in range(self.rng.randint(0, 2))]
                return [one for one, _ in pairs], [text for _, text in pairs]
            case Mapped(of=of):
                pairs = [self.made(of) for _ in range(self.rng.randint(0, 2))]
                return (
                    {f"n{at}": one for at, (one, _) in enumerate(pairs)},
                    {f"n{at}": text for at, (_, text) in enumerate(pairs)},
                )
            case Part(known=known):
                given = {name: self.made(shape.fields[name]) for name in known}
                one = shape.typed(**{name: one for name, (one, _) in given.items()})
                return one, {name: text for name, (_, text) in given.items()}
            case _:
                text = self.document(shape)
                return text, text

    def edit(self, shape: Shape, held: Any, text: Any) -> None:
        match shape:
            case Part():
                self._part(shape, held, text)
            case Listed():
                self._list(shape, held, text)
            case Mapped():
                self._map(shape, held, text)
            case _:
                pass

    def _part(self, shape: Part, held: Any, text: dict[str, Any]) -> None:
        if not shape.known:
            return
        name = self.rng.choice(shape.known)
        below = shape.fields[name]
        value = getattr(held, name)
        if value is not None and not isinstance(below, Text) and self.rng.random() < 0.8:
            self.edit(below, value, text[name])
        elif value is not None and name != "mark" and self.rng.random() < 0.3:
            setattr(held, name, None)
            del text[name]
        elif isinstance(below, Text) or (value is None and not holds_parts(below)):
            # A part that is built again where one was is merged into that, as a test of its own says.
            new, text[name] = self.made(below)
            setattr(held, name, new)

    def _list(self, shape: Listed, held: list[Any], text: list[Any]) -> None:
        at = self.rng.randrange(len(held)) if held else 0
        to = self.rng.randrange(len(held)) if held else 0
        match self.rng.choice(["edit", "edit", "move", "remove", "duplicate", "insert"]):
            case "insert":
                new, said = self.made(shape.of)
                held.insert(to, new)
                text.insert(to, said)
            case _ if not held:
                pass
            case "edit" if isinstance(shape.of, Text | Nullable):
                held[at], text[at] = self.made(shape.of)
            case "edit":
                self.edit(shape.of, held[at], text[at])
            case "move":
                held.insert(to, held.pop(at))
                text.insert(to, text.pop(at))
            case "duplicate":
                held.insert(to, held[at])
                text.insert(to, text[at])
            case _:
                del held[at], text[at]

    def _map(self, shape: Mapped, held: dict[str, Any], text: dict[str, Any]) -> None:
        key = self.rng.choice([*held, "added"])
        scalar = isinstance(shape.of, Text | Nullable)
        if key not in held or scalar:
            held[key], text[key] = self.made(shape.of)
        elif self.rng.random() < 0.3:
            del held[key], text[key]
        else:
            self.edit(shape.of, held[key], text[key])


@settings(max_examples=examples(200), deadline=None)
@given(seed=st.integers(0, 2**32), edits=st.integers(0, 10))
def test_the_server_has_the_edit_of_nested_lists_and_maps_and_nothing_else(seed: int, edits: int) -> None:
    rng = random.Random(seed)
    shape, editor = Part(rng, DEPTH + 1), Editor(rng)
    names = {"group": "example.com", "version": "v1", "kind": "Tale", "plural": "tales"}
    trimmed: Any = new_class("Trimmed", (kp.Object[shape.typed, None],), names)  # type: ignore[name-defined]
    meta = {"name": "a", "namespace": "default", "uid": "u1", "resourceVersion": "7"}
    spec = editor.document(shape)
    document = {"apiVersion": "example.com/v1", "kind": "Tale", "metadata": meta, "spec": spec}
    server = PatchedObject(msgspec.json.decode(msgspec.json.encode(document)))
    entry = server.client().api(trimmed).entry("a")
    held: Any = entry.obj
    expected: Any = msgspec.json.decode(msgspec.json.encode(spec))
    for _ in range(edits):
        editor.edit(shape, held.spec, expected)
    entry.commit()
    assert server.document["spec"] == expected
    assert len(server.patches) == (spec != expected)
