"""Go's libraries and kubeproto give the same answers to random questions about values."""

from __future__ import annotations

import go_questions

from ._seeds import new_seed
from .go_facts import ask_go


def test_values_have_the_same_meaning_as_in_go() -> None:
    seed = new_seed()
    questions = go_questions.questions(seed, 2000)
    for question, reply in zip(questions, ask_go(questions), strict=True):
        assert go_questions.answer(question) == go_questions.comparable(question, reply), (seed, question)
