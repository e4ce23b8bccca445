"""cloudcoil, on pydantic: pods, ConfigMaps and books as models, each checked as it is read."""

# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "annotated-types==0.8.0",
#     "anyio==4.16.0",
#     "certifi==2026.10.18",
#     "cloudcoil==0.6.0",
#     "cloudcoil.models.kubernetes==1.32.1.3",
#     "h11==0.16.0",
#     "httpcore==1.0.9",
#     "httpx==0.28.1",
#     "idna==3.20",
#     "pydantic==2.14.3",
#     "pydantic_core==2.50.4",
#     "PyYAML==6.0.3",
#     "typing-inspection==0.4.5",
#     "typing_extensions==4.16.0",
# ]
# ///

import json
from collections.abc import Callable
from typing import Any

from benchmarks.peers._serve import BUILT_IN, each_of, part, serve, watch_of


def book() -> Any:
    """Make the class of a custom resource, as its documentation does."""
    pydantic, resources = part("cloudcoil.pydantic"), part("cloudcoil.resources")
    spec = type(
        "BookSpec", (pydantic.BaseModel,),
        {
            "__annotations__": {"title": str, "authors": list[str], "pages": int | None},
            "authors": [], "pages": None,
        },
    )  # fmt: skip
    literal = part("typing").Literal
    return type(
        "Book", (resources.Resource,),
        {
            "__annotations__": {
                "api_version": literal["example.technosophos.com/v1"], "kind": literal["Book"], "spec": spec,
            },
            "__module__": __name__, "api_version": "example.technosophos.com/v1", "kind": "Book",
        },
    )  # fmt: skip


def decode(options: Any) -> Callable[[], int]:
    """Read lines as its `watch` does: `json.loads`, and `model_validate` of the object."""
    core, class_name = part("cloudcoil.models.kubernetes.core.v1"), BUILT_IN.get(options["kind"])
    kind = getattr(core, class_name) if class_name else book()
    lines = watch_of(options).decode().splitlines()

    def run() -> int:
        events = 0
        for line in lines:
            kind.model_validate(json.loads(line)["object"])
            events += 1
        return events

    return run


def verbs(options: Any) -> Callable[[], int]:
    """Get or create ConfigMaps, one after the other."""
    core, meta = part("cloudcoil.models.kubernetes.core.v1"), part("cloudcoil.apimachinery")
    part("cloudcoil.client").Config().activate()

    def get(name: str) -> None:
        core.ConfigMap.get(name, "default")

    def create(name: str) -> None:
        metadata = meta.ObjectMeta(name=name, namespace="default")
        core.ConfigMap(metadata=metadata, data={"text": options["text"]}).create()

    return each_of(options, {"get": get, "create": create})


if __name__ == "__main__":
    serve({"decode": decode, "verbs": verbs})
