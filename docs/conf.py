"""How the documentation is built."""

import re
import sys
import warnings
from importlib.metadata import metadata
from pathlib import Path

from numpydoc.xref import DEFAULT_LINKS

sys.path.insert(0, str(Path(__file__).parent / "_ext"))


def classes_of_pages() -> dict[str, str]:
    """The classes that the reference lists, by their short names, if these are of one class."""
    names_of: dict[str, list[str]] = {}
    for page in Path(__file__).parent.glob("api/*.rst"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if line.startswith(".. currentmodule::"):
                module = line.split()[-1]
            elif match := re.fullmatch(r"   ((?:\w+\.)*([A-Z]\w+))", line):
                names_of.setdefault(match[2], []).append(f"{module}.{match[1]}")
    return {short: names[0] for short, names in names_of.items() if len(names) == 1}


_about = metadata("treebound")
project = "treebound"
author = "The treebound developers"
copyright = "2026, the treebound developers"
release = version = _about["Version"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "code_text",
    "results",
    "returned",
    "sphinx_llms_txt",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "**sg_execution_times.rst"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = f"treebound {version}"
html_static_path = ["_static"]
html_css_files = ["treebound.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": f"treebound {version}"},
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    # The links of the package's metadata, so that they are written down once.
    "external_links": [
        {"name": name.replace("Homepage", "Source"), "url": url}
        for name, url in (line.split(", ", 1) for line in _about.get_all("Project-URL") or ())
        if name != "Documentation"
    ],
}
# Pages without pages below them have no bar on the left.
html_sidebars = {page: [] for page in ("index", "start", "evidence", "theory", "contributing")}
toc_object_entries_show_parents = "hide"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
# Every parameter is described, under its name and in its place.
numpydoc_validation_checks = {"PR02", "PR03", "PR07", "SS01", "SS02", "SS03"}
# Types in the sections of parameters link to their pages; others are plain words.
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc_xref_aliases = dict(zip(DEFAULT_LINKS, DEFAULT_LINKS, strict=True)) | classes_of_pages()

# A warning would be printed on the page, with the path of a file.
warnings.filterwarnings("error", module="__main__")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_.*\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "capture_repr": (),
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "copyfile_regex": r".*\.(csv|toml)",
}
suppress_warnings = ["config.cache"]
