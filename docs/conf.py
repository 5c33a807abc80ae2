"""Configuration of the documentation site: `make docs`."""

import inspect
from importlib.metadata import version as installed_version

from tenferro_wgpu.ops import aliases
from tenferro_wgpu.ops.operators import METHODS

project = "tenferro_wgpu"
author = "The tenferro_wgpu developers"
copyright = "2026, The tenferro_wgpu developers"
version = release = installed_version("tenferro_wgpu")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["colon_fence", "substitution"]
myst_substitutions = {
    "methods": ", ".join(
        f"`{name}`" for name in sorted({*METHODS, "reshape", "transpose"} - set(aliases.__all__))
    ),
}
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
html_theme = "pydata_sphinx_theme"
html_title = "tenferro_wgpu"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# The header names every page; a second list of them beside the text would be empty.
html_sidebars = {"**": []}


def skip_operations(app, what, name, member, skip, options):
    """Leave out of a class what is the public function of that name: it has its own entry."""
    return True if member in METHODS.values() and what == "class" else None


def plain_properties(app, what, name, obj, options, lines):
    """Undo napoleon for properties: it takes the words before the first colon for a type."""
    text = inspect.getdoc(obj)
    if what == "property" and text:
        lines[:] = [*text.splitlines(), ""]


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", plain_properties, priority=600)  # napoleon's is 500
    app.connect("autodoc-skip-member", skip_operations)
