"""Peers: their environments, the protocol of their processes, and the baselines."""

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from benchmarks._contenders import FEWER, SLOW, Peer, share
from benchmarks._data import Kind
from benchmarks._measure import Contest, MeteredProbe, MissingRequirement, run_contest
from benchmarks._peers import PeerProcess, Peers
from benchmarks._pins import PINS, pinned_peers, requirements
from benchmarks._rows import EVENTS_PER_SECOND, Setting
from benchmarks.rows import decode
from benchmarks.rows.imports import OURS, FreshImport

ROOT = Path(__file__).resolve().parents[2]
COUNTING = """
from benchmarks.peers._serve import serve

def prepare(options):
    if "fail" in options:
        raise OSError(options["fail"])
    print("this is not an answer")
    return lambda: sum(1 for _ in range(options["events"]))

serve({"count": prepare})
"""
PINNED = """# /// script
# dependencies = [{}]
# ///
"""
TOY = (
    PINNED.format("")
    + """
from benchmarks.peers._serve import serve

def count(options):
    return lambda: sum(1 for _ in range(options["events"]))

def told(options):
    return lambda: {"seconds": 2.0, "user": 4.0, "system": 1.0, "events": options["events"]}

if __name__ == "__main__":
    serve({"count": count, "told": told})
"""
)
SILENT = "import sys; sys.stdin.read()"
PIP = pytest.mark.thorough("it starts pip twice")


def peer(script: str, **options: object) -> PeerProcess:
    return PeerProcess([sys.executable, "-c", script], {"work": "count", **options}, patience=20)


def test_a_peer_reports_the_seconds_of_each_requested_round() -> None:
    with closing(peer(COUNTING, events=100)) as process:
        assert all(0 < process.round(100) < 1 for _ in range(2))


def test_a_peer_that_received_other_events_is_not_compared() -> None:
    with (
        closing(peer(COUNTING, events=99)) as process,
        pytest.raises(MissingRequirement, match="met 99 events, not 100"),
    ):
        process.round(100)


def test_a_peer_that_cannot_start_reports_the_reason() -> None:
    with pytest.raises(MissingRequirement, match="OSError: no models"):
        peer(COUNTING, fail="no models")


def test_a_peer_that_dies_is_absent() -> None:
    with pytest.raises(MissingRequirement, match="ended"):
        peer("raise SystemExit(3)")


def test_a_peer_that_hangs_is_absent() -> None:
    with pytest.raises(MissingRequirement, match="did not answer within 0 s"):
        PeerProcess([sys.executable, "-c", SILENT], {}, patience=0)


def test_an_environment_is_created_once_and_reused(tmp_path: Path) -> None:
    (tmp_path / "nothing.py").write_text(PINNED.format(""))
    messages: list[str] = []
    cache = tmp_path / "cache"
    python = Peers(messages.append, pins=tmp_path, cache=cache).python("nothing")
    assert python.exists()
    assert Peers(messages.append, pins=tmp_path, cache=cache).python("nothing") == python
    assert len(messages) == 1


def empty_requirement(name: str) -> str:
    """Return a requirement with this extra that installs nothing."""
    return f"pip; python_version < '3' and extra == '{name}'"


def test_an_incomplete_environment_is_created_again(tmp_path: Path) -> None:
    (tmp_path / "nothing.py").write_text(PINNED.format(""))
    messages: list[str] = []
    python = Peers(messages.append, pins=tmp_path, cache=tmp_path).python("nothing")
    (python.parent.parent / "ready").unlink()
    python.unlink()
    assert Peers(messages.append, pins=tmp_path, cache=tmp_path).python("nothing").exists()
    assert len(messages) == 2


@PIP
def test_other_pins_are_another_environment(tmp_path: Path) -> None:
    def create_environment(pins: str) -> Path:
        (tmp_path / "nothing.py").write_text(PINNED.format(pins))
        return Peers(lambda _: None, pins=tmp_path, cache=tmp_path).python("nothing")

    first, second = create_environment(""), create_environment(f'"{empty_requirement("two")}"')
    assert first != second
    assert first.exists()


