"""The recorded outcomes of real controllers, with each text stored once, since most texts recur from step to
step.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final, TypeAlias

RECORDED: Final = Path(__file__).parent / "workload_outcomes.json"
Outcomes: TypeAlias = dict[str, list[dict[str, Any]]]


def read_outcomes() -> Outcomes:
    """Return the outcomes of each case, by step."""
    if not RECORDED.exists():
        return {}
    recording = json.loads(RECORDED.read_text())
    texts: list[str] = recording["texts"]

    def expand(name: str, value: Any) -> Any:
        if name == "events":
            return {texts[int(index)]: count for index, count in value.items()}
        return value if name == "answer" else [texts[index] for index in value]

    cases: Outcomes = recording["cases"]
    return {
        case: [{name: expand(name, value) for name, value in step.items()} for step in steps]
        for case, steps in cases.items()
    }


def write_outcomes(outcomes: Outcomes) -> None:
    """Store the outcomes of all cases."""
    texts = sorted({text for steps in outcomes.values() for step in steps for text in _texts(step)})
    index_by_text = {text: index for index, text in enumerate(texts)}

    def compress(name: str, value: Any) -> Any:
        if name == "events":
            return {str(index_by_text[text]): count for text, count in value.items()}
        return value if name == "answer" else [index_by_text[text] for text in value]

    cases = {
        case: [{name: compress(name, value) for name, value in step.items()} for step in steps]
        for case, steps in outcomes.items()
    }
    lines = ",\n".join(f"{json.dumps(case)}: {json.dumps(steps)}" for case, steps in sorted(cases.items()))
    table = ",\n".join(map(json.dumps, texts))
    RECORDED.write_text(f'{{"texts": [\n{table}\n],\n"cases": {{\n{lines}\n}}}}\n')


def _texts(step: dict[str, Any]) -> list[str]:
    return [text for name, value in step.items() if name != "answer" for text in value]
