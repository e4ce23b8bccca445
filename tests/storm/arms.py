"""Counts how often each arm of the state machines is taken, and each of their states is met.

The modules of the machines are compiled with a counter at the head of each `case`, and, for the queue, which
is an object with methods, of each branch. That must be set up before anything of kubeproto is imported.
"""

from __future__ import annotations

import ast
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any, Final, get_args

MODULES: Final = frozenset((
    "kubeproto.watching.resync", "kubeproto.watching._resync_listing", "kubeproto.watching._resync_streaming",
    "kubeproto.watching._resync_watching", "kubeproto.watching._resync_requests", "kubeproto.watching.pager",
    "kubeproto.config.credentials", "kubeproto.control.election", "kubeproto.control._election_lease",
    "kubeproto.control._election_phases", "kubeproto.control._queue", "kubeproto.control.finalizers",
    "kubeproto.control._event_recorder", "kubeproto.control._own_writes",
    "kubeproto.control._written_objects",
))  # fmt: skip
# Those whose `step` goes from one of the classes in `State` to another.
MACHINES: Final = frozenset((
    "kubeproto.watching.resync", "kubeproto.watching.pager", "kubeproto.config.credentials",
    "kubeproto.control.election",
))  # fmt: skip
BRANCHES: Final = frozenset(
    ("kubeproto.control._queue", "kubeproto.control._own_writes", "kubeproto.control._written_objects")
)
NAME: Final = "_storm_arm"

_names: list[str] = []
_counts: list[int] = []
_last_counts: list[int] = []


def install() -> None:
    """Count from now on."""
    early = MODULES & sys.modules.keys()
    if early:
        raise RuntimeError(f"too late to count the arms of {sorted(early)}: they are imported already")
    sys.meta_path.insert(0, _Finder())


def take() -> dict[str, int]:
    """Return how often each arm was taken since the last call, including unused arms."""
    news = {name: now - previous for name, now, previous in zip(_names, _counts, _last_counts, strict=True)}
    _last_counts[:] = _counts
    return news


def _count(arm: int) -> None:
    _counts[arm] += 1


def _count_states(module: Any) -> None:
    """Make the `step` of a machine count its state and its next state."""
    step, name = module.step, module.__name__.removeprefix("kubeproto.")
    arms: dict[type[Any], int] = {}
    for state in get_args(module.State):
        arms[state] = len(_counts)
        _names.append(f"{name}: state {state.__name__}")
        _counts.append(0)
        _last_counts.append(0)

    def counted(state: Any, event: Any, now: float) -> Any:
        _counts[arms[type(state)]] += 1
        next_state = step(state, event, now)
        if type(next_state[0]) is not type(state):
            _counts[arms[type(next_state[0])]] += 1
        return next_state

    module.step = counted


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname not in MODULES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile the source with counters; a cached bytecode file has none."""
        path = self.get_filename(fullname)
        tree = _Counted(fullname).visit(ast.parse(self.get_data(path), path))
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def exec_module(self, module: Any) -> None:
        """Give the module its counter."""
        vars(module)[NAME] = _count
        super().exec_module(module)
        if module.__name__ in MACHINES:
            _count_states(module)


class _Counted(ast.NodeTransformer):
    def __init__(self, module: str) -> None:
        self._module = module.removeprefix("kubeproto.")
        self._branches = module in BRANCHES
        self._function = ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Go into a function."""
        outer, self._function = self._function, node.name
        self.generic_visit(node)
        self._function = outer
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Count an arm. An arm that only raises refuses an impossible event, and is not counted."""
        self.generic_visit(node)
        if not isinstance(node.body[-1], ast.Raise):
            guard = f" if {ast.unparse(node.guard)}" if node.guard else ""
            node.body.insert(0, self._counter(f"case {ast.unparse(node.pattern)}{guard}"))
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        """A branch."""
        self.generic_visit(node)
        if self._branches and self._function and not isinstance(node.body[-1], ast.Raise):
            node.body.insert(0, self._counter(f"if {ast.unparse(node.test)}"))
        return node

    def _counter(self, text: str) -> ast.stmt:
        name = f"{self._module}.{self._function}: {text}"
        _names.append(name if name not in _names else f"{name} (the {len(_names)}th of all)")
        _counts.append(0)
        _last_counts.append(0)
        call = ast.Call(ast.Name(NAME, ast.Load()), [ast.Constant(len(_counts) - 1)], [])
        return ast.Expr(call)
