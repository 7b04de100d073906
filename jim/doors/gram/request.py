"""Turns a job description, as GRAM hands it to its scripts, into the attributes of a request.

GRAM writes names in lower case without underscores, and every value as a list of texts and lists. The job type's
declarations give each value its kind. A value that does not fit stays as it is, so that the usual check refuses it.
"""

from __future__ import annotations

import json
import os
import pwd
import re
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import Any

from jim.errors import BadRequest, BadSite
from jim.handlers.base import COMMON, Attribute
from jim.request import handler_of
from jim.request.gram_names import GRAM_NAMES, MOST_COPIES
from jim.request.languages import TRUTHS, plain
from jim.site.realm import Opener, Realm
from jim.site.walking import opened

JOB_TYPE = "jim_job_type"  # GRAM has a job_type of its own, with another meaning
STAGED_IN = "jimstagedin"  # set by JIM's Perl module, because GRAM has forgotten these names by then
USUAL_JOB_TYPE = "executable"
# Attributes that GRAM handles itself, or that describe the job.
GRAM_OWN = frozenset(
    {
        *(
            "directory",
            "stdin",
            "stdout",
            "stderr",
            "count",
            "jobtype",
            "grammyjob",
            "hostcount",
            "dryrun",
            "savestate",
        ),
        *("twophase", "remoteiourl", "scratchdir", "rslsubstitution", "restart", "stdoutposition", "stderrposition"),
        *("filestagein", "filestageinshared", "filestageout", "filecleanup", "gasscache", "proxytimeout"),
        *("librarypath", "username", "restartcontacts", "savejobdescription", "loglevel", "logpattern", "expiration"),
        *("uniqid", "jobid", "cachetag", "jobdir", "streamingdisabled", "streamingrequested", "statefile"),
        *("filestreamout", "signal", "signalarg", "executable", STAGED_IN),
    }
)
# Attributes of GRAM that a local job cannot have: values that ask for nothing, and an advice.
CANNOT = {
    "host_count": ({"", "1"}, "expected 1, because a local job is one process (cores asks for more processors)"),
    "job_type": ({"", "single", "multiple"}, f"expected single or multiple ({JOB_TYPE} says what to run)"),
    "max_cpu_time": ({""}, "not possible here; use max_wall_time"),
    "min_memory": ({""}, "not possible here; use max_memory"),
}
NO_STDIN = ("", os.devnull)  # GRAM's default
# GRAM adds variables of the gatekeeper's machine; a payload has its own.
PROXY = "X509_USER_PROXY"
SERVICE = Path("/etc/grid-services/jobmanager-samgrid")
EVENTS_OPTION = " -seg-module samgrid"
NOT_THE_PAYLOADS = frozenset({"PATH", "LD_LIBRARY_PATH", "HOME", "LOGNAME", PROXY})
# These variables name the job manager and its client, and places of one submission.
CONTACT = "GLOBUS_GRAM_JOB_CONTACT"
CONTACTS, SCRATCH = ("GLOBUS_", "X509_"), "SCRATCH_DIRECTORY"
CACHE = ".globus/.gass_cache"
CACHED, WORD = "/.gass_cache/", re.compile(r"[^\s'\"]+")  # in the path of a file that GRAM has fetched
Description = Mapping[str, list[Any]]


def attributes_of(description: Description, own: str = "") -> dict[str, Any]:
    """Turn a description into the attributes of a request; refuse what JIM cannot do, with the attribute's name."""
    counted = _counted(description)
    job_type = counted.get("job_type") or one(description, JOB_TYPE) or USUAL_JOB_TYPE
    _refuse_what_we_cannot(description, job_type)
    declared = COMMON | dict(handler_of(job_type, own).attributes)
    also = {plain(other): plain(name) for name, each in declared.items() for other in each.also}
    description = {also.get(name, name): values for name, values in description.items()}
    attributes: dict[str, Any] = {"job_type": job_type, "key": one(description, "uniqid"), **counted}
    values = ((name, _value(description, name, each)) for name, each in declared.items())
    attributes |= {name: value for name, value in values if value is not None}
    attributes |= _stdin(description, job_type, declared) | _directory(description, job_type)
    attributes |= _handed_over(description, attributes)
    understood = GRAM_OWN | {plain(name) for name in (*declared, *GRAM_NAMES, JOB_TYPE)}
    attributes |= {name: description[name] for name in description.keys() - understood}  # the check refuses it
    _in_terms_of_the_directory(attributes, description)
    return attributes


def _in_terms_of_the_directory(attributes: dict[str, Any], description: Description) -> None:
    """Interpret a relative program as GRAM does, and bring back the files to be staged out."""
    if isinstance(attributes.get("executable"), str):
        attributes["executable"] = place_of(description, attributes["executable"])
    if isinstance(attributes.get("environment"), dict):
        _leave_the_payloads(attributes, attributes["environment"])
    staged = dict.fromkeys(place_of(description, name) for name in description.get(STAGED_IN, []))
    if staged and "directory" not in attributes:  # else they are there
        attributes["inputs"] = [*(attributes.get("inputs") or ()), *staged]
    asked = [name for name in staged_out(description) if require_inside(name) and not name.endswith(".tar")]
    if asked and attributes["job_type"] == USUAL_JOB_TYPE:
        attributes.setdefault("outputs", asked)


