"""CDF's production, and analysis over SAM datasets: what is run, by stand-ins, and how files are split."""

from __future__ import annotations

import pytest

from jim.errors import BadRequest
from jim.model import Piece
from jim.request import check, read
from jim.site.settings import General
from jim.work.followup_requests import copied, recovering
from jim.work.pieces import herd_of
from tests.unit.handlers.runs import EXAMPLES, JOB, RUNS, run, split


def test_monte_carlo_goes_through_its_phases(tmp_path):
    handler, request = check(read(EXAMPLES / "cdf/monte-carlo.jdf"))
    command = handler.command_and_arguments(request, JOB, Piece(251, 250))
    assert list(command) == [
        *("mcProduction", "--request_id=ztopmm", "--release=6.1.4mc", "--tarball_dataset=ztopmm-tarball"),
        *("--phases=cdfgen,cdfsim,trgsim,production", "--first_event=251", "--events=250", f"--seed={JOB.seed}"),
    ]
    assert tuple(handler.outputs(request)) == ("cdfgen_*", "cdfsim_*", "trgsim_*", "production_*")
    done = run(tmp_path, command)
    assert (done.returncode, done.stderr) == (0, "")
    made = tmp_path / "production_6.1.4mc_ztopmm_00000251"
    assert [int(line[:9]) for line in made.read_text().splitlines()] == list(range(251, 501))
    assert len([each for each in tmp_path.iterdir() if each.suffix != ".json"]) == 4


def test_concatenation_keeps_runs_apart(tmp_path):
    words = ["cdf_concatenate", "--release=6.1.4mc"]
    assert split("cdf/concatenation.toml", splitter_parameters={"merge_across_runs": True}) == [
        [*words, "--output=merged_12.0", "a1", "a2", "b1"]
    ]
    apart = [[*words, "--output=merged_12.0", "a1", "a2"], [*words, "--output=merged_12.1", "b1"]]
    assert split("cdf/concatenation.toml") == apart
    _, untold = check({"job_type": "cdf_concatenation", "cdf_release_version": "6.1.4mc", "dataset": "d"})
    assert untold["splitter_parameters"] == {"merge_across_runs": False}
    for name in ("a1", "a2"):
        (tmp_path / name).write_text(f"{int(name[1]):9d} production\n")
    assert run(tmp_path, apart[0], SAM_STORAGE=str(tmp_path)).returncode == 0
    assert (tmp_path / "merged_12.0").read_text().split() == [
        "1",
        "merged".ljust(69, "."),
        "2",
        "merged".ljust(69, "."),
    ]


@pytest.mark.parametrize("name", ["cdf/concatenation.toml", "d0/merge-13669.jdf", "d0/analysis.toml"])
def test_files_come_from_one_place(name):
    with pytest.raises(BadRequest, match="dataset: a request may have either this attribute or input_files, not both"):
        check(read(EXAMPLES / name) | {"input_files": RUNS})


@pytest.mark.parametrize("name", ["cdf/concatenation.toml", "d0/merge-13669.jdf", "d0/analysis.toml"])
def test_a_copy_of_a_local_job_has_its_files(name):
    """As `jim copy` writes it: no dataset, which would be looked up again, and only the files of that local job."""
    handler, request = check(read(EXAMPLES / name))
    looked_up = request | {"input_files": RUNS}
    for piece in list(herd_of(handler, looked_up, 12, General(), 100)):
        _, again = check(copied(looked_up, piece))
        (alone,) = herd_of(handler, again, 13, General(), 100)
        assert (alone.files, alone.arguments) == (piece.files, piece.arguments)


@pytest.mark.parametrize("name", ["cdf/concatenation.toml", "d0/merge-13669.jdf", "d0/analysis.toml"])
def test_what_recovers_has_the_files_that_were_left(name):
    handler, request = check(read(EXAMPLES / name))
    looked_up = request | {"input_files": RUNS}
    first, *_ = herd_of(handler, looked_up, 12, General(), 100)
    _, again = check(recovering(looked_up, [first]))
    assert [piece.files for piece in herd_of(handler, again, 13, General(), 100)] == [first.files]
