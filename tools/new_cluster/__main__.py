"""Write the table again from what kubectl gets of a new control plane, on standard input.

::

    kubectl get -A -o json apiservices,clusterroles,clusterrolebindings,roles,rolebindings,priorityclasses,\\
    flowschemas,prioritylevelconfigurations,services | python -m tools.new_cluster
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).resolve().parents[2] / "kubeproto" / "sim" / "new_cluster.json"
_KEPT: Final = ("name", "namespace", "labels", "annotations")


def plain(obj: dict[str, Any]) -> dict[str, Any]:
    """An object without what belongs to the cluster that it was read from."""
    meta = {name: obj["metadata"][name] for name in _KEPT if name in obj["metadata"]}
    for condition in obj.get("status", {}).get("conditions", ()):
        condition.pop("lastTransitionTime", None)
    return {**obj, "metadata": meta}


def main() -> None:
    """Read a list, and write its objects, one a line."""
    items = [plain(one) for one in json.load(sys.stdin)["items"]]
    items.sort(key=lambda one: (one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]))
    TABLE.write_text("[\n" + ",\n".join(json.dumps(one, sort_keys=True) for one in items) + "\n]\n")


if __name__ == "__main__":
    main()
