"""Describes the command line of jim as plain data, read from the parsers of its verbs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from jim.cli import VERBS, parser_of


@dataclass(frozen=True)
class Argument:
    """One option, or one positional argument."""

    flags: tuple[str, ...]  # none: a positional argument
    names: tuple[str, ...]  # of its values, for readers; none: it takes no value
    choices: tuple[str, ...]
    help: str
    repeated: bool  # a positional argument that may be given several times

    @property
    def of_files(self) -> bool:
        """Tell whether the last value is the name of a file or directory."""
        return self.names[-1:] in (("FILE",), ("DIR",), ("PATH",))


@dataclass(frozen=True)
class Command:
    """One verb, or a verb together with its second word, such as `site check`."""

    words: tuple[str, ...]
    usage: str
    help: str
    arguments: tuple[Argument, ...]
    below: tuple[Command, ...]

    @property
    def options(self) -> tuple[Argument, ...]:
        """Return the arguments that begin with a dash."""
        return tuple(each for each in self.arguments if each.flags)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """Return the other ones, in their order."""
        return tuple(each for each in self.arguments if not each.flags)


def commands() -> Iterator[Command]:
    """Yield each verb."""
    for name, verb in VERBS.items():
        yield _command((name,), verb.help, parser_of(name))


def all_commands() -> Iterator[Command]:
    """Yield each verb, followed by those with its second words."""
    for each in commands():
        yield each
        yield from each.below


def _command(words: tuple[str, ...], meaning: str, parser: argparse.ArgumentParser) -> Command:
    # Argparse tells of them nowhere else.
    actions = [each for each in parser._actions if each.help != argparse.SUPPRESS]
    arguments = tuple(_argument(each) for each in actions if not isinstance(each, argparse._SubParsersAction))
    below = tuple(found for each in actions for found in _below(words, each))
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    return Command(words, usage, meaning, arguments, below)


def _below(words: tuple[str, ...], action: argparse.Action) -> Iterator[Command]:
    if isinstance(action, argparse._SubParsersAction):
        helps = {each.dest: each.help or "" for each in action._choices_actions}
        for name, parser in action.choices.items():
            yield _command((*words, name), helps.get(name, ""), parser)


def _argument(action: argparse.Action) -> Argument:
    given = action.metavar or (action.dest if not action.option_strings else action.dest.upper())
    names = () if action.nargs == 0 else (given,) if isinstance(given, str) else tuple(given)
    choices = tuple(each for each in map(str, action.choices or ()) if " " not in each)  # shells would part it
    several = action.nargs in ("*", "+") and not action.option_strings
    return Argument(tuple(action.option_strings), names, choices, (action.help or "") % vars(action), several)
