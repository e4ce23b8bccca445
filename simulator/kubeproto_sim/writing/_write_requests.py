"""The write of a request: its parameters, and the checks before any rule of a kind."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.objects import is_object

from .._rejections import Rejection, bad_request, dotted, failure, forbidden, not_found, status_details
from .._state import ServerState
from ..kinds._typed_codec import MalformedBase64, TypeMismatch
from ..reading._query import Query
from ..reading._routes import Route
from ..storage._json_values import quoted
from ._definition_rules import DEFINITIONS, check_schemas
from ._field_tracking import Tracker
from ._write_errors import invalid_metadata, kind_mismatch, name_mismatch
from ._write_gates import OPEN, Gate

# A real server tries the same number of generated names.
_MAX_NAME_ATTEMPTS: Final = 8


class WriteRequest:
    """The parameters of a write; checks the type, the format, the name and the namespace of the object."""

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
        self.decoding = ""  # precedes the error of a value that cannot be decoded
        self.sent_kind: tuple[str, str] | None = None  # with apiVersion, if they differ from the URL's
        self.tracker = Tracker(state, self.served, self.manager, route.subresource)
        self.gate = gate

    @property
    def key(self) -> str:
        return self.served.key(self.route.namespace, self.route.name)

    def tidy(self, obj: dict[str, Any], duplicate_faults: list[str]) -> None:
        """Bring an object into its stored form; warn about dropped fields, or reject them."""
        served = self.served
        try:
            unknown = served.codec.tidy(obj)
            if served.full_name == DEFINITIONS:
                check_schemas(obj)
        except MalformedBase64 as error:
            raise self.misfit(MalformedBase64(f"{self.decoding}{error}")) from None
        except TypeMismatch as error:
            raise self.misfit(error) from None
        if self.sent_kind:
            # A server decodes only the metadata of such an object.
            unknown = [path for path in unknown if path.startswith("metadata.")]
        if not (unknown or duplicate_faults) or self.validation == "Ignore":
            return
        faults = [f"unknown field {quoted(path)}" for path in unknown]
        faults += duplicate_faults
        if self.validation == "Strict":
            raise self.strict_refusal(faults)
        self.warnings += faults

    def strict_refusal(self, faults: list[str]) -> Rejection:
        """Return the rejection of unknown and duplicate fields; a patch words it differently."""
        yaml_faults = [fault for fault in faults if fault.startswith("line ")]
        messages = [fault for fault in faults if fault not in yaml_faults]
        if yaml_faults:
            messages.insert(0, "\n  ".join(("yaml: unmarshal errors:", *yaml_faults)))
        return bad_request(f"{self._handled()}strict decoding error: {', '.join(messages)}")

    def misfit(self, error: TypeMismatch) -> Rejection:
        """Return the rejection of a value of a wrong type."""
        return bad_request(f"{self._handled()}{error}")

    def _handled(self) -> str:
        kind = self.sent_kind[0] if self.sent_kind else self.served.kind
        return f"{kind} in version {quoted(self.served.version)} cannot be handled as a {kind}: "

    def check_type(self, obj: dict[str, Any]) -> None:
        """Check kind and apiVersion, which objects of built-in kinds may omit."""
        served = self.served
        kind, api_version = obj.get("kind", ""), obj.get("apiVersion", "")
        if served.custom:
            if api_version != served.api_version:
                raise bad_request(
                    f"the API version in the data ({api_version}) does not match the expected API version"
                    f" ({served.api_version})"
                )
            if kind != served.kind:
                self.sent_kind = kind, api_version
        elif message := self.kind_mismatch(kind, api_version):
            version = (api_version or served.api_version).rpartition("/")[2]
            subject = f"{kind or served.kind} in version {quoted(version)}"
            raise bad_request(f"{subject} cannot be handled as a {served.kind}: {message}")
        obj["kind"], obj["apiVersion"] = served.kind, served.api_version

    def kind_mismatch(self, kind: str, api_version: str) -> str:
        """Return the message about an object that is not of this built-in kind; empty if it is."""
        return kind_mismatch(self.state.kinds, (self.served.kind, self.served.api_version), kind, api_version)

    def metadata(self, obj: dict[str, Any]) -> dict[str, Any]:
        meta = obj.get("metadata")
        if meta is None:
            meta = obj["metadata"] = {}
        if not is_object(meta):
            raise self.misfit(invalid_metadata(self.served, meta))
        return meta

    def check_place(self, meta: dict[str, Any]) -> None:
        """Raise a `Rejection` for an object that does not match the URL."""
        name = self.route.name
        if not meta.get("name"):
            message = "name must be provided"
            raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: {message}")
        if meta["name"] != name:
            raise name_mismatch(meta["name"], name)
        self.check_namespace(meta)

    def check_namespace(self, meta: dict[str, Any]) -> None:
        if not self.served.namespaced:
            meta.pop("namespace", None)
            return
        namespace = meta.get("namespace") or self.route.namespace
        if namespace != self.route.namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        meta["namespace"] = namespace

    def choose_name(self, meta: dict[str, Any]) -> str:
        name: str = meta.get("name", "")
        if name:
            return name
        prefix: str = meta.get("generateName", "")
        if not prefix:
            return ""
        for _ in range(_MAX_NAME_ATTEMPTS):
            meta["name"] = name = self.state.rng.name(prefix)
            if self.served.key(self.route.namespace, name) not in self.served.storage.objects:
                return name
        served = self.served
        resource = dotted(served.plural, served.group)
        message = (
            f"{resource} {quoted(meta['name'])} already exists, the server was not able to generate a unique"
            " name for the object"
        )
        details = status_details(meta["name"], served.group, served.plural) | {"retryAfterSeconds": 1}
        raise Rejection(failure(409, message, details, reason="AlreadyExists"))

    def check_admission(self, name: str) -> None:
        """Reject a new object if its namespace or definition is terminating, or its namespace is missing."""
        served, namespace = self.served, self.route.namespace
        if served.defined and served.storage.name in self.state.closing:
            message = "create not allowed while custom resource definition is terminating"
            raise forbidden(served.plural, served.group, name, message)
        if not served.namespaced:
            return
        namespace_object = self.state.storage.resource("namespaces").objects.get(namespace)
        if namespace_object is None:
            raise not_found("namespaces", "", namespace)
        if namespace in self.state.terminating:
            message = f"unable to create new content in namespace {namespace} because it is being terminated"
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
            raise forbidden(served.plural, served.group, name, message, [cause])
