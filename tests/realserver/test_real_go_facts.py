"""Random questions about values get the replies of Go's libraries."""

from __future__ import annotations

import go_questions

from ._seeds import new_seed
from .go_facts import ask_go


def test_values_have_the_meaning_that_they_have_in_go() -> None:
    seed = new_seed()
    questions = go_questions.questions(seed, 2000)
    for question, reply in zip(questions, ask_go(questions), strict=True):
        assert go_questions.answer(question) == go_questions.comparable(question, reply), (seed, question)
