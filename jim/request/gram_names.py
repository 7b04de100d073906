"""What GRAM calls otherwise than JIM: names, minutes, copies of one program."""

from __future__ import annotations

from jim.request import words
from jim.request.words import Said, plain

# GRAM's name, JIM's, and how many of our units one of its units is (0: no number).
GRAM_NAMES = {
    "queue": ("queue", 0),
    "project": ("account", 0),
    "max_memory": ("memory_mb", 1),
    "max_wall_time": ("wall_seconds", 60),
    "max_time": ("wall_seconds", 60),
}
MOST_COPIES = 100_000  # of one program, by `count`: a few characters must not become gigabytes

# GRAM's names, in the form in which names are compared, that JIM has others for, and those it has no use for.
RENAMED = {plain(name): ours for name, ours in GRAM_NAMES.items()}
USELESS = {
    "stdout": "what local jobs print comes back in the tar; leave it out",
    "stderr": "what local jobs print comes back in the tar; leave it out",
    "directory": "every local job has an empty directory of its own; leave it out",
    "filestagein": "only a gatekeeper fetches files; name those of this machine in inputs",
    "filestageout": "only a gatekeeper delivers files; name what is to come back, in the tar, in outputs",
}
NO_JOB_TYPES = {"mpi": "no parallel jobs over several nodes", "condor": "no jobs linked with Condor's library"}


def in_our_words(said: dict[str, Said], text: str) -> dict[str, Said]:
    """Say in JIM's words what GRAM has others for: names, minutes, copies."""
    said = _job_type(said, text)
    ours: dict[str, Said] = {}
    for name, one in said.items():
        if name in USELESS:
            raise words.fault(text, one.at, f"{one.name}: {USELESS[name]}")
        if name in RENAMED:
            own, unit = RENAMED[name]
            one = one._replace(name=own)
            if unit > 1 and words.WHOLE_NUMBER.fullmatch(one.text or ""):
                one = one._replace(text=str(unit * int(one.text or "")))
        if plain(one.name) in ours:
            raise words.fault(text, one.at, f"{one.name}: given twice, once by GRAM's name for it")
        ours[plain(one.name)] = one
    return ours


def _job_type(said: dict[str, Said], text: str) -> dict[str, Said]:
    """Tell GRAM's job types, which say how often a program runs, from JIM's, which say what runs."""
    kind, count = said.get("jobtype"), said.get("count")
    if not kind and "executable" not in said:
        return said
    word = (kind.text or "").lower() if kind else "multiple"  # GRAM's default
    if kind and word in NO_JOB_TYPES:
        raise words.fault(text, kind.at, f"{kind.name}: JIM runs {NO_JOB_TYPES[word]}")
    if word not in ("single", "multiple"):
        if count:
            raise words.fault(text, count.at, f"{count.name}: goes with (jobType=single) or (jobType=multiple) only")
        return said
    rest = {name: one for name, one in said.items() if name not in ("jobtype", "count")}
    at = kind.at if kind else said["executable"].at
    if count and word == "single":
        rest["count"] = count._replace(name="cores")
    copies = _copies(count, text) if count else 1
    if word == "multiple" and copies > 1 and count:
        if "argumentsets" in rest:
            raise words.fault(text, count.at, f"{count.name}: goes with one set of arguments only")
        rest["argumentsets"] = Said("argument_sets", count.at, [[]] * copies, None)
    job_type = "parametric" if "argumentsets" in rest else "executable"
    return rest | {"jobtype": Said("job_type", at, [job_type], job_type)}


def _copies(count: Said, text: str) -> int:
    copies = int(count.text) if words.WHOLE_NUMBER.fullmatch(count.text or "") and count.text else 0
    if not 1 <= copies <= MOST_COPIES:
        found = "nothing that is a whole number" if count.text is None else repr(count.text[:40])
        raise words.fault(text, count.at, f"count: expected 1 to {MOST_COPIES:,}, found {found}")
    return copies
