"""The configuration of Sphinx, which builds the documentation: `make docs`."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.domains.python import PythonDomain

if TYPE_CHECKING:
    from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))
import _reference

project = "kubeproto"
author = "the authors of kubeproto"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]

html_theme = "furo"
html_title = "kubeproto"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "code"  # docstrings put code between single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "separated"
autodoc_default_options = {"members": True, "undoc-members": True, "exclude-members": "__init__, __new__"}
copybutton_exclude = ".linenos, .gp"


class ImportedNames(PythonDomain):
    """Python's domain for signatures, in which a class has the name that its module imported."""

    def find_obj(self, env: Any, modname: str, classname: str, name: str, *arguments: Any) -> list[Any]:
        """Return the target of a name: no ambiguous target, and no attribute with the name of a builtin."""
        if hasattr(builtins, name):
            return []
        targets: list[Any] = super().find_obj(env, modname, classname, name, *arguments)
        if not targets:
            last = name.rpartition(".")[2]
            paths = [f"{module}.{last}" for module in self.env.domaindata["py"]["modules"]]
            targets = [(path, self.objects[path]) for path in paths if path in self.objects]
        if len(targets) == 1:
            return targets
        return [target for target in targets if target[0].rpartition(".")[0] == modname]


def titles_of(contents: nodes.bullet_list) -> nodes.bullet_list:
    """Return the title of a page, or the complete table of contents if it links to pages."""
    if next(contents.findall(addnodes.toctree), None) is not None:
        return contents
    title = contents.copy()
    for item in contents.children[:1]:
        title += item.copy()
        title[0] += [child.deepcopy() for child in item.children[:1]]
    return title


def navigate_by_titles(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Remove the 2,500 names of the reference from the navigation of each page.

    The theme requests only titles, but Sphinx first copies all entries below them, which took a third of the
    time of the build.
    """
    env, build_toctree = app.env, context["toctree"]

    def toctree(**options: Any) -> str:
        tocs = env.tocs
        env.tocs = {name: titles_of(contents) for name, contents in tocs.items()}
        try:
            html: str = build_toctree(**options)
        finally:
            env.tocs = tocs
        return html

    context["toctree"] = toctree


def setup(app: Sphinx) -> None:
    """Write the pages of the reference before Sphinx reads the sources."""
    app.add_domain(ImportedNames, override=True)
    app.connect("html-page-context", navigate_by_titles, priority=100)  # before the theme
    app.connect("builder-inited", lambda app: _reference.write(Path(app.srcdir) / "reference"))
