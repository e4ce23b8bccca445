"""Sends questions about values to Go's libraries, and records the replies:
``python tests/realserver/run.py facts``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import go_questions

from ._real_build import CACHE, ENVIRONMENT, FLAGS, HERE, Unbuildable, find_go

SEED: Final = 17
COUNT: Final = 250  # of each kind


def ask_go(questions: list[dict[str, Any]]) -> list[Any]:
    """Return the replies of Go's libraries, in this side's form."""
    lines = "".join(f"{json.dumps(question)}\n" for question in questions)
    completed = subprocess.run([build()], input=lines, capture_output=True, text=True, check=True)
    answers = map(json.loads, completed.stdout.splitlines())
    return [go_questions.answer_of_go(answer) for answer in answers]


def build() -> Path:
    """Return the program. Go detects changes itself, and takes a second without any."""
    program = CACHE / "gofacts"
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [find_go(), "build", *FLAGS, "-ldflags", "-s -w", "-o", str(program), "./gofacts"]
    if subprocess.run(command, cwd=HERE, env={**os.environ, **ENVIRONMENT}, check=False).returncode:
        raise Unbuildable("the questions to Go's libraries could not be built; Go says above why")
    return program


def main() -> None:
    """Record the replies for `make test`."""
    questions = go_questions.questions(SEED, COUNT)
    lines = [
        json.dumps([question, reply]) for question, reply in zip(questions, ask_go(questions), strict=True)
    ]
    go_questions.FACTS.write_text("\n".join(dict.fromkeys(lines)) + "\n")
    sys.stdout.write(f"{len(lines)} answers\n")


if __name__ == "__main__":
    main()
