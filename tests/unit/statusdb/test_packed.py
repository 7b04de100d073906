"""What is short in the store is read as it was written, by every version to come."""

import hashlib

import pytest

from jim.statusdb import packed
from tests.support.exit_records import exit_record

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
OUTPUTS = f"file 0 {EMPTY} stdout\nfile 0 {EMPTY} stderr\n"


@pytest.mark.parametrize(
    "record",
    ["", "end\n", exit_record("jim-cafe0001-1-1", 12, OUTPUTS), "ü \ufffd \0 \n", "file 1 " * 1_000_000],
    ids=["none", "short", "usual", "odd", "long"],
)
def test_an_exit_record_is_given_back_as_it_was(record):
    assert packed.unpacked(packed.packed(record)) == record


def test_a_usual_record_takes_less_than_a_third():
    record = exit_record("jim-cafe0001-1-1", 12, OUTPUTS)
    assert len(packed.packed(record)) < len(record) / 3


def test_a_record_of_before_is_text():
    assert packed.unpacked("jim-exit 1\n") == "jim-exit 1\n"


def test_what_is_no_text_is_written_out():
    assert packed.unpacked(packed.packed("a\udce9")) == "a\\udce9"


def test_what_belongs_to_the_format_never_changes():
    """Stores that were written before could not be read any more: words are only added, at the end."""
    assert hashlib.sha256(packed.DICTIONARY).hexdigest()[:16] == "713709a5e2403849"
    assert packed.WORDS[:21] == (
        *("waiting", "submitting", "submitted", "running", "completing", "completed", "failed", "killed", "held"),
        *("suspended", "new", "completed_frozen", "failed_frozen"),
        *("exit record", "claim", "accounting", "queue", "fence", "submission", "user", "keeper"),
    )


def test_a_word_is_a_number_if_it_is_known():
    assert [packed.code(each) for each in ("waiting", "keeper", "late exit record", "")] == [
        "0",
        "20",
        "late exit record",
        "",
    ]
    assert [packed.word(each) for each in ("0", "20", "late exit record", "", "running", "77")] == [
        "waiting",
        "keeper",
        "late exit record",
        "",
        "running",
        "77",
    ]


@pytest.mark.parametrize(
    ("at", "stored"),
    [
        ("1970-01-01T00:00:01.002Z", "1002"),
        ("2026-01-31T11:00:00.007Z", "1769857200007"),
        ("2026-01-31T11:00:00Z", "2026-01-31T11:00:00Z"),  # no time as the clock tells it
        ("", ""),
    ],
)
def test_a_time_is_given_back_as_it_was(at, stored):
    assert packed.moment_code(at) == stored
    assert packed.moment(stored) == at
