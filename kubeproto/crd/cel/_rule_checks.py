"""A server's checks of the CEL rules in a schema, without evaluating them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ...objects import is_object
from .._violations import Violation, child, invalid, key, required, unsupported
from ._cel_operators import RefusedRule, UnsupportedRule
from ._cel_rewriting import rewrite

_REASONS: Final = (
    "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"
)  # fmt: skip
_USES_OLD: Final = re.compile(r"\boldSelf\b")


def check_rule_definitions(
    schema: dict[str, Any], path: str, uncorrelated: str | None, *, root: bool
) -> Iterator[Violation]:
    """Yield the violations in the definitions of CEL rules, without the CEL library.

    `uncorrelated` is the path of the enclosing list or map without old elements, if any.
    """
    for index, rule in enumerate(schema.get("x-kubernetes-validations", ())):
        rule_path = key(child(path, "x-kubernetes-validations"), index)
        text, message = rule.get("rule", "").strip(), rule.get("message", "")
        if not text:
            yield required(child(rule_path, "rule"), "rule is not specified")
        elif message and not message.strip():
            yield invalid(child(rule_path, "message"), message, "message must be non-empty if specified")
        elif "\n" in message.strip():
            yield invalid(child(rule_path, "message"), message, "message must not contain line breaks")
        elif "\n" in text and not message:
            detail = "message must be specified if rule contains line breaks"
            yield required(child(rule_path, "message"), detail)
        if rule.get("messageExpression") and not rule["messageExpression"].strip():
            detail = "messageExpression must be non-empty if specified"
            yield required(child(rule_path, "messageExpression"), detail)
        if "reason" in rule and rule["reason"] not in _REASONS:
            yield unsupported(child(rule_path, "reason"), rule["reason"], _REASONS)
        if rule.get("fieldPath") and find_schema(schema, rule["fieldPath"]) is None:
            yield invalid(child(rule_path, "fieldPath"), rule["fieldPath"], "fieldPath must be a valid path")
        if text:
            yield from _check_rule(
                schema, text, child(rule_path, "rule"), uncorrelated, root=root,
                optional_old=bool(rule.get("optionalOldSelf")),
            )  # fmt: skip
        if "optionalOldSelf" in rule and not _USES_OLD.search(text):
            yield invalid(
                child(rule_path, "optionalOldSelf"),
                rule["optionalOldSelf"],
                "may not be set if oldSelf is not used in rule",
            )


def _check_rule(
    schema: dict[str, Any], text: str, path: str, uncorrelated: str | None, *, root: bool, optional_old: bool
) -> Iterator[Violation]:
    try:
        rewrite(text, schema, root=root, optional_old=optional_old, condition=True)
    except RefusedRule as error:
        yield invalid(path, text, f"compilation failed: {error}")
    except UnsupportedRule:
        pass
    if uncorrelated is not None and _USES_OLD.search(text):
        yield invalid(
            path,
            text,
            f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}",
        )


def find_schema(schema: dict[str, Any], json_path: str) -> dict[str, Any] | None:
    """Return the schema at a path such as ``.spec.size`` or ``['a.b']``; None if there is none."""
    steps = re.findall(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", json_path)
    if not steps or "".join(f".{dot}" if dot else f"['{quoted}']" for dot, quoted in steps) != json_path:
        return None
    for dot, quoted in steps:
        name = dot or re.sub(r"\\(.)", r"\1", quoted)
        if "properties" in schema:
            nested = schema["properties"].get(name)
        else:
            nested = schema.get("additionalProperties")
        if not is_object(nested):
            return None
        schema = nested
    return schema
