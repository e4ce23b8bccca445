"""Server-side apply and strategic merge patches as pure functions.

The simulated server uses them. They can also be used alone, to compute the effect of an apply on an object,
like Go's structured-merge-diff and strategicpatch. A `MergeSchema` describes how the lists and maps of a kind
are merged. It comes from the API's description (`merge_schema_of_kind`) or from the schema of a custom
resource (`merge_schema_of_openapi`). `kubeproto_sim.apply.fieldsets` reads and writes managedFields.
"""

from . import fieldsets
from ._apply_refusals import ApplyRejection, Conflicts, FieldConflict
from ._field_managers import OwnedFields, Owner, decode_managers, encode_managers
from ._merge_schemas import (
    ABSENT,
    SCHEMALESS,
    UNTYPED,
    MergeSchema,
    merge_schema_of_kind,
    merge_schema_of_openapi,
)
from ._ownership_updates import update
from ._server_side_apply import AppliedObject, apply
from ._strategic_merge import PatchRejection, strategic_merge

__all__ = [
    "ABSENT",
    "SCHEMALESS",
    "UNTYPED",
    "AppliedObject",
    "ApplyRejection",
    "Conflicts",
    "FieldConflict",
    "MergeSchema",
    "OwnedFields",
    "Owner",
    "PatchRejection",
    "apply",
    "decode_managers",
    "encode_managers",
    "fieldsets",
    "merge_schema_of_kind",
    "merge_schema_of_openapi",
    "strategic_merge",
    "update",
]
