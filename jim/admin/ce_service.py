"""Installs, checks and removes the files by which HTCondor-CE on this machine finds JIM."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from jim.admin.finding import FAILED, OK, WARNING, Finding, expected
from jim.admin.home import HOME, closed_place
from jim.clock import Clock
from jim.command import run
from jim.doors.condor.tending import forgotten
from jim.errors import BadSite
from jim.files import replace_durably
from jim.guide import guide
from jim.site.file import Site
from jim.statusdb import is_there, open_store

TYPE = "jim"
VERBS = ("submit", "status", "cancel", "hold", "resume", "ping")
HEAD = "# Written by `jim ce register`."
CONFIGURATION = "60-jim.conf"
# Only texts of a job's ad pass the router and blahpd, so the route says what becomes of each.
ROUTE = f"""\
{HEAD} You may change the route; JIM does not write this file again.
JOB_ROUTER_ROUTE_NAMES = $(JOB_ROUTER_ROUTE_NAMES) {TYPE}
JOB_ROUTER_ROUTE_{TYPE} @=end
    REQUIREMENTS JobUniverse == 5 && WantJim =!= false
    UNIVERSE GRID
    GridResource = "batch {TYPE}"
    COPY /^JIM_(.+)$/ remote_JIM_\\1
    COPY queue_name BatchQueue
    COPY queue BatchQueue
    COPY RequestCpus remote_NodeNumber
    if defined MY.xcount
        COPY xcount remote_NodeNumber
    endif
    # If nobody asks for memory, HTCondor asks for the size of the executable.
    EVALSET RequestMemory ifThenElse(regexp("^[0-9]+$", unparse(RequestMemory)), RequestMemory, undefined)
    if defined MY.maxMemory
        COPY maxMemory RequestMemory
    endif
    if defined MY.maxWallTime
        EVALSET BatchRuntime MY.maxWallTime * 60
    endif
    MaxJobs = 10000
    MaxIdleJobs = 2000
@end
"""
PASSES_ALL = "blah_pass_all_submit_attributes=yes"
BLAH_LINES = f"{HEAD} blahpd passes on the attributes of jobs.\n{PASSES_ALL}\n"
FORGOTTEN_SECONDS = 6 * 3600.0
AGAIN = "run `jim ce register` as root"


class Places(NamedTuple):
    """Where HTCondor-CE, or an HTCondor that is used like one, has its things on this machine."""

    tool: str  # that tells the value of a setting
    scripts: Path  # of blahpd
    blah_config: Path
    configuration: Path  # directory
    spool: str  # where the schedd puts the files of jobs

    @property
    def reconfigure(self) -> str:
        """Return the name of the command that reads settings anew; only root may have it in PATH."""
        return self.tool.replace("config_val", "reconfig")

    @property
    def route(self) -> Path:
        """Return the file with JIM's route."""
        return self.configuration / CONFIGURATION


def command(name: str) -> str:
    """Return the name of a command of HTCondor-CE if there is one, or else of HTCondor; empty if there is neither."""
    return next((each for each in (f"condor_ce_{name}", f"condor_{name}") if shutil.which(each)), "")


def places() -> Places:
    """Ask HTCondor where its things are."""
    tool = command("config_val")
    if not tool:
        raise BadSite("neither condor_ce_config_val nor condor_config_val is in PATH: install HTCondor-CE")
    location = value(tool, "BLAHPD_LOCATION")
    bases = [Path(location)] * bool(location) + [Path("/usr")]
    scripts = [base / "libexec" / each for base in bases for each in ("blahp", "")]
    configs = [*(base / "etc/blah.config" for base in bases), Path("/etc/blah.config")]
    directories = [Path(each.strip()) for each in value(tool, "LOCAL_CONFIG_DIR").split(",") if each.strip()]
    return Places(
        tool,
        _there(scripts, "the scripts of blahpd"),
        _there(configs, "blah.config"),
        _there(directories[::-1], "LOCAL_CONFIG_DIR"),
        value(tool, "SPOOL"),
    )


def value(tool: str, name: str) -> str:
    """Return the value of a setting of HTCondor; empty if it has none."""
    answer = run([tool, name], limit=20)
    return answer.out.strip() if answer.code == 0 else ""


def _there(candidates: list[Path], what: str) -> Path:
    for each in candidates:
        if each.exists():
            return each
    tried = ", ".join(map(str, candidates)) or "no setting names a place"
    raise BadSite(f"{what} not found ({tried}): install the packages of HTCondor-CE, with blahp")


def script(verb: str, spool: str) -> str:
    """Return the script that blahpd calls. It reads JIM's own, because to start another shell would double its time.

    It names the schedd's spool, in which users' files are: no user can change this file, nor the spool.
    """
    shell = HOME / "shell"
    return (
        f"#!/bin/sh\n{HEAD}\njim_shell='{shell}' jim_spool={quote(spool)}\n. \"$jim_shell/condor/{TYPE}_{verb}.sh\"\n"
    )


