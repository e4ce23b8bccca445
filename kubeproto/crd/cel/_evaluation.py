"""One CEL expression over one value, through cel-expr-python, Google's CEL for C++ as a Python package.

It checks names and types before it evaluates, bounds the work of an evaluation, has no dependencies, and
comes as wheels for Linux, macOS and Windows. cel-python needs five other packages; common-expression-language
has no type checker, so a misspelled name may pass.
"""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any, Final

from msgspec import UNSET, Struct

from ._functions import BAD_ARGUMENT, declarations
from ._operators import RefusedRule, Undecided
from ._rewriting import rewrite
from ._values import holds_dates, holds_float_for_integer, literal, visible

# The errors that a value may cause in a correct rule. Any other is a mistake in the rule, or needs a newer
# library. Patterns are compiled when a rule first fails: most programs import this module and never need
# them.
_VALUE_ERRORS: Final = (
    (r'(?s)Key not found in map : "?(.*?)"?\Z', r"no such key: \1"),
    ("divide by zero", "division by zero"),
    ("modulus by zero", "modulus by zero"),
    ("(?:unsigned )?integer overflow", r"\g<0>"),
    (r"Index error: index=(-?\d+)", r"index out of bounds: \1"),
    (r"optional\.none\(\) dereference", r"\g<0>"),
    (f"(?s){BAD_ARGUMENT}(.*)", r"\1"),
    (r"cannot convert string to (\w+)", r"type conversion error from 'string' to '\1'"),
    ("String to Duration conversion", "type conversion error from 'string' to 'duration'"),
    ("String to Timestamp conversion", "type conversion error from 'string' to 'timestamp'"),
    (r"<string>\.", "index out of range"),
)
_KINDS: Final = {
    "boolean": "BOOL",
    "integer": "INT",
    "number": "DOUBLE",
    "string": "STRING",
    "array": "LIST",
    "object": "MAP",
}


_OF_NUMBERS: Final = r"'_[<>]=?_' applied to '\((?:int, double|double, int)\)'"


class CannotEvaluate(Exception):  # a reason, not a fault: it becomes the outcome NotEvaluated
    """An expression cannot be evaluated here; the message says why."""


class CelFailure(Struct, frozen=True):
    """An evaluation failed because of the value, as in a division by zero: a server refuses the value."""

    why: str


def evaluate(
    source: str,
    schema: dict[str, Any],
    value: Any,
    old: Any = UNSET,
    *,
    root: bool,
    optional_old: bool = False,
    condition: bool = False,
) -> Any:
    """Return the result of an expression over `self` and `oldSelf`.

    If there is none, `CannotEvaluate` says why.
    """
    guarded = holds_float_for_integer(schema, value) or holds_float_for_integer(schema, old)
    try:
        source = rewrite(
            source, schema, root=root, optional_old=optional_old, guarded=guarded, condition=condition
        )
    except RefusedRule as refusal:
        raise CannotEvaluate(f"{refusal}; a server refuses the rule") from None
    except Undecided as reason:
        raise CannotEvaluate(str(reason)) from None
    kind = "DYN" if guarded or holds_dates(schema) else _KINDS.get(schema.get("type", ""), "DYN")
    if schema.get("format") == "byte":
        kind = "BYTES"
    checked = _compile(source, kind, optional_old)
    data = {"self": visible(schema, value, root=root)}
    if old is not UNSET:
        data["oldSelf"] = visible(schema, old, root=root)
    if holds_dates(schema):
        checked = _compile(_with_literals(source, data, optional_old), kind, optional_old)
        data = {}
    elif optional_old:
        data["hasOld"] = old is not UNSET
        data.setdefault("oldSelf", None)
        bound = "hasOld ? optional.of(dyn(oldSelf)) : optional.none()"
        checked = _compile(f"[{bound}].map(oldSelf, ({source}\n))[0]", "DYN", optional_old)
    try:
        result = checked.eval(data=data)
    except RuntimeError as error:
        return _broken(_first_line(error))
    if str(result.type().name()) == "ERROR":
        return _broken(str(result.value()))
    return result.value()


def evaluate_with(source: str, variables: dict[str, Any]) -> Any:
    """Return the result of an expression over variables of any type.

    If there is none, `CannotEvaluate` says why.
    """
    try:
        checked = _open_environment(tuple(sorted(variables))).compile(source)
    except RuntimeError as error:
        raise CannotEvaluate(_first_line(error)) from None
    try:
        result = checked.eval(data=variables)
    except RuntimeError as error:
        return _broken(_first_line(error))
    if str(result.type().name()) == "ERROR":
        return _broken(str(result.value()))
    return result.value()


def _with_literals(source: str, data: dict[str, Any], optional_old: bool) -> str:
    """Return the expression with its variables written out: only source can carry a timestamp in a map."""
    text = f"({source}\n)"
    if optional_old:
        old = f"optional.of(dyn({literal(data['oldSelf'])}))" if "oldSelf" in data else "optional.none()"
        text = f"[{old}].map(oldSelf, {text})[0]"
    elif "oldSelf" in data:
        text = f"[{literal(data['oldSelf'])}].map(oldSelf, {text})[0]"
    return f"[{literal(data['self'])}].map(self, {text})[0]"


def _broken(message: str) -> CelFailure:
    for known, shown in _VALUE_ERRORS:
        if found := re.search(known, message):
            return CelFailure(found.expand(shown))
    raise CannotEvaluate(message)


@functools.lru_cache(maxsize=1024)
def _compile(source: str, kind: str, optional_old: bool) -> Any:
    try:
        return _environment(kind, optional_old).compile(source)
    except RuntimeError as error:
        # A server compares numbers of any kind with each other; this library does it with untyped ones only.
        if kind != "DYN" and re.search(_OF_NUMBERS, str(error)):
            return _compile(source, "DYN", optional_old)
        raise CannotEvaluate(_first_line(error)) from None


@functools.lru_cache(maxsize=32)
def _environment(kind: str, optional_old: bool) -> Any:
    old = "DYN" if optional_old else kind
    return _new_environment((("self", kind), ("oldSelf", old), ("hasOld", "BOOL")))


@functools.lru_cache(maxsize=32)
def _open_environment(names: tuple[str, ...]) -> Any:
    return _new_environment(tuple((name, "DYN") for name in names))


def _new_environment(variables: tuple[tuple[str, str], ...]) -> Any:
    try:
        cel: Any = importlib.import_module("cel_expr_python.cel")
        extensions = (
            importlib.import_module("cel_expr_python.ext.ext_optional"),
            importlib.import_module("cel_expr_python.ext.ext_strings"),
        )
    except ImportError:
        raise CannotEvaluate("there is no CEL library here: install the extra cel") from None
    return cel.NewEnv(
        variables={name: getattr(cel.Type, kind) for name, kind in variables},
        extensions=[extensions[0].ExtOptional(), extensions[1].ExtStrings()],
        functions=declarations(cel),
    )


def _first_line(error: Exception) -> str:
    text = str(error).removeprefix("INVALID_ARGUMENT: ").splitlines()[0]
    return text.removeprefix("ERROR: <input>:").strip()
