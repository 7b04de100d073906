"""Turns a job of A-REX into the attributes of a request, and into places of outputs in its session directory."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from jim.doors.arc.grami import Grami, listed, read, values, variables
from jim.doors.contract import Places
from jim.doors.own_language import OURS, literally, of_jim, whole, with_texts
from jim.doors.placing import EVERYTHING, ONE_PROGRAM
from jim.errors import BadRequest, JimError
from jim.files import read_regular
from jim.request import HANDLERS, declarations, handler_of
from jim.site.realm import Realm

JOB_TYPE = "job_type"
RUNTIMES = "JIM/"  # begins the names of the runtime environments that stand for job types
PASSED = ("ENV/PROXY",)  # what these do JIM does anyway
OWN_QUEUE = "jim"  # a queue of A-REX that is none of the batch system's: JIM's own settings choose
# A local job has one node, and starts when there is room.
CANNOT = {
    "numnodes": ("countpernode", {"", "1"}, "a local job has one node; ask for fewer processors"),
    "exclusivenode": ("exclusiveexecution", {"", "false"}, "a local job cannot have a node alone; leave it out"),
    "starttime": ("starttime", {""}, "a local job starts as soon as there is room; leave it out"),
    "penv_type": ("parallel environment", {""}, "JIM sets up no parallel environment; leave it out"),
}
# What the attributes of JIM are called in a job description.
CALLED = {"cores": "count", "wall_seconds": "walltime", "memory_mb": "memory", "inputs": "inputfiles"}
CALLED |= {"outputs": "outputfiles"}
LONGEST_LOCAL = 1024 * 1024
A_REX = (0,)  # who runs it, where accounts differ from it
ESCAPED = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}  # in XML; the last one comes last
OWNER, OTHERS_WRITE = re.compile("<Owner>([^<>]{1,1000})</Owner>"), stat.S_IWGRP | stat.S_IWOTH
__all__ = ["CALLED", "attributes_of", "places_of", "read", "realm_of"]  # the language of the door


def attributes_of(grami: Grami, own: str) -> dict[str, Any]:
    """Return the attributes of a request; refuse what JIM cannot do, with the name that a user knows."""
    for name, (theirs, nothing, why) in CANNOT.items():
        if (given := grami.get(name, "")) not in nothing:
            raise BadRequest(f"{given[:80]!r}: {why}", theirs)
    ours = _ours(grami, own)
    job_type = ours.pop(JOB_TYPE, ONE_PROGRAM)
    attributes = {JOB_TYPE: job_type, "key": grami["gridid"], **_resources(grami)}
    return with_texts(attributes | _program(grami, job_type, own), ours, own, grami["directory"])


def runtime_of(job_type: str) -> str:
    """Return the name of the runtime environment that stands for a job type: its first word, if only one begins so."""
    first = job_type.partition("_")[0]
    alike = [each for each in HANDLERS.glob(f"{first}*.py") if each.stem.partition("_")[0] == first]
    return RUNTIMES + (first if len(alike) == 1 else job_type).upper()


def _ours(grami: Grami, own: str) -> dict[str, str]:
    """Return attributes of JIM: options of its runtime environment, and variables that begin with JIM_."""
    found = of_jim(variables(grami))
    for at, runtime in listed(grami, "runtime"):
        if runtime.upper().startswith(RUNTIMES):
            found[JOB_TYPE] = _job_type(runtime, own)
            for option in values(grami, at):
                name, is_one, text = option.partition("=")
                if not is_one:
                    raise BadRequest(f"{option[:80]!r}: expected NAME=VALUE", runtime)
                found[name.lower()] = text
        elif runtime not in PASSED:
            raise BadRequest(f"{runtime[:80]!r}: JIM runs no scripts of runtime environments", "runtimeenvironment")
    return found


def _job_type(runtime: str, own: str) -> str:
    asked = runtime[len(RUNTIMES) :].lower()
    ours = {runtime_of(each.stem)[len(RUNTIMES) :].lower(): each.stem for each in HANDLERS.glob("[a-z]*.py")}
    return ours.get(asked, asked)


def _resources(grami: Grami) -> dict[str, Any]:
    """Return what a local job needs. A-REX counts memory by process, and processor time for all of them."""
    cores = whole(grami.get("count", ""), "count") or 1
    found: dict[str, Any] = {"cores": cores} if cores > 1 else {}
    if memory := whole(grami.get("memory", ""), "memory"):
        found["memory_mb"] = memory * cores
    seconds = whole(grami.get("walltime", ""), "walltime") or -(-whole(grami.get("cputime", ""), "cputime") // cores)
    found |= {"wall_seconds": seconds} if seconds else {}
    found |= {"queue": queue} if (queue := grami.get("queue", "")) not in ("", OWN_QUEUE) else {}
    proxy = _kept(grami, "proxy")  # A-REX renews it
    return found | ({"proxy": str(proxy)} if proxy.exists() else {})


def _kept(grami: Grami, what: str) -> Path:
    return Path(grami.get("controldir", "/"), f"job.{grami['gridid']}.{what}")


def owner(grami: Grami) -> str:
    """Return the name of the client whom A-REX has authenticated; empty if A-REX's own record of that is not there.

    The other files about a job are its account's, but the one that information systems show belongs to A-REX alone.
    """
    file = _kept(grami, "xml")
    with suppress(OSError, JimError):
        about, text = file.lstat(), read_regular(file, LONGEST_LOCAL).decode(errors="replace")
        if about.st_uid not in A_REX or about.st_mode & OTHERS_WRITE:
            return ""
        found = OWNER.search(text)
        name = found[1] if found else ""
        for written, meant in ESCAPED.items():
            name = name.replace(written, meant)
        return name if name.isprintable() else ""
    return ""


def _program(grami: Grami, job_type: str, own: str) -> dict[str, Any]:
    """Return the files and variables of the payload, and its program, if the job type has one."""
    others = {name: text for name, text in variables(grami).items() if not name.upper().startswith(OURS)}
    found: dict[str, Any] = {"environment": others} if others else {}
    session = Path(grami["directory"])
    executable, *arguments = values(grami, "arg") or [""]
    files = [name.lstrip("/") for name in values(grami, "inputfile")]
    if grami.get("stdin", "") not in ("", os.devnull):
        found["stdin"] = str(session / grami["stdin"])
    if "executable" in declarations(handler_of(job_type, own)):
        if executable.startswith("$"):
            raise BadRequest(f"{executable[:80]!r}: no runtime environment sets variables here", "executable")
        found |= {"executable": executable, "arguments": arguments}
    else:  # a job description must name one
        files = [name for name in files if name != executable.removeprefix("./")]
    # A file in a directory brings that directory, because JIM sends each input along under its last name.
    if inputs := [str(session / name.partition("/")[0]) for name in files]:
        found["inputs"] = [*dict.fromkeys(inputs)]
    if job_type == ONE_PROGRAM and (outputs := list(_asked(grami))):
        found["outputs"] = ["*", ".*"] if EVERYTHING in outputs else [*map(literally, outputs)]
    return found


def _asked(grami: Grami) -> Iterator[str]:
    """Yield the outputs that the job description names, a directory with a slash at its end.

    A-REX lists stdout, stderr and its own log among them. Of a dynamic list only the payload knows what is in it.
    """
    session = grami["directory"].rstrip("/") + "/"
    own = {grami.get(name, "").removeprefix(session) for name in ("stdout", "stderr")}
    with suppress(OSError):
        log = pairs_of(read_regular(_kept(grami, "local"), LONGEST_LOCAL)).get("gmlog", "").strip("/")
        own |= {log, f"{log}/"}
    for name in values(grami, "outputfile"):
        if name == "/" or name.startswith("/@"):
            yield EVERYTHING
        elif name.lstrip("/") not in own:
            yield name.lstrip("/")


def pairs_of(content: bytes) -> dict[str, str]:
    """Return the pairs of a file of A-REX's that has `name=value` lines. The texts in it may hold any other break."""
    lines = content.decode(errors="surrogateescape").split("\n")
    return {name: value for name, found, value in (line.partition("=") for line in lines) if found}


def realm_of(grami: Grami) -> Realm:
    """Return which files the sender may name: those in the session directory, and the credential that A-REX keeps."""
    return Realm((os.path.realpath(grami["directory"]),), (str(_kept(grami, "proxy")),))


def places_of(grami: Grami) -> Places:
    """Return where the outputs belong: the session directory, from which A-REX takes those that are asked for.

    The tar of a split job is the first file that is asked for as NAME.tar.
    """
    session = grami["directory"]
    streams = {name: grami.get(name) or os.devnull for name in ("stdout", "stderr")}
    asked = {name: os.path.join(session, name if name != EVERYTHING else "") for name in _asked(grami)}  # noqa: PTH118
    places = Places(directory=session, files={**asked, **streams})
    tars = [path for name, path in asked.items() if name.endswith(".tar")]
    return Places(**places, tar=tars[0]) if tars else places
