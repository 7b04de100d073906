"""What Sphinx is told; the source is the root of the repository, and `make docs` calls it."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "packaging")]

from jim import __version__  # noqa: E402  after its place is known

project = "JIM"
version = release = __version__
extensions = ["myst_parser", "docs_site.extension", "docs_site.theme"]
source_suffix = {".md": "markdown"}
root_doc = "README"
myst_heading_anchors = 6  # as forges make them
myst_ref_domains = ["std"]  # no link leads to a function of C++
language = "en"
smartquotes = False  # quotes and dashes are as they are written: some are to be typed

html_theme = "furo"
html_title = f"JIM {__version__}"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = False
html_domain_indices = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
# Blocks without a language are settings, commands, answers of programs: nothing to colour.
highlight_language = "text"
