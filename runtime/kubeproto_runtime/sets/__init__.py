"""Sets of objects: compare the wanted objects with the server's, apply the difference, and prune.

::

    plan = await client.plan(read_manifests("deploy/"), "configmaps/shop")
    print(plan)
    await client.perform(plan)
"""

from ._apply_set import ApplySet, ApplySetError, Extent, Parent, applyset_id
from ._deciding import DryRun, Listing, NotApplied, NotTried, Observation, Returned, decide_plan
from ._manifests import ManifestFiles, read_manifests
from ._membership import Membership
from ._performing import DeletionHeld, Performed, StalePlan
from ._plan import (
    ManagerConflict,
    Plan,
    PlannedChange,
    PlannedCreation,
    PlannedDeletion,
    PlannedRefusal,
    PlannedStep,
    PlannedWrite,
    PlanRefused,
)

__all__ = [
    "ApplySet",
    "ApplySetError",
    "DeletionHeld",
    "DryRun",
    "Extent",
    "Listing",
    "ManagerConflict",
    "ManifestFiles",
    "Membership",
    "NotApplied",
    "NotTried",
    "Observation",
    "Parent",
    "Performed",
    "Plan",
    "PlanRefused",
    "PlannedChange",
    "PlannedCreation",
    "PlannedDeletion",
    "PlannedRefusal",
    "PlannedStep",
    "PlannedWrite",
    "Returned",
    "StalePlan",
    "applyset_id",
    "decide_plan",
    "read_manifests",
]
