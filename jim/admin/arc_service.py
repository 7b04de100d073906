"""Installs, checks and removes the files by which A-REX on this machine finds JIM."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jim.admin.finding import FAILED, WARNING, Finding, expected
from jim.admin.home import HOME, closed_place
from jim.admin.known_types import types
from jim.command import run
from jim.doors.arc.request import RUNTIMES, runtime_of
from jim.errors import BadSite, JimError
from jim.files import replace_durably
from jim.guide import guide
from jim.handlers.base import COMMON
from jim.model import Answer
from jim.site.file import Site

TYPE = "jim"
VERBS = ("submit", "cancel", "scan")
HEAD = "# Written by `jim arc register`."
MODULE = HOME / "shell/arc/JIMmod.pm"
PARSER = "lib/arc/arcconfig-parser"
CONFIGURATION = Path("/etc/arc.conf")
PID_FILE = "/run/arched-arex.pid"
AGAIN = "run `jim arc register` as root"
PLAIN = re.compile(r"[A-Z][A-Z0-9_.]*")  # a name that A-REX takes for one of a runtime environment


class Places(NamedTuple):
    """Where A-REX has its things on this machine."""

    location: Path
    configuration: Path
    runtimes: Path | None  # directory; None: the configuration names none

    @property
    def share(self) -> Path:
        """Return the directory in which A-REX looks for back-ends."""
        return self.location / "share/arc"

    def script(self, verb: str) -> Path:
        """Return the path of a script that A-REX calls."""
        return self.share / f"{verb}-{TYPE}-job"

    @property
    def module(self) -> Path:
        """Return the path of the Perl module that A-REX's information provider loads."""
        return self.share / f"{TYPE.upper()}mod.pm"


def places() -> Places:
    """Find A-REX, and ask its configuration for the directory of runtime environments."""
    location = Path(os.environ.get("ARC_LOCATION", "/usr"))
    if not (location / "share/arc/scan-fork-job").exists():
        raise BadSite(
            f"{location}/share/arc has no back-ends of A-REX: install nordugrid-arc-arex, or set ARC_LOCATION"
        )
    configuration = Path(os.environ.get("ARC_CONFIG", CONFIGURATION))
    if not configuration.exists():
        raise BadSite(f"{configuration} does not exist: configure A-REX first, or set ARC_CONFIG")
    runtimes = setting(location, configuration, "arex", "runtimedir")
    return Places(location, configuration, Path(runtimes) if runtimes else None)


def setting(location: Path, configuration: Path, block: str, name: str) -> str:
    """Return the value of a setting of A-REX; empty if it has none."""
    words = [str(location / PARSER), "-c", str(configuration), "-b", block, "-o", name]
    answer = run(words, limit=20)
    return answer.out.strip() if answer.code == 0 else ""


def script(verb: str) -> str:
    """Return the script that A-REX calls: it reads JIM's own."""
    return f"#!/bin/sh\n{HEAD}\njim_shell='{HOME / 'shell'}'\n. \"$jim_shell/arc/{verb}-{TYPE}-job\"\n"


def runtimes(own: str) -> dict[str, str]:
    """Return the contents of runtime environments, which stand for job types, by their names."""
    known = {name: attributes for name, attributes in types(own).items() if PLAIN.fullmatch(name.upper())}
    return {runtime_of(name): _runtime(name, attributes) for name, attributes in known.items()}


def _runtime(job_type: str, attributes: Iterable[str]) -> str:
    options = " ".join(sorted({*COMMON, *attributes}))
    return (
        f"{HEAD}\n# It stands for JIM's job type {job_type}, and no script runs. Options are attributes, NAME=VALUE:\n"
        f"# {options}\n"
    )


# Registering and unregistering


