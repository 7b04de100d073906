"""The features that meet: what each changes in a request or a site, and what local jobs must then see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.pairs.covering import Row

FILES = [
    {"lfn": "/store/n1/a", "events": 30, "size": 3000, "runs": {"1": [1, 2]}},
    {"lfn": "/store/n1/b", "events": 20, "size": 2000, "runs": {"1": [3]}},
    {"lfn": "/store/n2/c", "events": 10, "size": 1000, "runs": {"2": [4]}},
]
A, B, C = (each["lfn"] for each in FILES)
AB_C, A_B_C = [f"{A},{B}", C], [A, B, C]
LUMIS = [A + ' {"1":[[1,2]]}', B + ' {"1":[[3,3]]}', C + ' {"2":[[4,4]]}']
OF_FILES, OF_EVENTS = ["$InputFiles"], ["$InputFiles", "$FirstEvent", "$LastEvent"]
OF_LUMIS = ["$InputFiles", "$Lumis"]

# Splitters of input files: parameters, arguments, and the words of each piece.
SPLITTERS: Mapping[str, tuple[Mapping[str, Any], Sequence[str], Sequence[str]]] = {
    "EventBased": ({"events_per_job": 20}, OF_EVENTS, [f"{A} 0 19", f"{A} 20 29", f"{B} 0 19", f"{C} 0 9"]),
    "FileBunches": (
        {"file_bunch_size": 2, "event_bunch_size": 25},
        OF_EVENTS,
        [f"{A} 0 24", f"{A},{B} 25 49", f"{C} 0 9"],
    ),
    "LumiBased": ({"lumis_per_job": 2}, OF_LUMIS, LUMIS),
    "EventAwareLumiBased": ({"events_per_job": 30}, OF_LUMIS, LUMIS),
    "EventAwareLumiByWork": ({"events_per_job": 30}, OF_LUMIS, LUMIS),
    "Harvest": ({}, OF_LUMIS, [f'{A},{B} {{"1":[[1,3]]}}', LUMIS[2]]),
    "FileBased": ({"files_per_job": 2}, OF_FILES, AB_C),
    "FilesByEvents": ({"events_per_job": 50}, OF_FILES, AB_C),
    "MinFileBased": ({"files_per_job": 2}, OF_FILES, AB_C),
    "GangaDatasetSplitter": ({"files_per_subjob": 2}, OF_FILES, AB_C),
    "SiblingProcessingBased": ({"files_per_job": 2}, OF_FILES, AB_C),
    "DIRAC.Standard": ({"group_size": 2, "flush": True}, OF_FILES, AB_C),
    "DIRAC.BySize": ({"group_size": 2500, "flush": True}, OF_FILES, [f"{C},{B}", A]),
    "SizeBased": ({"size_per_job": 3500}, OF_FILES, [A, f"{B},{C}"]),
    "ParentlessMergeBySize": ({"max_merge_size": 5000}, OF_FILES, AB_C),
    "InputDataBySE": ({}, OF_FILES, A_B_C),
    "RunBased": ({}, OF_FILES, [f"{B},{A}", C]),
    "EvenFiles": ({"jobs": 2}, OF_FILES, AB_C),
    "2": ({}, OF_FILES, AB_C),
    "pairsite.nights": ({}, ["$Night", "$InputFiles"], [f"n1 {A},{B}", f"n2 {C}"]),
}
# Other work: attributes, and the words of each piece.
EVENTS = ["1 10", "11 20", "21 25"]
OTHER: Mapping[str, tuple[Mapping[str, Any], Sequence[str]]] = {
    "one": ({"arguments": ["alone"]}, ["alone"]),
    # Of five whose first attempts all fail, JIM holds back the further ones.
    "4": ({"splitter": "4", "arguments": ["part", "$SplitID"]}, [f"part {n}" for n in range(4)]),
    "ArgSplitter": (
        {"splitter": "ArgSplitter", "splitter_parameters": {"args": [["x"], ["y", 2]]}},
        ["x", "y 2"],
    ),
    "GenericSplitter": (
        {
            "splitter": "GenericSplitter",
            "splitter_parameters": {"attribute": "arguments", "values": [["x"], ["y"], ["z"]]},
        },
        ["x", "y", "z"],
    ),
    "Parametric": (
        {
            "splitter": "Parametric",
            "splitter_parameters": {"Parameters": 3, "ParameterStart": 1.25, "ParameterStep": 0.25},
            "arguments": ["at", "$Parameter"],
        },
        ["at 1.25", "at 1.5", "at 1.75"],
    ),
    "ParametricJDL": (
        {
            "splitter": "ParametricJDL",
            "splitter_parameters": {"Parameters": ["u", "v"]},
            "arguments": ["%n", "%s"],
        },
        ["0 u", "1 v"],
    ),
    "events": ({"job_type": "pairsite.counting", "events": 25, "events_per_job": 10}, EVENTS),
    "request_id": ({"job_type": "pairsite.counting", "request_id": "r25", "events_per_job": 10}, EVENTS),
}
NO_PROGRAM = {"events", "request_id"}
GATEKEEPERS = {"gram", "arc", "condor"}
ONLY_PROGRAMS = {"stdin": "yes", "directory": "yes", "names": "own"}

# What a request may have; the first level is: without it.
FACTORS: Mapping[str, Sequence[str]] = {
    "work": [*OTHER, *SPLITTERS],
    "input": ["none", "files", "dataset"],
    "door": ["people", "plain", "gram", "arc", "condor"],
    "retry": ["no", "rule"],
    "recovery": ["no", "yes"],
    "time": ["any", "limit", "warned"],
    "proxy": ["no", "yes"],
    "token": ["no", "yes"],
    "inputs": ["no", "yes"],
    "stdin": ["no", "yes"],
    "directory": ["no", "yes"],
    "names": ["usual", "own"],
    "outputs": ["none", "pattern", "name"],
    "tar": ["full", "summary"],
    "memory": ["no", "yes"],
    "bundle": ["no", "in turn", "at once"],
    "test": ["no", "yes"],
    "keep_going": ["no", "yes"],
    "repeat": ["no", "yes"],
    "wish": ["none", "priority", "suspend", "edit"],
    "end": ["good", "fails"],
    "after": ["none", "copy", "recover"],
}
# What a site may have.
OF_SITES: Mapping[str, Sequence[str]] = {
    "steps": ["none", "add", "around", "same"],
    "container": ["no", "yes"],
    "scratch": ["no", "yes"],
    "setup": ["no", "yes"],
    "variables": ["all", "few"],
    "tools": ["no", "yes"],
    "avoid": ["no", "other"],
    "learning": ["no", "yes"],
    "site_warns": ["no", "yes"],
    "submissions": ["large", "small"],
}


NEVER = (
    (("door", "gram"), ("token", "yes")),  # GRAM hands over none
    # Carriers that are told to stop leave attempts unbegun, and payloads go by the numbers of attempts.
    (("wish", "suspend"), ("bundle", "in turn")),
    (("wish", "suspend"), ("bundle", "at once")),
)


def excluded(row: Row) -> bool:
    """Tell whether some levels of a row cannot be meant together."""
    work = row.get("work")
    if work and "input" in row and (work in SPLITTERS) != (row["input"] != "none"):
        return True
    if row.get("directory") == "yes" and (work or "one") != "one":
        return True
    if row.get("directory") == "yes" and row.get("input", "none") != "none":
        return True
    if work in NO_PROGRAM and any(row.get(name) == level for name, level in ONLY_PROGRAMS.items()):
        return True
    if row.get("after") == "recover" and (work or "FileBased") not in SPLITTERS:
        return True
    # Only of what has failed anything is left to do.
    without_rest = {"end": "good", "input": "none", "directory": "yes"}
    if row.get("after") == "recover" and any(row.get(name) == level for name, level in without_rest.items()):
        return True
    # A gatekeeper has streams of its own.
    if row.get("door") in GATEKEEPERS and row.get("names") == "own":
        return True
    return any(row.get(a) == one and row.get(b) == other for (a, one), (b, other) in NEVER)


def pieces(row: Row) -> list[str]:
    """Return the words of each piece."""
    every = SPLITTERS[row["work"]][2] if row["work"] in SPLITTERS else OTHER[row["work"]][1]
    return list(every[:1] if row["test"] == "yes" else every)


def pieces_again(row: Row) -> list[str]:
    """Return the words of each piece that the request of a people's verb after the end makes of the first piece."""
    if row["after"] == "recover" and row["work"] in ("2", "EvenFiles"):  # again so many local jobs, if it can
        return [A] if row["test"] == "yes" else [A, B]
    return pieces(row)[:1]


