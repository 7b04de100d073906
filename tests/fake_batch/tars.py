"""What the tar of a grid job must hold, by what its payloads have written, and what its tables must say of them."""

from __future__ import annotations

import csv
import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any

from jim.jobs import LocalJob
from jim.model import State, Witness
from tests.fake_batch.gateway import Gateway
from tests.fake_batch.node import Run

UNFINISHED = (State.FAILED, State.KILLED)
Contents = dict[str, bytes]  # by the names of members


class TarOf:
    """The tar of a finished grid job, and the payloads that worked on its pieces."""

    def __init__(self, gateway: Gateway, grid: int, *, torn: bool) -> None:
        self.gateway, self.grid, self.torn = gateway, grid, torn
        self.job = gateway.store.grid_job(grid)
        self.jobs = gateway.store.local_jobs(grid)
        runs = gateway.nodes.ever
        self.runs = {job.n: [each for each in runs if each.piece == (self.job.place, str(job.n))] for job in self.jobs}

    def judge(self) -> None:
        """Check each member."""
        if "tar" not in self.job.result:
            owed = {name for job in self.jobs for name in self._outputs(job)}
            assert self.torn or not owed, f"no tar of {owed}"
            return
        with tarfile.open(self.job.result["tar"]) as tar:
            names = tar.getnames()
            held = {name: tar.extractfile(name).read() for name in names}
        assert len(names) == len(held), f"twice in the tar: {names}"
        if not self.torn:
            self._members(held)
            self._tables(held)

    def _members(self, held: Contents) -> None:
        """Each piece has what its payload wrote, and nothing else is there."""
        owed = {name: content for job in self.jobs for name, content in self._outputs(job).items()}
        found = {name: held[name] for name in held if name != "summary.json" and not name.startswith("jim/")}
        missing, more = owed.keys() - found.keys(), found.keys() - owed.keys()
        assert not missing, f"not in the tar: {missing}"
        assert not more, f"in the tar, but nobody's: {more}"
        for name, content in owed.items():
            assert found[name] == content, f"another attempt's output: {name} holds {found[name]!r}, not {content!r}"

    def last(self, job: LocalJob) -> Run | None:
        """Give the last payload of a piece: by the ledger, or by the store where a restore has forgotten some."""
        runs = self.runs[job.n]
        if self.gateway.doubled:
            left = self.gateway.store.last_run(self.grid, job.n)
            mark = left and self.gateway.store.submission(self.grid, left.k).mark
            runs = [each for each in runs if left and (each.task.mark, each.index) == (mark, left.idx)]
        return runs[-1] if runs else None

    def _outputs(self, job: LocalJob) -> Contents:
        """Give what the documents promise of a local job."""
        run = self.last(job)
        if job.state is State.COMPLETED and (not is_forced(job) or self._ended_well(job)):
            assert run, f"completed by nobody: {job}"
            assert (run.code, run.recorded, run.facts["attempt"]) == (0, True, str(job.attempt)), f"{job} by {run}"
            self._only_once(job)
            return {f"{self.grid}.{job.n}/{name}": content for name, content in run.outputs.items()}
        if job.state not in UNFINISHED or not run:
            return {}
        folder = f"{self.grid}.{job.n}.{job.state.value}"
        if run.recorded:
            return {f"{folder}/{name}": content for name, content in run.outputs.items()}
        begun = run.begun if self.gateway.batch.shared_work else {}
        return {f"{folder}/{name}.unverified": content for name, content in begun.items()}

    def _ended_well(self, job: LocalJob) -> bool:
        """Tell whether the last attempt had its outputs verified before somebody forced anything."""
        return [each.verdict for each in self.gateway.store.attempts(self.grid, n=job.n)][-1:] == ["completed"]

    def _only_once(self, job: LocalJob) -> None:
        """No piece is done twice, unless a person asked for that."""
        asked = any(
            line.witness == Witness.USER.value for line in self.gateway.store.journals.of(self.grid, job.n, 10_000)
        )
        well = [each for each in self.runs[job.n] if each.code == 0]
        assert asked or self.gateway.doubled or len(well) == 1, f"done {len(well)} times: {job} by {well}"

    def _tables(self, held: Contents) -> None:
        """What the tables say of each local job is what has happened."""
        whole, tables = json.loads(held["summary.json"]), json.loads(held["jim/summary.json"])
        rows = list(csv.DictReader(io.StringIO(held["jim/jobs.csv"].decode())))
        assert (whole["id"], whole["key"]) == (self.grid, self.job.key), whole
        assert len(rows) == len(tables) == len(whole["local_jobs"]) == len(self.jobs), f"{len(rows)} in the table"
        for job, short, facts, row in zip(self.jobs, whole["local_jobs"], tables, rows, strict=True):
            told = (job.n, job.state.value, job.attempt)
            assert (short["n"], short["state"], short["attempt"]) == told, f"{short} of {job}"
            assert (facts["local_job"], facts["state"], facts["attempt"]) == told, f"{facts} of {job}"
            assert [row["local_job"], row["state"], row["attempt"]] == [str(each) for each in told], f"{row} of {job}"
            self._row(job, facts, row)
        counts = self.job.result["local_jobs"], self.job.result["unfinished"]
        folders = {name.partition("/")[0] for name in held}
        left = [folder for folder in folders if folder.endswith((".failed", ".killed"))]
        assert counts == (len([each for each in folders if each.count(".") == 1 and each != "summary.json"]), len(left))

    def _row(self, job: LocalJob, facts: Mapping[str, Any], row: Mapping[str, str]) -> None:
        run = self.last(job)
        own = run if run and run.recorded and run.facts["attempt"] == str(job.attempt) else None
        if job.state is State.COMPLETED and is_forced(job) and not self._ended_well(job):
            own = None  # it has no verified outputs
        ended = (own.code, own.signal) if own else (None, None)
        assert (facts.get("code"), facts.get("signal")) == ended, f"{facts} of {own}"
        assert (row["code"], row["signal"]) == tuple("" if each is None else str(each) for each in ended), f"{row}"
        written = {name: len(content) for name, content in own.outputs.items()} if own else {}
        assert {each["name"]: each["bytes"] for each in facts["outputs"]} == written, f"{facts} of {own}"
        assert (row["outputs"], row["bytes"]) == (str(len(written)), str(sum(written.values()))), f"{row} of {own}"
        folders = {name.partition("/")[0] for name in self._outputs(job)} if job.state in UNFINISHED else set()
        assert (facts.get("left") or "") == row["left"] == "".join(folders), f"{facts} of {run}"
        if run:
            assert job.attempt >= int(run.facts["attempt"]), f"{job} has forgotten {run}"


def is_forced(job: LocalJob) -> bool:
    """Tell whether a person has said what a local job shall be."""
    return job.reason.startswith("forced")
