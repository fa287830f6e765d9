"""The documentation site: `make docs` builds it, without a network, into out/docs."""

import re
import sys
from importlib.metadata import version as installed_version

sys.path.insert(0, __file__.rpartition("/")[0])  # for gallery_figures

project = "raffia"
author = "the raffia maintainers"
release = version = installed_version("raffia")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",  # brings MathJax and its fonts, so that no page needs a network
]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "images",
    "_templates",
    "gallery/*.ipynb",
    "gallery/*.py.md5",
    "gallery/*.codeobj.json",
    "sg_execution_times.rst",
]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "raffia"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_theme_options = {"sidebar_hide_name": False}

autodoc_typehints = "none"  # descriptions have the shapes; types such as Float[Tensor, "n *grid"] would hide them
autodoc_member_order = "bysource"
autosummary_generate = True
suppress_warnings = ["ref.python"]  # words such as "shape" in the types of parameters are not references
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_param = False  # parameters that share a description share a line
napoleon_attr_annotations = False
napoleon_use_ivar = True  # attributes are described where the class is, and not again one by one

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "image_scrapers": ("gallery_figures.scrape", "matplotlib"),
    "capture_repr": (),
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "show_memory": False,
    "notebook_images": False,
}


def escape_mathematics(app, what, name, obj, options, lines):
    """Keep shapes such as (n, *grid) and norms such as |x| in docstrings from being read as markup."""
    code = (">>>", "...")
    lines[:] = [
        line if line.lstrip().startswith(code) else re.sub(r"(?<![\\*\w])\*(?=[\w.])|\|", r"\\\g<0>", line) for line in lines
    ]


def setup(app):
    """Connect the events of Sphinx."""
    app.connect("autodoc-process-docstring", escape_mathematics)
