"""Translates DIRAC's attributes into JIM's: names, arguments in one text, sandboxes, splitters and parameters."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from jim.request import declarations, handler_of, job_types, languages
from jim.request.languages import Said, plain

DIRAC_NAMES = {
    "JobName": "name",
    "StdOutput": "stdout",
    "StdError": "stderr",
    "InputSandbox": "inputs",
    "OutputSandbox": "outputs",
    "InputData": "input_files",
    "ExecutionEnvironment": "environment",
    "NumberOfProcessors": "cores",
    "MaxRAM": "memory_mb",
}
# They tell DIRAC which site to choose, or whose job this is; both is settled once a request is here.
PASSED_OVER = (
    *("Site", "BannedSites", "BannedSite", "Platform", "SystemConfig", "GridCE", "Tag", "Tags", "SubmitPool"),
    *("SubmitPools", "CPUTime", "MaxCPUTime", "MinRAM", "MinNumberOfProcessors", "MaxNumberOfProcessors"),
    *("JobGroup", "LogLevel", "Priority", "UserPriority", "Owner", "OwnerDN", "OwnerGroup", "OwnerName"),
    *("VirtualOrganization", "VO", "DIRACSetup", "Setup", "Origin", "LogTargets"),
)
KNOWN = ("Arguments", "Parameters", "Splitter", *DIRAC_NAMES)
USELESS = {
    "outputdata": "JIM stores no files in the grid; name the files in OutputSandbox: they come back in the tar",
    "outputse": "JIM stores no files in the grid; remove this attribute",
    "outputpath": "JIM stores no files in the grid; remove this attribute",
    "requirements": "JIM takes no expressions; say what local jobs need by queue, cores, memory_mb and others",
}
USUAL_STREAMS = {"stdout": "std.out", "stderr": "std.err"}  # DIRAC's, if a manifest does not name them
LIMIT = "MaxParametricJobs"
PARAMETERS = re.compile(rf"(?:Parameters|ParameterStart|ParameterStep|ParameterFactor)(?:\..+)?|{LIMIT}")
UNLIMITED = 10**9  # DIRAC's limit is a setting of its server; a site of JIM has limits.local_jobs
LFN = re.compile("lfn:", re.IGNORECASE)


class Quoted(str):
    """A text that was written in quotes: never a number or a truth."""

    __slots__ = ()


RENAMED = {plain(theirs): ours for theirs, ours in DIRAC_NAMES.items()}
NOT_USED = frozenset(map(plain, PASSED_OVER))


def in_our_words(said: Mapping[str, Said], text: str, own: str) -> dict[str, Said]:
    """Translate DIRAC's names into JIM's."""
    ours: dict[str, Said] = {}
    for name, one in said.items():
        if name in USELESS:
            raise languages.fault(text, one.at, f"{one.name}: {USELESS[name]}")
        key = plain(RENAMED.get(name, one.name))
        if key in ours:
            raise languages.fault(text, one.at, f"{one.name}: given twice, the other time as {ours[key].name}")
        if name not in NOT_USED:
            ours[key] = one
    if not ours:
        return {}
    try:
        ours = _streams(_files(_split(_arguments(_job_type(ours, own)), own)))
    except _Fault as error:
        raise languages.fault(text, error.one.at, f"{error.one.name}: {error}") from error
    return {key: _said_by_us(one) for key, one in ours.items()}


def _said_by_us(one: Said) -> Said:
    text = one.text if one.text is None else str(one.text)
    return Said(RENAMED.get(plain(one.name), one.name), one.at, _unmarked(one.values), text)


def _unmarked(value: Any) -> Any:
    return list(map(_unmarked, value)) if isinstance(value, list) else str(value)


class _Fault(Exception):
    """What is wrong with one attribute."""

    def __init__(self, one: Said, words: str) -> None:
        super().__init__(words)
        self.one = one


def _job_type(said: dict[str, Said], own: str) -> dict[str, Said]:
    """Keep the name of one of JIM's job types. DIRAC's job types are groups of jobs: any of them runs any program."""
    given = said.get("jobtype")
    if given and given.text in job_types(own):
        return said
    name = "parametric" if "argumentsets" in said else "executable"
    return said | {"jobtype": _own("job_type", given or next(iter(said.values())), name)}


def _own(name: str, where: Said, value: str) -> Said:
    return Said(name, where.at, [value], value)


def _arguments(said: dict[str, Said]) -> dict[str, Said]:
    """Divide arguments in one text into words, as a shell would."""
    one = said.get("arguments")
    if one is None or one.text is None:
        return said
    try:
        return said | {"arguments": one._replace(values=shlex.split(one.text), text=None)}
    except ValueError as error:
        raise _Fault(one, str(error)) from error


def _split(said: dict[str, Said], own: str) -> dict[str, Said]:
    """Gather the parameters of a splitter, which stand among the attributes; input data alone are one job."""
    given = said.get("splitter")
    declared = declarations(handler_of(said["jobtype"].text, own))
    known = {plain(each) for name, one in declared.items() for each in (name, *one.also)}
    mine = {key: one for key, one in said.items() if (given and key not in known) or PARAMETERS.fullmatch(one.name)}
    if not mine:
        files = None if given else said.get("inputfiles")
        return said | ({"splitter": _own("splitter", files, "1")} if files else {})
    first = next(iter(mine.values()))
    if other := said.get("splitterparameters"):
        raise _Fault(first, f"a parameter of the splitter; {other.name} must have all of them, or none")
    pairs = [[one.name, _quoted(one.values if one.text is None else one.text)] for one in mine.values()]
    if not given and not any(one.name == LIMIT for one in mine.values()):
        pairs.append([LIMIT, str(UNLIMITED)])
    rest = {key: one for key, one in said.items() if key not in mine}
    splitter = given or _own("splitter", first, "ParametricJDL")
    return rest | {"splitter": splitter, "splitterparameters": Said("splitter_parameters", first.at, pairs, None)}


def _quoted(value: Any) -> Any:
    """Write texts in JSON, so that none of them is taken for a number."""
    if isinstance(value, list):
        return list(map(_quoted, value))
    return json.dumps(value) if isinstance(value, Quoted) else value


def _files(said: dict[str, Said]) -> dict[str, Said]:
    """Leave out `LFN:` before names of input data; refuse files of the grid in the sandbox."""
    if one := said.get("inputfiles"):
        names = re.split(r"\s*,\s*", one.text.strip()) if one.text is not None else one.values
        said = said | {"inputfiles": one._replace(values=[_local(each) for each in names], text=None)}
    for each in one.values if (one := said.get("inputs")) else []:
        if isinstance(each, str) and LFN.match(each):
            raise _Fault(said["inputs"], f"{each!r:.80} is a file of the grid; name files of this machine")
    return said


def _local(name: Any) -> Any:
    return LFN.sub("", name, 1) if isinstance(name, str) else name


def _streams(said: dict[str, Said]) -> dict[str, Said]:
    """Let stdout and stderr come back under their own names; they are no files that the payload writes."""
    outputs = said.get("outputs")
    if outputs is None:
        return said
    for name, usual in USUAL_STREAMS.items():
        if name not in said and usual in outputs.values:
            said = said | {name: _own(name, outputs, usual)}
    streams = {said[name].text for name in USUAL_STREAMS if name in said}
    return said | {
        "outputs": outputs._replace(
            values=[each for each in outputs.values if isinstance(each, list) or each not in streams], text=None
        )
    }