def register(site: Site) -> Iterator[str]:
    """Put each file where A-REX looks for it, and report it; files of others are not touched."""
    where = places()
    _refuse_foreign(where, runtimes(site.site.handlers))
    for verb in VERBS:
        replace_durably(where.script(verb), script(verb).encode(), 0o755)
        yield f"wrote {where.script(verb)}"
    if where.module.is_symlink() and where.module.readlink() == MODULE:
        yield f"{where.module} already leads to {MODULE}"
    else:
        draft = where.module.with_name(f".{where.module.name}.{os.getpid()}")
        draft.symlink_to(MODULE)
        draft.rename(where.module)
        yield f"linked {where.module} to {MODULE}"
    wanted = runtimes(site.site.handlers)
    if where.runtimes:
        yield _write_runtimes(where.runtimes, wanted)
        yield _switch(where, "enable", wanted)
    yield from _to_do(where)


def _write_runtimes(place: Path, wanted: dict[str, str]) -> str:
    for name, text in wanted.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        replace_durably(place / name, text.encode(), 0o644)
    return f"wrote {len(wanted)} runtime environments: {place}/{', '.join(sorted(wanted))}"


def _switch(where: Places, verb: str, names: Iterable[str]) -> str:
    """Enable or disable runtime environments by A-REX's own command; return what to report."""
    answer = _arcctl(where, verb, *sorted(names))
    if answer.code != 0:
        todo = f"as root: arcctl rte {verb} {' '.join(sorted(names))}"
        raise JimError(f"the runtime environments are not {verb}d: {answer.facts()}; {todo}")
    return f"{verb}d them: arcctl rte {verb}"


def _arcctl(where: Places, *words: str) -> Answer:
    own = where.location / "sbin/arcctl"  # few accounts have that directory in PATH
    return run(["env", f"ARC_CONFIG={where.configuration}", str(own), "rte", *words], limit=60)


def _to_do(where: Places) -> Iterator[str]:
    """Yield what only the administrator may change."""
    lines = []
    if setting(where.location, where.configuration, "lrms", "lrms").split()[:1] != [TYPE]:
        lines.append(f"[lrms]   lrms = {TYPE}")
    if not where.runtimes:
        lines.append("[arex]   runtimedir = /etc/arc/runtime, then again: jim arc register")
    if lines:
        yield f"nothing else was changed; now put into {where.configuration}: {'; '.join(lines)}; then restart A-REX"
    else:
        yield "nothing else was changed; restart A-REX, so that it knows the runtime environments"


def unregister(site: Site) -> Iterator[str]:
    """Remove what `register` made, and report it. Jobs that run go on, but nobody tells A-REX of their ends."""
    where = places()
    _refuse_foreign(where)
    for file in (*map(where.script, VERBS), where.module):
        if os.path.lexists(file):
            file.unlink()
            yield f"removed {file}"
    there = _written(where)
    if where.runtimes and there:
        yield from _remove_runtimes(where, where.runtimes, there)
    yield f"nothing else was changed; {where.configuration} is yours: choose another lrms, and restart A-REX"


def _remove_runtimes(where: Places, place: Path, names: list[str]) -> Iterator[str]:
    try:
        yield _switch(where, "disable", names)
    finally:
        for name in names:
            (place / name).unlink()
        for each in {(place / name).parent for name in names}:
            with suppress(OSError):  # it has something else
                each.rmdir()
    yield f"removed {len(names)} runtime environments from {place}"


def _written(where: Places) -> list[str]:
    """Return the names of the runtime environments that JIM has written, also those of job types that are gone."""
    place = where.runtimes
    found = sorted((place / RUNTIMES).glob("*")) if place else []
    return [f"{RUNTIMES}{each.name}" for each in found if each.is_file() and HEAD in _text(each)]


