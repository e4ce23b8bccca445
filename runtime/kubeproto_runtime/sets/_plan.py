"""`Plan`: the steps of applying a set, which a program can check, print and perform."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from msgspec import Struct

from kubeproto import KubeprotoError, ObjectRef
from kubeproto.wire import printable

from ._apply_set import Extent, Parent
from ._membership import Membership

_COLORS: Final = {"+": "32", "~": "33", "-": "31", "!": "35", "@": "36"}


class PlannedStep(Struct, frozen=True):
    """A step of a plan, for a single object."""

    sign: ClassVar[str] = " "

    ref: ObjectRef[Any]

    def __repr__(self) -> str:
        # The document may be a Secret, so the fields stay hidden.
        return f"<{type(self).__name__} {self.ref}>"

    def __str__(self) -> str:
        return f"{self.sign} {printable(str(self.ref))}"


class PlannedWrite(PlannedStep, frozen=True):
    """An object to apply. `unverified` is the reason why there was no dry run."""

    document: Any
    diff: tuple[str, ...] = ()
    unverified: str = ""

    __repr__ = PlannedStep.__repr__

    def __str__(self) -> str:
        if self.unverified:
            note = f" (not verified: {printable(self.unverified)})"
        else:
            note = "" if self.diff else " (only the owners of fields change)"
        return f"{PlannedStep.__str__(self)}{note}"


class PlannedCreation(PlannedWrite, frozen=True):
    """An object that does not exist."""

    sign: ClassVar[str] = "+"

    __repr__ = PlannedStep.__repr__


class PlannedChange(PlannedWrite, frozen=True):
    """An object that would change; an empty `diff` means that only the owners of its fields would."""

    sign: ClassVar[str] = "~"

    __repr__ = PlannedStep.__repr__


class PlannedDeletion(PlannedStep, frozen=True):
    """A member without a document, which is deleted.

    Its version is a precondition: a newer version is deleted only if it is still a member.

    `cascades` describes the objects that are deleted with it. `deleting` is True if its deletion was
    requested.
    """

    sign: ClassVar[str] = "-"

    resource: Any
    uid: str
    version: str
    cascades: str = ""
    deleting: bool = False

    def __str__(self) -> str:
        notes = [self.cascades] if self.cascades else []
        notes += ["it is being deleted already"] if self.deleting else []
        return PlannedStep.__str__(self) + (f" ({', '.join(notes)})" if notes else "")


class ManagerConflict(Struct, frozen=True, order=True):
    """Fields that another field manager owns."""

    manager: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return f"{printable(self.manager)} owns {', '.join(map(printable, self.fields))}"


class PlannedRefusal(PlannedStep, frozen=True):
    """An object that cannot be applied, with the reason. `final` is True if the whole set is refused."""

    sign: ClassVar[str] = "!"

    reason: str
    conflicts: tuple[ManagerConflict, ...] = ()
    final: bool = False

    def __str__(self) -> str:
        conflicts = "; ".join(map(str, self.conflicts))
        reason = (
            f"{conflicts}: apply with force to take the fields over"
            if conflicts
            else printable(self.reason, 2000)
        )
        return f"{PlannedStep.__str__(self)}: {reason}"


class Plan(Struct, frozen=True, kw_only=True):
    """The steps of applying a set, in their order.

    While an object is refused, a file is unreadable, or a kind cannot be listed, nothing is deleted. Then
    `withheld` contains the deletions, and `withheld_because` the reason. `unreadable` lists the unreadable
    files.
    """

    writes: tuple[PlannedWrite, ...] = ()
    unchanged: tuple[ObjectRef[Any], ...] = ()
    deletions: tuple[PlannedDeletion, ...] = ()
    refusals: tuple[PlannedRefusal, ...] = ()
    unreadable: tuple[str, ...] = ()
    withheld: tuple[PlannedDeletion, ...] = ()
    withheld_because: str = ""
    field_manager: str = ""
    force: bool = False
    namespace: str = ""
    parent: Parent | None = None
    membership: Membership | None = None
    extent: Extent | None = None

    @property
    def creations(self) -> tuple[PlannedCreation, ...]:
        """The objects that do not exist."""
        return tuple(write for write in self.writes if isinstance(write, PlannedCreation))

    @property
    def changes(self) -> tuple[PlannedChange, ...]:
        """The objects that would change."""
        return tuple(write for write in self.writes if isinstance(write, PlannedChange))

    @property
    def clean(self) -> bool:
        """Whether the server has exactly the objects of this set, so that no step is needed."""
        return self.complete and not (self.writes or self.deletions or self.withheld_because)

    @property
    def complete(self) -> bool:
        """Whether all documents can be applied."""
        return not (self.refusals or self.unreadable)

    def __repr__(self) -> str:
        return f"<plan: {self.summary}>"

    def __str__(self) -> str:
        return self.render()

    @property
    def summary(self) -> str:
        """The numbers of objects by outcome, on a single line."""
        counts = [
            (len(self.creations), "to create"),
            (len(self.changes), "to change"),
            (len(self.deletions), "to delete"),
            (len(self.refusals), "refused"),
            (len(self.withheld), "not deleted yet"),
            (len(self.unchanged), "unchanged"),
        ]
        return ", ".join(f"{count} {words}" for count, words in counts if count) or "nothing to do"

    def render(self, *, color: bool = False, diffs: bool = True) -> str:
        """Return the plan as text: a line for each step, and the diffs.

        The sign of a line is `+` for a creation, `~` for a change, `-` for a deletion and `!` for a refusal.
        `color` adds the colors of a terminal.
        """
        lines: list[str] = []
        for step in (*self.writes, *self.deletions, *self.refusals):
            lines.append(_color_line(str(step), step.sign, color))
            if diffs and isinstance(step, PlannedChange):
                lines += ["    " + _color_line(line, line[:1], color) for line in step.diff]
        lines += [_color_line(f"! {printable(step, 2000)}", "!", color) for step in self.unreadable]
        if self.withheld_because:
            lines.append(f"nothing is deleted: {printable(self.withheld_because, 2000)}")
            lines += [f"  kept: {printable(str(step.ref))}" for step in self.withheld]
        return "\n".join([*lines, self.summary])


class PlanRefused(KubeprotoError):
    """A plan with refused objects was not performed, and nothing was written. `plan` is the plan."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.plan = plan

    def __str__(self) -> str:
        reasons = [*(str(refusal)[2:] for refusal in self.plan.refusals), *self.plan.unreadable]
        return "the plan was not performed: " + "; ".join(reasons)


def _color_line(line: str, sign: str, color: bool) -> str:
    code = _COLORS.get(sign, "")
    return f"\x1b[{code}m{line}\x1b[0m" if color and code else line
