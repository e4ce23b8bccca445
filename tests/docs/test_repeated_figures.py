"""A figure of speed that a page repeats is that of docs/speed.md: a new measurement changes both."""

from __future__ import annotations

import re
from typing import Final

import pytest
from pages_shown import ROOT, pages

SPEED: Final = "docs/speed.md"
COSTS: Final = "docs/migrating/when-not-to-use-it.md"

# A page, its sentence with the figure between parentheses, and how docs/speed.md says the same.
REPEATED: Final = [
    ("README.md", r"decode (\d+) times as fast as by", r"a view into the segment \| (\d+)\.\d+ \|"),
    ("README.md", r"(\d+) times as many reconciles a second as kopf's", r"(\d+) times what kopf's operator"),
    (COSTS, r"10,000 small objects cached takes (\d+ MB)", r"cached the whole process takes (\d+ MB)"),
    (COSTS, r"pod of [\d.]+ KB takes ([\d.]+ KB)", r"or ([\d.]+) without managed fields"),
    (COSTS, r"its metadata ([\d.]+ KB)", r"metadata alone ([\d.]+ KB)"),
    (COSTS, r"([\d,]+) empty reconciles a second", r"([\d,]+) distinct objects a second"),
    (COSTS, r"reconcile in ([\d.]+ ms) in the median", r"to its reconcile, .*?([\d.]+ ms) in the median"),
    (COSTS, r"([\d.]+ ms) in 99 of 100 cases", r"([\d.]+ ms) in 99 of 100 cases"),
    (
        COSTS,
        r"([\d.]+ MB) for what `\[runtime,asyncio\]` installs",
        r"`\[runtime,asyncio\]` takes ([\d.]+ MB)",
    ),
]

# What is said of speed by a ratio or a rate; README has to have the source of each.
FIGURES: Final = re.compile(r"(\d[\d.,]*) times (?:as|what)|([\d,]+) (?:empty )?reconciles a second")


def the_figure(page: str, sentence: str) -> str:
    text = (ROOT / page).read_text()
    found: list[str] = re.findall(sentence, text)
    assert len(found) == 1, f"{page} says {len(found)} times {sentence!r}: mend the table of this test"
    return found[0].split(" ")[0]


@pytest.mark.parametrize(("page", "sentence", "source"), REPEATED)
def test_a_repeated_figure_is_that_of_the_page_on_speed(page: str, sentence: str, source: str) -> None:
    assert the_figure(page, sentence) == the_figure(SPEED, source)


@pytest.mark.parametrize("page", ["README.md", COSTS])
def test_no_figure_of_speed_is_left_out_of_the_table(page: str) -> None:
    text = (ROOT / page).read_text()
    compared = [re.search(sentence, text) for one, sentence, _ in REPEATED if one == page]
    spans = [found.span() for found in compared if found]
    for figure in FIGURES.finditer(text):
        assert any(begin < figure.end() and figure.start() < end for begin, end in spans), figure[0]


def test_other_pages_repeat_none() -> None:
    told = {SPEED, COSTS, "README.md", "docs/guides/benchmarks.md"}
    for page in pages():
        if page.relative_to(ROOT).as_posix() not in told:
            assert not re.search(r"reconciles a second|times (?:as fast|`json)", page.read_text()), page
