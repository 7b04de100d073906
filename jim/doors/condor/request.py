"""Turns the call of a submit script into the attributes of a request, and into places of outputs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from jim.doors.condor.arguments import SANDBOX, Called
from jim.doors.contract import Places
from jim.doors.placing import ONE_PROGRAM
from jim.errors import BadRequest
from jim.request import FORBIDDEN_BEGINNINGS, FORBIDDEN_VARIABLES, declarations, handler_of

OURS = "JIM_"  # begins the names of attributes that are JIM's, in the job's ad and in its environment
JOB_TYPE = "job_type"
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
}


def attributes_of(call: Called, own: str) -> dict[str, Any]:
    """Return the attributes of a request; refuse what JIM cannot do, with HTCondor's name for it."""
    for letter, (name, nothing) in CANNOT.items():
        if (given := getattr(call, letter)) not in nothing:
            raise BadRequest(f"{given[:80]!r}: a local job cannot have that here; leave it out", name)
    told = _ours(call)
    job_type = told.pop(JOB_TYPE, ONE_PROGRAM)
    attributes = {JOB_TYPE: job_type, "key": key_of(call), **_resources(call)}
    attributes |= _program(call, job_type, own)
    if told:
        from jim.request.texts import attributes_of as from_texts  # most jobs are one program

        attributes |= from_texts(told, job_type, own)
    return attributes


def key_of(call: Called) -> str | None:
    """Return the key, which HTCondor saves before it submits for the first time."""
    return call.D.removeprefix(SANDBOX) or call.j or None


def _ours(call: Called) -> dict[str, str]:
    """Return the attributes that begin with JIM_: of the job's ad or CERequirements, else of its environment."""
    found = {**call.environment, **call.requirements}
    return {name[len(OURS) :].lower(): text for name, text in found.items() if name.upper().startswith(OURS)}


def _resources(call: Called) -> dict[str, Any]:
    found: dict[str, Any] = {name: getattr(call, each) for each, name in TEXTS.items() if getattr(call, each)}
    for letter, name in WHOLE.items():
        if given := getattr(call, letter):
            if not (given.isascii() and given.isdecimal() and len(given) <= 18):
                raise BadRequest(f"expected a whole number, found {given[:80]!r}", name)
            found[name] = int(given)
    if found.get("memory_mb", LEAST_MB) < LEAST_MB:
        del found["memory_mb"]
    found |= {"token": call.environment[TOKEN]} if TOKEN in call.environment else {}
    return {name: value for name, value in found.items() if value not in (0, "(null)")}


def _program(call: Called, job_type: str, own: str) -> dict[str, Any]:
    """Return the program, its files and its variables, as far as the job type has a program."""
    declared = declarations(handler_of(job_type, own))
    variables = {name: text for name, text in call.environment.items() if _is_the_payloads(name)}
    found: dict[str, Any] = {"environment": variables} if variables else {}
    if "executable" not in declared:  # it must be given, and does nothing
        return found
    executable, inputs = _in_iwd(call, call.c), [_in_iwd(call, each) for each in call.inputs]
    if executable.startswith(f"{call.w.rstrip('/')}/"):  # worker nodes may not see that directory
        inputs, executable = [*inputs, executable], f"./{PurePath(executable).name}"
    found |= {"executable": executable, "arguments": list(call.arguments)}
    found |= {"inputs": list(dict.fromkeys(inputs))} if inputs else {}
    if call.i not in ("", os.devnull):
        found["stdin"] = _in_iwd(call, call.i)
    if job_type == ONE_PROGRAM and call.outputs:
        found["outputs"] = [name for name, _ in call.outputs]
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
    told = Places(directory=call.w, files={**asked, **streams}, progress=f"{beside}.status")
    return told if whole == os.devnull else Places(**told, tar=whole)


def _in_iwd(call: Called, name: str) -> str:
    return os.path.normpath(PurePath(call.w or "/", name))


@contextmanager
def in_its_words() -> Iterator[None]:
    """Make refusals raised inside use the names of a submit description."""
    try:
        yield
    except BadRequest as error:
        if error.about not in CALLED:
            raise
        name = CALLED[error.about]
        raise BadRequest(error.words, name, told=f"{name} ({error.told})") from error
