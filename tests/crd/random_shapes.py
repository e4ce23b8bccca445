"""Random classes with all types that a definition supports, and random valid and invalid instances.

The same seed generates the same classes and instances. `tests/realserver` sends them to a real server, whose
verdicts are recorded in `server_verdicts.jsonl.gz`.
"""

from __future__ import annotations

import base64
import copy
import datetime
import decimal
import enum
import random
import types
import uuid
from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, cast

import msgspec
from msgspec import Meta

import kubeproto as kp
from kubeproto.objects import (
    Atomic,
    Duration,
    Embedded,
    ListMap,
    ListSet,
    MicroTime,
    PreserveUnknown,
    Quantity,
    Rule,
    is_list,
    is_object,
)

GROUP: Final = "shapes.kubeproto.test"
Json = dict[str, Any]


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


SCALARS: Final[tuple[Any, ...]] = (
    bool, int, float, str, bytes, datetime.datetime, datetime.date, MicroTime, Duration, Quantity, uuid.UUID,
    decimal.Decimal, Any, Colour, Level, Literal["a", "b"], Literal[1, 2, 3], Literal[1, "max"], int | str,
    int | float, msgspec.Raw,
)  # fmt: skip
BOUNDED: Final[tuple[Any, ...]] = (
    Annotated[int, Meta(ge=1, le=10)], Annotated[int, Meta(gt=0, lt=5)], Annotated[int, Meta(multiple_of=3)],
    Annotated[float, Meta(ge=0.5, lt=2.0)], Annotated[str, Meta(min_length=2, max_length=4)],
    Annotated[str, Meta(pattern="^[a-z]+$")], Annotated[list[int], Meta(min_length=1, max_length=2)],
    Annotated[dict[str, str], Meta(min_length=1, max_length=2)], Annotated[str, Meta(min_length=1), Meta(max_length=3)],  # noqa: E501
    Annotated[bytes, Meta(min_length=1, max_length=6)],
    *(
        Annotated[str, Meta(extra_json_schema={"format": name})]
        for name in ("email", "hostname", "ipv4", "ipv6", "cidr", "uri", "mac", "hexcolor", "rgbcolor", "password", "ssn")  # noqa: E501
    ),
    Annotated[int, Meta(extra_json_schema={"format": "int32"})],
)  # fmt: skip
RULED: Final[tuple[Any, ...]] = (
    Annotated[int, Rule("self > 1", "must be more than one")], Annotated[str, Rule("self.startsWith('a')")],
    Annotated[Annotated[list[str], Meta(max_length=9)], Rule("self.all(x, x != 'b')", reason="FieldValueForbidden")],  # noqa: E501
    Annotated[int, Rule("self != 3", message_expression="'not ' + string(self)")],
    Annotated[str, Rule("size(self) < 4 || self == 'kube'")], Annotated[float, Rule("self < 2.0")],
)  # fmt: skip
CONSTANTS: Final[dict[Any, tuple[Any, ...]]] = {
    bool: (True, False), int: (0, 7), float: (1.5, 2.0), str: ("", "kube"), bytes: (b"", b"hi"),
    Colour: (Colour.RED,), Level: (Level.HIGH,), Literal["a", "b"]: ("a",), int | str: (5, "5%"),
}  # fmt: skip


