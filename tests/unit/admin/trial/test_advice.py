"""Advice on a site, from the reasons of failed test jobs."""

from __future__ import annotations

import pytest

from jim.admin.trial import advice
from jim.model import NO_REASON, Kind, Reason
from tests.unit.admin.trial.tried import SITE, said

# Slurm's own words.
WALL = "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)"
SLURM_MANY = (
    "sbatch: error: AssocMaxSubmitJobLimit / sbatch: error: Batch job submission failed: Job violates accounting/QOS "
    "policy (job submit limit, user's size and/or time limits)"
)


@pytest.mark.parametrize(
    ("why", "part"),
    [
        (said("invalid partition", Kind.REFUSED), "batch.queue ('grdi')"),
        (said("hm", Kind.NOT_ACCEPTED, Kind.UNCLEAR), "batch.options ('--qos=x')"),
        (Reason(Kind.NOT_ACCEPTED, {"cause": Kind.UNCLEAR, "code": None}), "batch.command_seconds (5 s)"),
        (Reason(Kind.UNCLEAR, {"code": None}), "batch.command_seconds (5 s)"),
        (said(WALL, Kind.REFUSED), "batch.wall_seconds (86,400)"),
        (said(SLURM_MANY), "limits.queued (10,000) and limits.per_submission (1,000)"),
        (said("ERROR: Number of submitted jobs would exceed MAX_JOBS_PER_OWNER"), "limits.queued"),
        (said("hm", Kind.TOO_MANY, Kind.TOO_MANY), "limits.per_submission"),
        (said("qsub: Maximum number of jobs already in queue"), "limits.queued"),
        (said("only 4 jobs are allowed per user (current job count: 4)", Kind.REFUSED), "limits.queued"),
        (said("User or one of user's groups does not have enough job slots. Job not submitted."), "limits.queued"),
        (said("sbatch: error: Batch job submission failed: Invalid job array specification"), "MaxArraySize"),
        (said("qsub: Array job exceeds server or queue size limit"), "limits.per_submission (1,000)"),
        (said("qsub: Job violates queue and/or server resource limits", Kind.REFUSED), "batch.wall_seconds"),
        (Reason(Kind.NEVER_STARTS), "cores and memory"),
        (Reason(Kind.NOT_ACCEPTED, {"cause": "not listed"}), "batch.commands.query and batch.commands.find"),
        (Reason(Kind.NOT_LISTED), "batch.visible_seconds (90 s) is longer"),
        (Reason(Kind.NOT_TAKEN), "batch.visible_seconds (90 s)"),
        (Reason(Kind.OUTPUTS_DIFFER), "batch.visible_seconds (90 s)"),
        (Reason(Kind.LOST), "noexec"),
        (Reason(Kind.EXIT, {"code": 127}), "noexec"),
        (Reason(Kind.VANISHED), "can write to /state"),
        (Reason(Kind.PUT_BACK), "can write to /state"),
        (Reason(Kind.TIME_LIMIT), "batch.wall_seconds is 86,400"),
        (Reason(Kind.ACCOUNTING, {"said": "virtual memory limit"}), "`jim site check`"),
        (Reason(Kind.KILLED, {"signal": 9}), "the memory of a worker node"),
        (Reason(Kind.ACCOUNTING, {"said": "TERM_OWNER: job killed by owner"}), "the memory of a worker node"),
        (Reason(Kind.EXIT, {"code": 12}), "`jim site check`"),
        (Reason(words="lost: not accepted; did not return; exit 127"), "`jim site check`"),
    ],
)
def test_the_advice_fits_the_failure(why, part):
    assert part in advice.of(SITE, [NO_REASON, why])
