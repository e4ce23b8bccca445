"""Label selectors: kubectl's string form, the API's object form, and whether a set of labels matches."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

import msgspec

from ._names import check_label_key, check_label_value

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")
_WITH_A_NUMBER: Final = ("Gt", "Lt")
_IN_OBJECTS: Final = _WITH_VALUES + _WITHOUT_VALUES
_MAX_NUMBER: Final = 2**63 - 1

_TOKEN: Final = r"==|!=|[=!<>(),]|[^=!<>(), \t\r\n]+"
_SYMBOLS: Final = ("==", "!=", "=", "!", "<", ">", "(", ")", ",")
_END: Final = ""


class Requirement(msgspec.Struct, frozen=True, order=True):
    """A condition on a label: `key=a` is In with a single value, `key!=a` NotIn with a single value.

    NotIn and DoesNotExist match objects without the key; Gt and Lt compare integers.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_label_key(self.key)
        for value in self.values:
            check_label_value(value)
        _check_arity(self)
        msgspec.structs.force_setattr(self, "values", tuple(sorted(set(self.values))))

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether an object with these labels (None: no labels) is selected."""
        value = labels.get(self.key) if labels else None
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                number, bound = _parse_number(value or ""), int(self.values[0])
                return number is not None and (number > bound if self.operator == "Gt" else number < bound)

    def __str__(self) -> str:
        match self.operator, self.values:
            case "Exists", _:
                return self.key
            case "DoesNotExist", _:
                return f"!{self.key}"
            case "In" | "NotIn" as operator, [value]:
                return f"{self.key}{'=' if operator == 'In' else '!='}{value}"
            case "In" | "NotIn" as operator, values:
                return f"{self.key} {operator.lower()} ({','.join(values)})"
            case operator, values:
                return f"{self.key}{'>' if operator == 'Gt' else '<'}{values[0]}"


class Selector(msgspec.Struct, frozen=True):
    """Selects objects by their labels: all requirements must match; without requirements every object does.

    Users choose the labels of objects, so any key can be selected by, and sets too (`tier in (web, db)`); a
    `FieldSelector` selects by the few fields that a server indexes, by equality only. The API's object form
    (`matchLabels`, `matchExpressions`) is read by `from_object` and written by `to_object`.
    """

    requirements: tuple[Requirement, ...] = ()

    def __post_init__(self) -> None:
        # Sorted by key, as a server prints them, and without duplicates: equal selectors compare equal.
        msgspec.structs.force_setattr(self, "requirements", tuple(sorted(set(self.requirements))))

    @classmethod
    def parse(cls, text: str) -> "Selector":
        """Read kubectl's form: `app=web,tier in (a,b),!canary,size>3`; an empty string selects all."""
        return cls(_Parser(text).requirements())

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> "Selector":
        """Return a selector for the objects that have all of these labels."""
        return cls(tuple(Requirement(key, "In", (value,)) for key, value in labels.items()))

    @classmethod
    def from_object(cls, selector: Mapping[str, Any]) -> "Selector":
        """Read the API's object form: `{"matchLabels": {…}, "matchExpressions": [{"key": …}]}`."""
        labels: Mapping[str, str] = selector.get("matchLabels") or {}
        expressions: Sequence[Mapping[str, Any]] = selector.get("matchExpressions") or ()
        return cls.of(labels) & cls(tuple(_from_expression(expression) for expression in expressions))

    def to_object(self) -> dict[str, Any]:
        """Return the API's object form; raise ValueError for `>` and `<`, which it does not have."""
        labels: dict[str, str] = {}
        expressions: list[dict[str, Any]] = []
        for requirement in self.requirements:
            key, operator, values = requirement.key, requirement.operator, requirement.values
            if operator not in _IN_OBJECTS:
                raise ValueError(f"{str(requirement)!r} has no form in a LabelSelector object")
            if operator == "In" and len(values) == 1 and key not in labels:
                labels[key] = values[0]
            else:
                expression: dict[str, Any] = {"key": key, "operator": operator}
                expressions.append({**expression, "values": list(values)} if values else expression)
        fields = {"matchLabels": labels, "matchExpressions": expressions}
        return {name: part for name, part in fields.items() if part}

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether an object with these labels (None: no labels) is selected."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __and__(self, other: "Selector") -> "Selector":
        return Selector(self.requirements + other.requirements)

    def __bool__(self) -> bool:
        """Return whether the selector excludes anything."""
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


