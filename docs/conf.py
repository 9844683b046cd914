"""How the documentation is built."""

import os
import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "treebound"
author = "The treebound developers"
copyright = "2026, the treebound developers"
release = version = installed_version("treebound")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "treebound"
html_static_path = ["_static"]
html_css_files = ["treebound.css"]
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
}
# Only the index of the API and of the gallery have pages to list at the side.
_alone = (
    "learning pruning certificates showing command_line study schema model_format theory "
    "gallery/plot_*"
)
html_sidebars = {page: [] for page in _alone.split()}
toc_object_entries_show_parents = "hide"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Two short examples run whenever the docs are built; TREEBOUND_GALLERY=all runs every one.
_quick = r"plot_(01|02)_.*\.py"
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_.*\.py" if os.environ.get("TREEBOUND_GALLERY") == "all" else _quick,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "capture_repr": (),
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "copyfile_regex": r".*\.(csv|toml)",
}
suppress_warnings = ["config.cache"]
