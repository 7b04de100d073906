"""What a verb says for every account of a site, for root."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from jim.cli.text import escaped
from jim.errors import BadRequest, BadSite
from jim.reading.site.summaries import ODD
from jim.site import file as site_file

NO_ACCOUNT = "this site has no account yet: nobody can hand in before `jim site init --account NAME`"
T = TypeVar("T")


def of_all_accounts(*words: str) -> tuple[dict[str, str], int]:
    """Return what a verb prints for each account, and the exit code.

    An account that cannot be asked is named on stderr, and hides no other.
    """
    if os.geteuid() != 0 or not site_file.load().managed:
        raise BadRequest(f"--all is for root of a site of several accounts: say `jim {words[0]}`")
    from jim.site.accounts import for_each, run_as

    told = for_each(lambda name: run_as(name, *words), complain)
    if not told:
        raise BadSite(NO_ACCOUNT)
    for name, answer in told:
        if answer.code:
            complain(f"{name}: {answer.facts()}")
    return {name: answer.out for name, answer in told if answer.code == 0}, int(any(each.code for _, each in told))


def documents_of_all_accounts(read: Callable[[Any], T], *words: str) -> tuple[dict[str, T], int]:
    """Return what a verb prints as JSON for each account, read by a function, and the exit code.

    The process of an account prints what the account likes: an answer that makes no sense hides no other.
    """
    answers, code = of_all_accounts(*words)
    documents = dict[str, T]()
    for name, answer in answers.items():
        try:
            documents[name] = read(json.loads(answer))
        except ODD as error:
            complain(f"{name}: the answer of its `jim {words[0]}` makes no sense: {str(error)[:200]}")
            code = 1
    return documents, code


def complain(words: str) -> None:
    """Say on stderr what is wrong."""
    print(f"jim: {escaped(words)}", file=sys.stderr)
