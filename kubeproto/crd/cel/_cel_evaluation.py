"""Evaluation of a CEL expression by cel-expr-python, Google's CEL for C++ as a Python package.

It checks names and types before it evaluates, limits the work of an evaluation, has no dependencies, and has
wheels for Linux, macOS and Windows. cel-python needs five other packages; common-expression-language has no
type checker, so a misspelled name may pass.
"""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any, Final

from msgspec import UNSET, Struct

from ._authorizer_functions import VARIABLE, Authorize, current_authorize
from ._cel_operators import RefusedRule, UnsupportedRule
from ._cel_rewriting import rewrite
from ._cel_values import has_float_for_integer, has_times, rule_value, write_literal
from ._function_declarations import BAD_ARGUMENT, declarations

# The errors that a value may cause in a correct rule, and a server's messages for them. Any other error is a
# mistake in the rule, or a limitation of the library. The patterns are compiled when a rule first fails,
# because most programs that import this module never need them.
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


_MIXED_NUMBERS: Final = r"'_[<>]=?_' applied to '\((?:int, double|double, int)\)'"


class CannotEvaluate(Exception):  # not an Error: it becomes the outcome NotEvaluated
    """An expression cannot be evaluated here; the message gives the reason."""


class CelFailure(Struct, frozen=True):
    """An evaluation failed because of the value, such as a division by zero: a server refuses the value."""

    reason: str


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
    """Return the result of an expression over `self` and `oldSelf`, or raise `CannotEvaluate`."""
    guarded = has_float_for_integer(schema, value) or has_float_for_integer(schema, old)
    try:
        source = rewrite(
            source, schema, root=root, optional_old=optional_old, guarded=guarded, condition=condition
        )
    except RefusedRule as error:
        raise CannotEvaluate(f"{error}; a server refuses the rule") from None
    except UnsupportedRule as limitation:
        raise CannotEvaluate(str(limitation)) from None
    kind = "DYN" if guarded or has_times(schema) else _KINDS.get(schema.get("type", ""), "DYN")
    if schema.get("format") == "byte":
        kind = "BYTES"
    expression = _compile(source, kind, optional_old)
    data = {"self": rule_value(schema, value, root=root)}
    if old is not UNSET:
        data["oldSelf"] = rule_value(schema, old, root=root)
    if has_times(schema):
        expression = _compile(_with_literals(source, data, optional_old), kind, optional_old)
        data = {}
    elif optional_old:
        data["hasOld"] = old is not UNSET
        data.setdefault("oldSelf", None)
        bound = "hasOld ? optional.of(dyn(oldSelf)) : optional.none()"
        expression = _compile(f"[{bound}].map(oldSelf, ({source}\n))[0]", "DYN", optional_old)
    try:
        result = expression.eval(data=data)
    except RuntimeError as error:
        return _to_cel_failure(_first_line(error))
    if str(result.type().name()) == "ERROR":
        return _to_cel_failure(str(result.value()))
    return result.value()


def evaluate_with(source: str, variables: dict[str, Any], authorize: Authorize | None = None) -> Any:
    """Return the result of an expression over variables of any type, or raise `CannotEvaluate`.

    `authorize` makes the decisions of a variable `authorizer`, which is an `authorizer_value`.
    """
    token = current_authorize.set(authorize)
    try:
        return _evaluate_dynamic(source, variables)
    finally:
        current_authorize.reset(token)


def _evaluate_dynamic(source: str, variables: dict[str, Any]) -> Any:
    try:
        expression = _dynamic_environment(tuple(sorted(variables))).compile(source)
    except RuntimeError as error:
        raise CannotEvaluate(_first_line(error)) from None
    try:
        result = expression.eval(data=variables)
    except RuntimeError as error:
        return _to_cel_failure(_first_line(error))
    if str(result.type().name()) == "ERROR":
        return _to_cel_failure(str(result.value()))
    return result.value()


def _with_literals(source: str, data: dict[str, Any], optional_old: bool) -> str:
    """Return the expression with its variables as literals: only source can carry a timestamp in a map."""
    text = f"({source}\n)"
    if optional_old:
        old = (
            f"optional.of(dyn({write_literal(data['oldSelf'])}))" if "oldSelf" in data else "optional.none()"
        )
        text = f"[{old}].map(oldSelf, {text})[0]"
    elif "oldSelf" in data:
        text = f"[{write_literal(data['oldSelf'])}].map(oldSelf, {text})[0]"
    return f"[{write_literal(data['self'])}].map(self, {text})[0]"


def _to_cel_failure(message: str) -> CelFailure:
    for pattern, server_message in _VALUE_ERRORS:
        if match := re.search(pattern, message):
            return CelFailure(match.expand(server_message))
    raise CannotEvaluate(message)


@functools.lru_cache(maxsize=1024)
def _compile(source: str, kind: str, optional_old: bool) -> Any:
    try:
        return _rule_environment(kind, optional_old).compile(source)
    except RuntimeError as error:
        # A server compares numbers of any types; this library does so only with dynamic types.
        if kind != "DYN" and re.search(_MIXED_NUMBERS, str(error)):
            return _compile(source, "DYN", optional_old)
        raise CannotEvaluate(_first_line(error)) from None


@functools.lru_cache(maxsize=32)
def _rule_environment(kind: str, optional_old: bool) -> Any:
    old = "DYN" if optional_old else kind
    return _new_environment((("self", kind), ("oldSelf", old), ("hasOld", "BOOL")))


@functools.lru_cache(maxsize=32)
def _dynamic_environment(names: tuple[str, ...]) -> Any:
    return _new_environment(tuple((name, "DYN") for name in names))


def _new_environment(variables: tuple[tuple[str, str], ...]) -> Any:
    try:
        cel: Any = importlib.import_module("cel_expr_python.cel")
        extensions = (
            importlib.import_module("cel_expr_python.ext.ext_optional"),
            importlib.import_module("cel_expr_python.ext.ext_strings"),
        )
    except ImportError:
        raise CannotEvaluate("there is no CEL library: pip install 'kubeproto[cel]'") from None
    return cel.NewEnv(
        variables={name: getattr(cel.Type, kind) for name, kind in variables},
        extensions=[extensions[0].ExtOptional(), extensions[1].ExtStrings()],
        functions=declarations(cel, has_authorizer=any(name == VARIABLE for name, _ in variables)),
    )


def _first_line(error: Exception) -> str:
    text = str(error).removeprefix("INVALID_ARGUMENT: ").splitlines()[0]
    return text.removeprefix("ERROR: <input>:").strip()
