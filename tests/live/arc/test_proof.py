"""The quick proof: hello, a split job, a cancel and a kill. All are submitted first: A-REX looks every ten seconds."""

from __future__ import annotations

import tarfile
from typing import NamedTuple

import pytest

from tests.live.arc.computing_element import CONTROL, LAB, LONG, ComputingElement
from tests.live.site import until

# A double quote within a text of xRSL is written twice. A-REX itself drops line breaks.
WORDS = ("one", "two words", "it's", 'a "quote"', "& ; (x) *", "<a|b>", "$HOME `id`", "back\\slash", "ä")
SAYS = 'for word; do echo "<$word>"; done; cat given; echo oops >&2; echo 42 >result; echo no >other; exit $CODE'


class Submitted(NamedTuple):
    """Jobs under way: (job, directory)."""

    good: tuple
    bad: tuple
    split: tuple
    to_cancel: tuple


def hello(ce: ComputingElement, code: int) -> tuple:
    place = ce.directory()
    (place / "given").write_text("input\n")
    program = ce.program(place, SAYS)
    words = " ".join('"{}"'.format(word.replace('"', '""')) for word in WORDS)
    description = (
        f'(executable="{program}")(arguments={words})(environment=("CODE" "{code}"))'
        f'(inputfiles=("{program}" "")("given" ""))(outputfiles=("result" ""))(stdout="out")(stderr="err")'
        '(gmlog="log")(jobname="hello")'
    )
    return ce.submit(place, description), place


def split(ce: ComputingElement) -> tuple:
    place = ce.directory()
    program = ce.program(place, 'echo "of $1"; echo "$1" >data')
    description = (
        f'(executable="{program}")(inputfiles=("{program}" ""))(outputfiles=("results.tar" ""))(stdout="out")'
        '(runtimeenvironment="JIM/PARAMETRIC" "argument_sets=[[""a""],[""b""],[""c""]]" "outputs=data")'
    )
    return ce.submit(place, description), place


@pytest.fixture(scope="module")
def submitted(ce):
    place = ce.directory()
    program = ce.program(place, LONG)
    job = ce.submit(place, f'(executable="{program}")(inputfiles=("{program}" ""))(stdout="out")')
    return Submitted(hello(ce, 0), hello(ce, 9), split(ce), (job, place))


def test_cancel(ce, submitted):
    job, _ = submitted.to_cancel
    number = ce.number(job)
    until(lambda: ce.show(number)["counts"].get("running"), "it runs")
    ce.client("arckill", "-j", str(submitted.to_cancel[1] / "jobs"), "-k", "-a")
    ce.until(job, "FINISHED")
    until(lambda: ce.show(number)["step"] == "finished", "it has ended")
    assert ce.show(number)["status"] == "killed"
    assert "canceled" in ce.failure(job)


@pytest.mark.parametrize("code", [0, 9])
def test_hello(ce, submitted, code):
    job, place = submitted.bad if code else submitted.good
    ce.until(job, "FINISHED")
    said = "".join(f"<{word}>\n" for word in WORDS) + "input\n"
    assert (LAB / f"session/{job}/out").read_text() == said
    got = ce.got(place, job)
    assert (got / "out").read_text() == said
    assert ((got / "err").read_text(), (got / "result").read_text()) == ("oops\n", "42\n")
    assert sorted(each.name for each in got.iterdir()) == ["err", "out", "result"]
    assert ("LRMS error: (9) 1 of 1 local job failed: exit 9" in ce.failure(job)) == bool(code)
    diag = (CONTROL / f"job.{job}.diag").read_text().splitlines()
    assert {f"exitcode={code}", "Processors=1"} <= set(diag)
    assert {line.partition("=")[0] for line in diag} >= {
        "nodename",
        "WallTime",
        "UserTime",
        "LRMSStartTime",
        "LRMSEndTime",
    }


def test_a_split_job_comes_back_as_one_tar(ce, submitted):
    job, place = submitted.split
    ce.until(job, "FINISHED")
    got, number = ce.got(place, job), ce.number(job)
    assert (got / "out").read_text() == "of a\nof b\nof c\n"
    with tarfile.open(got / "results.tar") as packed:
        data = [packed.extractfile(f"{number}.{n}/data").read() for n in range(3)]
    assert data == [b"a\n", b"b\n", b"c\n"]


def test_a_rex_killed_after_jim_s_answer_hands_in_twice_and_one_job_runs(ce):
    place, before = ce.directory(), ce.jobs()
    program = ce.program(place, 'echo "$GRID_GLOBAL_JOBID"')
    with ce.after_the_answer() as held:
        job = ce.submit(place, f'(executable="{program}")(inputfiles=("{program}" ""))(stdout="out")')
        until(held.exists, "JIM has answered")
        ce.kill_arex()
        ce.start_arex()
        until(lambda: ce.calls() == 2, "A-REX hands it in again")
        held.unlink()
        ce.until(job, "FINISHED")
    assert (LAB / f"session/{job}/out").read_text() == f"{job}\n"  # clients would see it a minute later
    assert len(ce.jobs()) == len(before) + 1
