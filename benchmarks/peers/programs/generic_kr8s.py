"""examples/programs/generic.py with kr8s: `python generic_kr8s.py books moby spec.title '"Omoo"'`."""

import json
import sys
from typing import Any

import kr8s


def inventory() -> dict[str, int]:
    """Count the objects of each kind that can be listed."""
    counts: dict[str, int] = {}
    for resource in kr8s.api_resources():
        if "list" in resource["verbs"]:
            objects = kr8s.get(
                f"{resource['name']}.{resource['version']}", namespace=kr8s.ALL, allow_unknown_type=True
            )
            counts[f"{resource['name']}.{resource['version']}"] = len(list(objects))
    return counts


def change(kind: str, name: str, path: str, value: Any) -> Any:
    """Set one field of any object."""
    [obj] = kr8s.get(kind, name, allow_unknown_type=True)
    patch: Any = value
    for step in reversed(path.split(".")):
        patch = {step: patch}
    obj.patch(patch)
    return obj


if __name__ == "__main__":
    for kind, count in inventory().items():
        print(f"{count:6} {kind}")
    print(change(*sys.argv[1:4], json.loads(sys.argv[4])).to_yaml())
