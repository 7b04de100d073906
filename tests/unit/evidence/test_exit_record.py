"""Claims and exit records, as wrappers write them and as a broken disk leaves them."""

from __future__ import annotations

import pytest

from jim.errors import JimError
from jim.evidence.exit_record import Output, read_claim, read_exit_record, read_jobs, times_of
from tests.support.exit_records import exit_record, record

WHOLE = exit_record("jim-cafe-1-1", 11)
SUM = "0" * 64


def test_a_whole_record_is_read():
    found = read_exit_record(WHOLE)
    assert (found.mark, found.index, found.n, found.attempt, found.host, found.batch) == (
        "jim-cafe-1-1",
        1,
        0,
        1,
        "node7",
        "4711",
    )
    assert (found.code, found.signal, found.cpu, found.seconds, found.reason) == (3, None, 4.2, 5.0, "")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", (None, False, 0)),
        ("peak 1024 cgroup\n", (1, False, 0)),
        ("peak 1025 sampled\n", (2, True, 0)),
        ("peak 5000 cgroup\nkills 3\n", (5, False, 3)),
    ],
)
def test_the_peak_of_memory_is_read(lines, told):
    found = read_exit_record(exit_record("m", 11, lines))
    assert (found.peak_mb, found.sampled, found.kills) == told


@pytest.mark.parametrize("line", ["peak 5 guessed\n", "peak -5 cgroup\n", "peak 5\n", "kills some\n"])
def test_what_is_no_peak_is_refused(line):
    with pytest.raises(JimError, match="wrong or missing line"):
        read_exit_record(exit_record("m", 11, line))


def test_a_hole_in_a_sparse_file_is_no_line():
    assert read_exit_record(exit_record("m", 11, f"odd {65_532 * chr(0)}\n")).mark == "m"
    with pytest.raises(JimError, match="a line of 65,537 characters"):
        read_exit_record(exit_record("m", 11, f"odd {65_533 * chr(0)}\n"))


@pytest.mark.parametrize("length", [0, 10, len(WHOLE) - 5, len(WHOLE) - 1])
def test_a_record_that_was_cut_short_is_refused(length):
    with pytest.raises(JimError, match="incomplete"):
        read_exit_record(WHOLE[:length])


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("code 3", "code three"),
        ("cpu 4.20", "cpu nan"),
        ("cpu 4.20", "cpu -1"),
        ("started 2026-01-31T11", "started 2026-02-31T11"),
        ("nonce 5e0c\n", ""),
        ("code 3", "code 3_0"),
        ("code 3", "code -3"),
        ("code 3", f"code {'9' * 10}"),
        ("signal -", f"signal {'9' * 4000}"),
        ("n 0", "n \u0663"),
    ],
)
def test_a_record_with_a_wrong_line_is_refused(was, now):
    with pytest.raises(JimError, match="wrong or missing line"):
        read_exit_record(WHOLE.replace(was, now))


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "", "a\0b"])
def test_no_output_lies_outside_its_directory(name):
    with pytest.raises(JimError, match="wrong file line"):
        read_exit_record(exit_record("m", 11, f"file 5 {SUM} {name}\n"))


def test_outputs_are_listed_with_those_that_were_not_taken():
    manifest = f"file 5 {SUM} a/b c\nfile 1 {SUM} \ufffd.dat\nrefused larger than 9 bytes: big\nmissing gone\n"
    found = read_exit_record(exit_record("m", 11, manifest))
    assert found.files == (Output(5, SUM, "a/b c"),)
    assert found.refused == ("name \ufffd.dat (not in UTF-8)", "larger than 9 bytes: big", "missing gone")


def test_the_node_s_running_time_counts_more_than_its_clock():
    assert (record().seconds, record()._replace(up=7.5).seconds) == (0.0, 7.5)


@pytest.mark.parametrize(
    ("recovery", "advice"), [("recoverable --skip 3", "recoverable"), ("hold", "hold"), ("Hold", ""), ("", "")]
)
def test_a_recovery_file_advises_by_its_first_word(recovery, advice):
    assert record(recovery=recovery).advice == advice


def test_a_node_that_lacks_something_and_a_file_that_fails_are_recognised():
    assert record(reason="no image: /cvmfs/el9.sif is not there on node7").lacking
    assert not record(reason="time limit").lacking
    assert record(refused=("missing a", "failing b: Input/output error")).failing
    assert not record(refused=("missing a",)).failing


def test_a_claim_names_its_holder_and_a_fence_has_none():
    text = "nonce 5e0c\nhost node7\nbatch 4711\nstarted 2026-01-31T11:00:00Z\n"
    claim = read_claim(text)
    assert (claim.nonce, claim.host, claim.batch, claim.fence) == ("5e0c", "node7", "4711", False)
    assert claim.started == "2026-01-31T11:00:00Z"
    assert read_claim("nonce 1\nhost -\npid 5\nfence\n").fence
    assert read_claim("nonce 1\nstarted yesterday\n").started == ""
    with pytest.raises(JimError, match="without a nonce"):
        read_claim("nonce \nhost node7\n")


def test_the_attempts_of_a_submission_are_read_by_their_indices():
    told = read_jobs("* mark jim-cafe-1-1\n1 n 0\n1 attempt 1\n2 n 5\n2 attempt 3\n2 arguments x\n")
    assert (told.mark, told.attempts) == ("jim-cafe-1-1", {1: (0, 1), 2: (5, 3)})
    with pytest.raises(JimError, match="wrong or missing line"):
        read_jobs("* mark m\n1 n 0\n")


def test_no_payload_takes_less_than_no_time():
    """Whoever forges such times would take away what others of its account are booked."""
    forged = WHOLE.replace("started 2026", "started 9999").replace("ended 2026", "ended 0001")
    assert read_exit_record(forged).reported == 0.0
    assert times_of(forged) == (0.0, 4.2)


def test_a_record_of_millions_of_lines_is_refused_at_once():
    with pytest.raises(JimError, match="more than 500,000 lines"):
        read_exit_record(exit_record("m", 11, "a\n" * 8_000_000))


def test_no_line_of_a_payload_is_stored_at_any_length():
    """The reason of its attempt, of its local job and of a line of the journal have such lines."""
    long = "x" * 60_000
    found = read_exit_record(exit_record("m", 11, f"refused {long}\nmissing {long}\n").replace("node7", long))
    assert (len(found.host), {*map(len, found.refused)}) == (255, {4500})
    assert len(read_claim(f"nonce 1\nhost {long}\n").host) == 255
