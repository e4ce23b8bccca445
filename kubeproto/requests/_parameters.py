"""The parameters of reads and writes, and a server's rules for them: broken ones are never sent.

Each function takes the arguments of a verb and returns its query, or says which rule was broken.
"""

# Annotations are values here: a TypedDict compiles each one that is text, and 25 of them took as long as five
# modules to import.

from datetime import datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, TypedDict

from .._errors import InvalidRequest
from ..objects import Duration, FieldSelector, Selector
from ._bodies import as_json
from ._shards import Shard
from ._targets import Query, given

Timeout: TypeAlias = float | timedelta | Duration | None
LabelSelector: TypeAlias = str | Selector
FieldSelectorLike: TypeAlias = str | FieldSelector
Match: TypeAlias = Literal["", "NotOlderThan", "Exact"]
FieldValidation: TypeAlias = Literal["", "Ignore", "Warn", "Strict"]
Propagation: TypeAlias = Literal["", "Background", "Foreground", "Orphan"]

_FIELD_MANAGER_LENGTH: Final = 128  # bytes; https://kubernetes.io/docs/reference/using-api/server-side-apply/


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
    """The parameters of every write. `dry_run` does all but keep the result."""

    dry_run: bool
    field_manager: str
    field_validation: FieldValidation
    timeout: Timeout


class ApplyOptions(TypedDict, total=False):
    """The parameters of an apply beside its field manager and its force."""

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
    """The parameters of a log. `stream` needs a server with the gate PodLogsQuerySplitStreams."""

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
    check_whole("limit", limit, at_least=0)
    if resource_version_match and not resource_version:
        raise InvalidRequest("resource_version_match says how to read a resource_version, and there is none")
    if resource_version_match and continue_:
        raise InvalidRequest("continue_ uses the version of its token: resource_version_match has no place")
    if resource_version_match == "Exact" and resource_version == "0":
        raise InvalidRequest('resource_version "0" means any version: it cannot be matched by Exact')
    if continue_ and resource_version not in ("", "0"):
        raise InvalidRequest("continue_ uses the version of its token: resource_version has no place")
    return given(
        ("labelSelector", selector("label_selector", label_selector)),
        ("fieldSelector", selector("field_selector", field_selector)),
        ("limit", limit or None),
        ("continue", continue_),
        ("resourceVersion", resource_version),
        ("resourceVersionMatch", resource_version_match),
        ("shardSelector", _shard(shard_selector)),
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
        check_whole("timeout_seconds", timeout_seconds, at_least=1)
    initial = None if send_initial_events is None else str(send_initial_events).lower()
    return given(
        ("watch", True),
        ("labelSelector", selector("label_selector", label_selector)),
        ("fieldSelector", selector("field_selector", field_selector)),
        ("resourceVersion", resource_version),
        ("allowWatchBookmarks", bookmarks),
        ("sendInitialEvents", initial),
        ("resourceVersionMatch", "NotOlderThan" if initial else ""),
        ("timeoutSeconds", timeout_seconds),
        ("shardSelector", _shard(shard_selector)),
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
    return given(
        ("dryRun", "All" if dry_run else ""),
        ("fieldManager", field_manager),
        ("fieldValidation", field_validation),
        ("timeout", duration(timeout)),
    )


def check_field_manager(name: str) -> None:
    """Refuse a name under which no server records field ownership."""
    if not name:
        raise InvalidRequest("apply needs a field_manager: the name under which its fields are kept")
    if len(name.encode(errors="replace")) > _FIELD_MANAGER_LENGTH:
        raise InvalidRequest(f"field_manager {name[:32]!r}… is longer than {_FIELD_MANAGER_LENGTH} bytes")
    if not name.isprintable():
        raise InvalidRequest(f"field_manager {name!r} holds a character that cannot be printed")


def deletion_body(
    *,
    uid: str = "",
    resource_version: str = "",
    propagation: Propagation = "",
    grace_period: int | None = None,
    dry_run: bool = False,
) -> bytes:
    """Return the DeleteOptions of a deletion; empty where the server's defaults will do."""
    options = deletion_options(
        uid=uid,
        resource_version=resource_version,
        propagation=propagation,
        grace_period=grace_period,
        dry_run=dry_run,
    )
    return as_json(options) if options else b""


def deletion_options(
    *,
    uid: str = "",
    resource_version: str = "",
    propagation: Propagation = "",
    grace_period: int | None = None,
    dry_run: bool = False,
) -> Any:
    """Return the `DeleteOptions` with these parameters; None if none of them is set."""
    check_choice("propagation", propagation, ("Background", "Foreground", "Orphan"))
    if grace_period is not None:
        check_whole("grace_period", grace_period, at_least=0)
    if not (uid or resource_version or propagation or dry_run) and grace_period is None:
        return None
    from ..kinds.meta_v1 import DeleteOptions, Preconditions

    conditions = None
    if uid or resource_version:
        conditions = Preconditions(uid=uid or None, resource_version=resource_version or None)
    return DeleteOptions(
        grace_period_seconds=grace_period,
        propagation_policy=propagation or None,
        preconditions=conditions,
        dry_run=["All"] if dry_run else None,
    )


def selector(what: str, value: object) -> str:
    """Return the text of a selector: as it was given, or as a typed one writes it."""
    if not isinstance(value, str | Selector | FieldSelector):
        raise InvalidRequest(f"{what}: {value!r} is not a selector; give a string or a typed selector")
    return str(value)


def _shard(value: str | Shard) -> str:
    if isinstance(value, str):
        if value:
            Shard.parse(value)
        return value
    return str(value)


def duration(value: Timeout) -> str:
    """Return a deadline as Go writes it; a server replaces zero and less by its own default."""
    if value is None:
        return ""
    try:
        span = value if isinstance(value, Duration) else Duration.of(value)
    except (ValueError, TypeError) as error:
        raise InvalidRequest(f"timeout: {error}") from None
    if span.nanoseconds <= 0:
        raise InvalidRequest(f"timeout: {value!r} leaves no time")
    return str(span).replace("µ", "u")  # Go reads both, and this one is ASCII


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a word that the server does not know; empty means the server's default."""
    if value and value not in choices:
        raise InvalidRequest(f"{what}: {value!r} is not one of {', '.join(choices)}")


def check_whole(what: str, value: int, *, at_least: int) -> None:
    """Refuse what is not a whole number, or too small, or too large for the server's int64."""
    if type(value) is not int or not at_least <= value < 1 << 63:
        raise InvalidRequest(f"{what}: {value!r} is not a whole number from {at_least} up")
