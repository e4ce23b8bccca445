"""Fresh random questions: this side says of values what Go's libraries say."""

from __future__ import annotations

import random

import go_questions

from .go_facts import ask_go


def test_values_mean_here_what_they_mean_to_go() -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    asked = go_questions.questions(seed, 2000)
    for question, said in zip(asked, ask_go(asked), strict=True):
        assert go_questions.answer(question) == go_questions.comparable(question, said), (seed, question)
