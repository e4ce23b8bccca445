"""`dockerfile`: an image of an operator that runs as the manifests want it to."""

from __future__ import annotations

from typing import Final

_TEXT: Final = """\
FROM python:{python}-slim AS build
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir "kubeproto[{extras}]"

FROM python:{python}-slim
COPY --from=build /venv /venv
COPY {files} /app/
ENV PATH=/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["python", "/app/{program}"]
"""


def dockerfile(
    program: str, *, files: str = "", extras: str = "runtime,asyncio", python: str = "3.13"
) -> str:
    """Return a Dockerfile of an operator whose program is a file in the folder of the build.

    `files` are copied, by default only the program; `extras` are those of kubeproto that it needs.
    """
    return _TEXT.format(python=python, extras=extras, files=files or program, program=program)
