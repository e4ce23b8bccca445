"""The command line and its output, on rows with fixed figures."""

import io
import json
from importlib import import_module
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks._measure import Contest, MissingRequirement, Probe, Unit
from benchmarks._rows import Goal, Row, Setting, UnknownNames, all_rows, select

SECONDS = Unit("s")


def row(name: str, contest: Contest | None = None, goal: Goal | None = None) -> Row:
    def make(setting: Setting) -> Contest:
        if contest is None:
            raise MissingRequirement("there is no Go here")
        return contest

    return Row(name, SECONDS, make, summary=f"what {name} costs", against="something known", goal=goal)


def always(figure: float) -> Probe:
    return lambda: figure


def absent() -> float:
    raise MissingRequirement("no wheel for it")


ROWS = tuple(
    row(name) for name in ("decode.crs.lazy", "decode.pods.copy", "decode.pods.copy.cold", "decoder.x")
)


def run(*arguments: str, rows: tuple[Row, ...]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(arguments, rows, out, err)
    return code, out.getvalue(), err.getvalue()


def measured(row: Row) -> dict[str, Any]:
    code, out, _ = run(row.name, "--json", rows=(row,))
    assert code == 0
    (line,) = out.splitlines()
    outcome: dict[str, Any] = json.loads(line)
    return outcome


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["decode"], ["decode.crs.lazy", "decode.pods.copy", "decode.pods.copy.cold"]),
        (["decode.pods"], ["decode.pods.copy", "decode.pods.copy.cold"]),
        (["decode.pods.copy"], ["decode.pods.copy"]),
        (["decoder.x", "decode.crs", "decoder"], ["decoder.x", "decode.crs.lazy"]),
    ],
)
def test_a_name_selects_its_row_or_all_rows_below_it(names: list[str], chosen: list[str]) -> None:
    assert [row.name for row in select(names, ROWS)] == chosen


def test_a_part_of_a_word_is_not_a_prefix() -> None:
    with pytest.raises(UnknownNames, match="decode\\.po"):
        select(["decode", "decode.po"], ROWS)


def test_an_unknown_name_exits_2_with_the_list_and_measures_nothing() -> None:
    code, out, err = run("decode", "nonsense", rows=ROWS)
    assert (code, out) == (2, "")
    assert "no such benchmark: nonsense" in err
    assert all(row.name in err for row in ROWS)


def test_no_name_lists_the_rows() -> None:
    code, out, err = run(rows=ROWS)
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == [row.name for row in ROWS]


def test_a_measured_row_is_a_json_object_with_the_documented_keys() -> None:
    contest = Contest(
        ours=always(0.5),
        baseline=always(1.0 / 3),
        peers={"slow": always(5.0), "gone": absent},
        also=lambda: {"resident MiB": {"slow": 22.5}},
    )
    outcome = measured(row("import.it", contest, Goal(at_least=0.625)))
    assert outcome == {
        "name": "import.it",
        "ours": 0.5,
        "unit": "s",
        "baseline": 0.333333,
        "ratio": 0.666667,
        "spread": [0.666667, 0.666667],
        "against": "something known",
        "goal": "ratio ≥ 0.625",
        "met": True,
        "peers": {"slow": {"figure": 5.0, "ratio": 10.0, "spread": [10.0, 10.0]}, "gone": None},
        "also": {"resident MiB": {"slow": 22.5}},
    }


def test_without_a_baseline_the_ratio_is_null_and_the_spread_is_that_of_ours() -> None:
    turns = iter((9.0, 3.0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0))
    outcome = measured(row("sim.load", Contest(ours=lambda: next(turns))))
    assert (outcome["ours"], outcome["baseline"], outcome["ratio"]) == (2.0, None, None)
    assert outcome["spread"] == [1.0, 3.0]


def test_a_row_with_a_missing_requirement_is_null_with_the_reason_and_the_next_is_measured() -> None:
    rows = (row("live.go"), row("live.here", Contest(ours=always(1.0))))
    code, out, err = run("live", "--json", rows=rows)
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert err == "live.go: not measured: there is no Go here\n"
    assert [first[key] for key in ("ours", "baseline", "ratio", "spread", "met")] == [None] * 5
    assert second["ours"] == 1.0


def test_a_row_whose_module_is_not_installed_is_null() -> None:
    def make(setting: Setting) -> Contest:
        import_module("kubeproto_of_another_house")
        return Contest(ours=always(1.0))

    _, out, err = run("a.b", "--json", rows=(Row("a.b", SECONDS, make, summary=""),))
    assert json.loads(out)["ours"] is None
    assert "No module named 'kubeproto_of_another_house'" in err


@pytest.mark.parametrize(
    ("goal", "met"),
    [
        (Goal(at_least=2.0), True),
        (Goal(at_least=2.1), False),
        (Goal(at_most=3.9, of="ours"), False),
        (Goal(at_most=4.0, of="ours"), True),
        (Goal(at_least=5.0, of="lightkube"), True),
        (Goal(at_least=5.0, of="gone"), None),
    ],
)
def test_a_goal_is_about_the_ratio_our_figure_or_a_peer(goal: Goal, met: bool | None) -> None:
    contest = Contest(
        ours=always(4.0), baseline=always(8.0), peers={"lightkube": always(20.0), "gone": absent}
    )
    assert measured(row("decode.x", contest, goal))["met"] is met


def test_the_table_shows_the_verdict_on_the_goal_and_the_peers() -> None:
    contest = Contest(ours=always(2.0), baseline=always(1.0), peers={"peer": always(3.0)})
    _, out, _ = run("a.b", rows=(row("a.b", contest, Goal(at_least=0.625, summary="at most 1.6 times it")),))
    assert "goal ratio ≥ 0.625 (at most 1.6 times it): MISSED" in out
    assert [line.split()[:1] for line in out.splitlines()[1:]] == [["a.b"], ["peer"], ["baseline:"]]


def test_quick_is_passed_to_the_row() -> None:
    sizes: list[int] = []

    def make(setting: Setting) -> Contest:
        sizes.append(setting.size(1000, quick=10))
        return Contest(ours=always(1.0))

    sized_row = Row("a.b", SECONDS, make, summary="")
    run("a.b", rows=(sized_row,))
    run("--quick", "a.b", rows=(sized_row,))
    assert sizes == [1000, 10]


def test_resources_of_a_row_are_closed_after_it() -> None:
    closed: list[str] = []

    class Resource:
        def __enter__(self) -> str:
            return "open"

        def __exit__(self, *_: object) -> None:
            closed.append("closed")

    def make(setting: Setting) -> Contest:
        assert setting.enter_context(Resource()) == "open"
        return Contest(ours=lambda: 1.0 if not closed else 0.0)

    run("a.b", rows=(Row("a.b", SECONDS, make, summary=""),))
    assert closed == ["closed"]


def test_the_rows_of_the_project_have_unique_names_and_summaries() -> None:
    rows = all_rows()
    names = [row.name for row in rows]
    assert "import.kubeproto" in names
    assert len(set(names)) == len(names)
    assert all(row.summary and "." in row.name for row in rows)
