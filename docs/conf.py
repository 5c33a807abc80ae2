"""Configuration of the documentation site: `make docs`."""

from importlib.metadata import version as installed_version

project = "tenferro_wgpu"
author = "The tenferro_wgpu developers"
copyright = "2026, The tenferro_wgpu developers"
version = release = installed_version("tenferro_wgpu")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_typehints = "none"
autodoc_member_order = "bysource"
html_theme = "pydata_sphinx_theme"
html_title = "tenferro_wgpu"
