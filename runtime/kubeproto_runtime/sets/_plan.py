"""`Plan`: what applying a set would do, as a value: to be read, checked, printed and then performed."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from msgspec import Struct

from kubeproto import KubeprotoError, ObjectRef
from kubeproto.wire import printable

from ._apply_set import Extent, Parent
from ._membership import Membership

_COLORS: Final = {"+": "32", "~": "33", "-": "31", "!": "35", "@": "36"}


class PlannedStep(Struct, frozen=True):
    """Something that a plan says of one object."""

    sign: ClassVar[str] = " "

    ref: ObjectRef[Any]

    def __repr__(self) -> str:
        # What is applied may be a Secret, so the fields are not shown.
        return f"<{type(self).__name__} {self.ref}>"

    def __str__(self) -> str:
        return f"{self.sign} {printable(str(self.ref))}"


class PlannedWrite(PlannedStep, frozen=True):
    """An object that is to be applied. `unverified` says why there was no dry run of it, if so."""

    document: Any
    diff: tuple[str, ...] = ()
    unverified: str = ""

    __repr__ = PlannedStep.__repr__

    def __str__(self) -> str:
        if self.unverified:
            why = f" (not verified: {printable(self.unverified)})"
        else:
            why = "" if self.diff else " (who owns the fields)"
        return f"{PlannedStep.__str__(self)}{why}"


class PlannedCreation(PlannedWrite, frozen=True):
    """An object that does not exist."""

    sign: ClassVar[str] = "+"

    __repr__ = PlannedStep.__repr__


class PlannedChange(PlannedWrite, frozen=True):
    """An object that would change; an empty `diff` means that only the owners of its fields would."""

    sign: ClassVar[str] = "~"

    __repr__ = PlannedStep.__repr__


class PlannedDeletion(PlannedStep, frozen=True):
    """A member that is not wanted any more. Only this version of it is deleted, or one that is a member too.

    `cascades` says what goes with it, `deleting` whether somebody has deleted it already.
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
    """An object that cannot be applied, and why. `final` if the whole set cannot be."""

    sign: ClassVar[str] = "!"

    why: str
    conflicts: tuple[ManagerConflict, ...] = ()
    final: bool = False

    def __str__(self) -> str:
        said = "; ".join(map(str, self.conflicts))
        why = f"{said}: apply with force to take the fields over" if said else printable(self.why, 2000)
        return f"{PlannedStep.__str__(self)}: {why}"


class Plan(Struct, frozen=True, kw_only=True):
    """What would be done, in the order in which it would be done.

    While something is refused, or a kind cannot be listed, nothing is deleted: what would be is `withheld`,
    and `withheld_because` says why. `unreadable` says which of the wanted objects could not even be read.
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
        return tuple(one for one in self.writes if isinstance(one, PlannedCreation))

    @property
    def changes(self) -> tuple[PlannedChange, ...]:
        """The objects that would change."""
        return tuple(one for one in self.writes if isinstance(one, PlannedChange))

    @property
    def clean(self) -> bool:
        """Whether the server has exactly this set: there is nothing to do."""
        return self.complete and not (self.writes or self.deletions or self.withheld_because)

    @property
    def complete(self) -> bool:
        """Whether all that is wanted can be applied."""
        return not (self.refusals or self.unreadable)

    def __repr__(self) -> str:
        return f"<plan: {self.summary}>"

    def __str__(self) -> str:
        return self.render()

    @property
    def summary(self) -> str:
        """How many objects of which outcome there are, in one line."""
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
        """Return the plan as text: a line for each object that is not as it should be, and the diffs.

        `+` is created, `~` changed, `-` deleted, `!` refused. `color` is for terminals.
        """
        lines: list[str] = []
        for one in (*self.writes, *self.deletions, *self.refusals):
            lines.append(_colored(str(one), one.sign, color))
            if diffs and isinstance(one, PlannedChange):
                lines += ["    " + _colored(line, line[:1], color) for line in one.diff]
        lines += [_colored(f"! {printable(one, 2000)}", "!", color) for one in self.unreadable]
        if self.withheld_because:
            lines.append(f"nothing is deleted: {printable(self.withheld_because, 2000)}")
            lines += [f"  kept: {printable(str(one.ref))}" for one in self.withheld]
        return "\n".join([*lines, self.summary])


class PlanRefused(KubeprotoError):
    """A plan with refusals was not performed. `plan` is that plan; nothing was written."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.plan = plan

    def __str__(self) -> str:
        reasons = [*(str(one)[2:] for one in self.plan.refusals), *self.plan.unreadable]
        return "the plan was not performed: " + "; ".join(reasons)


def _colored(line: str, sign: str, color: bool) -> str:
    code = _COLORS.get(sign, "")
    return f"\x1b[{code}m{line}\x1b[0m" if color and code else line
