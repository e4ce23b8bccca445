"""Writes the generated parts of pages: figures, lists and tables that follow from code or from a measurement.

`make pages` writes them, and tests/docs/test_generated_pages.py compares the committed pages with them. Each
generated part is between two comments, which no renderer shows:

    A controller takes <!--speed controller.rss=ours:.0f-->40<!--end--> MB.

The first word names the generator, and the rest is its argument.
"""

from __future__ import annotations

import ast
import importlib.metadata
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from benchmarks._results import Run, load
from benchmarks._speed_page import PAGE as SPEED_PAGE, speed_page
from kubeproto.kinds import kind_table
from kubeproto.watching import resync
from kubeproto_sim.kinds._kubernetes_releases import release_of
from tools import resync_diagram

ROOT: Final = Path(__file__).resolve().parent.parent
PUBLISHED_RUN: Final = ROOT / "benchmarks" / "results" / "full.json"
# An example of the syntax in a page is between backticks.
PART: Final = re.compile(r"(?<!`)<!--(\w+)((?: [^>\n]*)?)-->(.*?)<!--end-->", re.DOTALL)


def generated_files() -> dict[Path, str]:
    """Return the text of each file that is generated, wholly or in part."""
    files = {
        SPEED_PAGE: speed_page(published_run()),
        resync_diagram.TARGET: resync_diagram.svg(resync.__doc__ or ""),
    }
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if page not in files and PART.search(text):
            files[page] = fill_parts(text)
    return files


def fill_parts(text: str) -> str:
    """Return a page with new generated parts."""

    def fill(part: re.Match[str]) -> str:
        generator, argument = part[1], part[2].strip()
        return f"<!--{generator}{part[2]}-->{GENERATORS[generator](argument)}<!--end-->"

    return PART.sub(fill, text)


@cache
def published_run() -> Run:
    return load(PUBLISHED_RUN)


def speed_figure(argument: str) -> str:
    """Return a figure of the published measurement, in the syntax of benchmarks/speed.template.md."""
    return speed_page(published_run(), f"{{{argument}}}")


def lines_of_code(path: str) -> str:
    """Return the number of lines of a program that are not blank, a comment or a docstring."""
    text = (ROOT / path).read_text(encoding="utf-8")
    docstring_lines = {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = [
        line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in docstring_lines
    ]
    return str(sum(bool(line) and not line.startswith("#") for line in lines))


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table that a page can contain between two comments."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(["", "", *(f"| {' | '.join(cells)} |" for cells in lines), "", ""])


def dependencies(_: str) -> str:
    """Return the table of dependencies: the extras that require each, and its licence."""
    extras_of = dependencies_by_name()
    return markdown_table(
        ["package", "needed by", "licence"],
        [
            [name, ", ".join(extras_of[name]), licence_of(name)]
            for name in sorted(extras_of, key=dependency_order)
        ],
    )


def dependency_order(name: str) -> tuple[bool, str]:
    """Sort msgspec, which everybody installs, before the dependencies of extras."""
    return name != "msgspec", name


def dependencies_by_name() -> dict[str, list[str]]:
    """Return the extras that install each dependency, directly or through the simulator."""
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    simulator = tomllib.loads((ROOT / "simulator" / "pyproject.toml").read_text())["project"]
    extras_of = {Requirement(text).name: ["the core"] for text in core["dependencies"]}
    for extra, texts in core["optional-dependencies"].items():
        requirements = [Requirement(text) for text in texts]
        for requirement in list(requirements):
            if requirement.name == simulator["name"]:
                requirements.remove(requirement)
                for simulator_extra in requirement.extras:
                    requirements += map(Requirement, simulator["optional-dependencies"][simulator_extra])
        for requirement in requirements:
            extras_of.setdefault(requirement.name, []).append(f"`{extra}`")
    return extras_of


def licence_of(distribution: str) -> str:
    metadata = importlib.metadata.metadata(distribution).json
    return str(metadata.get("license_expression") or metadata.get("license"))


def release_differences(_: str) -> str:
    """Return the table of resources and features that each older release of Kubernetes lacks."""
    rows: list[list[str]] = []
    reported: set[str] = set()
    releases = kind_table().releases
    for number in sorted(releases, key=lambda number: int(number.partition(".")[2]), reverse=True):
        missing = set(releases[number].missing_resources)
        names = ", ".join(resource_names(missing - reported)) or "nothing more"
        rows.append([number, names, ", ".join(missing_features(number))])
        reported = missing
    return markdown_table(
        ["release", "not served, besides the kinds of the rows above", "missing features"], rows
    )


def resource_names(resources: set[str]) -> Iterator[str]:
    """Yield group versions of which every resource is missing, and the other resources by name."""
    served = [builtin.resource for builtin in kind_table().resources]
    by_version: dict[str, set[str]] = {}
    for resource in served:
        by_version.setdefault(resource.api_version, set()).add(f"{resource.api_version}/{resource.plural}")
    for api_version, names in sorted(by_version.items()):
        if names <= resources:
            yield f"`{api_version}`"
            resources = resources - {name for name in resources if name.startswith(f"{api_version}/")}
    yield from (f"`{name}`" for name in sorted(resources))


def missing_features(number: str) -> Iterator[str]:
    release = release_of(number)
    if not release.shards:
        yield "shards"
    if not release.streaming_lists:
        yield "streaming lists"
    if not release.selectable_fields:
        yield "selectable fields"
    if not release.has_service_fields:
        yield "field selectors for Services"


def release_version(number: str) -> str:
    """Return the patch release whose kinds and server the tests compare with."""
    releases = kind_table().releases
    return releases[number].kubernetes if number in releases else kind_table().kubernetes


def newly_required_fields(_: str) -> str:
    """Return how many fields the newest release requires and an older release does not."""
    return str(len({path for release in kind_table().releases.values() for path in release.optional_fields}))


def decisions(_: str) -> str:
    """Return the list of decision records, by package."""
    lines: list[str] = []
    for folder in sorted((ROOT / "docs" / "decisions").iterdir()):
        if folder.is_dir():
            lines += [f"**{folder.name}**", ""]
            for record in sorted(folder.glob("*.md")):
                title = record.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
                lines.append(f"- [{title}]({folder.name}/{record.name})")
            lines.append("")
    return "\n".join(["", "", *lines, ""])


GENERATORS: Final[dict[str, Callable[[str], str]]] = {
    "decisions": decisions,
    "dependencies": dependencies,
    "lines": lines_of_code,
    "release": release_version,
    "releases": release_differences,
    "required": newly_required_fields,
    "speed": speed_figure,
}


if __name__ == "__main__":
    for path, text in generated_files().items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(ROOT))