def _refuse_foreign(where: Places, wanted: Iterable[str] = ()) -> None:
    """Refuse early to replace or remove files of others, and if this account may not write everywhere."""
    if not os.access(where.share, os.W_OK):
        raise BadSite(f"this account cannot write to {where.share}; run the command as root")
    for file in map(where.script, VERBS):
        if file.exists() and HEAD not in _text(file):
            raise BadSite(f"{file} was not written by JIM; move it away first")
    if os.path.lexists(where.module) and not _is_link_of_jim(where.module):
        raise BadSite(f"{where.module} is not a link of JIM's; move it away first")
    for file in [where.runtimes / name for name in wanted] if where.runtimes else ():
        if os.path.lexists(file) and not (file.is_file() and HEAD in _text(file)):
            raise BadSite(f"{file} was not written by JIM; move it away first")


def _is_link_of_jim(file: Path) -> bool:
    """Tell whether a file is a link to the module of this JIM, or of one in another place."""
    return file.is_symlink() and file.readlink().parts[-3:] == MODULE.parts[-3:]


# Checking


def findings(site: Site) -> Iterator[Finding]:
    """Tell whether A-REX on this machine can hand jobs to this JIM."""
    try:
        where = places()
    except BadSite as error:
        yield Finding("A-REX", FAILED, str(error), f"see {guide('arc.md')}")
        return
    yield _running(where)
    wrong = [each for each in VERBS if _text(where.script(each)) != script(each)]
    yield expected("scripts", not wrong, f"{where.share}/*-{TYPE}-job lead to {HOME}/shell/arc", AGAIN)
    leads = os.path.realpath(where.module) == os.path.realpath(MODULE)
    yield expected("Perl module", leads, f"{where.module} leads to {MODULE}", AGAIN)
    if leads:
        answer = run(["perl", f"-I{where.share}", f"-M{TYPE.upper()}mod", "-e1"], limit=20)
        yield expected(
            "Perl", answer.code == 0, f"Perl can load the module{f': {answer.facts()}' if answer.code else ''}", ""
        )
    lrms = setting(where.location, where.configuration, "lrms", "lrms")
    todo = f"put into {where.configuration}, under [lrms]: lrms = {TYPE}; then restart A-REX"
    yield expected("lrms", lrms.split()[:1] == [TYPE], f"{where.configuration} has lrms = {TYPE}", todo)
    wanted = runtimes(site.site.handlers)
    missing = [name for name in wanted if not where.runtimes or _text(where.runtimes / name) != wanted[name]]
    told = f"{where.runtimes or 'runtimedir'} has a runtime environment for each job type"
    yield expected("runtime environments", not missing, told, f"{AGAIN}; missing or old: {', '.join(missing)}")
    if where.runtimes and not missing:
        yield _enabled(where, wanted)
    closed = closed_place()
    todo = "move JIM to a place where every account can read it"
    yield expected("accounts", not closed, f"all accounts can enter {closed or HOME}", todo)


def _running(where: Places) -> Finding:
    """Tell whether A-REX runs: otherwise its web service takes in jobs, and nobody hands them to JIM."""
    file = Path(setting(where.location, where.configuration, "arex", "pidfile") or PID_FILE)
    try:
        pid = _text(file).strip()
    except OSError as error:
        words = f"nobody knows whether A-REX runs: cannot read {file}: {error.strerror}"
        return Finding("running", WARNING, words, "run this check as root")
    runs = pid.isdecimal() and Path(f"/proc/{pid}").exists()
    return expected("running", runs, f"A-REX runs, as {file} says", "as root: systemctl start arc-arex")


def _enabled(where: Places, wanted: Iterable[str]) -> Finding:
    """Ask A-REX's own command which runtime environments jobs may name."""
    answer = _arcctl(where, "list", "--enabled")
    if answer.code != 0:
        todo = "run this check as an account that may read A-REX's control directory"
        return Finding(
            "enabled", WARNING, f"nobody knows which runtime environments are enabled: {answer.facts()}", todo
        )
    disabled = sorted({*wanted} - {line.split()[0] for line in answer.out.splitlines() if line.split()})
    todo = f"as root: arcctl rte enable {' '.join(disabled)}"
    return expected("enabled", not disabled, "jobs may name all of these runtime environments", todo)


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""