@PIP
def test_a_failure_is_reported_and_remembered_until_the_pins_are_fixed(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(PINNED.format('"./no-such-file.whl"'))
    messages: list[str] = []
    peers = Peers(messages.append, pins=tmp_path, cache=tmp_path)
    for _ in range(2):
        with pytest.raises(
            MissingRequirement, match=r"environment of broken could not be made: .*no-such-file"
        ):
            peers.python("broken")
    assert len(messages) == 1
    (tmp_path / "broken.py").write_text(PINNED.format(""))
    assert Peers(messages.append, pins=tmp_path, cache=tmp_path).python("broken").exists()


def test_every_version_of_every_peer_is_pinned() -> None:
    pinned = pinned_peers(PINS)
    assert {"cloudcoil", "kr8s", "kopf", "kubernetes", "kubernetes_asyncio", "kubesdk", "lightkube"} < set(
        pinned
    )
    for name, requirements_of_peer in pinned.items():
        installed = {
            requirement.partition("==")[0].replace("-", "_").lower() for requirement in requirements_of_peer
        }
        # kopf_kr8s.py contains both
        assert name in installed or installed.issuperset(name.split("_"))
        assert all(line.count("==") == 1 and "*" not in line for line in requirements_of_peer)


def test_a_file_without_pins_is_not_a_peer(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text("# /// other\n# ///\n")
    assert pinned_peers(tmp_path) == {}
    with pytest.raises(ValueError, match=r"bare\.py has no block `# /// script` that pins what it needs"):
        requirements(tmp_path / "bare.py")


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Setting]:
    (tmp_path / "toy.py").write_text(TOY)
    peers = Peers(lambda _: None, pins=tmp_path, cache=tmp_path / "cache")
    with ExitStack() as stack:
        yield Setting(quick=True, peers=peers, stack=stack)


def test_a_peer_is_a_single_file_and_a_contender_of_a_row(toy: Setting) -> None:
    rival = Peer(toy, "toy", "count", 50, lambda reply: 50 / float(reply["seconds"]), events=50)
    contest = Contest(ours=lambda: 1.0, peers={"toy": rival})
    result = run_contest(contest, EVENTS_PER_SECOND, lambda _: None, rounds=1)
    standing = result.peers["toy"]
    assert standing is not None
    assert standing.figure > 0
    assert result.also["µs of CPU an event"]["toy"] is not None


def test_a_peer_may_report_its_seconds_itself(toy: Setting) -> None:
    rival = Peer(toy, "toy", "told", 2, lambda reply: float(reply["seconds"]), events=2)
    assert rival() == 2.0
    assert rival.cpu_times == (2.0, 0.5)


def test_a_peer_without_the_requested_work_is_absent(toy: Setting) -> None:
    with pytest.raises(MissingRequirement, match="toy failed: KeyError: 'dance'"):
        Peer(toy, "toy", "dance", 1, lambda reply: 1.0)()


def test_a_file_with_the_name_of_its_package_does_not_hide_it(tmp_path: Path) -> None:
    # benchmarks/peers/kubernetes.py imports the package kubernetes, not itself.
    (tmp_path / "json.py").write_text(TOY)
    peers = Peers(lambda _: None, pins=tmp_path, cache=tmp_path / "cache")
    with peers.start("json", "count", events=3) as process:
        assert process.run_round(3)["events"] == 3


def test_the_size_of_an_installation_counts_every_package_that_its_extras_bring() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    brought = [*project["dependencies"], *extras["runtime"], *extras["asyncio"]]
    assert {re.split(r"\W*[<>=]", requirement)[0] for requirement in brought} <= set(OURS)


def test_an_import_is_timed_in_a_fresh_interpreter() -> None:
    probe = FreshImport(Path(sys.executable), "json")
    assert 0 < probe() < 10
    resident = probe.resident()
    assert resident is None or 1 < resident < 1000
    assert isinstance(probe, MeteredProbe)
    assert probe.cpu_times is not None
    assert 0 < sum(probe.cpu_times) < 10


def test_a_module_that_cannot_be_imported_is_absent() -> None:
    with pytest.raises(MissingRequirement, match="No module named 'kubeproto_of_another_house'"):
        FreshImport(Path(sys.executable), "kubeproto_of_another_house")()


OF_A_KIND: Final = pytest.mark.thorough("the same, on other data")


def cut_lines(pieces: Sequence[bytes]) -> int:
    return len(b"".join(pieces).splitlines())


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Peers:
    """Peers, of which a certain peer cannot be installed: pip reports its failure once for all tests."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "lightkube.py").write_text(PINNED.format('"./no-such-file.whl"'))
    return Peers(lambda _: None, pins=folder, cache=folder / "cache")


@pytest.fixture
def setting(broken: Peers) -> Iterator[Setting]:
    with ExitStack() as stack:
        yield Setting(quick=True, peers=broken, stack=stack)


@pytest.mark.parametrize(
    "kind", [decode.KINDS[0], *(pytest.param(kind, marks=OF_A_KIND) for kind in decode.KINDS[1:])]
)
def test_a_decode_row_measures_a_contender_that_decodes_every_event(
    setting: Setting, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(decode.COUNTS, kind, (40, 40))
    contest = decode.watch(setting, kind, cut_lines)
    assert contest.baseline is not None
    assert contest.ours() > 0
    assert contest.baseline() > 0
    with pytest.raises(MissingRequirement, match="lightkube"):
        contest.peers["lightkube"]()


@pytest.mark.parametrize("kind", decode.KINDS)
@pytest.mark.parametrize("depth", list(decode.DEPTHS))
@pytest.mark.parametrize("managed", [True, False])
def test_each_kind_is_read_at_each_depth_with_and_without_managed_fields(
    setting: Setting, kind: Kind, depth: str, managed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(decode.COUNTS, kind, (40, 40))
    # A read that misses an event is refused by the row itself.
    contest = decode.watch(setting, kind, decode.DEPTHS[depth].reads[kind], managed=managed, beside="nobody")
    assert contest.peers == {}
    names = {row.name for row in decode.ROWS}
    last = decode.DEPTHS[depth].names.get(kind, depth)
    assert f"decode.{kind}.{'' if managed else 'unmanaged.'}{last}" in names


def test_a_row_without_managed_fields_reads_none(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(decode.COUNTS, "pods", (9, 9))
    for managed in (True, False):
        _, text = decode.stream(setting, "pods", managed=managed)
        assert (b"managedFields" in text) is managed


def test_a_client_that_needs_milliseconds_per_object_gets_a_tenth_of_the_objects() -> None:
    assert [share(name, 400) for name in ("lightkube", "kr8s", "kube_rs")] == [400, 400 // FEWER, 400]
    assert set(SLOW) <= set(decode.PYTHON)


def test_a_decode_row_refuses_a_run_that_misses_an_event(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(decode.COUNTS, "pods", (40, 40))
    with pytest.raises(ValueError, match=r"met \d+ events, not \d+: its speed would mean nothing"):
        decode.watch(setting, "pods", lambda pieces: cut_lines(pieces) - 1)


@pytest.mark.parametrize("is_split", [True, pytest.param(False, marks=OF_A_KIND)])
def test_a_list_row_passes_the_page_complete_or_split(setting: Setting, is_split: bool) -> None:
    piece_counts: list[int] = []

    def read(pieces: Sequence[bytes]) -> int:
        piece_counts.append(len(pieces))
        return decode.json_page(b"".join(pieces))

    contest = decode.page(setting, read, in_pieces=is_split)
    assert contest.baseline is not None
    assert (piece_counts[0] > 1) is is_split
