"""The qsub, qstat and qdel that come with Slurm: they look like PBS, but answer like Slurm.

They list no arrays and report no exit codes. If sbatch is available, `slurm` is the better adapter.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from jim.adapters.history.qstat import UNKNOWN_JOB
from jim.adapters.listings.qstat import Facts
from jim.adapters.messages import pbs_wrappers as messages
from jim.adapters.pbs import COMMANDS
from jim.adapters.torque import Torque
from jim.errors import Unclear
from jim.model import Answer, Listing


class PbsWrappers(Torque):
    """A batch id is a number. Each submission is one job."""

    name = "pbs_wrappers"
    capacity = ""
    special: Mapping[str, str] = {}
    commands = {each: words for each, words in COMMANDS.items() if each not in ("nodes", "queues")} | {
        "hold": ("qhold", "-h", "u")
    }
    index_variable, id_variable = "PBS_ARRAY_INDEX", "SLURM_JOB_ID"
    restart_variable = "SLURM_RESTART_COUNT"
    array_limit = 1  # a listing does not say which member of an array a job is
    unclear, full, transient = messages.UNCLEAR, messages.FULL, messages.TRANSIENT
    permanent, gone = messages.PERMANENT, messages.GONE
    # -v: the job gets this variable and no other of JIM's.
    submitting = ("-v", "PATH", "-m", "n", "-j", "oe", "-o", "/dev/null")
    printed_id = "[1-9][0-9]*"
    listing, pinging = ("-f",), ("-Q",)

    @staticmethod
    def quote(word: str) -> str:
        return shlex.quote(word)  # they put the text into a shell line without quotes

    def parse_query(self, answer: Answer) -> Listing:
        if answer.code == UNKNOWN_JOB and not answer.out + answer.err:  # their answer if there are no jobs at all
            return {}
        # They exit 0 only if they have a job to report, and that report was lost.
        if answer.code == 0 and not answer.out:
            raise Unclear(answer.facts())
        return super().parse_query(answer)

    def parse_cancel(self, answer: Answer) -> None:
        # Otherwise some jobs had ended, which the answer does not say.
        if answer.out or answer.err or (answer.code or -1) < 0:
            super().parse_cancel(answer)

    def word(self, id_: str, jobs: Mapping[str, Facts]) -> str:
        """Return a PBS word; U is a state that they do not know, and a held job has no priority."""
        job = jobs[id_]
        held = job["job_state"] == "Q" and job.get("priority") == "0"
        return {"Q": "H" if held else "Q", "U": "U?"}.get(job["job_state"], job["job_state"])


ADAPTER = PbsWrappers
