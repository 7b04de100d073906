"""The words of the door of HTCondor-CE."""

import re

import pytest

from jim.doors.condor import DOOR
from jim.doors.contract import Told
from jim.errors import BadRequest, JimError, UnknownJob
from jim.model import Standing

CONDOR = DOOR("condor")
FAILED = '0[BatchJobId="7";JobStatus=4;ExitCode=9;ExitReason="exit 9: \\"no\\" \\\\x ?";]\n'


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        (Told(7, Standing.ACCEPTED, progress="not split yet"), '0[BatchJobId="7";JobStatus=1;]\nnot split yet\n'),
        (Told(7, Standing.PENDING), '0[BatchJobId="7";JobStatus=1;]\n\n'),
        (Told(7, Standing.ACTIVE, started=True, progress="1 of 3"), '0[BatchJobId="7";JobStatus=2;]\n1 of 3\n'),
        # Neither 5, which would cancel it, nor a second start, for which a CE removes a job.
        (Told(7, Standing.SUSPENDED, started=True), '0[BatchJobId="7";JobStatus=2;]\n\n'),
        (Told(7, Standing.SUSPENDED), '0[BatchJobId="7";JobStatus=1;]\n\n'),
        (Told(7, Standing.DONE, "", 0, started=True), '0[BatchJobId="7";JobStatus=4;ExitCode=0;]\ndone\n'),
        (Told(7, Standing.FAILED, 'exit 9: "no"\n\\x ä', 9), f'{FAILED}failed: exit 9: "no" \\x ?\n'),
        (
            Told(7, Standing.CANCELLED, "cancelled", 1),
            '0[BatchJobId="7";JobStatus=4;ExitCode=1;ExitReason="cancelled";]\ncancelled: cancelled\n',
        ),
    ],
)
def test_answers(told, answer):
    assert CONDOR.state(told).decode() == answer
    assert CONDOR.is_final(answer.encode()) is told.standing.final


def test_a_line_of_progress_is_no_end():
    assert not CONDOR.is_final(CONDOR.state(Told(7, Standing.ACTIVE, progress=";JobStatus=4;")))
    assert not CONDOR.is_final(b"")


def test_an_ad_is_shorter_than_blahpd_reads():
    ad, _, line = CONDOR.state(Told(7, Standing.FAILED, '"' * 10_000, 1)).partition(b"\n")
    assert len(ad) < 1024
    assert len(line) > 10_000


def test_an_id_names_the_scripts_and_the_number():
    assert re.fullmatch(rb"BLAHP_JOBID_PREFIXjim/20\d{6}/12\n", CONDOR.accepted(12))


@pytest.mark.parametrize(
    ("verb", "error", "said"),
    [
        ("submit", BadRequest("no"), b""),
        ("cancel", UnknownJob("gone"), b" 0 No\\ error\n"),  # what is gone is as good as cancelled
        ("cancel", JimError("disk is full:\n/x"), b" 1 disk\\ is\\ full:\\ /x\n"),
    ],
)
def test_failures(verb, error, said):
    assert CONDOR.refused(verb, str(error), error) == said


def test_a_cancel_is_a_success_whatever_was():
    assert CONDOR.cancelled(b"") == CONDOR.cancelled(CONDOR.state(Told(7, Standing.DONE, "", 0))) == b" 0 No\\ error\n"
