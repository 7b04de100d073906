"""The words of Slurm's own qsub, which hands on what sbatch says; the rest is told in test_adapter_pbs."""

from __future__ import annotations

import pytest

from jim.adapters.pbs_wrappers import ADAPTER
from jim.errors import BatchError, Full, Refused, Unclear
from jim.model import Answer
from tests.fake_batch.dialects.pbs_wrappers import SBATCH

FAILED = "sbatch: error: Batch job submission failed: "
BUSY = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n "
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n"


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (f"sbatch: error: QOSMaxSubmitJobPerUserLimit\n {FAILED}{POLICY}", Full),
        (f"sbatch: error: QOSMaxCpuPerJobLimit\n {FAILED}{POLICY}", Refused),
        (f"{BUSY}{FAILED}Resource temporarily unavailable\n", Full),
        (f"{BUSY}{FAILED}Socket timed out on send/recv operation\n", Unclear),
        (f"{BUSY}{FAILED}Unable to contact slurm controller (connect failure)\n", BatchError),
        (f"{FAILED}Memory required by task is not available\n", Refused),
    ],
)
def test_a_failed_submission(output, kind):
    assert type(ADAPTER().trouble(Answer(("qsub",), 1, SBATCH.format(output), "", 0.1))) is kind


def test_words_of_a_lost_answer_are_known():
    words = "qdel: Kill job error on job id 1: Socket timed out on send/recv operation\n"
    assert ADAPTER().says(ADAPTER.unclear, words)


def test_a_qsub_that_failed_behind_its_sbatch_may_have_submitted():
    answer = Answer(("qsub",), 2, "1261\n", "Problem loading slurm.\n", 0.1)
    assert type(ADAPTER().trouble(answer)) is Unclear