class KindGenerator:
    """Generates kinds with random specs."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._count = 0

    def kind(self, name: str) -> type[kp.KubeObject]:
        """Return a kind whose spec is a random class."""
        spec: Any = self._struct(0, size=self._rng.randint(3, 8))
        keywords = {"group": GROUP, "version": "v1", "kind": name, "plural": name.lower() + "s"}
        return types.new_class(name, (kp.Object[spec, None],), keywords)

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _type(self, depth: int) -> Any:
        draw = self._rng.random()
        if draw < 0.4 or depth > 2:
            return self._rng.choice(SCALARS)
        if draw < 0.52:
            return self._rng.choice(BOUNDED)
        if draw < 0.57:
            return self._rng.choice(RULED)
        makers: tuple[Callable[[int], Any], ...] = (
            self._list, self._set, self._tuple, self._map, self._struct, self._struct, self._typed_dict,
            self._dataclass, self._tagged_union, self._list_map, self._marked, self._nullable, self._nullable,
        )  # fmt: skip
        return self._rng.choice(makers)(depth)

    def _list(self, depth: int) -> Any:
        return list[self._type(depth + 1)]  # type: ignore[misc]

    def _set(self, depth: int) -> Any:
        return self._rng.choice((set[str], set[int], frozenset[str], Annotated[list[str], ListSet()]))

    def _tuple(self, depth: int) -> Any:
        return self._rng.choice((tuple[str, ...], tuple[int, int], tuple[float, ...]))

    def _map(self, depth: int) -> Any:
        return dict[str, self._type(depth + 1)]  # type: ignore[misc]

    def _nullable(self, depth: int) -> Any:
        return self._type(depth + 1) | None if self._rng.random() < 0.4 else self._scalar() | None

    def _scalar(self) -> Any:
        return self._rng.choice((bool, int, str, Colour, Level, Literal["a", "b"], Literal[1, "max"], bytes))

    def _marked(self, depth: int) -> Any:
        struct = self._struct(depth)
        return self._rng.choice((
            Annotated[struct, Atomic()], Annotated[struct, PreserveUnknown()], Annotated[list[int], Atomic()],
            Annotated[dict[str, Any], Embedded()], Annotated[dict[str, int], Atomic()], kp.ObjectMeta,
        ))  # fmt: skip

    def _list_map(self, depth: int) -> Any:
        item = self._struct(depth, first={"key": self._rng.choice((str, int))})
        return Annotated[list[item], ListMap("key")]  # type: ignore[valid-type]

    def _typed_dict(self, depth: int) -> Any:
        first_type, second_type = self._type(depth + 1), self._type(depth + 1)
        return TypedDict(self._name("Dict"), {"one": first_type, "other": NotRequired[second_type]})  # type: ignore[operator]

    def _dataclass(self, depth: int) -> Any:
        return make_dataclass(self._name("Data"), [("one", self._type(depth + 1)), ("count", int, 3)])

    def _tagged_union(self, depth: int) -> Any:
        structs = [self._struct(depth, tag=tag, prefix=tag) for tag in ("disk", "memory")]
        return structs[0] | structs[1]

    def _struct(
        self, depth: int, *, size: int = 0, first: Json | None = None, tag: str = "", prefix: str = "f"
    ) -> Any:
        annotations: Json = dict(first or {})
        namespace: Json = {"__annotations__": annotations, "__module__": __name__}
        for number in range(size or self._rng.randint(1, 3)):
            name, type_ = f"{prefix}{number}", self._type(depth + 1)
            draw = self._rng.random()
            if draw < 0.3:
                annotations[name], namespace[name] = type_ | None, None
            elif draw < 0.6 and (default := self._default(type_)) is not None:
                annotations[name], namespace[name] = type_, default
            else:
                annotations[name] = type_
        keywords: Json = {"tag_field": "type", "tag": tag} if tag else {}
        return types.new_class(
            self._name("Struct"), (kp.Fields,), keywords, lambda body: body.update(namespace)
        )

    def _default(self, type_: Any) -> Any:
        try:
            constants = CONSTANTS.get(type_)
        except TypeError:
            return None
        if constants is not None:
            return self._rng.choice(constants)
        origin = getattr(type_, "__origin__", None)
        empty: dict[Any, Any] = {list: [], dict: {}, tuple: ()}
        fixed = getattr(type_, "__args__", ()) == (int, int)
        return (
            empty.get(origin)
            if origin in empty and not fixed and not hasattr(type_, "__metadata__")
            else None
        )


# --- instances ----------------------------------------------------------------------------------------------------  # noqa: E501

TEXTS: Final = (
    "",
    "a",
    "b",
    "kube",
    "abcde",
    "red",
    "max",
    "ä",
    "\n",
    "10.0.0.1",
    "::1",
    "10.0.0.0/8",
    "1h",
    "P1D",
)
OF_FORMATS: Final[dict[str, tuple[str, ...]]] = {
    "byte": ("aGk=", "aGkh", "", "a", "+/8=", "aGk"),
    "date-time": ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00.5+01:00", "2026-01-31t09:30:00z", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T09:30:00"),  # noqa: E501
    "date": ("2026-01-31", "2026-02-30", "31.1.2026"),
    "duration": ("1h", "1.5s", "1 day", "P1D", "3 w", "h", "5", "", "1d12h", "0"),
    "uuid": ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6BA7B8109DAD11D180B400C04FD430C8", "6ba7b810", ""),
    "email": ("a@b.c", "a@b", "a b@c.d", "", "A <a@b.c>", "a@b@c"),
    "hostname": ("a.b", "a_b", "-a", "a.", "", "A", "a..b"),
    "ipv4": ("10.0.0.1", "10.0.0.256", "10.0.0.01", "::1", ""),
    "ipv6": ("::1", "10.0.0.1", "fe80::1%eth0", "::ffff:10.0.0.1", ""),
    "cidr": ("10.0.0.0/8", "10.0.0.0/33", "10.0.0.1", "::/0", ""),
    "uri": ("http://a", "/a", "a", "", "http://a b", "urn:x", "//a"),
    "mac": ("00:00:5e:00:53:01", "00-00-5e-00-53-01", "0000.5e00.5301", "00:00", ""),
    "hexcolor": ("#fff", "fff", "#ffff", "#ABCDEF", ""),
    "rgbcolor": ("rgb(1,2,3)", "rgb(1, 2, 300)", "rgb(1,2)", ""),
    "ssn": ("123-45-6789", "123456789", "12", ""),
    "password": ("x", ""),
}  # fmt: skip
NUMBERS: Final = (0, 1, 2, 3, 4, 5, 9, 10, 11, -1, 0.5, 1.5, 2.0, 7, 1 << 31, -(1 << 31), 1 << 40)
ANYTHING: Final[tuple[Any, ...]] = (None, True, 0, 1.5, "x", [], {}, ["a"], {"a": 1}, [None], {"a": None})


class Instances:
    """Generates values for schemas, mostly valid values, and invalid variants."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def of(self, schema: Json) -> Any:
        """Return a value that mostly fits the schema."""
        rng = self._rng
        if schema.get("nullable") and rng.random() < 0.15:
            return None
        for values in (schema.get("enum"), *(nested.get("enum") for nested in schema.get("allOf", ()))):
            if values:
                return rng.choice(values)
        if schema.get("x-kubernetes-int-or-string"):
            return rng.choice((1, "5%", "1Gi", "100m", -3, "x", "1.5"))
        match schema.get("type"):
            case "boolean":
                return rng.random() < 0.5
            case "integer":
                return rng.choice([number for number in NUMBERS if isinstance(number, int)])
            case "number":
                return rng.choice(NUMBERS)
            case "string":
                return self._text(schema)
            case "array":
                low, high = schema.get("minItems", 0), schema.get("maxItems", 3)
                return [self.of(schema["items"]) for _ in range(rng.randint(low, max(low, min(high, 3))))]
            case "object":
                return self._object(schema)
            case _:
                return copy.deepcopy(rng.choice(ANYTHING[1:]))

    def broken(self, value: Json) -> Json:
        """Return the value with up to three random changes."""
        broken = copy.deepcopy(value)
        for _ in range(self._rng.choice((1, 1, 1, 2, 3))):
            self._break(broken)
        return broken

    def _text(self, schema: Json) -> str:
        rng = self._rng
        if schema.get("format") in OF_FORMATS:
            samples = OF_FORMATS[schema["format"]]
            return samples[0] if rng.random() < 0.6 else rng.choice(samples)
        if "pattern" in schema and "A-Za-z0-9+/" in schema["pattern"]:
            return base64.b64encode(rng.randbytes(rng.randint(0, 4))).decode()
        low, high = schema.get("minLength", 0), schema.get("maxLength", 6)
        return "".join(rng.choice("abkue") for _ in range(rng.randint(low, high)))

    def _object(self, schema: Json) -> Json:
        rng = self._rng
        if schema.get("x-kubernetes-embedded-resource"):
            return {
                "apiVersion": rng.choice(("v1", "v1", "a/b", "/", "a/", "a/b/c", "")),
                "kind": rng.choice(("Thing", "Thing", "thing", "A_b", "")),
                "metadata": {"name": "x"},
                "a": rng.choice((1, {"b": 2})),
            }
        if "additionalProperties" in schema:
            low = schema.get("minProperties", 0)
            return {
                key: self.of(schema["additionalProperties"]) for key in "xyz"[: rng.randint(low, max(low, 2))]
            }
        required = schema.get("required", ())
        members: Json = {}
        variant = rng.choice(schema.get("oneOf", [{}]))
        for name, property_ in schema.get("properties", {}).items():
            chosen = variant.get("properties", {}).get(name, {}).get("enum")
            if chosen:
                members[name] = chosen[0]
            elif name in required or name in variant.get("required", ()) or rng.random() < 0.6:
                members[name] = self.of(property_)
        return members

    def _break(self, value: Any) -> None:
        rng = self._rng
        while True:
            places: list[Any] = list(value) if is_object(value) else list(range(len(value)))
            if not places:
                break
            key = rng.choice(places)
            member: Any = value[key]
            if (is_object(member) or is_list(member)) and member and rng.random() < 0.7:
                value = member
                continue
            break
        if is_object(value):
            self._break_object(value)
        elif value:
            self._break_list(cast("list[Any]", value))
        else:
            cast("list[Any]", value).append(rng.choice((*ANYTHING, *TEXTS)))

    def _break_object(self, value: Json) -> None:
        rng = self._rng
        draw = rng.random()
        if draw < 0.2 or not value:
            value[rng.choice(("unknown", "one", "f0", "f1"))] = self._random_invalid_value()
        elif draw < 0.4:
            del value[rng.choice(list(value))]
        else:
            value[rng.choice(list(value))] = self._random_invalid_value()

    def _break_list(self, value: list[Any]) -> None:
        rng = self._rng
        match rng.randrange(4):
            case 0:
                value.append(copy.deepcopy(value[0]))
            case 1:
                value.pop()
            case 2:
                value[rng.randrange(len(value))] = self._random_invalid_value()
            case _:
                value.extend(copy.deepcopy(value))

    def _random_invalid_value(self) -> Any:
        return copy.deepcopy(self._rng.choice((*ANYTHING, *TEXTS, *NUMBERS)))
