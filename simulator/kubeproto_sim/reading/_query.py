"""The query of a request: parsed as leniently, and refused in the same words, as by a real server.

Unknown parameters are ignored; the first value of a repeated parameter counts; a boolean is true unless it is
`0` or `false`; a number must be valid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, unquote_plus

from msgspec import Struct

from kubeproto.crd import Violation
from kubeproto.objects import FieldSelector, Selector, label_value_errors, qualified_name_errors

from .._rejections import bad_request, invalid_options
from ..storage._json_values import quoted

Query = dict[str, str]

_MATCH: Final = "resourceVersionMatch"
_INITIAL: Final = "sendInitialEvents"
_NO_TOKEN: Final = "resourceVersionMatch is forbidden when continue is provided"

_NUMBER: Final = re.compile(r"[+-]?\d+")
_INT64_LIMIT: Final = 2**63
_DURATION: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)")
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_UNEXPECTED_TOKEN: Final = re.compile(r"found (?:'(.*)'|\"(.*)\"|the end) where (.*) is expected", re.DOTALL)
_EXPECTED: Final = {
    "a key": "expected: identifier",
    "a value": "expected: identifier",
    "one of in, notin, =, ==, !=, > and <": "expected: in, notin, =, ==, !=, gt, lt",
    "'('": "expected: '('",
    "',' or ')'": "expected: ',' or ')'",
}
_INVALID_NAME: Final = re.compile(r"'(.*)' is not a valid (qualified name|label value)", re.DOTALL)
_NOT_A_NUMBER: Final = re.compile(r"(?:Gt|Lt) on the label '.*' needs .* not \('(.*)',\)", re.DOTALL)


class ListQuery(Struct, frozen=True, kw_only=True):
    """The parameters of a list, a watch or the deletion of a collection."""

    labels: Selector | None
    fields: FieldSelector | None
    limit: int
    token: str
    version: str
    match: str
    timeout: int | None
    watch: bool
    bookmarks: bool
    initial_events: bool | None
    shards: str

    @property
    def selective(self) -> bool:
        """Whether a label or field selector excludes anything."""
        return self.labels is not None or self.fields is not None


def split_target(target: str) -> tuple[str, Query]:
    """Return the decoded path of a request, and its query."""
    path, _, text = target.partition("?")
    return (unquote(path) if "%" in path else path), (read_query(text) if text else {})


def read_query(text: str) -> Query:
    """Return the first value of each parameter."""
    query: Query = {}
    for part in text.split("&"):
        key, _, value = part.partition("=")
        if key and key not in query:
            plain = "%" not in value and "+" not in value
            query[unquote_plus(key) if "%" in key else key] = value if plain else unquote_plus(value)
    return query


def repeated(target: str, name: str) -> list[str]:
    """Return all values of a parameter of a request, such as the words of a command."""
    parts = (part.partition("=") for part in target.partition("?")[2].split("&"))
    return [unquote_plus(value) for key, _, value in parts if unquote_plus(key) == name]


def is_true(text: str | None) -> bool:
    """Return whether a boolean parameter is true: present, and neither 0 nor false."""
    return text is not None and text.lower() not in ("0", "false")


def number(query: Query, name: str) -> int | None:
    """Return an integer; None if it is missing or empty."""
    text = query.get(name, "")
    if not text:
        return None
    if not _NUMBER.fullmatch(text) or not text.isascii():
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if not -_INT64_LIMIT <= (value := int(text)) < _INT64_LIMIT:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return value


def seconds(text: str) -> float | None:
    """Parse a Go duration, such as 1m30s; None if the text is not a duration."""
    if text == "0":
        return 0.0
    sign = -1.0 if text.startswith("-") else 1.0
    total, position, body = 0.0, 0, text.lstrip("+-")
    while position < len(body):
        duration = _DURATION.match(body, position)
        if not duration:
            return None
        digits = re.match(r"[\d.]+", duration[0])
        assert digits is not None  # the duration above begins with them
        total += float(digits[0]) * _UNITS[duration[0][digits.end() :]]
        position = duration.end()
    return sign * total if body else None


def list_options(query: Query, *, watching: bool, streaming_lists: bool, sharded: bool) -> ListQuery:
    """Return the options of a list or watch, defaulted and checked; or a refusal."""
    limit = number(query, "limit") or 0
    timeout = number(query, "timeoutSeconds")
    initial = is_true(query["sendInitialEvents"]) if query.get("sendInitialEvents") else None
    version, match, token = (
        query.get("resourceVersion", ""),
        query.get("resourceVersionMatch", ""),
        query.get("continue", ""),
    )
    if watching and streaming_lists and initial is None and not match and version in ("", "0"):
        # With the gate WatchList, a watch without a version is a streaming list even if it does not say so.
        initial, match = True, "NotOlderThan"
    options = ListQuery(
        labels=_label_selector(query.get("labelSelector", "")),
        fields=_field_selector(query.get("fieldSelector", "")),
        limit=max(limit, 0),
        token=token,
        version=version,
        match=match,
        timeout=timeout,
        watch=watching,
        bookmarks=is_true(query.get("allowWatchBookmarks") or None),
        initial_events=initial,
        shards=query.get("shardSelector", "") if sharded else "",
    )
    all_violations = (
        _violations_of_watch(options, streaming_lists) if options.watch else _violations_of_list(options)
    )
    if violations := list(all_violations):
        raise invalid_options("ListOptions", violations)
    return options


def _violations_of_watch(options: ListQuery, streaming_lists: bool) -> Iterator[Violation]:
    match, initial = options.match, options.initial_events
    if initial is not None and match != "NotOlderThan":
        yield _forbidden(_MATCH, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
    if initial is not None and not streaming_lists:
        problem = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
        yield _forbidden(_INITIAL, problem)
    if match and initial is None:
        problem = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        yield _forbidden(_MATCH, problem)
    if match not in ("", "NotOlderThan"):
        yield Violation("FieldValueNotSupported", _MATCH, match, 'supported values: "NotOlderThan"')
    if match and options.token:
        yield _forbidden(_MATCH, _NO_TOKEN)


def _violations_of_list(options: ListQuery) -> Iterator[Violation]:
    match = options.match
    if match and not options.version:
        yield _forbidden(_MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match and options.token:
        yield _forbidden(_MATCH, _NO_TOKEN)
    if match not in ("", "Exact", "NotOlderThan"):
        supported = 'supported values: "Exact", "NotOlderThan"'
        yield Violation("FieldValueNotSupported", _MATCH, match, supported)
    if match == "Exact" and options.version == "0":
        yield _forbidden(_MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
    if options.initial_events is not None:
        yield _forbidden(_INITIAL, "sendInitialEvents is forbidden for list")


def _forbidden(field: str, problem: str) -> Violation:
    return Violation("FieldValueForbidden", field, detail=problem)


def _label_selector(text: str) -> Selector | None:
    if not text:
        return None
    try:
        return Selector.parse(text) or None
    except ValueError as error:
        raise bad_request(_go_message(text, str(error))) from None


def _go_message(selector: str, problem: str) -> str:
    """Return the message of a Go server for the error of our parser of label selectors."""
    if match := _UNEXPECTED_TOKEN.search(problem):
        token, expected = match[1] or match[2] or "", match[3]
        if expected == "',' or the end":
            return f"found '{token}', expected: ',' or 'end of string'"
        if expected == "a key or '!'":
            is_first_token = selector.lstrip().startswith(token) and token
            return f"found '{token}', expected: " + (
                "!, identifier, or 'end of string'" if is_first_token else "identifier after ','"
            )
        if expected in _EXPECTED:
            comma = "" if expected == "'('" else ","
            return f"unable to parse requirement: found '{token}'{comma} {_EXPECTED[expected]}"
    if match := _INVALID_NAME.match(problem):
        name = quoted(match[1])
        if match[2] == "qualified name":
            error = qualified_name_errors(match[1])[0]
            return f"unable to parse requirement: <nil>: Invalid value: {name}: {error}"
        key = re.split(r"[!=<> ]", selector.strip())[0]
        error = label_value_errors(match[1])[0]
        return f"unable to parse requirement: values[0][{key}]: Invalid value: {name}: {error}"
    if match := _NOT_A_NUMBER.match(problem):
        rule = "for 'Gt', 'Lt' operators, the value must be an integer"
        return f"unable to parse requirement: values[0]: Invalid value: {quoted(match[1])}: {rule}"
    return f"unable to parse requirement: {problem}"


def _field_selector(text: str) -> FieldSelector | None:
    if not text:
        return None
    for term in re.findall(r"(?:[^,\\]|\\.?)+", text, re.DOTALL):
        if "=" not in term:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
    try:
        return FieldSelector.parse(text) or None
    except ValueError as error:
        raise bad_request(f"invalid field selector: {error}") from None


def _unprintable(text: str) -> str:
    position = next(index for index, char in enumerate(text) if not char.isprintable())
    return f"invalid character U+{ord(text[position]):04X} (at position {position})"


def write_options(query: Query, kind: str, *, applying: bool = False) -> None:
    """Check the options that all writes share; `kind` names them in a refusal."""
    violations: list[Violation] = []
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        violations.append(Violation("FieldValueNotSupported", "dryRun", [dry_run], 'supported values: "All"'))
    manager = query.get("fieldManager", "")
    if len(manager) > 128:
        violations.append(
            Violation("FieldValueTooLong", "fieldManager", manager, "may not be more than 128 bytes")
        )
    elif not manager.isprintable():
        violations.append(Violation("FieldValueInvalid", "fieldManager", manager, _unprintable(manager)))
    validation = query.get("fieldValidation", "")
    if validation not in ("", "Ignore", "Warn", "Strict"):
        allowed = 'supported values: "", "Ignore", "Strict", "Warn"'
        violations.append(Violation("FieldValueNotSupported", "fieldValidation", validation, allowed))
    if kind == "PatchOptions":
        if applying and not manager:
            violations.append(
                Violation("FieldValueRequired", "fieldManager", detail="is required for apply patch")
            )
        if not applying and is_true(query.get("force")):
            violations.append(
                Violation("FieldValueForbidden", "force", detail="may not be specified for non-apply patch")
            )
    if violations:
        raise invalid_options(kind, violations)
