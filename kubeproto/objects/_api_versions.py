"""The order of API versions: stable before beta before alpha, the newer first (v2, v1, v1beta2, v1alpha1)."""

import re
from typing import Final

ApiVersionPriority = tuple[int, int, int, str]

_KUBERNETES_VERSION: Final = r"v([0-9]{1,18})(?:(alpha|beta)([0-9]{1,18}))?"
_STAGES: Final = {None: 0, "beta": 1, "alpha": 2}
_OTHER: Final = 3


def api_version_priority(version: str) -> ApiVersionPriority:
    """Return a sort key that puts the preferred version first, and other names last, in alphabetical order.

    See
    https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
    """
    match = re.fullmatch(_KUBERNETES_VERSION, version)
    if not match:
        return _OTHER, 0, 0, version
    major, stage, minor = match.groups()
    return _STAGES[stage], -int(major), -int(minor or 0), version
