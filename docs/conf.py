"""How Sphinx builds the documentation: `make docs`."""

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


class OwnNames(PythonDomain):
    """Python's domain for signatures, in which a class bears the name that its module imported."""

    def find_obj(self, env: Any, modname: str, classname: str, name: str, *rest: Any) -> list[Any]:
        """What a name leads to: never a guess among several, never an attribute named as a builtin."""
        if hasattr(builtins, name):
            return []
        found: list[Any] = super().find_obj(env, modname, classname, name, *rest)
        if not found:
            last = name.rpartition(".")[2]
            homes = [
                home for home in self.env.domaindata["py"]["modules"] if f"{home}.{last}" in self.objects
            ]
            found = [(f"{home}.{last}", self.objects[f"{home}.{last}"]) for home in homes]
        return found if len(found) == 1 else [one for one in found if one[0].rpartition(".")[0] == modname]


def titles(contents: nodes.bullet_list) -> nodes.bullet_list:
    """The table of contents of a page without what is below its title; as it is where it leads to pages."""
    if next(contents.findall(addnodes.toctree), None) is not None:
        return contents
    short = contents.copy()
    for item in contents.children[:1]:
        short += item.copy()
        short[0] += [child.deepcopy() for child in item.children[:1]]
    return short


def navigate_by_titles(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Keep 2,500 names of the reference out of the navigation of each page.

    The theme asks for titles alone, but Sphinx copies all that is below them first: that took a third of the
    time of the whole build.
    """
    env, whole = app.env, context["toctree"]

    def toctree(**options: Any) -> str:
        tocs = env.tocs
        env.tocs = {name: titles(contents) for name, contents in tocs.items()}
        try:
            found: str = whole(**options)
        finally:
            env.tocs = tocs
        return found

    context["toctree"] = toctree


def setup(app: Sphinx) -> None:
    """Write the reference's pages before the sources are read."""
    app.add_domain(OwnNames, override=True)
    app.connect("html-page-context", navigate_by_titles, priority=100)  # before the theme
    app.connect("builder-inited", lambda app: _reference.write(Path(app.srcdir) / "reference"))
