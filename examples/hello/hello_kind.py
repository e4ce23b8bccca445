"""The kind Hello, servers that say hello: the stored version, and an older one.

An old Hello has `size` instead of `replicas`; no conversion loses data.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

import kubeproto as kp
from kubeproto.kinds.meta_v1 import Condition

Replicas = Annotated[int, Meta(ge=0, le=20)]


class HelloSpec(kp.Fields):
    replicas: Annotated[Replicas, Meta(description="How many servers say hello, 20 at most.")] = 1
    text: Annotated[str, Meta(max_length=200, description="What they say; their name, if it is empty.")] = ""


class HelloStatus(kp.Fields):
    observed_generation: int = 0
    replicas: int = 0
    conditions: Annotated[list[Condition], kp.ListMap("type")] = []


class Hello(
    kp.Object[HelloSpec, HelloStatus],
    group="fraim.co.jp",
    version="v1",
    definition=kp.Definition(
        columns=(
            kp.Column("Wanted", ".spec.replicas", "integer"),
            kp.Column("Ready", ".status.conditions[?(@.type=='Ready')].status"),
            kp.Column("Reason", ".status.conditions[?(@.type=='Ready')].reason"),
            kp.Column("Age", ".metadata.creationTimestamp", "date"),
        ),
        scale=kp.Scale(),
        storage=True,
    ),
):
    """Servers that say hello."""


class OldHelloSpec(kp.Fields):
    size: Replicas = 1
    text: Annotated[str, Meta(max_length=200)] = ""


class OldHello(
    kp.Object[OldHelloSpec, HelloStatus],
    group="fraim.co.jp",
    version="v1alpha1",
    kind="Hello",
    definition=kp.Definition(deprecated="fraim.co.jp/v1alpha1 Hello is deprecated: use fraim.co.jp/v1"),
):
    """Servers that say hello, in the first version."""


def upgraded(old: OldHello) -> Hello:
    spec = HelloSpec(replicas=old.spec.size, text=old.spec.text)
    return Hello(metadata=old.metadata, spec=spec, status=old.status)


def downgraded(new: Hello) -> OldHello:
    spec = OldHelloSpec(size=new.spec.replicas, text=new.spec.text)
    return OldHello(metadata=new.metadata, spec=spec, status=new.status)
