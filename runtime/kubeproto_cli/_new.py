"""`kubeproto new`: a folder with an operator, its tests, its Dockerfile and its manifests."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final

import click
from msgspec import Struct

from ._command_errors import CommandFailed
from ._commands import Command
from ._output import print_note

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

# The name of a project is that of a namespace, an account, a Deployment and, with underscores, a module.
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,50}[a-z0-9])?")
_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,50}")
_GROUP: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+")


class Project(Struct, frozen=True, kw_only=True):
    """The names of the project to create."""

    name: str
    kind: str
    group: str

    @property
    def module(self) -> str:
        """The name of the module."""
        return self.name.replace("-", "_")

    @property
    def plural(self) -> str:
        """The plural of the kind in its definition."""
        singular = self.kind.lower()
        if singular.endswith("y") and singular[-2:-1] not in "aeiou":
            return f"{singular[:-1]}ies"
        return f"{singular}es" if singular.endswith(("s", "x", "z", "ch", "sh")) else f"{singular}s"

    @property
    def manifests_command(self) -> str:
        """The command that prints the manifests."""
        return f"manifests {self.module}.py:deployed --name {self.name} --access access.json"


@click.command(
    cls=Command,
    examples=[
        ("an operator for a new kind, in the folder book-shop", "kubeproto new book-shop"),
        ("with other names", "kubeproto new book-shop --kind Book --group library.example.org"),
        ("in another folder", "kubeproto new book-shop --output src/operator"),
    ],
)
@click.argument("name")
@click.option("--kind", metavar="KIND", help="The kind to reconcile; BookShop for book-shop by default.")
@click.option(
    "--group", metavar="GROUP", default="example.com", show_default=True, help="The API group of the kind."
)
@click.option(
    "--output", "-o", type=click.Path(file_okay=False), metavar="FOLDER",
    help="The folder to write; by default the name of the project.",
)  # fmt: skip
def new(name: str, kind: str | None, group: str, output: str | None) -> None:
    """Create a project: an operator, its tests, its Dockerfile and its manifests.

    The tests need no cluster; `kubeproto run` starts the operator.
    """
    project = _check_names(name, kind, group)
    folder = Path(output or name)
    if folder.exists() and any(folder.iterdir()):
        raise CommandFailed(f"{folder} exists and is not empty: choose another folder with --output")
    write_project(project, folder)
    for path in sorted(folder.iterdir()):
        click.echo(path)
    print_note(f"next: cd {folder}, pytest, and kubeproto run {project.module}.py:operator --simulated")


def _check_names(name: str, kind: str | None, group: str) -> Project:
    """Return the project with these names. Raise `UsageError` if a name is invalid."""
    if not _NAME.fullmatch(name) or not name.replace("-", "_").isidentifier():
        raise click.UsageError(
            f"{name!r} cannot be the name of a project: expected lower-case letters, digits and dashes"
        )
    if _is_taken(name.replace("-", "_")):
        raise click.UsageError(
            f"{name!r} cannot be the name of a project: a module of this name exists already"
        )
    kind = kind or "".join(part.capitalize() for part in name.split("-"))
    if not _KIND.fullmatch(kind):
        raise click.UsageError(
            f"{kind!r} cannot be a kind: expected letters and digits that begin with an upper-case letter"
        )
    if not _GROUP.fullmatch(group):
        raise click.UsageError(f"{group!r} cannot be a group: expected a domain, such as library.example.org")
    return Project(name=name, kind=kind, group=group)


def _is_taken(module: str) -> bool:
    from keyword import iskeyword

    return module in sys.stdlib_module_names or iskeyword(module) or module.startswith("kubeproto")


def write_project(project: Project, folder: Path) -> None:
    """Write all files of a project; the manifests come from its operator."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _file_texts(project).items():
        (folder / name).write_text(text)
    from ._manifests import print_manifests

    with _without_bytecode():
        manifests = print_manifests(folder / f"{project.module}.py", project.name, folder / "access.json")
    (folder / "manifests.yaml").write_text(manifests)


@contextmanager
def _without_bytecode() -> Generator[None]:
    """Write no `__pycache__` when modules are imported: a new project contains only the printed files."""
    previous, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = previous


def _file_texts(project: Project) -> Mapping[str, str]:
    from kubeproto_runtime.manifests import dockerfile, dump_access

    values: dict[str, Any] = {
        "name": project.name, "module": project.module, "kind": project.kind, "group": project.group,
        "plural": project.plural, "variable": project.kind.lower(), "version": version("kubeproto"),
        "command": project.manifests_command,
    }  # fmt: skip
    templates = {
        "README.md": "README.md",
        "pyproject.toml": "pyproject.toml",
        ".gitignore": "gitignore",
        f"{project.module}.py": "operator.py",
        f"test_{project.module}.py": "test_operator.py",
    }
    source = files("kubeproto_cli") / "templates"
    texts = {
        target: Template((source / f"{name}.template").read_text(encoding="utf-8")).substitute(values)
        for target, name in templates.items()
    }
    texts["access.json"] = dump_access(_required_access(project))
    texts["Dockerfile"] = dockerfile(f"{project.module}.py")
    return texts


def _required_access(project: Project) -> Any:
    """Return the permissions of the template's operator, which the tests of a project check."""
    from kubeproto_runtime.manifests import RequiredAccess

    lease = "coordination.k8s.io"
    return [
        RequiredAccess("", "configmaps", "create"),
        RequiredAccess("", "configmaps", "patch"),
        RequiredAccess("", "configmaps", "watch", "cluster"),
        RequiredAccess(lease, "leases", "create", "own"),
        RequiredAccess(lease, "leases", "get", "own", project.name),
        RequiredAccess(lease, "leases", "update", "own", project.name),
        RequiredAccess(project.group, project.plural, "watch", "cluster"),
        RequiredAccess(project.group, f"{project.plural}/status", "patch"),
    ]