def first_ends(row: Row) -> str:
    """Return how the first attempts of each local job end: 3: exit 3, r: recoverable, w: after the warning."""
    asked = (("retry", "rule", "3"), ("recovery", "yes", "r"), ("time", "warned", "w"))
    return "".join(mark for name, level, mark in asked if row[name] == level)


def request(row: Row, here: str) -> dict[str, Any]:
    """Return the attributes of a request."""
    asked: dict[str, Any] = {"job_type": "executable", "executable": f"{here}/payload.sh"}
    if row["work"] in SPLITTERS:
        parameters, arguments, _ = SPLITTERS[row["work"]]
        asked |= {"splitter": row["work"], "arguments": list(arguments)}
        asked |= {"splitter_parameters": dict(parameters)} if parameters else {}
    else:
        asked |= OTHER[row["work"]][0]
        if asked["job_type"] != "executable":
            del asked["executable"]
    environment = {"HERE": here, "FIRST": first_ends(row), "LAST": "5" if row["end"] == "fails" else ""}
    asked["environment"] = {name: text for name, text in environment.items() if text}
    for name, level in row.items():
        asked |= CHANGES.get((name, level), {})
    return asked


CHANGES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("input", "files"): {"input_files": FILES},
    ("input", "dataset"): {"dataset": "raw-1"},
    ("retry", "rule"): {"retry": [{"when": "exit 3", "times": 2, "delay": "PT0S", "change": {"cores": 2}}]},
    ("time", "limit"): {"wall_seconds": 40},
    ("time", "warned"): {"wall_seconds": 40, "warn_seconds": 39},
    ("names", "own"): {"stdout": "said", "stderr": "complained"},
    ("outputs", "pattern"): {"outputs": ["*.root"]},
    ("outputs", "name"): {"outputs": ["out.dat"]},
    ("tar", "summary"): {"tar": "summary"},
    ("memory", "yes"): {"memory_mb": 500},
    ("bundle", "in turn"): {"bundle": 3},
    ("bundle", "at once"): {"bundle": 4, "at_once": 2, "cores": 1, "memory_mb": 500},
    ("test", "yes"): {"test": "yes"},
    ("keep_going", "yes"): {"keep_going": True},
}


