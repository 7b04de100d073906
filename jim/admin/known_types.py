"""The job types that a site offers: JIM's own, and those of the site that can be loaded, with their attributes.

The site's own code is no code of root's. If not root alone can change it, a process of another account loads it and
says what root needs to know; what it says counts as the words of a stranger.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jim import request
from jim.command import run
from jim.errors import BadRequest, JimError, plain
from jim.reading.site.summaries import ODD, text
from jim.trust import ROOT, of_others

CALL = "from jim.admin.known_types import child; import sys; child(sys.argv[1])"
LIMIT_SECONDS, LONGEST, LONGEST_HELP = 60.0, 4 * 1024 * 1024, 500
MOST = 1000  # job types of a site, and attributes of each
NAME, DOTTED = re.compile(r"[A-Za-z_]\w{0,63}", re.ASCII), re.compile(r"[a-z_]\w*(\.[a-z_]\w*)+", re.ASCII)
NOBODY = "nobody"


class Declared(NamedTuple):
    """What a job type says of one of its attributes."""

    help: str
    also: tuple[str, ...] = ()  # other names


Types = Mapping[str, Mapping[str, Declared]]


def types(own: str = "") -> Types:
    """Return JIM's job types, and then the site's own."""
    if not is_of_others(own):
        return _types_in(own)
    try:
        return {**_types_in(""), **_checked(said_by_owner(own, CALL))}
    except ODD as error:
        raise JimError(f"the job types in {own} are not known: {plain(str(error)[:500])}") from error


def is_of_others(own: str) -> bool:
    """Tell whether this process is root's, and others can change the site's code."""
    return bool(own) and os.geteuid() == ROOT and next(of_others(Path(own), ROOT), None) is not None


def said_by_owner(own: str, call: str) -> Any:
    """Return the JSON that a call prints in a process of the code's owner, who can change it anyway.

    Code in a directory of root's is loaded by an account without rights.
    """
    command = (sys.executable, "-P", "-s", "-c", call, own)
    answer = run(command, limit=LIMIT_SECONDS, account=_name_of(Path(own).stat().st_uid), longest=LONGEST)
    if answer.code != 0:
        raise JimError(answer.facts())
    return json.loads(answer.out)


def _types_in(own: str) -> dict[str, dict[str, Declared]]:
    known = sorted(request.job_types(own), key=lambda name: ("." in name, name))
    found = {name: _declared(name, own) for name in known}
    return {name: declared for name, declared in found.items() if declared is not None}


def _declared(name: str, own: str) -> dict[str, Declared] | None:
    """Return the attributes of a job type; None if it cannot be loaded."""
    try:
        attributes = request.handler_of(name, own).attributes
    except BadRequest:
        if "." not in name:
            raise
        return None
    return {each: Declared(one.help, tuple(one.also)) for each, one in attributes.items()}


def _name_of(owner: int) -> str:
    try:
        return NOBODY if owner == ROOT else pwd.getpwuid(owner).pw_name
    except KeyError:
        return NOBODY


def _checked(said: Any) -> dict[str, dict[str, Declared]]:
    if len(said) > MOST or any(len(each) > MOST for each in said.values()):
        raise ValueError(f"more than {MOST:,} names")
    return {
        _name(name, DOTTED): {_name(each, NAME): _attribute(*one) for each, one in attributes.items()}
        for name, attributes in said.items()
    }


def _attribute(help_: Any, also: Any) -> Declared:
    return Declared(plain(text(help_, LONGEST_HELP)), tuple(_name(each, NAME) for each in also))


def _name(word: Any, pattern: re.Pattern[str]) -> str:
    if not isinstance(word, str) or len(word) > LONGEST_HELP or not pattern.fullmatch(word):
        raise ValueError(f"{plain(str(word)[:80])!r} is no name")
    return word


def child(own: str) -> None:
    """Print what the site's own job types declare; in a process that is not root's."""
    os.listdir(own)  # noqa: PTH208 - who may not read it has to say so
    json.dump({name: declared for name, declared in _types_in(own).items() if "." in name}, sys.stdout)
