"""Sets of objects: compare the wanted objects with the server's, apply the difference, and prune.

::

    plan = await client.plan(read_manifests("deploy/"), "configmaps/shop")
    print(plan)
    await client.perform(plan)
"""

from ._apply_set import (
    ApplySet,
    ApplySetError,
    Extent as Extent,
    Parent as Parent,
    applyset_id as applyset_id,
)
from ._deciding import (
    DryRun as DryRun,
    Listing as Listing,
    NotApplied as NotApplied,
    NotTried as NotTried,
    Observation as Observation,
    Returned as Returned,
    decide_plan as decide_plan,
)
from ._manifests import ManifestFiles, read_manifests
from ._membership import Membership as Membership
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
    "ManagerConflict",
    "ManifestFiles",
    "Performed",
    "Plan",
    "PlanRefused",
    "PlannedChange",
    "PlannedCreation",
    "PlannedDeletion",
    "PlannedRefusal",
    "PlannedStep",
    "PlannedWrite",
    "StalePlan",
    "read_manifests",
]
