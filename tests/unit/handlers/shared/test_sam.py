"""What SAMGrid's job types share."""

from __future__ import annotations

import pytest

from jim.handlers.shared.sam import options
from jim.model import Job, Piece
from jim.request import check, handler_of

MERGE = {
    "job_type": "dzero_merge",
    "station_name": "samgrid",
    "group": "dzero",
    "d0_release_version": "p14.07.00",
    "input_files": [{"lfn": "a"}, {"lfn": "b"}],
}


@pytest.fixture
def merging():
    needed = {"request_id": "13669", "jobfiles_dataset": "mcc99-jobfiles", "minbias_dataset": "mcc99-minbias"}
    from jim.request import declarations

    declared = declarations(handler_of("dzero_merge", ""))
    return check(MERGE | {name: value for name, value in needed.items() if name in declared})


def test_facts_without_a_value_are_left_out():
    assert options({"release": "p14", "events": None, "seed": 0}) == ["--release=p14", "--seed=0"]


def test_a_program_gets_facts_then_an_earlier_attempt_s_arguments_then_its_files(merging):
    handler, request = merging
    job = Job(grid_job=12, key="k", n=3, attempt=2, recovery=("--skip=1",))
    words = handler.command_and_arguments(request, job, Piece(files=("a", "b")))
    assert words[0] == handler.program
    assert words[1:] == ("--release=p14.07.00", "--output=merged_12.3", "--skip=1", "a", "b")


def test_the_payload_knows_the_sam_that_the_request_names(merging):
    handler, request = merging
    assert handler.environment(request)["SAM_STATION"] == "samgrid"
    assert "merged_*" in handler.outputs(request)


@pytest.mark.parametrize(
    ("job_type", "name", "more", "stem"),
    [
        ("dzero_monte_carlo", "hist.root", {"request_id": "13669"}, "13669"),
        ("dzero_monte_carlo", "d0reco_p14.07.00_13669_00000251", {"request_id": "13669"}, ""),
        ("dzero_reconstruction", "stdout", {"dataset": "raw-p14"}, "raw-p14"),
        ("dzero_merge", "merged_2.0.json", {"dataset": "request-13669-d0reco"}, ""),
        ("dzero_merge", "stderr", {"dataset": None}, "dzero_merge"),
        ("sam_analysis", "merged_it.root", {"dataset": "skim"}, "skim"),
        ("cdf_monte_carlo", "production.log", {"request_id": "7"}, "7"),
        ("cdf_monte_carlo", "production_1.dat", {"request_id": "7"}, ""),
    ],
)
def test_what_a_program_does_not_name_itself_gets_a_stem(job_type, name, more, stem):
    assert handler_of(job_type, "").stem({"job_type": job_type, **more}, name) == stem
