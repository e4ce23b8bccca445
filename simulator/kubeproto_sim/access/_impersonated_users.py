"""Impersonation: the Impersonate headers, and who may send them.

A server first tries the constrained modes (verbs such as ``impersonate:user-info`` together with
``impersonate-on:user-info:get``, on by default since Kubernetes 1.36), then the old verb ``impersonate``. The
refusal of the first that was tried is the one that counts. https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from .._rejections import Rejection, bad_request
from ._attributes import Attributes, denied
from ._policy_rules import go_list
from ._rbac import Decision
from ._users import ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_groups, account_of

Decide = Callable[[User, Attributes], Decision]
_GROUP: Final = "authentication.k8s.io"
_NODE: Final = "system:node:"
_EXTRA: Final = "impersonate-extra-"
_MANY: Final = 4  # with more groups or values than this, all of them are checked at once first


class Wanted(Struct, frozen=True):
    """Return whom the headers name, with nothing added."""

    name: str
    uid: str
    groups: tuple[str, ...]
    extra: dict[str, list[str]]

    @property
    def only_name(self) -> bool:
        """Whether only a user name is requested."""
        return not (self.uid or self.groups or self.extra)


def impersonates(names: Iterable[str]) -> bool:
    """Return whether one of these lower-case names of headers asks to act as somebody else."""
    for name in names:  # noqa: SIM110 - twice as fast as `any`, once for each request
        if name.startswith("impersonate-"):
            return True
    return False


def wanted_user(headers: Sequence[tuple[str, str]]) -> Wanted | None:
    """Return whom a request wants to act as; None if it does not."""
    name = uid = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}
    asked = False
    for header, value in headers:
        match header.lower():
            case "impersonate-user":
                name = name or value
            case "impersonate-uid":
                uid, asked = uid or value, True
            case "impersonate-group":
                groups.append(value)
                asked = True
            case key if key.startswith(_EXTRA):
                extra.setdefault(unquote(key.removeprefix(_EXTRA)), []).append(value)
                asked = True
            case _:
                pass
    if name:
        return Wanted(name, uid, tuple(groups), extra)
    if asked:
        raise bad_request(f"requested {_go_user(uid, groups, extra)} without impersonating a user name")
    return None


def _go_user(uid: str, groups: list[str], extra: dict[str, list[str]]) -> str:
    """Return a user as Go's %#v prints it."""

    def strings(values: list[str]) -> str:
        return f"[]string{{{', '.join(map(_quoted, values))}}}" if values else "[]string(nil)"

    held = ", ".join(
        f"{_quoted(key)}:[]string{{{', '.join(map(_quoted, extra[key]))}}}" for key in sorted(extra)
    )
    maps = f"map[string][]string{{{held}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{_quoted(uid)}, Groups:{strings(groups)}, Extra:{maps}}}'


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()


class Impersonator:
    """Decides who may act as whom. It remembers which mode allowed a user last, and tries that one first."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._last: dict[tuple[str, str, tuple[str, ...]], str] = {}

    def act_as(self, requestor: User, wanted: Wanted, asked: Attributes) -> User:
        """Return the user that a request acts as; or the refusal of the first mode that was tried."""
        key = (requestor.name, requestor.uid, requestor.groups)
        modes = list(_modes(wanted))
        if (last := self._last.get(key)) in modes:
            modes.remove(last)
            modes.insert(0, last)
        first: Rejection | None = None
        for mode in modes:
            try:
                user = self._try(mode, requestor, wanted, asked)
            except Rejection as refused:
                first = first or refused
            else:
                self._last[key] = mode
                return user
        assert first is not None  # the old mode is always among them
        raise first

    def _try(self, mode: str, requestor: User, wanted: Wanted, asked: Attributes) -> User:
        if mode:
            self._need(requestor, msgspec.structs.replace(asked, verb=f"impersonate-on:{mode}:{asked.verb}"))
        verb = f"impersonate:{mode}" if mode else "impersonate"
        group = _GROUP if mode else ""
        groups = wanted.groups
        named = Attributes(verb=verb, group=group, resource="users", name=wanted.name)
        if mode == "arbitrary-node":
            node = wanted.name.removeprefix(_NODE)
            named = msgspec.structs.replace(named, resource="nodes", name=node)
            groups = ("system:nodes",)
        elif account := account_of(wanted.name):
            named = msgspec.structs.replace(
                named, resource="serviceaccounts", namespace=account[0], name=account[1]
            )
            groups = groups or account_groups(account[0])
        self._need(requestor, named)
        if wanted.uid:
            self._need(requestor, Attributes(verb=verb, group=_GROUP, resource="uids", name=wanted.uid))
        self._check_groups(requestor, Attributes(verb=verb, group=group, resource="groups"), wanted, mode)
        self._check_extra(requestor, Attributes(verb=verb, group=_GROUP, resource="userextras"), wanted, mode)
        return User(wanted.name, wanted.uid, _with_standing(wanted.name, groups), wanted.extra)

    def _check_groups(self, requestor: User, asked: Attributes, wanted: Wanted, mode: str) -> None:
        if mode and "" in wanted.groups:
            raise denied(asked, requestor.name, "impersonating the empty string group is not allowed")
        if mode and MASTERS in wanted.groups:
            named = msgspec.structs.replace(asked, name=MASTERS)
            raise denied(named, requestor.name, "impersonating the system:masters group is not allowed")
        if mode and len(wanted.groups) >= _MANY:
            every = msgspec.structs.replace(asked, name="*")
            if self._decide(requestor, every).allowed:
                return
        for group in wanted.groups:
            self._need(requestor, msgspec.structs.replace(asked, name=group))

    def _check_extra(self, requestor: User, asked: Attributes, wanted: Wanted, mode: str) -> None:
        count = sum(map(len, wanted.extra.values()))
        if mode and count >= _MANY:
            every = msgspec.structs.replace(asked, subresource="*", name="*")
            if self._decide(requestor, every).allowed:
                return
        for key, values in wanted.extra.items():
            for value in values:
                if mode and not value:
                    why = "impersonating the empty string value in extra is not allowed"
                    raise denied(asked, requestor.name, why)
                self._need(requestor, msgspec.structs.replace(asked, subresource=key, name=value))

    def _need(self, requestor: User, asked: Attributes) -> None:
        decision = self._decide(requestor, asked)
        if not decision.allowed:
            raise denied(asked, requestor.name, decision.reason)


def _modes(wanted: Wanted) -> Iterator[str]:
    """Return the modes that apply to the user to act as; the empty one is the old verb."""
    is_node = wanted.name.startswith(_NODE) and wanted.name != _NODE
    is_account = account_of(wanted.name) is not None
    if is_node or is_account:
        if wanted.only_name:
            yield "arbitrary-node" if is_node else "serviceaccount"
    else:
        yield "user-info"
    yield ""


def _with_standing(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the groups, with the one that says whether the user is authenticated."""
    standing = UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED
    if standing in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, standing)


__all__ = ["Decide", "Impersonator", "Wanted", "go_list", "impersonates", "wanted_user"]