def _stdin(description: Description, job_type: str, declared: Container[str]) -> dict[str, str]:
    """Return the file that local jobs are to read, if the description names one."""
    given = one(description, "stdin")
    if given in NO_STDIN:
        return {}
    if "stdin" not in declared:
        raise BadRequest(f"{given[:80]!r}: expected none, because the job type {job_type} reads no stdin", "stdin")
    return {"stdin": place_of(description, given)}


def _directory(description: Description, job_type: str) -> dict[str, str]:
    """Return the directory in which the program is to run, if it is neither GRAM's default nor GRAM's own."""
    given, home = one(description, "directory"), os.path.expanduser("~")  # noqa: PTH111 - Path.home may fail
    if not given or os.path.realpath(given) in map(os.path.realpath, (home, _scratch(description) or home)):
        return {}
    if job_type != USUAL_JOB_TYPE:
        raise BadRequest(
            f"{given[:80]!r}: goes only with one run of one program; leave it out, because each of several local jobs "
            "has a directory of its own",
            "directory",
        )
    return {"directory": given}


def _scratch(description: Description) -> str:
    """Return the directory that GRAM has made for this submission alone, if the description asked for one."""
    return _variable(description, SCRATCH) if description.get("scratchdir") else ""


def _credential(description: Description) -> str:
    """Return the file of the credential that GRAM has got from the client, and renews."""
    return os.environ.get(PROXY) or _variable(description, PROXY)


