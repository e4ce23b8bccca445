"""Server-side apply and strategic merge patches as functions: who owns which field, and what a merge returns.

The simulated server uses them. They can also be used alone, to find out what an apply would do to an object,
like Go's structured-merge-diff and strategicpatch. `Facts` say how the lists and maps of a kind are merged;
they come from the API's description (`facts_of_kind`) or from the schema of a custom resource
(`facts_of_schema`). `kubeproto_sim.apply.fieldsets` reads and writes the fields of managedFields.
"""

from . import fieldsets
from ._apply_refusals import ApplyRefused, Conflicts, FieldConflict
from ._field_managers import OwnedFields, Owner, decode_managers, encode_managers
from ._merge_schemas import ABSENT, NOTHING_KNOWN, UNTYPED, Facts, facts_of_kind, facts_of_schema
from ._ownership_updates import update
from ._server_side_apply import AppliedObject, apply
from ._strategic_merge import PatchRefused, strategic_merge

__all__ = [
    "ABSENT",
    "NOTHING_KNOWN",
    "UNTYPED",
    "AppliedObject",
    "ApplyRefused",
    "Conflicts",
    "Facts",
    "FieldConflict",
    "OwnedFields",
    "Owner",
    "PatchRefused",
    "apply",
    "decode_managers",
    "encode_managers",
    "facts_of_kind",
    "facts_of_schema",
    "fieldsets",
    "strategic_merge",
    "update",
]
