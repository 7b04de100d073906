"""jim completion: what completes the command line of jim in a shell, made from the parsers of its verbs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from shlex import quote

from jim.cli.described import Argument, Command, all_commands, commands
from jim.cli.text import say

HEAD = "# Completes the command line of jim. Made from the parsers of its verbs.\n"
HELP = ("-h", "--help")

# bash


def bash() -> str:
    """Return a completion for bash."""
    return f"""{HEAD}
_jim() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb= words= files=
    [ "$COMP_CWORD" = 1 ] || verb=${{COMP_WORDS[1]}}
    case $verb in {_with_second_words()}) [ "$COMP_CWORD" = 2 ] || verb="$verb ${{COMP_WORDS[2]}}" ;; esac
    case "$verb|$before" in
{_bash_values()}
    *)
        case $verb in
{_bash_words()}
        esac
        ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ -z "$files" ] || {{
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$word")
    }}
}}
complete -F _jim jim
"""


def _with_second_words() -> str:
    return " | ".join(each.words[0] for each in commands() if each.below)


def _bash_values() -> str:
    """Return what follows an option that takes a value."""
    lines = []
    for each in all_commands():
        for option in each.options:
            if option.names:
                where = " | ".join(f'"{" ".join(each.words)}|{flag}"' for flag in option.flags)
                lines.append(f"    {where}) {_bash_given(option.choices, files=option.of_files)} ;;")
    return "\n".join(lines)


def _bash_words() -> str:
    verbs = tuple(each.words[0] for each in commands())
    lines = [f"        '') {_bash_given((*verbs, 'help', '--help', '--version'), files=False)} ;;"]
    lines += [f"        help) {_bash_given(verbs, files=False)} ;;"]
    for each in all_commands():
        files = any(argument.of_files for argument in each.positional)
        lines.append(f'        "{" ".join(each.words)}") {_bash_given(_words_of(each), files=files)} ;;')
    return "\n".join(lines)


def _words_of(command: Command) -> tuple[str, ...]:
    choices = tuple(choice for each in command.positional for choice in each.choices)
    flags = tuple(flag for each in command.options for flag in each.flags if flag.startswith("--"))
    return (*(each.words[-1] for each in command.below), *choices, *flags)


def _bash_given(words: Sequence[str], *, files: bool) -> str:
    given = [f"words={quote(' '.join(words))}"] if words else []
    return "; ".join([*given, *(["files=1"] if files else [])]) or ":"


# zsh


def zsh() -> str:
    """Return a completion for zsh."""
    verbs = "\n".join(f"    {quote(f'{each.words[0]}:{each.help}')}" for each in commands())
    cases = "\n".join(f"    {each.words[0]}) {_zsh_case(each)} ;;" for each in commands())
    return f"""#compdef jim
{HEAD}
local -a verbs seconds
verbs=(
{verbs}
    'help:show the help of a verb'
)
if (( CURRENT == 2 )); then
    _describe 'verb' verbs
    return
fi
shift words
(( CURRENT-- ))
case $words[1] in
{cases}
    help) _describe 'verb' verbs ;;
esac
"""


def _zsh_case(command: Command) -> str:
    if not command.below:
        return _zsh_arguments(command)
    seconds = " ".join(quote(f"{each.words[-1]}:{each.help}") for each in command.below)
    cases = "\n".join(f"            {each.words[-1]}) {_zsh_arguments(each)} ;;" for each in command.below)
    return f"""
        if (( CURRENT == 2 )); then
            seconds=({seconds})
            _describe 'second word' seconds
            return
        fi
        shift words
        (( CURRENT-- ))
        case $words[1] in
{cases}
        esac"""


def _zsh_arguments(command: Command) -> str:
    words = [quote(each) for option in command.options for each in _zsh_option(option)]
    words += [
        quote(f"{'*' if each.repeated else ''}:{each.names[0]}:{_zsh_values(each)}") for each in command.positional
    ]
    return " ".join(["_arguments", *words])


def _zsh_option(option: Argument) -> Iterator[str]:
    meaning = "".join(f"\\{each}" if each in "[]:\\" else each for each in option.help)
    values = "".join(f":{name}:{_zsh_values(option)}" for name in option.names)
    for flag in option.flags:
        yield f"{flag}[{meaning}]{values}"


def _zsh_values(argument: Argument) -> str:
    """Return what may stand there. With " ", zsh would show a message instead of completing an option."""
    return "_files" if argument.of_files else f"({' '.join(argument.choices)})"


# fish


def fish() -> str:
    """Return a completion for fish."""
    lines = [HEAD, "complete -c jim -f", *_fish_verbs()]
    for each in all_commands():
        after = "".join(f"; and __fish_seen_subcommand_from {word}" for word in each.words)
        when = f"test (count (commandline -opc)) -ge {len(each.words) + 1}{after}"
        lines += _fish_command(each, f"complete -c jim -n '{when}'")
    return "\n".join(lines) + "\n"


def _fish_verbs() -> Iterator[str]:
    first = "complete -c jim -n '__fish_is_nth_token 1'"
    second = "complete -c jim -n '__fish_seen_subcommand_from help'"
    for each in commands():
        yield f"{first} -a {each.words[0]} -d {_fish(each.help)}"
        yield f"{second} -a {each.words[0]} -d {_fish(each.help)}"
    yield f"{first} -a help -d 'show the help of a verb'"
    yield f"{first} -l version -d 'print the version of JIM'"


def _fish_command(command: Command, begin: str) -> Iterator[str]:
    for below in command.below:
        when = f"complete -c jim -n '__fish_is_nth_token 2; and __fish_seen_subcommand_from {command.words[0]}'"
        yield f"{when} -a {below.words[-1]} -d {_fish(below.help)}"
    for each in command.options:
        flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in each.flags)
        values = f" -x -a {_fish(' '.join(each.choices))}" if each.choices else " -r -F" if each.of_files else " -x"
        yield f"{begin} {flags}{values if each.names else ''} -d {_fish(each.help)}"
    for each in command.positional:
        if each.of_files:
            yield f"{begin} -F"
        if each.choices:
            yield f"{begin} -a {_fish(' '.join(each.choices))}"


def _fish(text: str) -> str:
    """Quote a word for fish."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: Mapping[str, Callable[[], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `jim completion`."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the completion of a shell."""
    say(SHELLS[arguments.shell]().removesuffix("\n"))
    return 0
