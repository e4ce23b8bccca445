"""The metadata that every object carries, and the metadata of lists.

They follow Kubernetes' rule of sending: empty values are omitted, and a reader can rely on strings and
containers being present.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct


class OwnerReference(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A reference to an owner, which the garbage collector follows."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


NO_FIELDS: Final = msgspec.Raw(b"")


class ManagedFieldsEntry(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The fields that a manager owns, as server-side apply records them."""

    manager: str = ""
    operation: str = ""
    api_version: str = ""
    time: datetime | None = None
    fields_type: str = ""
    # Field ownership is long and rarely read: it stays JSON, as in Go's client.
    fields_v1: msgspec.Raw = msgspec.field(default=NO_FIELDS, name="fieldsV1")
    subresource: str = ""


# It cannot be part of a reference cycle, so the garbage collector need not track it.
class ObjectMeta(Struct, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """The metadata of an object. Empty strings and containers mean absent, as they do to the server."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []
    managed_fields: list[ManagedFieldsEntry] = []


class ShardInfo(Struct, kw_only=True, omit_defaults=True):
    """The part of a collection in a sharded list, in the server's normal form."""

    selector: str = ""


class ListMeta(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The metadata of a list: its version, and the token of the next page."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
    shard_info: ShardInfo | None = None
