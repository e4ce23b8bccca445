"""JSON patches, YAML, field selectors, durations, URLs and versions mean what they mean to Go."""

from __future__ import annotations

import go_questions
import pytest

KINDS = ("json-patch", "yaml", "field-selector", "format", "url", "semver")


@pytest.mark.parametrize("kind", KINDS)
def test_values_mean_what_go_said_of_them(kind: str) -> None:
    asked = [(question, said) for question, said in go_questions.recorded() if question["What"] == kind]
    assert len(asked) >= 100
    for question, said in asked:
        assert go_questions.answer(question) == go_questions.comparable(question, said), question


@pytest.mark.parametrize("kind", KINDS)
def test_go_took_some_and_refused_some(kind: str) -> None:
    verdicts = {
        said in (go_questions.REFUSED, False)
        for question, said in go_questions.recorded()
        if question["What"] == kind
    }
    assert verdicts == {True, False}
