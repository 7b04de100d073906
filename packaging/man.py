"""Writes the manual pages of jim into a directory: one of all verbs, and one of each verb."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from jim import __version__
from jim.cli import EXIT_CODES, VERBS
from jim.cli.described import Argument, Command, commands

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
    "jim-submit FILE": "submit a request, and print the number of its grid job",
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


def jim() -> str:
    """Return the page of all verbs."""
    examples = "\n".join(plain(verb.example) for verb in VERBS.values())
    return (
        _head("JIM", "jim", "run grid jobs on the batch system of this site")
        + ".SH SYNOPSIS\n.B jim\n.I VERB\n.RI [ ARGUMENTS ]\n"
        ".SH DESCRIPTION\n"
        + plain(
            "JIM takes one grid job, splits it into as many local jobs as the work needs, has the batch system run "
            "each of them once, and hands back one status and one tar. A grid job is named by its number, such as 12, "
            "and a local job of it by 12.3."
        )
        + "\n.SH VERBS\n"
        + plain("Each verb has a page of its own, such as jim-submit(1).")
        + "\n"
        + terms({name: verb.help for name, verb in VERBS.items()})
        + f".SH COMMANDS FOR GATEKEEPERS\n{terms(DOORS)}.SH EXAMPLES\n.nf\n{examples}\n.fi\n"
        + ".SH EXIT STATUS\n"
        + terms({str(code): meaning for code, meaning in EXIT_CODES.items()})
        + f".SH ENVIRONMENT\n{terms(ENVIRONMENT)}.SH FILES\n{terms(FILES)}"
    )


def of_verb(command: Command) -> str:
    """Return the page of one verb."""
    name = f"jim-{command.words[0]}"
    usages = [each.usage for each in command.below or (command,)]
    synopsis = "\n.br\n".join(map(plain, usages))
    doors = {door: meaning for door, meaning in DOORS.items() if door.split()[0] == name}
    return (
        _head(name.upper(), name, command.help)
        + f".SH SYNOPSIS\n{synopsis}\n"
        + _arguments("ARGUMENTS", command.positional)
        + _arguments("OPTIONS", command.options)
        + "".join(_second_word(each) for each in command.below)
        + f".SH EXAMPLE\n.nf\n{plain(VERBS[command.words[0]].example)}\n.fi\n"
        + (f".SH COMMAND FOR GATEKEEPERS\n{terms(doors)}" if doors else "")
        + ".SH SEE ALSO\n.BR jim (1)\n"
    )


def _head(title: str, name: str, meaning: str) -> str:
    return (
        f'.TH {plain(title)} 1 "" "JIM {__version__}" "User Commands"\n.SH NAME\n{plain(name)} \\- {plain(meaning)}\n'
    )


def _second_word(command: Command) -> str:
    shown = [each for each in command.arguments if "--help" not in each.flags]
    words = plain(" ".join(command.words[1:]))
    return f'.SH "THE VERB {words}"\n{plain(_sentence(command.help))}\n{_terms(shown)}'


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _arguments(title: str, arguments: Iterable[Argument]) -> str:
    found = _terms(arguments)
    return f".SH {title}\n{found}" if found else ""


def _terms(arguments: Iterable[Argument]) -> str:
    return terms({_shown(each): _meaning(each) for each in arguments})


def _shown(argument: Argument) -> str:
    values = " ".join(argument.names)
    return f"{', '.join(argument.flags)} {values}".strip()


def _meaning(argument: Argument) -> str:
    return f"{argument.help}{': ' if argument.help and argument.choices else ''}{', '.join(argument.choices)}"


if __name__ == "__main__":
    into = Path(sys.argv[1])
    into.joinpath("jim.1").write_text(jim())
    for each in commands():
        into.joinpath(f"jim-{each.words[0]}.1").write_text(of_verb(each))