def _handed_over(description: Description, attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the credential of the grid job. Of a file that its sender names JIM does not know whose it is."""
    for kind in ("proxy", "token"):
        if kind in attributes:
            raise BadRequest("GRAM itself hands over the credential of the job; leave this out", kind)
    credential = _credential(description)
    return {"proxy": credential} if credential else {}


def _variable(description: Description, name: str) -> str:
    """Return a variable that GRAM has added, as it does before those that the user has named."""
    pairs = [each for each in description.get("environment", []) if isinstance(each, list) and len(each) == 2]
    return next((text for variable, text in pairs if variable == name and isinstance(text, str)), "")


def _leave_the_payloads(attributes: dict[str, Any], environment: dict[str, Any]) -> None:
    """Drop the variables that are not for the payload."""
    attributes["environment"] = {name: value for name, value in environment.items() if name not in NOT_THE_PAYLOADS}


def realm_of(description: Description) -> Realm:
    """Return which files the sender may name: those that GRAM has made or fetched for this job, and its credential."""
    cache = os.path.expanduser(f"~{pwd.getpwuid(os.getuid()).pw_name}/{CACHE}")  # noqa: PTH111 - Path.home may fail
    below = [cache, *filter(None, [one(description, "jobdir"), _scratch(description)])]
    fetched = [place_of(description, name) for name in description.get(STAGED_IN, [])]
    return Realm(tuple(map(os.path.realpath, below)), tuple(filter(None, [_credential(description), *fetched])))


def contact(description: Description) -> str:
    """Return the contact under which the client knows the job."""
    return _variable(description, CONTACT)


def apart(description: Description) -> dict[str, list[str]]:
    """Return what may differ when a submission is repeated: contacts, and paths that belong to one submission."""
    pairs = [each for each in description.get("environment", []) if isinstance(each, list) and len(each) == 2]
    environment = [
        name for name, _ in pairs if isinstance(name, str) and (name.startswith(CONTACTS) or name == SCRATCH)
    ]
    fetched = ("executable", "arguments", "stdin", STAGED_IN)
    cached = _cached(json.dumps([description.get(name) for name in fetched]))
    places = {_scratch(description), one(description, "jobdir"), *cached} - {"", "/"}
    return {"environment": sorted(environment), "places": sorted(places, key=len, reverse=True)}


def _cached(text: str) -> Iterator[str]:
    """Yield the paths in GRAM's cache. A pattern of a whole path would take a minute for a word of many slashes."""
    for word in WORD.findall(text):
        path = word[word.find("/") :] if CACHED in word else ""
        at = path.find(CACHED, 1)
        if 0 < at < len(path) - len(CACHED):
            yield path


def staged_out(description: Description) -> list[str]:
    """Return the outputs of the job that `file_stage_out` names; a path or a URL names a file that exists anyway."""
    pairs = (pair for pair in description.get("filestageout", []) if isinstance(pair, list) and pair)
    return [name for name, *_ in pairs if "://" not in name and not name.startswith("/")]


def require_inside(name: str) -> str:
    """Return the name of an output; refuse one that leads out of the directory for outputs."""
    if ".." in name.split("/"):
        raise BadRequest(f"{name[:80]!r} must be a name inside the directory of the job", "file_stage_out")
    return name


def require_foreign(description: Description, opener: Opener) -> None:
    """Refuse streams that would become files of JIM's own, such as an empty claim."""
    for name in ("stdout", "stderr"):
        given = one(description, name)
        if given and "://" not in given:
            with suppress(OSError), opened(place_of(description, given), may_lack=True) as place:
                opener.require_foreign(place.directory, given, name)


@contextmanager
def in_its_words(description: Description) -> Iterator[None]:
    """Make refusals raised inside use the attribute names of the description."""
    try:
        yield
    except BadRequest as error:
        ours_of = {theirs: ours for theirs, (ours, _) in GRAM_NAMES.items()} | {"file_stage_out": "outputs"}
        for theirs, ours in ours_of.items():
            if error.about == ours != theirs and plain(theirs) in description and plain(ours) not in description:
                raise BadRequest(error.words, theirs, told=f"{theirs} ({error.told})") from error
        raise


def require_end(description: Description, events: str) -> None:
    """Refuse a job if GRAM could not learn of its end."""
    with suppress(OSError):
        if not events and EVENTS_OPTION in SERVICE.read_text(errors="replace"):
            raise BadSite(
                "GRAM would not learn of the end, because no keeper of this account writes its events; run "
                "`jim gram check`"
            )


def place_of(description: Description, name: str) -> str:
    """Return the path of a job's file; a relative name is in the directory that GRAM gives the job."""
    return str(PurePath(one(description, "directory") or "/", name))


def one(description: Description, name: str) -> str:
    """Return the only value of an attribute; empty if the attribute is absent."""
    values = description.get(plain(name)) or [""]
    if len(values) != 1 or not isinstance(values[0], str):
        raise BadRequest(f"expected one value, found {json.dumps(values)[:80]}", name)
    return values[0]


def _counted(description: Description) -> dict[str, Any]:
    """Apply `count`: the number of runs of the program or, for a single run, of processors."""
    text = one(description, "count") or "1"
    count = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if not 1 <= count <= MOST_COPIES:
        raise BadRequest(f"expected 1 to {MOST_COPIES:,}, found {text[:80]!r}", "count")
    if count == 1:
        return {}
    if one(description, JOB_TYPE) not in ("", USUAL_JOB_TYPE):
        raise BadRequest(f"{count}: expected 1, because this job type decides how many local jobs there are", "count")
    if one(description, "jobtype") == "single":
        return {"cores": count}
    return {"job_type": "parametric", "argument_sets": [[]] * count}


def _refuse_what_we_cannot(description: Description, job_type: str) -> None:
    for name, (nothing, why) in CANNOT.items():
        if (given := one(description, name)) not in nothing:
            raise BadRequest(f"{given[:80]!r}: {why}", name)
    if job_type != USUAL_JOB_TYPE:
        for name in staged_out(description):
            if not name.endswith(".tar"):
                raise BadRequest(
                    f"{name[:80]!r}: expected NAME.tar, because the outputs come back as a tar", "file_stage_out"
                )


def _value(description: Description, name: str, declared: Attribute) -> Any:
    """Read the value of one of JIM's attributes, under its own name or GRAM's."""
    if name in ("job_type", "key", "stdin", "stdout", "stderr", "directory"):  # GRAM means something else by some
        return None
    names = [each for each, (ours, _) in GRAM_NAMES.items() if ours == name]
    said = [each for each in dict.fromkeys((*names, name)) if plain(each) in description]
    if len(said) > 1:
        raise BadRequest(f"given together with {said[0]}, which has the same meaning", said[1])
    if not said or said[0] not in GRAM_NAMES:
        return _converted(name, description[plain(name)], declared.kind) if said else None
    other, unit = said[0], GRAM_NAMES[said[0]][1]
    given = one(description, other)
    if unit and not (given.isascii() and given.isdecimal() and len(given) <= 18):
        raise BadRequest(f"expected a whole number, found {given[:80]!r}", other)
    return int(given) * unit if unit else given


def _pair(name: str, value: Any) -> tuple[str, Any]:
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
        return value[0], value[1]
    raise BadRequest(f"expected pairs, such as (NAME text), found {json.dumps(value)[:80]}", name)


def _converted(name: str, values: list[Any], kind: type | str) -> Any:
    """Convert a value to its declared kind."""
    if kind == "table" and (len(values) != 1 or isinstance(values[0], list)):
        return dict(_pair(name, each) for each in values)
    if kind == "list" or (kind == "lists" and all(isinstance(each, list) for each in values)):
        return values
    if len(values) != 1 or not isinstance(values[0], str):
        return values
    text = values[0]
    with suppress(ValueError):
        if kind in (int, float) and "_" not in text:
            return kind(text)
        if kind in ("table", "lists", "values", "records"):  # RSL cannot write such a value, so the text is JSON
            return json.loads(text)
    if kind is bool:
        return TRUTHS.get(text.lower(), text)
    return values if kind == "records" else text
