"""JSON patches, YAML, field selectors, durations, URLs and versions have the meaning of Go's libraries."""

from __future__ import annotations

import go_questions
import pytest

KINDS = ("json-patch", "yaml", "field-selector", "format", "url", "semver")


@pytest.mark.parametrize("kind", KINDS)
def test_values_have_the_recorded_meaning_of_go(kind: str) -> None:
    answers = [
        (question, answered) for question, answered in go_questions.recorded() if question["What"] == kind
    ]
    assert len(answers) >= 100
    for question, answered in answers:
        assert go_questions.answer(question) == go_questions.comparable(question, answered), question


@pytest.mark.parametrize("kind", KINDS)
def test_the_recorded_answers_contain_values_and_refusals(kind: str) -> None:
    verdicts = {
        answered in (go_questions.REFUSED, False)
        for question, answered in go_questions.recorded()
        if question["What"] == kind
    }
    assert verdicts == {True, False}
