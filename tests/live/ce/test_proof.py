"""The quick proof: hello, a split job, a cancel and a kill. All are submitted first, for HTCondor takes its time."""

from __future__ import annotations

import tarfile
from typing import NamedTuple

import pytest

from tests.live.ce.computing_element import LONG, ComputingElement, quoted
from tests.live.site import until

# blahpd puts a value for $NAME: nobody behind it can tell.
WORDS = ("one", "two words", "it's", 'a "quote"', "& ; (x) *", "<a|b>", "{c} [d] ~e #f !g ?h %i ^j", "back\\slash", "ä")
SAYS = 'for word; do echo "<$word>"; done; cat given; echo oops >&2; echo 42 >result; exit 9'


class Submitted(NamedTuple):
    """Jobs under way, with their directories: (job, directory)."""

    routed: tuple
    direct: tuple
    split: tuple
    to_cancel: tuple
    numbers: list


def hello(ce: ComputingElement, universe: str) -> tuple:
    place = ce.directory()
    (place / "given").write_text("input\n")
    job = ce.submit(
        place,
        universe=universe,
        executable=ce.program(place, SAYS),
        arguments=quoted(*WORDS),
        transfer_input_files="given",
        transfer_output_files="result",
        should_transfer_files="YES",
    )
    return job, place


def split(ce: ComputingElement) -> tuple:
    place = ce.directory()
    job = ce.submit(
        place,
        executable=ce.program(place, 'echo "of $1"; echo "$1" >data'),
        output="results.tar",
        _JIM_job_type='"parametric"',
        _JIM_argument_sets='"[[\\"a\\"], [\\"b\\"], [\\"c\\"]]"',
        _JIM_outputs='"data"',
    )
    return job, place


@pytest.fixture(scope="module")
def submitted(ce):
    before, place = ce.jobs(), ce.directory()
    job = ce.submit(place, universe="grid", executable=ce.program(place, LONG))
    return Submitted(hello(ce, "vanilla"), hello(ce, "grid"), split(ce), (job, place), before)


def test_cancel(ce, submitted):
    job, place = submitted.to_cancel
    number = ce.number(job)
    until(lambda: ce.show(number)["counts"].get("running"), "it runs")
    ce.run("condor_rm", job)
    until(lambda: ce.show(number)["step"] == "finished", "it has ended")
    assert ce.show(number)["status"] == "killed"
    assert not (place / "out").exists()


@pytest.mark.parametrize("way", ["routed", "direct"])
def test_hello(ce, submitted, way):
    job, place = getattr(submitted, way)
    assert ce.ended(job) == 9
    assert (place / "out").read_text() == "".join(f"<{word}>\n" for word in WORDS) + "input\n"
    assert ((place / "err").read_text(), (place / "result").read_text()) == ("oops\n", "42\n")
    if way == "direct":
        assert ce.attribute(job, "ExitReason") == "1 of 1 local job failed: exit 9"


def test_a_split_job_by_attributes(ce, submitted):
    job, place = submitted.split
    assert ce.ended(job) == 0
    with tarfile.open(place / "results.tar") as tar:
        names = [name for name in tar.getnames() if name.endswith("/data")]
        found = sorted(tar.extractfile(name).read() for name in names)
    assert found == [b"a\n", b"b\n", b"c\n"]
    until(lambda: (place / "results.tar.status").read_text() == "done\n", "the last line of progress is there")


@pytest.mark.long
def test_the_gridmanager_is_killed_between_jim_s_answer_and_the_script_s(ce):
    place, before = ce.directory(), ce.jobs()
    with ce.after_the_answer() as held:
        job = ce.submit(place, universe="grid", executable=ce.program(place, "echo once; exit 6"))
        until(held.exists, "the script waits")
        assert ce.kill("condor_gridmanager")
        held.unlink()
        assert ce.ended(job) == 6
        assert ce.calls() == 2
    assert len(set(ce.jobs()) - set(before)) == 1
    assert (place / "out").read_text() == "once\n"
