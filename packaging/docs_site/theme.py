"""Mends the theme as Debian 12 has it.

It was built without its own tools: its script stops at the first line, its dark colours wait for a button that the
script would have shown, and it asks the web server for a style sheet that is not of the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ELSEWHERE = re.compile(r"@import url\(/[^)]*\);\n?")
DARK = re.compile(r'body\[data-theme="dark"\] \{(.*?)\}', re.DOTALL)
BY_ITSELF = "@media screen and (prefers-color-scheme: dark) {{ body:not([data-theme='light']) {{{colours}}} }}\n"
IMPORT = re.compile(r'^import (\w+) from "\./([\w.-]+)";\n', re.MULTILINE)
# Sphinx brings them for themes that are older; nothing of ours needs them.
UNUSED = ("jquery.js", "underscore.js", "_sphinx_javascript_frameworks_compat.js")


def mended_style(style: str) -> str:
    """Return a style sheet that asks for nothing, and is dark where the reader's system is."""
    dark = DARK.search(style)
    whole = "prefers-color-scheme" in style
    return ELSEWHERE.sub("", style) + ("" if whole or not dark else BY_ITSELF.format(colours=dark[1]))


def mended_script(script: Path) -> str:
    """Return a script with what it imports before it: browsers load no modules from files."""
    text = script.read_text()
    parts = [(script.parent / name).read_text() for _, name in IMPORT.findall(text)]
    return "\n".join([*parts, IMPORT.sub("", text)])


def _mend(app: Sphinx, error: Exception | None) -> None:
    if error:
        return
    static = Path(app.outdir, "_static")
    style, script = static / "styles/furo.css", static / "scripts/furo.js"
    style.write_text(mended_style(style.read_text()))
    script.write_text(mended_script(script))
    for name in UNUSED:
        (static / name).unlink(missing_ok=True)


def _leave_out(_app: Sphinx, _name: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    scripts = context.get("script_files", [])
    context["script_files"] = [each for each in scripts if not str(each).endswith(UNUSED)]


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx."""
    app.connect("html-page-context", _leave_out)
    app.connect("build-finished", _mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
