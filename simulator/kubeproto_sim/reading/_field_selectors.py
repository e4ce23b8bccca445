"""Field selectors on stored objects: the fields that a kind accepts, and the selected objects."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from kubeproto.objects import FieldSelector

from .._rejections import Rejection, bad_request
from ..kinds._selectable_fields import META
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import quoted
from ..storage._storage import StoredRecord
from ._query import ListQuery

Matcher = Callable[[StoredRecord], bool]


def check_fields(served: ServedKind, selector: FieldSelector | None) -> None:
    """Refuse a selector on a field by which this kind cannot be selected."""
    for requirement in selector.requirements if selector else ():
        if requirement.path not in (served.fields or META) and not (
            served.custom and requirement.path in META
        ):
            raise _unsupported(served, requirement.path)


def _unsupported(served: ServedKind, path: str) -> Rejection:
    if served.full_name == "resourceslices.resource.k8s.io":  # only this kind is named in the message
        version_and_kind = f"{served.api_version}, Kind={served.kind}"
        return bad_request(f"field label not supported for {version_and_kind}: {path}")
    if served.custom or served.fields:
        return bad_request(f"field label not supported: {path}")
    supported = ", ".join(quoted(name) for name in META)
    return bad_request(f"{quoted(path)} is not a known field selector: only {supported}")


def matcher(served: ServedKind, options: ListQuery) -> Matcher | None:
    """Return a predicate for the selected objects; None if all objects are selected."""
    labels, fields = options.labels, options.fields
    if labels is None and fields is None:
        return None
    # Informers of a single object select by name, so this is by far the most frequent selector.
    if labels is None and fields is not None and len(fields.requirements) == 1:
        [only] = fields.requirements
        if only.path == "metadata.name" and only.operator == "=":
            name = only.value
            return lambda stored: stored.name == name
    if fields is None:
        assert labels is not None  # both are None above
        return lambda stored: labels.matches(stored.labels)
    return lambda stored: (
        (labels is None or labels.matches(stored.labels)) and fields.matches(_values(served, fields, stored))
    )


def _values(served: ServedKind, selector: FieldSelector, stored: StoredRecord) -> dict[str, str]:
    values = {"metadata.name": stored.name, "metadata.namespace": stored.namespace}
    if all(requirement.path in values for requirement in selector.requirements):
        return values
    obj = served.read(stored.data) if served.custom else msgspec.json.decode(stored.data)
    for requirement in selector.requirements:
        if requirement.path not in values:
            values[requirement.path] = served.fields[requirement.path].value(obj)
    return values