# What can never be: its attributes, and the words of the refusal.
DIRECTORY = {"splitter": "5", "directory": "/tmp"}
REFUSED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "gpus": ({"gpus": 1}, "gpus: 1: the batch system local cannot be asked for gpus"),
    "constraint": ({"constraint": "el9"}, "constraint: 'el9': the batch system local cannot be asked for constraint"),
    "licences": ({"licences": "m:1"}, "licences: 'm:1': the batch system local cannot be asked for licences"),
    "at once": ({"at_once": 2}, "at_once: it says how many local jobs of a bundle run at once: ask for bundle, too"),
    "options": ({"batch_options": ["--x"]}, "batch_options: '--x': this site allows none (batch.allowed_options)"),
    "two sources": (
        {"splitter": "FileBased", "dataset": "raw-1", "input_files": FILES},
        "dataset: a request may have either this attribute or input_files, not both",
    ),
    "no splitter": ({"dataset": "raw-1"}, "dataset: needs a splitter; none is given"),
    "no files": ({"splitter": "FileBased"}, "input_files: FileBased splits input files, but the request has none"),
    "no producers": (
        {"splitter": "WMBSMergeBySize", "input_files": FILES},
        "splitter: WMBSMergeBySize makes no local job of this request",
    ),
    "one directory": (DIRECTORY, "goes only with one local job, because several would write the same files"),
    "early warning": (
        {"wall_seconds": 40, "warn_seconds": 40},
        "warn_seconds: 40 s before a time limit that is only 40 s long",
    ),
    "outputs": ({"outputs": ["../x"]}, "'../x' must be a name or pattern inside the payload's directory"),
    "no attempt": ({"retry": [{"when": "exit 3", "times": 0}]}, "retry"),
}


def left_by(row: Row, failed: bool = False) -> list[str]:
    """Return the names of the outputs of a local job; only those of completed ones have other names in the tar."""
    streams = ["said", "complained"] if row["names"] == "own" and not failed else ["stdout", "stderr"]
    return sorted({"none": [], "pattern": ["a.root", "b.root"], "name": ["out.dat"]}[row["outputs"]] + streams)


def seen_by(row: Row) -> dict[str, str]:
    """Return what a last attempt must see."""
    steps, splits = row["steps"], row["work"] not in ("one", *NO_PROGRAM)
    place = "directory" if row["directory"] == "yes" else "scratch" if row["scratch"] == "yes" else "work"

    def if_yes(name: str, text: str) -> str:
        return text if row[name] == "yes" else ""

    return {
        "place": place,
        "recovered": "yes" if first_ends(row)[-1:] in ("r", "w") else "no",
        "setup": if_yes("setup", "yes"),
        "inside": if_yes("container", "yes"),
        "steps": "added" if steps in ("add", "around") else "",
        "each": ("split" if splits else "whole") if steps == "around" else "",
        "one": if_yes("inputs", "one"),
        "two": if_yes("inputs", "two"),
        "tool": if_yes("tools", "tool"),
        "proxy": if_yes("proxy", "-----BEGIN"),
        "token": if_yes("token", "a.b.c"),
        "stdin": if_yes("stdin", "read"),
    }
