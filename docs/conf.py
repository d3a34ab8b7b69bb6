"""How the documentation is built: ``make docs``, without the network and without warnings."""

import bnplug

project = "bnplug"
author = "The bnplug developers"
copyright = "The bnplug developers"
version = release = bnplug.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser"]
html_theme = "pydata_sphinx_theme"
html_title = "bnplug"
html_show_sourcelink = False
exclude_patterns = ["_build"]
autodoc_typehints = "none"
autosummary_generate = False
numpydoc_show_class_members = False
myst_heading_anchors = 3
