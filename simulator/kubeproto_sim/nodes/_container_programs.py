"""The behaviour of simulated containers: defaults for all pods, and programs for single images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..storage._json_values import member, objects_in
from ._container_commands import CommandHandler
from ._container_files import absolute
from ._pod_ports import PortHandler
from ._pod_values import Container, ContainerPlan, Containers, PodPlan, Role

Json = dict[str, Any]


class Program(Struct, frozen=True, kw_only=True):
    """The behaviour of the containers of an image.

    They write `log` when they start, and run until they are ended; with `takes` they run for that many
    seconds, and then exit with `code`. They are ready `ready_after` seconds after their start, or after the
    initial delay of their readiness probe. `unpullable` is the reason for which the image cannot be pulled:
    the containers never start then.

    `files` exist when they start. `exec` runs the commands of `kubectl exec`, by default a small shell in
    memory; `attach` handles clients that attach; by default they see the log, or that shell in a container
    with a stdin. `ports` maps the listening ports to their handlers; with None all ports listen, and send
    all received data back.
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
    """The default behaviour of pods. Changes apply to pods that are created later.

    Containers run `ready_after` seconds after their pod was bound to a node, init containers take
    `init_takes` seconds each, and the containers of a Job's pods `jobs_take`. A pod that is deleted ends
    after `ends_after` seconds, or with None at the end of its grace period. `programs` has a program for
    each image, with or without its tag.
    """

    ready_after: float = 1.0
    init_takes: float = 1.0
    jobs_take: float = 1.0
    ends_after: float | None = None
    programs: dict[str, Program] = {}


_NO_PROGRAM: Final = Program()


def program_of(behaviour: Behaviour, image: str) -> Program:
    """Return the program of an image."""
    programs = behaviour.programs
    without_digest = image.partition("@")[0]
    registry, slash, repository = without_digest.rpartition("/")
    without_tag = registry + slash + repository.partition(":")[0]
    return programs.get(image) or programs.get(without_digest) or programs.get(without_tag) or _NO_PROGRAM


def files_of(program: Program) -> dict[str, bytes]:
    """Return the files of a container when it starts."""
    return {
        absolute(path): content.encode() if isinstance(content, str) else content
        for path, content in program.files.items()
    }


def plan_pod(behaviour: Behaviour, pod: Json, now: float) -> tuple[PodPlan, Containers]:
    """Return the plan of a pod, and its containers."""
    spec = pod["spec"]
    deadline_seconds = spec.get("activeDeadlineSeconds")
    plan = PodPlan(
        restart=spec.get("restartPolicy", "Always"),
        deadline=None if deadline_seconds is None else now + deadline_seconds,
        ends_after=behaviour.ends_after,
    )
    start_delay = behaviour.ready_after
    containers: list[Container] = []
    for container_spec in objects_in(spec, "initContainers"):
        role: Role = "sidecar" if container_spec.get("restartPolicy") == "Always" else "init"
        default_duration = behaviour.init_takes if role == "init" else None
        containers.append(_container(behaviour, container_spec, role, start_delay, default_duration))
        start_delay = 0.0  # containers after the first start without a further delay
    duration = behaviour.jobs_take if _is_of_job(pod) else None
    for container_spec in objects_in(spec, "containers"):
        containers.append(_container(behaviour, container_spec, "main", start_delay, duration))
    return plan, tuple(containers)


def plan_ephemeral(behaviour: Behaviour, spec: Json) -> ContainerPlan:
    """Return the plan of a container for debugging: it starts at once."""
    return _container(behaviour, spec, "ephemeral", 0.0, None).plan


def _container(
    behaviour: Behaviour, spec: Json, role: Role, start_delay: float, default_duration: float | None
) -> Container:
    program = program_of(behaviour, spec.get("image", ""))
    ready_delay = program.ready_after
    if ready_delay is None:
        ready_delay = float(member(spec, "readinessProbe").get("initialDelaySeconds", 0))
    plan = ContainerPlan(
        starts_after=start_delay,
        ready_after=ready_delay if role in ("main", "sidecar") else 0.0,
        duration=default_duration if program.takes is None else program.takes,
        code=program.code,
        unpullable=program.unpullable,
    )
    return Container(name=spec["name"], role=role, plan=plan)


def _is_of_job(pod: Json) -> bool:
    owners = objects_in(pod["metadata"], "ownerReferences")
    return any(owner.get("controller") and owner["kind"] == "Job" for owner in owners)
