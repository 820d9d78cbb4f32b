"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import spectragram

project = "spectragram"
author = "the spectragram authors"
release = version = spectragram.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"spectragram {version}"
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
# Shapes in docstrings, like (n_states, n_words), look like references to attributes that several classes have.
suppress_warnings = ["ref.python"]
autodoc_default_options = {
    # What scikit-learn adds to every estimator is documented there.
    "exclude-members": ", ".join(f"set_{verb}_request" for verb in ("fit", "predict", "score", "transform")),
}
