"""Finalizers: the table of decisions, and patches that fail if the object has changed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.control.finalizers import (
    AddFinalizer,
    CleanUp,
    Decision,
    Failed,
    Ignore,
    Patched,
    PatchResult,
    ReadAgain,
    Reconcile,
    decide,
    decide_again,
    interpret,
)
from kubeproto.objects import PatchError, apply_json_patch
from kubeproto.wire import Broken, Conflicted, Outcome, Refused, Rejected, ServerFailed, TimedOut, classify

MINE = "example.com/mine"
OTHER = "example.com/other"
REJECTED = Rejected("no", 422)


class Tome(kp.KubeObject, group="example.io", version="v1", plural="tomes"):
    """The kind with finalizers."""


def tome(*finalizers: str, deleting: bool = False, uid: str = "u") -> Tome:
    when = datetime(2026, 1, 1, tzinfo=UTC) if deleting else None
    return Tome(metadata=kp.ObjectMeta(name="a", uid=uid, finalizers=[*finalizers], deletion_timestamp=when))


def patched(obj: Tome, decision: Decision) -> Tome:
    """Return the object after a server has applied the patch of a decision, or raise PatchError."""
    assert isinstance(decision, AddFinalizer | CleanUp)
    document: Any = msgspec.json.decode(kp.encode(obj))
    return kp.decode(
        msgspec.json.encode(apply_json_patch(document, decision.patch, like_server=True)), Tome, strict=True
    )


@pytest.mark.parametrize(
    ("obj", "decision"),
    [
        pytest.param(tome(), AddFinalizer(MINE, (), "u"), id="fn_01 none"),
        pytest.param(tome(OTHER), AddFinalizer(MINE, (OTHER,), "u"), id="fn_02 others"),
        pytest.param(tome(OTHER, MINE), Reconcile(), id="fn_03 mine"),
        pytest.param(tome(OTHER, MINE, deleting=True), CleanUp(MINE, 1, "u"), id="fn_04 mine, deleting"),
        pytest.param(tome(OTHER, deleting=True), Ignore(), id="fn_05 others, deleting"),
        pytest.param(tome(deleting=True), Ignore(), id="fn_05 none, deleting"),
    ],
)
def test_fn_01_fn_02_fn_03_fn_04_fn_05_presence_and_deletion_determine_the_decision(
    obj: Tome, decision: Decision
) -> None:
    assert decide(obj, MINE) == decision


def test_a_name_that_is_not_a_finalizer_is_refused() -> None:
    with pytest.raises(ValueError, match="finalizer"):
        decide(tome(), "mine")


def test_fn_01_fn_02_the_patch_of_the_first_adds_the_finalizer_at_the_end() -> None:
    assert patched(tome(), decide(tome(), MINE)).metadata.finalizers == [MINE]
    assert patched(tome(OTHER), decide(tome(OTHER), MINE)).metadata.finalizers == [OTHER, MINE]
    assert decide(patched(tome(), decide(tome(), MINE)), MINE) == Reconcile()


def test_fn_04_the_patch_of_a_clean_up_removes_only_the_finalizer() -> None:
    obj = tome("a.io/a", MINE, OTHER, deleting=True)
    assert patched(obj, decide(obj, MINE)).metadata.finalizers == ["a.io/a", OTHER]


NAMES = st.lists(st.sampled_from([MINE, OTHER, "a.io/a", "b.io/b"]), unique=True)


@given(cached_names=NAMES, present_names=NAMES, deleting=st.booleans(), same=st.booleans())
def test_fn_06_a_patch_applies_only_to_the_read_object_and_never_changes_another_finalizer(
    cached_names: list[str], present_names: list[str], deleting: bool, same: bool
) -> None:
    decision = decide(tome(*cached_names, deleting=deleting), MINE)
    if not isinstance(decision, AddFinalizer | CleanUp):
        return
    now = tome(*present_names, deleting=deleting, uid="u" if same else "another")
    previous = list(now.metadata.finalizers)
    try:
        patched_names = patched(now, decision).metadata.finalizers
    except PatchError:
        assert not same or cached_names != present_names
        return
    assert same
    assert [name for name in patched_names if name != MINE] == [name for name in previous if name != MINE]
    assert (MINE in patched_names) is isinstance(decision, AddFinalizer)


def test_fn_06_a_clean_up_removes_no_other_finalizer_that_has_moved_to_its_index() -> None:
    decision = decide(tome(OTHER, MINE, deleting=True), MINE)
    with pytest.raises(PatchError):
        patched(tome(MINE, "a.io/a", deleting=True), decision)


def test_fn_06_a_finalizer_is_not_added_twice_by_a_patch_that_is_sent_twice() -> None:
    decision = decide(tome(OTHER), MINE)
    with pytest.raises(PatchError):
        patched(patched(tome(OTHER), decision), decision)


def test_the_second_of_two_concurrent_additions_reads_again_and_is_appended() -> None:
    first, second = decide(tome(), MINE), decide(tome(), OTHER)
    now = patched(tome(), first)
    with pytest.raises(PatchError):
        patched(now, second)
    assert isinstance(second, AddFinalizer)
    again = decide_again(second, REJECTED, now)
    assert not isinstance(again, Failed)
    assert patched(now, again).metadata.finalizers == [MINE, OTHER]


@pytest.mark.parametrize(
    ("failure", "verdict"),
    [
        (None, Patched()),
        (Refused("gone", 404), Patched()),
        (REJECTED, ReadAgain()),
        (Conflicted("raced", 409), ReadAgain()),
        (Refused("no", 403), Failed(Refused("no", 403))),
        (Rejected("no", 400), Failed(Rejected("no", 400))),
        (ServerFailed("no", 503), Failed(ServerFailed("no", 503))),
        (Broken("lost"), Failed(Broken("lost"))),
        (TimedOut("late"), Failed(TimedOut("late"))),
    ],
)
def test_fn_06_fn_07_a_failed_test_reads_again_and_404_is_success(
    failure: Outcome | None, verdict: PatchResult
) -> None:
    assert interpret(failure) == verdict


def test_fn_06_the_message_of_a_server_for_a_failed_test_causes_another_read() -> None:
    message = "the server rejected our request due to an error in our request"
    assert interpret(classify(kp.Status(code=422, reason="Invalid", message=message))) == ReadAgain()


@pytest.mark.parametrize(
    ("previous", "fresh", "decision"),
    [
        pytest.param(CleanUp(MINE, 1, "u"), tome(MINE, deleting=True), CleanUp(MINE, 0, "u"), id="moved"),
        pytest.param(CleanUp(MINE, 1, "u"), tome(OTHER, deleting=True), Ignore(), id="was removed"),
        pytest.param(CleanUp(MINE, 1, "u"), None, Ignore(), id="gone"),
        pytest.param(CleanUp(MINE, 0, "u"), tome(MINE, deleting=True, uid="v"), Ignore(), id="another"),
        pytest.param(CleanUp(MINE, 0, "u"), tome(MINE, deleting=True), Failed(REJECTED), id="not the test"),
        pytest.param(
            AddFinalizer(MINE, (), "u"), tome(OTHER), AddFinalizer(MINE, (OTHER,), "u"), id="others came"
        ),
        pytest.param(AddFinalizer(MINE, (), "u"), tome(MINE), Reconcile(), id="was added"),
        pytest.param(AddFinalizer(MINE, (), "u"), tome(deleting=True), Ignore(), id="is deleted meanwhile"),
        pytest.param(AddFinalizer(MINE, (), "u"), tome(), Failed(REJECTED), id="a rule forbids it"),
    ],
)
def test_fn_06_the_new_object_decides_and_the_same_patch_again_is_a_failure(
    previous: AddFinalizer | CleanUp, fresh: Tome | None, decision: Decision | Failed
) -> None:
    assert decide_again(previous, REJECTED, fresh) == decision


def test_the_patch_of_an_object_without_a_uid_tests_no_uid() -> None:
    assert [op["path"] for op in AddFinalizer(MINE, (), "").patch] == ["/metadata/finalizers"] * 2
