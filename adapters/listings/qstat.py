"""Reads listings of qstat from PBS and similar systems, in JSON or as text: the facts of each job, or ValueError."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import permutations

# JSON that needs repair: qstat has written environments without escapes, and as numbers whatever strtod() accepts: 005,
# .5, inf, nothing at all. The tokens are a string, a word, or the place of a missing word; within strings, escapes.
TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[^][{}:,"\n\r\t ]+|:(?=[\n\r\t ]*[,}])', re.DOTALL)
ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
# In a text listing each job has a head, then one attribute a line. Long lines continue in lines that begin with a tab,
# except in Slurm's qstat, where attributes begin so. A name (the owner follows), an environment and the words of a
# submission may hold anything, even text like another line: the first one counts. But a second name belongs to a job
# whose head is lost.
HEAD = "Job Id:"
JOB = re.compile(
    r"(?P<id>[0-9]+(?:\[[0-9]*\])?(?:\.\S+)?)\n[ \t]+Job_Name = (?P<name>(?s:.*?))\n(?=[ \t]+Job_Owner = )"
    r"(?P<told>(?:\t\S+ = .*\n)+|(?: +\S+ = .*\n(?:\t.*\n)*)+)(?P<rest>(?s:.*))"
)
READ = re.compile(r"\n[ \t]+(job_state|[Ee]xit_status|comment|Priority) = (.*)")
FREE = re.compile(r"\n[ \t]+(?:Variable_List|[Ss]ubmit_arg\w*) = ")
NAMED = re.compile(r"\n[ \t]+Job_Name = ")
JOINED = re.compile(r" = .*(?:\t| {4})\S+ = ")  # two of them in a line
# The parts of JSON that are used; a job has some twenty.
TOLD = {"Job_Name": "job_name", "job_state": "job_state", "Exit_status": "exit_status", "comment": "comment"}
Facts = Mapping[str, str]  # the facts of a job, names in lower case


def from_json(text: str) -> dict[str, Facts]:
    """Read the facts of each job, or raise ValueError. Nothing is completed: truncated text stays truncated."""
    try:
        told = json.loads(text, strict=False)  # environments may hold control characters
    except ValueError:
        told = json.loads(TOKEN.sub(_mended, text), strict=False)
    if "pbs_version" not in told:
        raise ValueError(text)
    jobs = told.get("Jobs", {})
    return {id_: {ours: str(job[name]) for name, ours in TOLD.items() if name in job} for id_, job in jobs.items()}


def _mended(token: re.Match[str]) -> str:
    """Return a token as valid JSON: a backslash that escapes nothing stands for itself, a word becomes a string."""
    if token[0].startswith('"'):
        return ESCAPE.sub(lambda found: found[0] if found[1] else r"\\", token[0])
    return ':""' if token[0] == ":" else json.dumps(token[0])


def from_text(text: str) -> dict[str, Facts]:
    """Read the facts of each job, or raise ValueError: a damaged line must not hide a job."""
    if text and not (text.startswith(HEAD) and text.endswith("\n\n")):
        raise ValueError(text)
    blocks = [JOB.fullmatch(block) for block in re.split(rf"^{HEAD}[ \t]*", text, flags=re.MULTILINE)[1:]]
    jobs = {block["id"]: _facts(block) for block in blocks if block}
    servers = Counter(id_.partition(".")[2] for id_ in jobs)
    cut = any(servers[one] == 1 and other.startswith(one) for one, other in permutations(servers, 2))
    if cut or not all(blocks):
        raise ValueError(text)
    return jobs


def _facts(job: re.Match[str]) -> Facts:
    told, rest = job["told"], job["rest"]
    free = FREE.search(told)
    if JOINED.search(told, 0, free.start() if free else len(told)):
        raise ValueError(job[0])
    if rest.strip() and (not free or NAMED.search(told + rest)):
        raise ValueError(job[0])
    return {name.lower(): value for name, value in reversed(READ.findall(told + rest))} | {"job_name": job["name"]}
