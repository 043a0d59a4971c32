"""Sphinx configuration: the pages beside this file, and the libraries' docstrings."""

project = "qattn"
author = copyright = "The qattn developers"
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
html_theme = "furo"
exclude_patterns = ["_build", "results/*/figures"]
suppress_warnings = ["myst.xref_missing"]
