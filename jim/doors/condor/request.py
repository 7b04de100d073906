"""Turns the call of a submit script into the attributes of a request, and into places of outputs."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from jim.doors.condor.arguments import SANDBOX, Called, read
from jim.doors.contract import Places
from jim.doors.own_language import literally, of_jim, whole, with_texts
from jim.doors.placing import ONE_PROGRAM
from jim.errors import BadRequest
from jim.request import declarations, handler_of
from jim.request.values import FORBIDDEN_BEGINNINGS, FORBIDDEN_VARIABLES
from jim.site.realm import Realm
from jim.site.walking import above, id_of, opened

JOB_TYPE = "job_type"
SPOOLED = re.compile(r"cluster\d+\.proc\d+\.subproc\d+", re.ASCII)  # the name of a directory for the files of a job
PROXY, TOKEN = "X509_USER_PROXY", "BEARER_TOKEN_FILE"  # JIM sets them anew for payloads
# `getenv = true` sends all variables of the machine where the job was submitted; a payload has its own of these.
NOT_THE_PAYLOADS = (*FORBIDDEN_VARIABLES, PROXY, TOKEN, "HOME", "LOGNAME", "OLDPWD", "PWD", "TMPDIR", "USER", "_")
# Options with values that ask for nothing; a local job has one node and no more than processors, memory and time.
CANNOT = {
    "a": ("BatchExtraSubmitArgs", {""}),
    "h": ("HostNumber", {"", "1"}),
    "z": ("WholeNodes", {"", "no"}),
    "g": ("request_gpus", {"", "0"}),
    "P": ("MICNumber", {"", "0"}),
}
LEAST_MB = 64  # less is the size of the executable, which HTCondor asks for if nobody asks for memory
WHOLE = {"n": "cores", "t": "wall_seconds", "m": "memory_mb"}
TEXTS = {"q": "queue", "A": "account", "x": "proxy"}
# What the attributes of JIM are called in a submit description.
CALLED = {
    "cores": "request_cpus",
    "wall_seconds": "batch_runtime",
    "memory_mb": "request_memory",
    "queue": "batch_queue",
    "account": "batch_project",
    "proxy": "x509userproxy",
    "stdin": "input",
    "inputs": "transfer_input_files",
    "outputs": "transfer_output_files",
    "directory": "Iwd",
}

__all__ = ["CALLED", "attributes_of", "places_of", "read", "realm_of"]  # the language of the door


def attributes_of(call: Called, own: str) -> dict[str, Any]:
    """Return the attributes of a request; refuse what JIM cannot do, with HTCondor's name for it."""
    for letter, (name, nothing) in CANNOT.items():
        if (given := getattr(call, letter)) not in nothing:
            raise BadRequest(f"{given[:80]!r}: a local job cannot have that here; leave it out", name)
    ours = of_jim({**call.environment, **call.requirements})  # those of the job's ad count first
    job_type = ours.pop(JOB_TYPE, ONE_PROGRAM)
    attributes = {JOB_TYPE: job_type, "key": key_of(call), **_resources(call)}
    return with_texts(attributes | _program(call, job_type, own), ours, own, call.w)


def key_of(call: Called) -> str:
    """Return the key, which HTCondor saves before it submits for the first time."""
    if not (key := call.D.removeprefix(SANDBOX) or call.j):
        why = "so JIM does not take this job: it could not tell a repeat from another job"
        raise BadRequest(f"blahpd names neither this nor ClientJobId, {why}", "JobDirectory")
    return key


def _resources(call: Called) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(call, each) for each, name in TEXTS.items() if getattr(call, each)}
    found |= {name: whole(getattr(call, letter), name) for letter, name in WHOLE.items()}
    if found["memory_mb"] < LEAST_MB:
        del found["memory_mb"]
    found |= {"token": _in_iwd(call, call.environment[TOKEN])} if TOKEN in call.environment else {}
    return {name: value for name, value in found.items() if value not in (0, "(null)")}


def _program(call: Called, job_type: str, own: str) -> dict[str, Any]:
    """Return the files and variables of the payload, and its program, if the job type has one."""
    variables = {name: text for name, text in call.environment.items() if _is_the_payloads(name)}
    found: dict[str, Any] = {"environment": variables} if variables else {}
    executable, inputs = _in_iwd(call, call.c), [_in_iwd(call, each) for each in call.inputs]
    if "executable" in declarations(handler_of(job_type, own)):  # others must name one, too, and it does nothing
        if executable.startswith(f"{call.w.rstrip('/')}/"):  # worker nodes may not see that directory
            inputs, executable = [*inputs, executable], f"./{PurePath(executable).name}"
        found |= {"executable": executable, "arguments": list(call.arguments)}
    found |= {"inputs": list(dict.fromkeys(inputs))} if inputs else {}
    if call.i not in ("", os.devnull):
        found["stdin"] = _in_iwd(call, call.i)
    if job_type == ONE_PROGRAM and call.outputs:
        found["outputs"] = [literally(name) for name, _ in call.outputs]
    return found


def _is_the_payloads(name: str) -> bool:
    return name not in NOT_THE_PAYLOADS and not name.upper().startswith(FORBIDDEN_BEGINNINGS)


def places_of(call: Called) -> Places:
    """Return where the outputs belong, in Iwd, the directory of the job.

    The tar of a split job is the first file that is asked for as NAME.tar, otherwise stdout.
    """
    streams = {"stdout": _in_iwd(call, call.o or os.devnull), "stderr": _in_iwd(call, call.e or os.devnull)}
    asked = {name: _in_iwd(call, path) for name, path in call.outputs}
    tars = [path for name, path in asked.items() if name.endswith(".tar")]
    whole = (*tars, streams["stdout"])[0]
    beside = streams["stdout"] if streams["stdout"] != os.devnull else _in_iwd(call, "jim")
    places = Places(directory=call.w, files={**asked, **streams})
    if {*asked.values(), *streams.values()} != {os.devnull}:
        places["progress"] = f"{beside}.status"
    return places if whole == os.devnull else Places(**places, tar=whole)


def realm_of(call: Called) -> Realm:
    """Return which files the sender may name: those that the schedd has spooled for a job.

    Iwd is what the user has written, unless it is a directory of the spool, which the schedd alone makes.
    """
    if not (call.spool and SPOOLED.fullmatch(PurePath(call.w).name)):
        return Realm()
    with suppress(OSError), opened(call.spool) as spool, opened(call.w) as own:
        if id_of(spool.about()) in above(own.directory):
            return Realm(below=(os.path.realpath(call.w),))
    return Realm()


def _in_iwd(call: Called, name: str) -> str:
    return os.path.normpath(PurePath(call.w or "/", name))
