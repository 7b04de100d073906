"""Tests a batch system without submitting a job: its commands exist, it answers, and its answers are readable."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence

from jim.admin.finding import FAILED, OK, WARNING, Finding
from jim.command import run, scrubbed_environment
from jim.errors import BatchError
from jim.keeper import opening
from jim.model import Answer
from jim.site.file import Site
from jim.site.rules import ROOM
from jim.site.space import free_mb, shortages

COMMANDS, HISTORY, SPACE = "commands", "history", "space"
NO_FILE = re.compile(r"(?:grep: )?/.*: No such file or directory")  # the words of grep, and of qacct
NONE_YET = (
    "if no job has ended in this batch system yet, run a job: `jim site test batch` does, and then asks again; "
    "otherwise correct the file in batch.commands.history"
)
SOME_ID = "1"  # has the form of every batch system's ids; the job need not exist


def commands(site: Site) -> Finding:
    """Look for the program of every batch command."""
    known = {verb: words for verb, words in opening.adapter_of(site).commands.items() if verb not in ROOM}
    path = scrubbed_environment()["PATH"]
    missing: dict[str, list[str]] = {}
    for verb, words in known.items():
        for program in programs(words):
            if not shutil.which(program, path=path):
                missing.setdefault(program, []).append(verb)
    if not missing:
        return Finding(COMMANDS, OK, f"all {len(known)} commands of {site.batch.system} exist")
    said = ", ".join(f"{program} ({', '.join(verbs)})" for program, verbs in missing.items())
    keys = ", ".join(f"batch.commands.{verb}" for verbs in missing.values() for verb in verbs)
    return Finding(
        COMMANDS, FAILED, f"not found: {said}", f"install the missing ones, or give their full paths in {keys}"
    )


def space(site: Site) -> Finding:
    """Tell whether state and work directory have room, without which nothing is sent."""
    short = shortages(site)
    if not short:
        return Finding(
            SPACE, OK, f"state directory: {free_mb(site.state):,} MB, work directory: {free_mb(site.work):,} MB"
        )
    level = FAILED if any(each.stops for each in short) else WARNING
    return Finding(SPACE, level, "; ".join(each.words for each in short), "make room there, or lower the threshold")


def programs(command: Sequence[str]) -> Iterator[str]:
    """Return the program of a command; for `env`, also the program that `env` starts."""
    return (command[at] for at in (0, *opening.behind_env(command)))


def health(site: Site) -> Finding:
    """Tell whether the batch system answers: only the exit code counts."""
    adapter = opening.adapter_of(site)
    answer = run(adapter.ping_command(), limit=site.batch.command_seconds)
    if answer.code != 0:
        return Finding("health", FAILED, answer.facts(), _todo(site, "ping", answer))
    return Finding("health", OK, f"{adapter.name} answers after {answer.seconds:.2f} s")


def listing(site: Site) -> Finding:
    """List all jobs of this account, and read the answer."""
    adapter = opening.adapter_of(site)
    answer = run(adapter.query_command(), limit=site.batch.command_seconds)
    try:
        listed = adapter.parse_query(answer)
    except BatchError as error:
        odd = _unread(answer, "this is not a listing", str(error))
        return Finding("listing", FAILED, odd, _todo(site, "query", answer))
    jobs = f"{len(listed):,} batch job{'s' * (len(listed) != 1)}"
    return Finding("listing", OK, f"{jobs} of this account, after {answer.seconds:.2f} s")


def history(site: Site) -> Finding:
    """Ask how some job ended; "unknown" is a good answer."""
    adapter = opening.adapter_of(site)
    answer = run(adapter.history_command([SOME_ID]), limit=site.batch.command_seconds)
    try:
        adapter.parse_history(answer)
    except BatchError:
        if _has_no_file(answer):
            return Finding(HISTORY, WARNING, answer.facts(), NONE_YET)
        fault = _unread(answer, "this says nothing about jobs, not even that there are none", answer.facts())
        todo = _todo(site, "history", answer, "the source of the history: its server, its file, and who may read it")
        return Finding(HISTORY, FAILED, fault, f"{todo}; until then local jobs wait that die without an exit record")
    return Finding(HISTORY, OK, f"the history answers after {answer.seconds:.2f} s")


def _has_no_file(answer: Answer) -> bool:
    """Tell whether a history says only that its file does not exist: perhaps no job has ended here yet."""
    lines = answer.err.splitlines()
    return bool(lines) and all(NO_FILE.fullmatch(each) for each in lines)


def _unread(answer: Answer, why: str, words: str) -> str:
    """Return what is wrong with an unreadable answer; `why` is added only if the exit code is good."""
    return f"{words}; {why}" if answer.code == 0 else words


def _todo(site: Site, verb: str, answer: Answer, asked: str = "the batch system's server") -> str:
    """Advise on a command that does not answer; `asked` is the place to check."""
    key = f"batch.commands.{verb}"
    if answer.code is None:
        slow = f"if it is only slow, allow it more than batch.command_seconds ({site.batch.command_seconds:g} s)"
        return f"{slow}; otherwise check {asked}, or name another command in {key}"
    if answer.code == 0:
        return f"check what that command prints for this account, and the value of {key}"
    return f"check that this account may run that command, that {key} is right if it is set, and check {asked}"
