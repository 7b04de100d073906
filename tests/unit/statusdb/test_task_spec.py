"""What the file of a task says, as values, and their records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jim.statusdb import task_spec
from jim.statusdb.task_spec import KEYS, OF_KIND, OutputSpec, SourceSpec, Spec, spec_in
from jim.tasks.file import words

TEXTS = (Path(__file__).parents[1] / "cli/tasks/rich/specs.txt").read_text().splitlines()


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_written_as_it_was_read(text):
    assert json.dumps(spec_in(text).to_record()) == text


def test_a_text_is_read_once():
    assert spec_in(TEXTS[0]) is spec_in("".join(TEXTS[0]))


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        (SourceSpec, words.SOURCE),
        (OutputSpec, words.OUTPUT),
        (task_spec.Split, words.SPLIT),
        (task_spec.Test, words.TEST),
        (task_spec.Release, words.RELEASE),
        (Spec, words.TASK),
    ],
)
def test_values_know_all_words_of_a_task_file(kind, table):
    own = {"kind", "why", "file", "file_sha256", "to_test"}
    assert {KEYS.get(name, name) for name in kind._fields} - own == set(table)


def test_kinds_of_sources_have_words_that_there_are():
    assert {each for those in OF_KIND.values() for each in those} == set(words.SOURCE)


def test_a_word_of_a_newer_task_file_is_left_alone():
    assert spec_in(json.dumps({**json.loads(TEXTS[0]), "later": 1})) == spec_in(TEXTS[0])


@pytest.mark.parametrize("name", ["name", "request", "source", "split", "test", "release", "priority"])
def test_what_lacks_a_part_is_no_task(name):
    record = {each: value for each, value in json.loads(TEXTS[0]).items() if each != name}
    with pytest.raises((KeyError, TypeError)):
        Spec.from_record(record)
