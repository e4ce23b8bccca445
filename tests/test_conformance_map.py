"""Every row of the conformance list has an existing test, a future part, or a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import conformance_map
import pytest

TESTS = {"tests/test_a.py::test_r_01_a_stream_is_closed"}


def small(**changes: Any) -> dict[str, Any]:
    rows: dict[str, Any] = {
        "R-01": {"test": "tests/test_a.py::test_r_01_a_stream_is_closed"},
        "R-02": {"later": "watching"},
        "R-02b": {"not": "there is no such thing"},
    }
    complete = {"parts": ["watching"], "done": [], "count": {"R": 2, "others": ["R-02b"]}, "rows": rows}
    return {**complete, **changes}


def test_every_row_of_the_list_is_mapped_to_existing_tests() -> None:
    assert conformance_map.find_mistakes(conformance_map.read(), conformance_map.known_tests()) == []


def test_a_correct_small_map_has_no_mistakes() -> None:
    assert conformance_map.find_mistakes(small(), TESTS) == []


@pytest.mark.parametrize(
    ("row", "form", "mistake"),
    [
        ("R-03", {"later": "watching"}, "R-03 is not in the list"),
        ("R-02", {"test": "tests/test_a.py::test_gone"}, "R-02: there is no test tests/test_a.py::test_gone"),
        ("R-02", {"test": [*TESTS, "x::y"]}, "R-02: there is no test x::y"),
        ("R-02", {"test": []}, "R-02 = {'test': []} is not one of"),
        ("R-02", {"later": "someday"}, "R-02 = {'later': 'someday'} is not one of"),
        (
            "R-02",
            {"later": "watching", "not": "no"},
            "R-02 = {'later': 'watching', 'not': 'no'} is not one of",
        ),
        ("R-02", {"not": " "}, "R-02 = {'not': ' '} is not one of"),
        ("R-02", "watching", "R-02 = watching is not one of"),
    ],
)
def test_a_mistake_is_reported(row: str, form: object, mistake: str) -> None:
    conformance = small()
    conformance["rows"][row] = form
    [message] = conformance_map.find_mistakes(conformance, TESTS)
    assert message.startswith(mistake)


def test_a_lost_row_is_reported() -> None:
    conformance = small()
    del conformance["rows"]["R-02"]
    assert conformance_map.find_mistakes(conformance, TESTS) == ["R-02 is not mapped"]


def test_a_completed_part_with_a_later_row_is_reported() -> None:
    messages = conformance_map.find_mistakes(small(done=["watching"]), TESTS)
    assert messages == ["R-02: watching is done, and this is still to come"]


def test_an_unknown_completed_part_is_reported() -> None:
    messages = conformance_map.find_mistakes(small(done=["plumbing"]), TESTS)
    assert messages == ["the part 'plumbing' that is done is not known"]


def test_tests_are_found_in_modules_classes_and_state_machines(tmp_path: Path) -> None:
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "test_x.py").write_text(
        "def test_one(): ...\nasync def test_two(): ...\ndef helper(): ...\n"
        "class TestThree:\n    def test_four(self): ...\nTestFive = Machine.TestCase\n"
    )
    names = {test.partition("::")[2] for test in conformance_map.known_tests(tmp_path / "tests")}
    assert names == {"test_one", "test_two", "TestThree", "TestThree::test_four", "TestFive"}


def test_a_test_with_an_id_is_entered_and_other_rows_stay_unchanged() -> None:
    tests = {
        "tests/t.py::test_r_01_and_r_02_hold",
        "tests/t.py::test_r_02b_holds",
        "tests/t.py::test_utf_16_reads",
    }
    tests_of_row = conformance_map.tests_by_id(tests, conformance_map.expected(small()["count"]))
    text = 'R-01 = { test = "mine" }\nR-02 = { later = "watching" }\nR-02b = { later = "watching" }\n'
    assert conformance_map.enter_tests(text, tests_of_row) == (
        'R-01 = { test = "mine" }\n'
        'R-02 = { test = "tests/t.py::test_r_01_and_r_02_hold" }\n'
        'R-02b = { test = "tests/t.py::test_r_02b_holds" }\n'
    )
