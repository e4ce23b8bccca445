"""The error for a type that no schema can describe."""

from __future__ import annotations

from ..._errors import LocalProtocolError


class SchemaError(LocalProtocolError, TypeError):
    """A type that no schema of Kubernetes can describe; the message names the field and the reason."""


def refused(path: str, why: str) -> SchemaError:
    """Return the error for the field at this path."""
    return SchemaError(f"{path or 'the type'}: {why}")
