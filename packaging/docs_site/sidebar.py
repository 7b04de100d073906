"""The order of the pages, by what a reader wants to do. A page that is missing here stops the build."""

from __future__ import annotations

from collections.abc import Mapping

FRONT = "README"
# By caption: the words of the sidebar, and the page.
PARTS: Mapping[str, Mapping[str, str]] = {
    "First steps": {
        "What JIM is": FRONT,
        "The command line": "docs/command-line",
        "Glossary": "docs/glossary",
    },
    "Run jobs": {
        "Requests": "docs/requests",
        "Splitting": "docs/splitting",
        "Tasks": "docs/tasks",
        "Web pages": "docs/pages",
        "What jobs publish": "docs/publication",
    },
    "Run a site": {
        "Installing": "docs/installing",
        "Gatekeepers": "docs/gatekeeper",
        "Globus GRAM": "docs/gram",
        "HTCondor-CE": "docs/htcondor-ce",
        "ARC CE": "docs/arc",
        "Operating": "docs/operating",
        "Tuning": "docs/tuning",
        "Settings": "docs/settings",
        "Security": "docs/security",
        "How much one head node carries": "docs/scale",
        "Asking the status DB": "docs/xpath",
        "What is new": "CHANGELOG",
    },
    "Develop": {
        "Architecture": "docs/architecture",
        "The promise": "docs/promise",
        "Files on the disk": "docs/files",
        "Faults that were tried": "docs/glitches",
        "Design: doors": "docs/design/doors",
        "Design: keeper": "docs/design/keeper",
        "Design: tasks": "docs/design/tasks",
        "Design: store": "docs/design/store",
        "Design: wrapper": "docs/design/wrapper",
        "Design: hosts": "docs/design/hosts",
        "Design: senders and limits": "docs/design/senders-and-limits",
        "Design: pages": "docs/design/pages",
        "Adapters": "docs/adapters",
        "Handlers": "docs/handlers",
        "Tests": "docs/tests",
        "Releasing": "docs/releasing",
        "Contributing": "CONTRIBUTING",
        "How changes are told": "changes.d/README",
        "Reporting a weakness": "SECURITY",
        "Code of conduct": "CODE_OF_CONDUCT",
    },
    "Look up": {
        "Verbs": "reference/verbs",
        "Settings": "reference/settings",
        "Attributes of requests": "reference/attributes",
        "Splitters": "reference/splitters",
        "Exit codes": "reference/exit-codes",
        "Kinds of reasons": "reference/reasons",
        "Environment, files, doors": "reference/manual",
    },
}
# The written pages, in their order.
WRITTEN = tuple(page for part in PARTS.values() for page in part.values() if not page.startswith("reference/"))


def tables_of_contents() -> str:
    """Return what is added to the front page, where nobody sees it: Sphinx makes the sidebar of it."""
    parts = (
        [f"```{{toctree}}\n:hidden:\n:caption: {caption}\n"]
        + [f"{words} <{'self' if page == FRONT else f'/{page}'}>" for words, page in pages.items()]
        + ["```\n"]
        for caption, pages in PARTS.items()
    )
    return "\n" + "\n".join(line for part in parts for line in part)
