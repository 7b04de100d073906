"""Asking a batch system without handing it a job: are its commands there, does it answer, what does it tell."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from jim.admin.finding import FAILED, OK, Finding
from jim.command import run, scrubbed_environment
from jim.errors import BatchError
from jim.keeper import opening
from jim.model import Answer
from jim.site.file import Site

COMMANDS = "commands"
SOME_ID = "1"  # in the form that all of ours take; nobody need know this job


def commands(site: Site) -> Finding:
    """Look for the program of every batch command."""
    known = opening.adapter_of(site).commands
    path = scrubbed_environment()["PATH"]
    missing: dict[str, list[str]] = {}
    for verb, words in known.items():
        for program in programs(words):
            if not shutil.which(program, path=path):
                missing.setdefault(program, []).append(verb)
    own = site.batch.programs
    if own and not any(Path(own) in Path(each).parents for words in known.values() for each in programs(words)):
        said = f"batch.programs: {own} has none of the commands of {site.batch.system}"
        return Finding(COMMANDS, FAILED, said, "name the directory that has them, or give each in batch.commands")
    if not missing:
        return Finding(COMMANDS, OK, f"all {len(known)} commands of {site.batch.system} are there")
    said = ", ".join(f"{program} ({', '.join(verbs)})" for program, verbs in missing.items())
    keys = ", ".join(f"batch.commands.{verb}" for verbs in missing.values() for verb in verbs)
    return Finding(COMMANDS, FAILED, f"not found: {said}", f"install what is missing, or give its full path in {keys}")


def programs(command: Sequence[str]) -> Iterator[str]:
    """Name the program of a command; where that is `env`, also what it is to start."""
    return (command[at] for at in (0, *opening.behind_env(command)))


def health(site: Site) -> Finding:
    """Ask whether it answers: of this its exit code is all that counts."""
    adapter = opening.adapter_of(site)
    answer = run(adapter.ping_command(), limit=site.batch.command_seconds)
    if answer.code != 0:
        return Finding("health", FAILED, answer.facts(), _todo(site, "ping", answer))
    return Finding("health", OK, f"{adapter.name} answers after {answer.seconds:.2f} s")


def listing(site: Site) -> Finding:
    """Ask for all jobs of this account, and read what comes."""
    adapter = opening.adapter_of(site)
    answer = run(adapter.query_command(), limit=site.batch.command_seconds)
    try:
        listed = adapter.parse_query(answer)
    except BatchError:
        return Finding("listing", FAILED, _unread(answer, "that is no listing"), _todo(site, "query", answer))
    return Finding("listing", OK, f"{len(listed):,} batch jobs of this account, after {answer.seconds:.2f} s")


def history(site: Site) -> Finding:
    """Ask what became of some job; that it is not known is a good answer."""
    adapter = opening.adapter_of(site)
    answer = run(adapter.history_command([SOME_ID]), limit=site.batch.command_seconds)
    try:
        adapter.parse_history(answer)
    except BatchError:
        said = _unread(answer, "that tells of no jobs, not even that there are none")
        todo = _todo(site, "history", answer, "what keeps the accounts: its server, its file and who may read that")
        return Finding("history", FAILED, said, f"{todo}; local jobs that die without an exit record wait for it")
    return Finding("history", OK, f"what became of ended jobs can be asked, after {answer.seconds:.2f} s")


def _unread(answer: Answer, why: str) -> str:
    """Tell what came that could not be read; `why` not is worth a word only where its exit code is good."""
    return f"{answer.facts()}; {why}" if answer.code == 0 else answer.facts()


def _todo(site: Site, verb: str, answer: Answer, asked: str = "the batch system's server") -> str:
    """Say what to change so that a command answers; `asked` is who does not."""
    key = f"batch.commands.{verb}"
    if answer.code is None:
        slow = f"if it is only slow, let it have more than batch.command_seconds ({site.batch.command_seconds:g} s)"
        return f"{slow}; else look at {asked}, or name another command in {key}"
    if answer.code == 0:
        return f"see what this account gets from that command, and what {key} makes of it"
    return f"see that this account may run that command, that {key} is right where it is set, and look at {asked}"
