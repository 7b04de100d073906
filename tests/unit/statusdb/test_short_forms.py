"""What is short in the store is read as it was written, by every version to come."""

import hashlib

import pytest

from jim.statusdb import short_forms
from tests.support.exit_records import exit_record

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
OUTPUTS = f"file 0 {EMPTY} stdout\nfile 0 {EMPTY} stderr\n"


@pytest.mark.parametrize(
    "record",
    ["", "end\n", exit_record("jim-cafe0001-1-1", 12, OUTPUTS), "ü \ufffd \0 \n", "file 1 " * 1_000_000],
    ids=["none", "short", "usual", "odd", "long"],
)
def test_an_exit_record_is_given_back_as_it_was(record):
    assert short_forms.unpacked(short_forms.packed(record)) == record


def test_a_usual_record_takes_less_than_a_third():
    record = exit_record("jim-cafe0001-1-1", 12, OUTPUTS)
    assert len(short_forms.packed(record)) < len(record) / 3


def test_a_record_of_before_is_text():
    assert short_forms.unpacked("jim-exit 1\n") == "jim-exit 1\n"


def test_what_is_no_text_is_written_out():
    assert short_forms.unpacked(short_forms.packed("a\udce9")) == "a\\udce9"


def test_what_belongs_to_the_format_never_changes():
    """Stores that were written before could not be read any more: words are only added, at the end."""
    assert hashlib.sha256(short_forms.DICTIONARY).hexdigest()[:16] == "713709a5e2403849"
    assert short_forms.WORDS[:21] == (
        *("waiting", "submitting", "submitted", "running", "completing", "completed", "failed", "killed", "held"),
        *("suspended", "new", "completed_frozen", "failed_frozen"),
        *("exit record", "claim", "accounting", "queue", "fence", "submission", "user", "keeper"),
    )


def test_a_word_is_a_number_if_it_is_known():
    assert [short_forms.code(each) for each in ("waiting", "keeper", "late exit record", "")] == [
        "0",
        "20",
        "late exit record",
        "",
    ]
    assert [short_forms.word(each) for each in ("0", "20", "late exit record", "", "running", "77")] == [
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
    assert short_forms.moment_code(at) == stored
    assert short_forms.moment(stored) == at
