"""A file of results that is measured again: preserved rows, replaced rows, runs that do not fit."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from test_benchmark_rows import always, row

from benchmarks.__main__ import main
from benchmarks._measure import Contest
from benchmarks._results import load
from benchmarks._rows import Row


def rows(**figures: float) -> tuple[Row, ...]:
    return tuple(row(f"a.{name}", Contest(ours=always(figure))) for name, figure in figures.items())


def save(file: Path, rows_of_project: Sequence[Row], *arguments: str) -> tuple[int, str]:
    err = io.StringIO()
    code = main([*(arguments or ["all"]), "--save", str(file)], rows_of_project, io.StringIO(), err)
    return code, err.getvalue()


def figures(file: Path) -> dict[str, float]:
    return {row.name: row.ours for row in load(file).rows}


def test_rows_that_are_not_measured_stay_and_the_others_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0, two=2.0, zero=0.5))
    code, _ = save(file, rows(one=10.0, two=20.0, zero=5.0), "a.two")
    assert code == 0
    assert figures(file) == {"a.one": 1.0, "a.two": 20.0, "a.zero": 0.5}


def test_each_row_has_the_time_of_its_measurement(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0, two=2.0))
    first = load(file)
    old = [msgspec.structs.replace(row, measured="2026-01-01 00:00 UTC") for row in first.rows]
    msgspec.structs.replace(first, rows=tuple(old), started="2026-01-01 00:00 UTC").save(file)
    save(file, rows(one=1.0, two=2.0), "a.two")
    run = load(file)
    assert run.started == "2026-01-01 00:00 UTC"
    first_row, second_row = run.rows
    assert first_row.measured == "2026-01-01 00:00 UTC"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", second_row.measured)
    assert second_row.measured != first_row.measured


def test_a_row_without_a_time_was_measured_when_its_run_began(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0))
    run = load(file)
    bare = tuple(msgspec.structs.replace(row, measured="") for row in run.rows)
    msgspec.structs.replace(run, rows=bare, started="2026-01-01 00:00 UTC").save(file)
    assert load(file).rows[0].measured == "2026-01-01 00:00 UTC"


def test_a_row_that_cannot_be_measured_keeps_its_old_result(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0))
    save(file, (row("a.one"),))
    assert figures(file) == {"a.one": 1.0}


def test_a_row_that_no_longer_exists_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0, two=2.0))
    save(file, rows(one=10.0))
    assert figures(file) == {"a.one": 10.0}


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ((), ("--quick",), "it holds a full run, and this would be a quick one"),
        (("--quick",), (), "it holds a quick run, and this would be a full one"),
    ],
)
def test_a_quick_run_and_a_full_run_never_share_a_file(
    first: tuple[str, ...], second: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0), "all", *first)
    code, text = save(file, rows(one=2.0), "all", *second)
    assert code == 2
    assert text == f"{file} cannot take these rows: {reason}; name another file, or remove this one\n"
    assert figures(file) == {"a.one": 1.0}


@pytest.mark.parametrize(
    ("section", "name", "reason"),
    [
        ("machine", "cores", "cores was of old and is "),
        ("machine", "python", "python was of old and is CPython 3"),
        ("versions", "msgspec", "msgspec was of old and is "),
        ("versions", "kopf", "kopf was of old and is "),
    ],
)
def test_other_machines_and_versions_require_another_file(
    section: str, name: str, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0))
    run = load(file)
    other = {**getattr(run, section), name: "of old"}
    msgspec.structs.replace(run, **{section: other}).save(file)
    code, text = save(file, rows(one=2.0))
    assert code == 2
    assert f"cannot take these rows: {reason}" in text
    assert figures(file) == {"a.one": 1.0}


def test_a_new_peer_is_added_to_an_existing_file(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    save(file, rows(one=1.0))
    run = load(file)
    without = {name: version for name, version in run.versions.items() if name != "kopf"}
    msgspec.structs.replace(run, versions=without).save(file)
    assert save(file, rows(one=2.0))[0] == 0
    assert load(file).versions == run.versions


def test_a_file_of_something_else_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text("[]")
    code, text = save(file, rows(one=1.0))
    assert code == 2
    assert "notes.json is not a file of results" in text
    assert file.read_text() == "[]"
