"""How the documentation is built: ``make docs``, without the network and without warnings."""

import sys
import warnings
from pathlib import Path

import bnplug

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

# pgmpy warns of its own next version when it is imported; an example would show that as its output.
warnings.filterwarnings("ignore", category=FutureWarning, module="pgmpy")

project = "bnplug"
author = "The bnplug developers"
copyright = "The bnplug developers"
version = release = bnplug.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "bnplug_docs",
    "api_pages",
    "versions",
    "built",
]
html_theme = "pydata_sphinx_theme"
html_title = f"bnplug {release}"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["bnplug.css"]
html_js_files = ["bnplug.js"]
templates_path = ["_templates"]
html_theme_options = {
    "logo": {"text": "bnplug"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_end": ["versions", "theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# The front page and the list of names need no sidebar; a name's page shows its neighbours.
html_sidebars = {"index": [], "api": [], "api/**": ["api-siblings"]}
# The gallery's own notebooks are there to be downloaded.
exclude_patterns = ["_build", "measured", "auto_examples/*.ipynb"]
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autosummary_generate = False
numpydoc_show_class_members = False
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

# The notebooks are kept without what they print, and are run when the pages are built; a cell that fails ends that.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_execution_in_temp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "gallery_order.ExampleOrder",
    "doc_module": ("bnplug",),
    "reference_url": {"bnplug": None},
    "show_memory": False,
    "download_all_examples": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "matplotlib_animations": False,
}
