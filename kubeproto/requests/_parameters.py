"""The parameters of reads and writes, and the server's rules for them: invalid requests are never built.

Each function takes the arguments of a verb and returns its query, or raises `InvalidRequest` with the rule.
"""

# Without `from __future__ import annotations`: a TypedDict compiles each annotation that is a string, and 25
# of them take as long to import as five modules.

from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, TypedDict

from .._errors import InvalidRequest
from ..objects import Duration, FieldSelector, Selector
from ._request_bodies import encode_body
from ._shard_selector import Shard
from ._targets import Query, make_query

Timeout: TypeAlias = float | timedelta | Duration | None
LabelSelector: TypeAlias = str | Selector
FieldSelectorLike: TypeAlias = str | FieldSelector
Match: TypeAlias = Literal["", "NotOlderThan", "Exact"]
FieldValidation: TypeAlias = Literal["", "Ignore", "Warn", "Strict"]
Propagation: TypeAlias = Literal["", "Background", "Foreground", "Orphan"]

_MAX_FIELD_MANAGER: Final = 128  # bytes; https://kubernetes.io/docs/reference/using-api/server-side-apply/


class ListOptions(TypedDict, total=False):
    """The parameters of a list."""

    label_selector: LabelSelector
    field_selector: FieldSelectorLike
    limit: int
    continue_: str
    resource_version: str
    resource_version_match: Match
    shard_selector: str | Shard
    timeout: Timeout


class WriteOptions(TypedDict, total=False):
    """The parameters of every write. With `dry_run` the server stores nothing."""

    dry_run: bool
    field_manager: str
    field_validation: FieldValidation
    timeout: Timeout


class ApplyOptions(TypedDict, total=False):
    """The parameters of an apply besides `field_manager` and `force`."""

    dry_run: bool
    field_validation: FieldValidation
    timeout: Timeout


class DeletionOptions(TypedDict, total=False):
    """The parameters of a deletion. `uid` and `resource_version` are preconditions."""

    uid: str
    resource_version: str
    propagation: Propagation
    grace_period: int | None
    dry_run: bool
    timeout: Timeout


class LogOptions(TypedDict, total=False):
    """The parameters of a log. `stream` needs the feature gate PodLogsQuerySplitStreams."""

    container: str
    previous: bool
    since_seconds: int
    since_time: datetime
    tail_lines: int
    limit_bytes: int
    timestamps: bool
    stream: Literal["", "All", "Stdout", "Stderr"]


def list_query(
    *,
    label_selector: LabelSelector = "",
    field_selector: FieldSelectorLike = "",
    limit: int = 0,
    continue_: str = "",
    resource_version: str = "",
    resource_version_match: Match = "",
    shard_selector: str | Shard = "",
    timeout: Timeout = None,
) -> Query:
    """Return the query of a list; see https://kubernetes.io/docs/reference/using-api/api-concepts/."""
    check_choice("resource_version_match", resource_version_match, ("NotOlderThan", "Exact"))
    check_integer("limit", limit, minimum=0)
    if resource_version_match and not resource_version:
        raise InvalidRequest("resource_version_match needs a resource_version")
    if resource_version_match and continue_:
        raise InvalidRequest("continue_ uses the version of its token: omit resource_version_match")
    if resource_version_match == "Exact" and resource_version == "0":
        raise InvalidRequest(
            'resource_version "0" means any version: it cannot be combined with the match Exact'
        )
    if continue_ and resource_version not in ("", "0"):
        raise InvalidRequest("continue_ uses the version of its token: omit resource_version")
    return make_query(
        ("labelSelector", selector_text("label_selector", label_selector)),
        ("fieldSelector", selector_text("field_selector", field_selector)),
        ("limit", limit or None),
        ("continue", continue_),
        ("resourceVersion", resource_version),
        ("resourceVersionMatch", resource_version_match),
        ("shardSelector", _shard_text(shard_selector)),
        ("timeout", duration(timeout)),
    )


