"""The numbers and names in the addresses of pages."""

from __future__ import annotations

from werkzeug.routing import BaseConverter, IntegerConverter

TASK_NAME = "[a-z][a-z0-9-]{0,47}"


def in_full(rule: str) -> str:
    """Return a rule with the limits of grid job and local job numbers, and with what a host may be named."""
    rule = rule.replace("<G>", "<int(max=999999999999999):number>").replace("<N>", "<int(max=99999999):n>")
    return (
        rule.replace("<HOST>", "<text:host>")
        .replace("<TASK>", "<task:task>")
        .replace("<ID>", "<int(max=999999999999999):number>")
        .replace("<P>", "<int(max=999999999):p>")
    )


class Number(IntegerConverter):
    """A number in an address: in digits of ASCII, so that there is one address for each page."""

    regex = "[0-9]+"


class Text(BaseConverter):
    """A name in an address that may have any characters, also a slash."""

    regex, part_isolating = ".+", False


class Task(BaseConverter):
    """The name of a task in an address."""

    regex = TASK_NAME


CONVERTERS: dict[str, type[BaseConverter]] = {"text": Text, "int": Number, "task": Task}
