"""Field selectors: kubectl's string form with its escapes, and whether a set of fields matches."""

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

import msgspec

# A backslash stays with the character that it escapes, so that only commas without a backslash separate
# terms.
_TERM: Final = r"(?:[^,\\]|\\.?)+"
_ESCAPE: Final = r"\\(.?)|="
_SPECIAL: Final = r"([\\,=])"


class FieldRequirement(msgspec.Struct, frozen=True, order=True):
    """The value that a field such as `metadata.name` must have ("=") or must not have ("!=")."""

    path: str
    operator: Literal["=", "!="]
    value: str

    def __post_init__(self) -> None:
        if self.operator not in ("=", "!="):
            raise ValueError(f"{self.operator!r} is not an operator of a field selector: = or !=")
        # Go accepts any string before the operator as a path; only the server knows whether there is such a
        # field.
        ambiguous = self.operator == "=" and self.path.endswith("!")
        if "=" in self.path or ambiguous or not re.fullmatch(f"(?:{_TERM})?", self.path, re.DOTALL):
            raise ValueError(f"{self.path!r} is not the path of a field such as metadata.name")

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether these fields, by path, match; a missing field counts as empty, as on a server."""
        return (fields.get(self.path, "") == self.value) is (self.operator == "=")

    def __str__(self) -> str:
        value = re.sub(_SPECIAL, r"\\\1", self.value)
        return f"{self.path}{self.operator}{value}"


class FieldSelector(msgspec.Struct, frozen=True):
    """Selects objects by the values of fields: all requirements must match, none means every object.

    A server indexes few fields: `metadata.name`, `metadata.namespace`, and some of each kind's own, such as a
    pod's `spec.nodeName` or a CRD's `selectableFields`. It supports only equality; for sets, and keys that
    users choose, use labels and their `Selector`.
    """

    requirements: tuple[FieldRequirement, ...] = ()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "requirements", tuple(sorted(set(self.requirements))))

    @classmethod
    def parse(cls, text: str) -> "FieldSelector":
        r"""Read `metadata.name=a,spec.nodeName!=b`; in values `\`, `,` and `=` are escaped by a backslash."""
        return cls(tuple(_parse_requirements(text)))

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> "FieldSelector":
        """Return a selector for the objects in which all of these fields have these values."""
        return cls(tuple(FieldRequirement(path, "=", value) for path, value in fields.items()))

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether an object with these fields is selected; a missing field counts as empty."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def __and__(self, other: "FieldSelector") -> "FieldSelector":
        return FieldSelector(self.requirements + other.requirements)

    def __bool__(self) -> bool:
        """Return whether the selector excludes anything."""
        return bool(self.requirements)

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements)


def _parse_requirements(text: str) -> Iterator[FieldRequirement]:
    for term in re.findall(_TERM, text, re.DOTALL):
        path, equals, value = term.partition("=")
        if not equals:
            raise ValueError(f"field selector {text!r}: {term!r} has neither = nor !=")
        negated = path.endswith("!")
        operator: Literal["=", "!="] = "!=" if negated else "="
        # "==" means the same as "="
        path, value = path[:-1] if negated else path, value if negated else value.removeprefix("=")
        if path or value:  # Go ignores a term that is only an operator
            yield FieldRequirement(path, operator, _unescape(text, value))


def _unescape(text: str, value: str) -> str:
    def literal(match: re.Match[str]) -> str:
        if match[0] == "=":
            raise ValueError(f"field selector {text!r}: in a value '=' must follow a backslash")
        if match[1] not in ("\\", ",", "="):
            raise ValueError(f"field selector {text!r}: {match[0]!r} escapes nothing")
        return match[1]

    return re.sub(_ESCAPE, literal, value, flags=re.DOTALL)
