"""Pages from the command line: a page of each verb and of each exit code, and what manual pages say beside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from man import DOORS, ENVIRONMENT, FILES

from docs_site.markdown_text import Page, block, code, page, places, plain, sentence, table
from jim.cli import EXIT_CODES, HEADS, VERBS
from jim.cli.described import Argument, Command, commands

UP = "../../"


def pages() -> Iterator[Page]:
    """Yield all pages of the command line."""
    found = list(commands())
    yield _verbs(found)
    yield from map(_verb, found)
    yield _exit_codes()
    yield from (_exit_code(number, meaning) for number, meaning in EXIT_CODES.items())
    yield _manual()


def _verbs(found: Iterable[Command]) -> Page:
    parts: list[str] = []
    rows: list[tuple[str, str]] = []
    for each in found:
        name = each.words[0]
        if name in HEADS:
            parts += [table(("verb", "what it does"), rows)] * bool(rows)
            parts.append(f"## {HEADS[name].strip().rstrip(':').capitalize()}\n")
            rows = []
        rows.append((f"[`jim {name}`](verbs/{name}.md)", plain(each.help)))
    parts.append(table(("verb", "what it does"), rows))
    return page("reference/verbs", "Verbs", "What `jim VERB --help` prints, a page of each.\n", *parts)


def _verb(command: Command) -> Page:
    name = command.words[0]
    spoken = re.compile(rf"(^|[\s/])jim {name}\b(?!-)")
    doors = [(code(door), plain(meaning)) for door, meaning in DOORS.items() if door.split()[0] == f"jim-{name}"]
    return page(
        f"reference/verbs/{name}",
        code(f"jim {name}"),
        f"{sentence(command.help)}\n",
        block("\n".join(each.usage for each in command.below or (command,))),
        *_arguments("## {}\n\n", command),
        *(part for each in command.below for part in _second_word(each)),
        f"## Example\n\n{block(VERBS[name].example)}",
        f"## For gatekeepers\n\n{table(('command', 'what it does'), doors)}" if doors else "",
        places(spoken.search, UP),
        above=("Verbs", "../verbs.md"),
    )


def _second_word(command: Command) -> Iterator[str]:
    yield f"## {' '.join(command.words)}\n"
    yield f"{sentence(command.help)}\n"
    yield from _arguments("", command)


def _arguments(heading: str, command: Command) -> Iterator[str]:
    for title, arguments in (("Arguments", command.positional), ("Options", command.options)):
        shown = [each for each in arguments if "--help" not in each.flags]
        if shown:
            yield heading.format(title) + table((title[:-1].lower(), "meaning"), map(_row, shown))


def _row(argument: Argument) -> tuple[str, str]:
    values = " ".join(argument.names)
    shown = [f"{flag} {values}".strip() for flag in argument.flags] or [values]
    choices = f"one of {', '.join(map(code, argument.choices))}" if argument.choices else ""
    return " ".join(map(code, shown)), "; ".join(filter(None, (plain(argument.help), choices)))


def _exit_codes() -> Page:
    rows = [(f"[{number}](exit-codes/{number}.md)", plain(meaning)) for number, meaning in EXIT_CODES.items()]
    words = "With what `jim` ends, whichever its verb is. `jim run` exits as its program did.\n"
    return page("reference/exit-codes", "Exit codes", words, table(("exit code", "meaning"), rows))


def _exit_code(number: int, meaning: str) -> Page:
    spoken = re.compile(rf"\b(exit|code) {number}\b")
    return page(
        f"reference/exit-codes/{number}",
        f"Exit code {number}",
        f"{sentence(meaning)}\n",
        places(spoken.search, UP),
        above=("Exit codes", "../exit-codes.md"),
    )


def _manual() -> Page:
    words = "What the manual page jim(1) says beside verbs and exit codes.\n"
    tables = {
        "Environment": (("variable", "meaning"), ENVIRONMENT),
        "Files": (("file", "what it is"), FILES),
        "Commands for gatekeepers": (("command", "what it does"), DOORS),
    }
    parts = [
        f"## {title}\n\n{table(heads, ((code(name), plain(meaning)) for name, meaning in pairs.items()))}"
        for title, (heads, pairs) in tables.items()
    ]
    return page("reference/manual", "Environment, files, doors", words, *parts)