# Registering and unregistering


def register() -> Iterator[str]:
    """Put each file where HTCondor-CE looks for it, and report it; files of others are not touched."""
    where = places()
    _refuse_foreign(where)
    for verb in VERBS:
        file = where.scripts / f"{TYPE}_{verb}.sh"
        replace_durably(file, script(verb, where.spool).encode(), 0o755)
        yield f"wrote {file}"
    text = where.blah_config.read_text()
    if _passes_all(text):
        yield f"{where.blah_config} passes on the attributes of jobs already and was not changed"
    else:
        _rewrite(where.blah_config, f"{text.rstrip()}\n{BLAH_LINES}")
        yield f"added to {where.blah_config}: {PASSES_ALL}"
    if where.route.exists():
        yield f"{where.route} exists already and was not changed"
    else:
        replace_durably(where.route, ROUTE.encode(), 0o644)
        yield f"wrote {where.route}, with this route:\n{ROUTE}"
    yield f"nothing else was changed; now run {where.reconfigure}"


def unregister() -> Iterator[str]:
    """Remove what `register` made, and report it. Jobs that run go on, but nobody can ask for them any more."""
    where = places()
    _refuse_foreign(where)
    for file in (where.route, *(where.scripts / f"{TYPE}_{verb}.sh" for verb in VERBS)):
        if file.exists():
            file.unlink()
            yield f"removed {file}"
    text = where.blah_config.read_text()
    if BLAH_LINES in text:
        _rewrite(where.blah_config, text.replace(BLAH_LINES, ""))
        yield f"removed from {where.blah_config}: {PASSES_ALL}"
    yield f"nothing else was changed; now run {where.reconfigure}"


def _rewrite(file: Path, text: str) -> None:
    replace_durably(file, text.encode(), file.stat().st_mode & 0o777)


def _passes_all(text: str) -> bool:
    return any(line.strip() == PASSES_ALL for line in text.splitlines())


def _refuse_foreign(where: Places) -> None:
    """Refuse early to replace or remove files of others, and if this account may not write everywhere."""
    for place in (where.scripts, where.configuration, where.blah_config.parent):
        if not os.access(place, os.W_OK):
            raise BadSite(f"this account cannot write to {place}; run the command as root")
    for file in (where.route, *(where.scripts / f"{TYPE}_{verb}.sh" for verb in VERBS)):
        if file.exists() and HEAD not in file.read_text(errors="replace"):
            raise BadSite(f"{file} was not written by JIM; move it away first")


# Checking


def findings(site: Site) -> Iterator[Finding]:
    """Tell whether an HTCondor-CE on this machine can submit jobs to this JIM."""
    try:
        where = places()
    except BadSite as error:
        yield Finding("HTCondor-CE", FAILED, str(error), f"see {guide('htcondor-ce.md')}")
        return
    wrong = [each for each in VERBS if _text(where.scripts / f"{TYPE}_{each}.sh") != script(each, where.spool)]
    yield expected("scripts", not wrong, f"{where.scripts}/{TYPE}_*.sh lead to {HOME}/shell/condor", AGAIN)
    passes = _passes_all(_text(where.blah_config))
    yield expected("attributes", passes, f"{where.blah_config} passes on the attributes of jobs", AGAIN)
    yield expected("route", where.route.exists(), f"{where.route} is there", AGAIN)
    names = value(where.tool, "JOB_ROUTER_ROUTE_NAMES").replace(",", " ").split()
    yield expected("router", TYPE in names, f"JOB_ROUTER_ROUTE_NAMES has {TYPE}", f"run {where.reconfigure} as root")
    closed = closed_place()
    todo = "move JIM to a place where every account can read it"
    yield expected("accounts", not closed, f"all accounts can enter {closed or HOME}", todo)
    yield from _forgotten(site)


def _forgotten(site: Site) -> Iterator[Finding]:
    """Tell of grid jobs that the gatekeeper does not ask about: it may have forgotten them."""
    if not is_there(site.state):
        return
    with closing(open_store(site.state, Clock())) as store:
        found = sorted(forgotten(store, site.state, "condor", FORGOTTEN_SECONDS)) if store.is_made() else []
    if found:
        shown = ", ".join(str(number) for number, _ in found[:10])
        many = f"{len(found):,} grid job{'s' if len(found) > 1 else ''} ({shown}{', …' if len(found) > 10 else ''})"
        todo = f"look for them in condor_q; if they are not there: jim cancel {found[0][0]} …"
        yield Finding("asked about", WARNING, f"HTCondor-CE has not asked about {many} for 6 h", todo)
    else:
        yield Finding("asked about", OK, "HTCondor-CE asks about all unfinished grid jobs of this account")


def _text(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""
