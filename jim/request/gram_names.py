"""Translates GRAM's attributes into JIM's: names, minutes instead of seconds, copies of one program."""

from __future__ import annotations

from jim.request import languages
from jim.request.languages import Said, plain

# GRAM's name, JIM's name, and how many of JIM's units one of GRAM's units is (0: not a number).
GRAM_NAMES = {
    "queue": ("queue", 0),
    "project": ("account", 0),
    "max_memory": ("memory_mb", 1),
    "max_wall_time": ("wall_seconds", 60),
    "max_time": ("wall_seconds", 60),
}
MOST_COPIES = 100_000  # of one program, by `count`: a few characters must not ask for gigabytes

# GRAM's names, in the form in which names are compared: names that JIM has its own name for, and names that JIM cannot
# use.
RENAMED = {plain(name): ours for name, ours in GRAM_NAMES.items()}
USELESS = {
    "stdout": "JIM brings stdout and stderr of local jobs back in the tar; remove this attribute",
    "stderr": "JIM brings stdout and stderr of local jobs back in the tar; remove this attribute",
    "filestagein": "only a gatekeeper fetches files; name files of this machine in inputs",
    "filestageout": "only a gatekeeper delivers files; name the files to bring back in outputs: they come in the tar",
}
NO_JOB_TYPES = {"mpi": "no parallel jobs over several nodes", "condor": "no jobs linked with Condor's library"}


def in_our_words(said: dict[str, Said], text: str) -> dict[str, Said]:
    """Translate GRAM's names, minutes and copies into JIM's."""
    said = _job_type(said, text)
    ours: dict[str, Said] = {}
    for name, one in said.items():
        if name in USELESS:
            raise languages.fault(text, one.at, f"{one.name}: {USELESS[name]}")
        if name in RENAMED:
            one = _renamed(one, *RENAMED[name])
        if plain(one.name) in ours:
            raise languages.fault(text, one.at, f"{one.name}: given twice, the other time under GRAM's name")
        ours[plain(one.name)] = one
    return ours


def _renamed(one: Said, name: str, unit: int) -> Said:
    """Return an attribute under JIM's name, a number in JIM's unit."""
    if unit > 1 and languages.WHOLE_NUMBER.fullmatch(one.text or ""):
        one = one._replace(text=str(unit * int(one.text or "")))
    return one._replace(name=name)


def _job_type(said: dict[str, Said], text: str) -> dict[str, Said]:
    """Translate GRAM's job type, which says how often a program runs. JIM's job type says which work runs."""
    kind, count = said.get("jobtype"), said.get("count")
    if not kind and "executable" not in said:
        return said
    word = (kind.text or "").lower() if kind else "multiple"  # GRAM's default
    if kind and word in NO_JOB_TYPES:
        raise languages.fault(text, kind.at, f"{kind.name}: JIM runs {NO_JOB_TYPES[word]}")
    if word not in ("single", "multiple"):
        if count:
            raise languages.fault(
                text, count.at, f"{count.name}: goes only with (jobType=single) or (jobType=multiple)"
            )
        return said
    rest = {name: one for name, one in said.items() if name not in ("jobtype", "count")}
    at = kind.at if kind else said["executable"].at
    if count and word == "single":
        rest["count"] = count._replace(name="cores")
    copies = _copies(count, text) if count else 1
    if word == "multiple" and copies > 1 and count:
        if "argumentsets" in rest:
            raise languages.fault(text, count.at, f"{count.name}: goes only with a single set of arguments")
        rest["argumentsets"] = Said("argument_sets", count.at, [[]] * copies, None)
    job_type = "parametric" if "argumentsets" in rest else "executable"
    return rest | {"jobtype": Said("job_type", at, [job_type], job_type)}


def _copies(count: Said, text: str) -> int:
    copies = int(count.text) if languages.WHOLE_NUMBER.fullmatch(count.text or "") and count.text else 0
    if not 1 <= copies <= MOST_COPIES:
        found = "something that is not a whole number" if count.text is None else repr(count.text[:40])
        raise languages.fault(text, count.at, f"count: expected 1 to {MOST_COPIES:,}, found {found}")
    return copies
