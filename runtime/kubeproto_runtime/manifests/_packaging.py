"""`Packaging` and `dockerfile`: the settings of an operator's manifests, and the Dockerfile of its image."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from .._access import RequiredAccess

_DOCKERFILE: Final = """\
FROM python:{python}-slim AS build
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir "kubeproto[{extras}]"

FROM python:{python}-slim
COPY --from=build /venv /venv
COPY {files} /app/
ENV PATH=/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["python", "/app/{program}"]
"""


class Packaging(Struct, frozen=True, kw_only=True):
    """The settings of an operator's manifests.

    `name` is the name of the Deployment, the account and the roles; it is the default of `namespace`.
    `access` contains the permissions that the operator's requests need; see
    `kubeproto_runtime.testing.AccessRecorder`.
    """

    name: str
    namespace: str = ""
    image: str = ""
    replicas: int = 0  # 2 with an election, otherwise 1
    command: tuple[str, ...] = ()  # by default the command of the image
    access: frozenset[RequiredAccess] = frozenset()


def dockerfile(
    program: str, *, files: str = "", extras: str = "runtime,asyncio", python: str = "3.13"
) -> str:
    """Return a Dockerfile of an operator whose program is a file in the build context.

    `files` are copied, by default only the program; `extras` are the extras of kubeproto to install.
    """
    return _DOCKERFILE.format(python=python, extras=extras, files=files or program, program=program)