class _Parser:
    """Reads requirements from the tokens of a selector, one after another."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = re.findall(_TOKEN, text)
        self._tokens.reverse()

    def requirements(self) -> tuple[Requirement, ...]:
        if not self._tokens:
            return ()
        requirements = [self._parse_requirement()]
        while self._peek() == ",":
            self._take()
            requirements.append(self._parse_requirement())
        if self._peek() != _END:
            raise self._unexpected("',' or the end")
        return tuple(requirements)

    def _parse_requirement(self) -> Requirement:
        if self._peek() == "!":
            self._take()
            return Requirement(self._take_word("a key"), "DoesNotExist")
        key = self._take_word("a key or '!'")
        match self._peek():
            case "," | "":
                return Requirement(key, "Exists")
            case "=" | "==" | "!=" | ">" | "<" as symbol:
                self._take()
                value = "" if self._peek() in (",", _END) else self._take_word("a value")
                return Requirement(key, _OPERATORS[symbol], (value,))
            case "in" | "notin" as word:
                self._take()
                return Requirement(key, _OPERATORS[word], self._parse_values())
            case _:
                raise self._unexpected("one of in, notin, =, ==, !=, > and <")

    def _parse_values(self) -> tuple[str, ...]:
        """Return the values between parentheses; nothing between two commas is the empty value."""
        if self._peek() != "(":
            raise self._unexpected("'('")
        values: list[str] = []
        while self._peek() != ")":
            self._take()  # the opening parenthesis, then the commas
            values.append("" if self._peek() in (",", ")") else self._take_word("a value"))
            if self._peek() not in (",", ")"):
                raise self._unexpected("',' or ')'")
        self._take()
        return tuple(values)

    def _take_word(self, expected: str) -> str:
        if self._peek() == _END or self._peek() in _SYMBOLS:
            raise self._unexpected(expected)
        return self._take()

    def _peek(self) -> str:
        return self._tokens[-1] if self._tokens else _END

    def _take(self) -> str:
        return self._tokens.pop()

    def _unexpected(self, expected: str) -> ValueError:
        actual = repr(self._peek()) if self._tokens else "the end"
        return ValueError(f"label selector {self._text!r}: found {actual} where {expected} is expected")


_OPERATORS: Final[dict[str, Operator]] = {
    "=": "In",
    "==": "In",
    "in": "In",
    "!=": "NotIn",
    "notin": "NotIn",
    ">": "Gt",
    "<": "Lt",
}


def _from_expression(expression: Mapping[str, Any]) -> Requirement:
    operator = expression.get("operator")
    if operator not in _IN_OBJECTS:
        raise ValueError(
            f"{operator!r} is not an operator of a LabelSelector object: {', '.join(_IN_OBJECTS)}"
        )
    values: Sequence[str] = expression.get("values") or ()
    return Requirement(cast(str, expression.get("key", "")), cast(Operator, operator), tuple(values))


def _check_arity(requirement: Requirement) -> None:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator in _WITH_VALUES:
        if not values:
            raise ValueError(f"{operator} on the label {key!r} needs a value")
    elif operator in _WITHOUT_VALUES:
        if values:
            raise ValueError(f"{operator} on the label {key!r} takes no values, not {values!r}")
    elif operator in _WITH_A_NUMBER:
        if len(values) != 1 or _parse_number(values[0]) is None:
            raise ValueError(f"{operator} on the label {key!r} needs one 64-bit whole number, not {values!r}")
    else:
        raise ValueError(f"{operator!r} is not an operator of a label selector")


def _parse_number(text: str) -> int | None:
    """Return the 64-bit integer in a label: without a sign, in at most 63 characters."""
    if not (text.isdigit() and text.isascii() and len(text) <= 63 and int(text) <= _MAX_NUMBER):
        return None
    return int(text)