def watch_query(
    *,
    label_selector: LabelSelector = "",
    field_selector: FieldSelectorLike = "",
    resource_version: str = "",
    bookmarks: bool = True,
    send_initial_events: bool | None = None,
    timeout_seconds: int | None = None,
    shard_selector: str | Shard = "",
) -> Query:
    """Return the query of a watch; see https://kubernetes.io/docs/reference/using-api/api-concepts/."""
    if send_initial_events and not bookmarks:
        raise InvalidRequest("send_initial_events needs bookmarks: a bookmark marks the end of these events")
    if timeout_seconds is not None:
        check_integer("timeout_seconds", timeout_seconds, minimum=1)
    initial = None if send_initial_events is None else str(send_initial_events).lower()
    return make_query(
        ("watch", True),
        ("labelSelector", selector_text("label_selector", label_selector)),
        ("fieldSelector", selector_text("field_selector", field_selector)),
        ("resourceVersion", resource_version),
        ("allowWatchBookmarks", bookmarks),
        ("sendInitialEvents", initial),
        ("resourceVersionMatch", "NotOlderThan" if initial else ""),
        ("timeoutSeconds", timeout_seconds),
        ("shardSelector", _shard_text(shard_selector)),
    )


def write_query(
    *,
    dry_run: bool = False,
    field_manager: str = "",
    field_validation: FieldValidation = "",
    timeout: Timeout = None,
) -> Query:
    """Return the query of a create, replace or patch."""
    check_choice("field_validation", field_validation, ("Ignore", "Warn", "Strict"))
    if field_manager:
        check_field_manager(field_manager)
    return make_query(
        ("dryRun", "All" if dry_run else ""),
        ("fieldManager", field_manager),
        ("fieldValidation", field_validation),
        ("timeout", duration(timeout)),
    )


def check_field_manager(name: str) -> None:
    """Refuse a name that no server accepts as the owner of fields."""
    if not name:
        raise InvalidRequest("apply needs a field_manager, the name of the owner of its fields")
    if len(name.encode(errors="replace")) > _MAX_FIELD_MANAGER:
        raise InvalidRequest(f"field_manager {name[:32]!r}… is longer than {_MAX_FIELD_MANAGER} bytes")
    if not name.isprintable():
        raise InvalidRequest(f"field_manager {name!r} has a character that is not printable")


def deletion_body(
    *,
    uid: str = "",
    resource_version: str = "",
    propagation: Propagation = "",
    grace_period: int | None = None,
    dry_run: bool = False,
) -> bytes:
    """Return the body of a deletion; b"" if no parameter is set."""
    options = deletion_options(
        uid=uid,
        resource_version=resource_version,
        propagation=propagation,
        grace_period=grace_period,
        dry_run=dry_run,
    )
    return encode_body(options) if options else b""


def deletion_options(
    *,
    uid: str = "",
    resource_version: str = "",
    propagation: Propagation = "",
    grace_period: int | None = None,
    dry_run: bool = False,
) -> Any:
    """Return the `DeleteOptions` with these parameters; None if no parameter is set."""
    check_choice("propagation", propagation, ("Background", "Foreground", "Orphan"))
    if grace_period is not None:
        check_integer("grace_period", grace_period, minimum=0)
    if not (uid or resource_version or propagation or dry_run) and grace_period is None:
        return None
    from ..kinds.meta_v1 import DeleteOptions, Preconditions

    preconditions = None
    if uid or resource_version:
        preconditions = Preconditions(uid=uid or None, resource_version=resource_version or None)
    return DeleteOptions(
        grace_period_seconds=grace_period,
        propagation_policy=propagation or None,
        preconditions=preconditions,
        dry_run=["All"] if dry_run else None,
    )


def selector_text(name: str, value: object) -> str:
    """Return the text of a selector."""
    if not isinstance(value, str | Selector | FieldSelector):
        raise InvalidRequest(
            f"{name}: {value!r} is not a selector; use a string, a Selector or a FieldSelector"
        )
    return str(value)


def _shard_text(value: str | Shard) -> str:
    if isinstance(value, str):
        if value:
            Shard.parse(value)
        return value
    return str(value)


def duration(value: Timeout) -> str:
    """Return a timeout in Go's syntax. A server would replace a timeout below 1 ns by its default."""
    if value is None:
        return ""
    try:
        span = value if isinstance(value, Duration) else Duration.of(value)
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"timeout: {error}") from None
    if span.nanoseconds <= 0:
        raise InvalidRequest(f"timeout: {value!r} must be positive")
    return str(span).replace("µ", "u")  # Go parses both, and "u" is ASCII


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that the server does not know; "" means the server's default."""
    if value and value not in choices:
        raise InvalidRequest(f"{name}: {value!r} must be one of {', '.join(choices)}")


def check_integer(name: str, value: int, *, minimum: int) -> None:
    """Refuse what is not an integer, is too small, or too large for the server's int64."""
    if type(value) is not int or not minimum <= value < 1 << 63:
        raise InvalidRequest(f"{name}: {value!r} must be an integer of at least {minimum}")
