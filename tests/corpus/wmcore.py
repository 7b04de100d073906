"""Cases of splitters of input files: a fileset in, job groups and file states out."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import replace
from typing import Any

from jim.splitting.files_and_jobs import Record, Settled, SplitJob
from jim.splitting.registry import split
from jim.splitting.subscription import SUBSCRIPTION, Subscription
from tests.corpus.difference import Difference, same

# What a case says of a job that is not compared: the words of a reason are the peer's own.
WORDS = "failed_reason"


def takes(case: dict[str, Any]) -> bool:
    return "fileset" in case and "splitter" in case


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Split as often as the case says; keep each call's jobs, and the states of the files at the end."""
    told = {key: value for key, value in case.items() if key in SUBSCRIPTION}
    work = Subscription.from_record({"now": time.time()} | told)
    states: dict[str, str] = {}
    calls = []
    for _ in range(case.get("calls", 1)):
        stream = list(split(case["splitter"], case["params"], work))
        jobs = [each for each in stream if isinstance(each, SplitJob)]
        for one in stream:
            state = one.state if isinstance(one, Settled) else "acquired"
            states |= {file.lfn: state for file in one.files}
        calls.append([job.to_record() for job in jobs])
        work = replace(
            work,
            files=tuple(file for file in work.files if file.lfn not in states),
            acquired=tuple(file for file in (*work.acquired, *work.files) if states.get(file.lfn) == "acquired"),
            jobs_before=work.jobs_before + len(jobs),
        )
    states = {file["lfn"]: "available" for file in case["files"]} | states
    by_state = {word: sorted(lfn for lfn, its in states.items() if its == word) for word in set(states.values())}
    return {"calls": calls, "file_states_after": by_state}


def compare(case: dict[str, Any], got: dict[str, Any]) -> Difference | None:
    expected = case["expected"]
    for n, groups in enumerate([expected["groups"], *expected.get("later_calls", [])]):
        difference = compare_groups(case["compare"], groups, got["calls"][n])
        if difference:
            return difference
    states = {word: sorted(names) for word, names in expected.get("file_states_after", {}).items() if names}
    if "file_states_after" in expected and states != got["file_states_after"]:
        return Difference("file states", states, got["file_states_after"])
    return None


def compare_groups(how: dict[str, Any], groups: list[Record], jobs: list[Record]) -> Difference | None:
    """Compare job groups; where those of a splitter are at no one place, their places are not compared."""
    flat = how["groups"] == "flat" or any(job["locations"] is None for job in jobs)
    wanted: dict[str, list[Record]] = {}
    for group in groups:
        for job in group["jobs"]:
            wanted.setdefault("" if flat else json.dumps(sorted(group["locations"])), []).append(job)
    found: dict[str, list[Record]] = {}
    for job in jobs:
        found.setdefault("" if flat else json.dumps(job["locations"]), []).append(job)
    if wanted.keys() != found.keys():
        return Difference("job groups at", sorted(wanted), sorted(found))
    for place, those in wanted.items():
        difference = _compare_jobs(how, f"jobs at {place}" if place else "jobs", those, found[place])
        if difference:
            return difference
    return None


def _compare_jobs(how: dict[str, Any], what: str, wanted: list[Record], found: list[Record]) -> Difference | None:
    if len(wanted) != len(found):
        return Difference(f"number of {what}", len(wanted), len(found))
    left = list(enumerate(found))
    for n, job in enumerate(wanted):
        these = [left[0]] if how["job_order"] == "exact" else left
        match = next((one for one in these if _same_job(how, job, one[1])), None)
        if match is None:
            return Difference(f"{what}, number {n}", job, these[0][1])
        left.remove(match)
    return None


def _same_job(how: dict[str, Any], wanted: Record, found: Record) -> bool:
    if how["file_order"] == "any":
        same_files = Counter(wanted["files"]) == Counter(found["files"])
    else:
        same_files = wanted["files"] == found["files"]
    told = {"mask", "estimates", "failed_on_creation", "failed_code", "baggage", "parents"} | (
        {"sites"} & wanted.keys()
    )
    if bool(wanted.get(WORDS)) != bool(found.get(WORDS)):
        return False
    return same_files and same(_told(wanted, told), _told(found, told), how.get("float_rel_tol", 0))


def _told(job: Record, keys: set[str]) -> Record:
    """Keep what is compared; what is empty, or false, may as well not be there."""
    told = {key: value for key, value in job.items() if key in keys}
    if "sites" in told:
        told["sites"] = sorted(told["sites"])
    if "parents" in told:
        told["parents"] = {lfn: sorted(parents) for lfn, parents in told["parents"].items() if parents}
    return {key: value for key, value in told.items() if value or key == "sites"}
