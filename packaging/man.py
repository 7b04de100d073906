"""Prints the manual page of jim, from the help of its verbs."""

import sys
from collections.abc import Mapping

from jim import __version__
from jim.cli import EXIT_CODES, VERBS

ENVIRONMENT = {
    "JIM_STATE": "the state directory; a person can set it even on a managed machine",
    "JIM_SITE": "the site file, instead of the usual place",
    "JIM_PYTHON": "the Python that runs JIM",
    "NO_COLOR": "any value removes colours from tables",
}
FILES = {
    "/etc/jim/site.toml": "the settings of a managed machine, for several accounts",
    "/var/lib/jim/ACCOUNT": "the files of an account there: database, log, and by default its work directory",
    "~/.local/state/jim": "the same for a person on another machine",
}
DOORS = {
    "jim-submit FILE": "submit a request",
    "jim-poll G": "print the state of a grid job, as GRAM expects it",
    "jim-cancel G": "cancel a grid job or one of its local jobs",
}


def plain(text: str) -> str:
    """Escape characters that are special in roff."""
    words = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{words}" if words[:1] in (".", "'") else words


def terms(pairs: Mapping[str, str]) -> str:
    """Return each name in bold, with its meaning below."""
    return "".join(f".TP\n.B {plain(name)}\n{plain(meaning)}\n" for name, meaning in pairs.items())


def page() -> str:
    """Return the whole page."""
    examples = "\n".join(plain(verb.example) for verb in VERBS.values())
    return (
        f'.TH JIM 1 "" "JIM {__version__}" "User Commands"\n'
        ".SH NAME\njim \\- run grid jobs on the batch system of this site\n"
        ".SH SYNOPSIS\n.B jim\n.I VERB\n.RI [ ARGUMENTS ]\n"
        ".SH DESCRIPTION\n"
        + plain(
            "JIM takes one grid job, splits it into as many local jobs as the work needs, has the batch system run "
            "each of them once, and hands back one status and one tar. A grid job is named by its number, such as 12, "
            "and a local job of it by 12.3."
        )
        + "\n.SH VERBS\n"
        + plain("`jim VERB --help` lists the arguments of each.")
        + "\n"
        + terms({name: verb.help for name, verb in VERBS.items()})
        + ".SH COMMANDS FOR GATEKEEPERS\n"
        + terms(DOORS)
        + f".SH EXAMPLES\n.nf\n{examples}\n.fi\n"
        + ".SH EXIT STATUS\n"
        + terms({str(code): meaning for code, meaning in EXIT_CODES.items()})
        + f".SH ENVIRONMENT\n{terms(ENVIRONMENT)}.SH FILES\n{terms(FILES)}"
    )


sys.stdout.write(page())
