"""Cases of DIRAC's grouping by replicas and by size: files in, tasks at storages out."""

from __future__ import annotations

from typing import Any

from jim.splitting.files_and_jobs import Record, jobs_in
from jim.splitting.registry import split
from jim.splitting.subscription import Subscription
from tests.corpus.difference import Difference
from tests.corpus.wmcore import compare_groups


def takes(case: dict[str, Any]) -> bool:
    return str(case.get("splitter", "")).startswith("DIRAC.")


def answer(case: dict[str, Any]) -> list[Record]:
    work = Subscription.from_record({"files": case["files"]})
    return [job.to_record() for job in jobs_in(split(case["splitter"], case["params"], work))]


def compare(case: dict[str, Any], got: list[Record]) -> Difference | None:
    return compare_groups({"job_order": "any"} | case["compare"], case["expected"]["groups"], got)
