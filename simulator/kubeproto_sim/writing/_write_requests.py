"""One write of one request, and what is wrong with its object before any rule of its kind."""

from __future__ import annotations

from typing import Any, Final

from .._rejections import (
    Rejection,
    bad_request,
    dotted,
    failure,
    forbidden,
    not_found,
    quoted,
    status_details,
)
from .._state import ServerState
from ..kinds._kind_rules import check_bytes
from ..kinds._typed import Misfit
from ..reading._query import Query
from ..reading._routes import Route
from ..storage._json_values import is_map
from ._gates import OPEN, Gate
from ._mistakes import mistyped, no_metadata, other_name
from ._schema_shapes import DEFINITIONS, check_schemas
from ._tracking import Tracker

# How often a real server tries to find a name that is free.
_NAME_TRIES: Final = 8


class WriteRequest:
    """Who writes which object, and how strictly: checks its type, format, name and namespace."""

    def __init__(
        self,
        state: ServerState,
        route: Route,
        query: Query,
        manager: str,
        warnings: list[str] | None = None,
        gate: Gate = OPEN,
    ) -> None:
        self.state = state
        self.route = route
        self.served = route.served
        self.dry_run = bool(query.get("dryRun"))
        self.validation = query.get("fieldValidation") or "Warn"
        self.manager = query.get("fieldManager") or manager
        self.warnings: list[str] = [] if warnings is None else warnings
        self.decoding = ""  # what precedes the fault of a value that cannot be decoded
        self.misnamed: tuple[str, str] | None = None  # kind and apiVersion, if they differ from the URL's
        self.tracker = Tracker(state, self.served, self.manager, route.subresource)
        self.gate = gate

    @property
    def key(self) -> str:
        return self.served.key(self.route.namespace, self.route.name)

    def tidy(self, obj: dict[str, Any], twice: list[str]) -> None:
        """Bring an object into the form that is stored; warn about what that drops, or refuse it."""
        served = self.served
        try:
            unknown = served.codec.tidy(obj)
            if not served.custom:
                check_bytes(served, obj, self.decoding)
            if served.full_name == DEFINITIONS:
                check_schemas(obj)
        except Misfit as error:
            raise self.misfit(error) from None
        if self.misnamed:
            # Only the metadata of such an object is known.
            unknown = [path for path in unknown if path.startswith("metadata.")]
        if not (unknown or twice) or self.validation == "Ignore":
            return
        faults = [f"unknown field {quoted(path)}" for path in unknown]
        faults += [f"duplicate field {quoted(path)}" for path in twice]
        if self.validation == "Strict":
            raise self.strict_refusal(faults)
        self.warnings += faults

    def strict_refusal(self, faults: list[str]) -> Rejection:
        """Return how unknown and duplicate fields are refused; patches have a form of their own for it."""
        return bad_request(f"{self._handled()}strict decoding error: {', '.join(faults)}")

    def misfit(self, error: Misfit) -> Rejection:
        """Return how a value of a wrong type is refused."""
        return bad_request(f"{self._handled()}{error}")

    def _handled(self) -> str:
        kind = self.misnamed[0] if self.misnamed else self.served.kind
        return f"{kind} in version {quoted(self.served.version)} cannot be handled as a {kind}: "

    def check_type(self, obj: dict[str, Any]) -> None:
        """Check kind and apiVersion, which built-in kinds may leave out."""
        served = self.served
        kind, api_version = obj.get("kind", ""), obj.get("apiVersion", "")
        if served.custom:
            if api_version != served.api_version:
                raise bad_request(
                    f"the API version in the data ({api_version}) does not match the expected API version"
                    f" ({served.api_version})"
                )
            if kind != served.kind:
                self.misnamed = kind, api_version
        elif why := self.mistyped(kind, api_version):
            version = (api_version or served.api_version).rpartition("/")[2]
            shown = f"{kind or served.kind} in version {quoted(version)}"
            raise bad_request(f"{shown} cannot be handled as a {served.kind}: {why}")
        obj["kind"], obj["apiVersion"] = served.kind, served.api_version

    def mistyped(self, kind: str, api_version: str) -> str:
        """Return why an object is not of this built-in kind by its kind and apiVersion; empty if it is."""
        return mistyped(self.state.kinds, (self.served.kind, self.served.api_version), kind, api_version)

    def metadata(self, obj: dict[str, Any]) -> dict[str, Any]:
        meta = obj.get("metadata")
        if meta is None:
            meta = obj["metadata"] = {}
        if not is_map(meta):
            raise self.misfit(no_metadata(self.served, meta))
        return meta

    def check_place(self, meta: dict[str, Any]) -> None:
        """Refuse an object that is not the one in the URL."""
        name = self.route.name
        if not meta.get("name"):
            why = "name must be provided"
            raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: {why}")
        if meta["name"] != name:
            raise other_name(meta["name"], name)
        self.check_namespace(meta)

    def check_namespace(self, meta: dict[str, Any]) -> None:
        if not self.served.namespaced:
            meta.pop("namespace", None)
            return
        given = meta.get("namespace") or self.route.namespace
        if given != self.route.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = given

    def choose_name(self, meta: dict[str, Any]) -> str:
        name: str = meta.get("name", "")
        if name:
            return name
        base: str = meta.get("generateName", "")
        if not base:
            return ""
        for _ in range(_NAME_TRIES):
            meta["name"] = name = self.state.rng.name(base)
            if self.served.key(self.route.namespace, name) not in self.served.storage.objects:
                return name
        served = self.served
        word = dotted(served.plural, served.group)
        message = (
            f"{word} {quoted(meta['name'])} already exists, the server was not able to generate a unique name"
            " for the object"
        )
        details = status_details(meta["name"], served.group, served.plural) | {"retryAfterSeconds": 1}
        raise Rejection(failure(409, message, details, reason="AlreadyExists"))

    def check_admission(self, name: str) -> None:
        """Refuse a new object if its namespace or definition is terminating, or the namespace is missing."""
        served, namespace = self.served, self.route.namespace
        if served.defined and served.storage.name in self.state.closing:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(served.plural, served.group, name, why)
        if not served.namespaced:
            return
        home = self.state.storage.resource("namespaces").objects.get(namespace)
        if home is None:
            raise not_found("namespaces", "", namespace)
        if namespace in self.state.terminating:
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(served.plural, served.group, name, why, [cause])
