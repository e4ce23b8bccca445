"""Generate new_cluster.json from the objects of a new control plane, which kubectl prints.

::

    kubectl get -A -o json apiservices,clusterroles,clusterrolebindings,roles,rolebindings,priorityclasses,\\
    flowschemas,prioritylevelconfigurations,services | python -m tools.new_cluster
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).resolve().parents[2] / "simulator/kubeproto_sim/new_cluster.json"
_METADATA: Final = ("name", "namespace", "labels", "annotations")


def without_identity(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object without the fields that belong to a specific cluster."""
    meta = {name: obj["metadata"][name] for name in _METADATA if name in obj["metadata"]}
    for condition in obj.get("status", {}).get("conditions", ()):
        condition.pop("lastTransitionTime", None)
    return {**obj, "metadata": meta}


def _order(obj: dict[str, Any]) -> tuple[str, str, str]:
    meta = obj["metadata"]
    return obj["kind"], meta.get("namespace", ""), meta["name"]


def main() -> None:
    """Read a list, and write its objects, each on a line."""
    items = [without_identity(item) for item in json.load(sys.stdin)["items"]]
    items.sort(key=_order)
    TABLE.write_text("[\n" + ",\n".join(json.dumps(item, sort_keys=True) for item in items) + "\n]\n")


if __name__ == "__main__":
    main()
