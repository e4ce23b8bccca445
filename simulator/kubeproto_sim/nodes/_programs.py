"""What the containers of an image do, as a test defines it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..storage._json_values import listed, member
from ._commands import CommandHandler
from ._files import absolute
from ._pod_values import Container, ContainerPlan, Containers, PodPlan, Role
from ._ports import PortHandler

Json = dict[str, Any]


class Program(Struct, frozen=True, kw_only=True):
    """What the containers of an image do.

    They write `log` when they start, and run until they are ended; with `takes`, for that many seconds, and
    then exit with `code`. They are ready `ready_after` seconds after their start, or after the initial delay
    of their readiness probe. `unpullable` is the reason why the image cannot be pulled: none of them ever
    starts then.

    `files` are there when they start. `exec` runs the commands of `kubectl exec`, by default a small shell in
    memory; `attach` handles clients that attach; by default they see the log, or that shell in a container
    with a stdin. `ports` are those that listen; None: all listen, and send back what arrives.
    """

    log: str = ""
    takes: float | None = None
    code: int = 0
    ready_after: float | None = None
    unpullable: str = ""
    files: Mapping[str, str | bytes] = msgspec.field(default_factory=dict[str, str | bytes])
    exec: CommandHandler | None = None
    attach: CommandHandler | None = None
    ports: Mapping[int, PortHandler] | None = None


class Behaviour(Struct, kw_only=True):
    """How pods behave unless a program says otherwise. Changes apply to pods that are created later.

    Containers run `ready_after` seconds after their pod was bound to a node, init containers take
    `init_takes` seconds each, and the containers of a Job's pods `jobs_take`. A pod that is deleted ends
    after `ends_after` seconds; None: when its grace period is over. `programs` are found by the image of a
    container, with or without its tag.
    """

    ready_after: float = 1.0
    init_takes: float = 1.0
    jobs_take: float = 1.0
    ends_after: float | None = None
    programs: dict[str, Program] = {}


_NO_PROGRAM: Final = Program()


def program_of(behaviour: Behaviour, image: str) -> Program:
    """The program of an image."""
    programs = behaviour.programs
    bare = image.partition("@")[0]
    head, slash, tail = bare.rpartition("/")
    untagged = head + slash + tail.partition(":")[0]
    return programs.get(image) or programs.get(bare) or programs.get(untagged) or _NO_PROGRAM


def files_of(program: Program) -> dict[str, bytes]:
    """The files of a container when it starts."""
    return {
        absolute(path): content.encode() if isinstance(content, str) else content
        for path, content in program.files.items()
    }


def plan_pod(behaviour: Behaviour, pod: Json, now: float) -> tuple[PodPlan, Containers]:
    """How a pod will behave, and its containers."""
    spec = pod["spec"]
    limit = spec.get("activeDeadlineSeconds")
    plan = PodPlan(
        restart=spec.get("restartPolicy", "Always"),
        deadline=None if limit is None else now + limit,
        ends_after=behaviour.ends_after,
    )
    wait = behaviour.ready_after
    containers: list[Container] = []
    for one in listed(spec, "initContainers"):
        role: Role = "sidecar" if one.get("restartPolicy") == "Always" else "init"
        default = behaviour.init_takes if role == "init" else None
        containers.append(_container(behaviour, one, role, wait, default))
        wait = 0.0  # containers after the first start without a further delay
    takes = behaviour.jobs_take if _is_of_job(pod) else None
    for one in listed(spec, "containers"):
        containers.append(_container(behaviour, one, "main", wait, takes))
    return plan, tuple(containers)


def plan_ephemeral(behaviour: Behaviour, spec: Json) -> ContainerPlan:
    """How a container for debugging will behave: it starts at once."""
    return _container(behaviour, spec, "ephemeral", 0.0, None).plan


def _container(behaviour: Behaviour, spec: Json, role: Role, wait: float, takes: float | None) -> Container:
    program = program_of(behaviour, spec.get("image", ""))
    delay = program.ready_after
    if delay is None:
        delay = float(member(spec, "readinessProbe").get("initialDelaySeconds", 0))
    plan = ContainerPlan(
        starts_after=wait,
        ready_after=delay if role in ("main", "sidecar") else 0.0,
        takes=takes if program.takes is None else program.takes,
        code=program.code,
        unpullable=program.unpullable,
    )
    return Container(name=spec["name"], role=role, plan=plan)


def _is_of_job(pod: Json) -> bool:
    owners = listed(pod["metadata"], "ownerReferences")
    return any(one.get("controller") and one["kind"] == "Job" for one in owners)
