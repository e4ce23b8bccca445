"""CEL functions that ask the authorizer of a server whether a user may make a request.

`authorizer` and the results of these functions are maps, and each function returns a larger one: a user, then
the attributes of a request, then a decision. Only expressions about a write have the variable.
https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-authorizer-library
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from ...objects import dns_label_errors, dns_subdomain_errors
from ._list_functions import FunctionRow

Authorize: TypeAlias = Callable[[Mapping[str, str]], tuple[bool, str]]
"""Returns whether a request is allowed, and the reason. The mapping has the attributes of the request:
`verb`, and either `path` or `group`, `resource`, `subresource`, `namespace` and `name`; and
`serviceAccount`, as namespace/name, for a user other than that of the write."""

# Set during an evaluation: the library's functions get only their arguments.
current_authorize: Final[ContextVar[Authorize | None]] = ContextVar("authorize", default=None)

VARIABLE: Final = "authorizer"
_TYPE: Final = "type"  # of each map: a function refuses the result of another one


def authorizer_value(request_resource: Mapping[str, str]) -> dict[str, Any]:
    """Return the variable; its field `requestResource` is about the resource of the write."""
    return {_TYPE: "Authorizer", "requestResource": {_TYPE: "ResourceCheck", **request_resource}}


def _attribute(name: str, takes: str, returns: str) -> Callable[[Any, str], dict[str, Any]]:
    def add(check: Any, value: str) -> dict[str, Any]:
        _require(check, takes)
        kept = {key: text for key, text in check.items() if key != "requestResource"}
        return {**kept, _TYPE: returns, name: value}

    return add


def _service_account(authorizer: Any, namespace: str, name: str) -> dict[str, Any]:
    _require(authorizer, "Authorizer")
    if dns_label_errors(namespace):
        raise ValueError("Invalid service account namespace")
    if dns_subdomain_errors(name):
        raise ValueError("Invalid service account name")
    return {_TYPE: "Authorizer", "serviceAccount": f"{namespace}/{name}"}


def _check(check: Any, verb: str) -> dict[str, Any]:
    _require(check, "PathCheck", "ResourceCheck")
    authorize = current_authorize.get()
    if authorize is None:
        raise ValueError("there is no authorizer")
    attributes = {name: value for name, value in check.items() if name != _TYPE}
    allowed, reason = authorize({**attributes, "verb": verb})
    return {_TYPE: "Decision", "allowed": allowed, "reason": reason}


def _decision(name: str) -> Callable[[Any], Any]:
    def read(decision: Any) -> Any:
        _require(decision, "Decision")
        return decision[name]

    return read


def _has_failed(decision: Any) -> bool:
    _require(decision, "Decision")
    return False  # the authorizer has no failures of its own


def _failure(decision: Any) -> str:
    _require(decision, "Decision")
    return ""


def _require(value: Any, *types: str) -> None:
    if value.get(_TYPE) not in types:
        raise ValueError("no such overload")


_RESOURCE: Final = "ResourceCheck"
FUNCTIONS: Final[tuple[FunctionRow, ...]] = (
    ("path", True, ("MAP", "STRING"), "MAP", _attribute("path", "Authorizer", "PathCheck")),
    ("group", True, ("MAP", "STRING"), "MAP", _attribute("group", "Authorizer", "GroupCheck")),
    ("serviceAccount", True, ("MAP", "STRING", "STRING"), "MAP", _service_account),
    ("resource", True, ("MAP", "STRING"), "MAP", _attribute("resource", "GroupCheck", _RESOURCE)),
    *(
        (name, True, ("MAP", "STRING"), "MAP", _attribute(name, _RESOURCE, _RESOURCE))
        for name in ("subresource", "namespace", "name", "fieldSelector", "labelSelector")
    ),
    ("check", True, ("MAP", "STRING"), "MAP", _check),
    ("allowed", True, ("MAP",), "BOOL", _decision("allowed")),
    ("reason", True, ("MAP",), "STRING", _decision("reason")),
    ("errored", True, ("MAP",), "BOOL", _has_failed),
    ("error", True, ("MAP",), "STRING", _failure),
)
