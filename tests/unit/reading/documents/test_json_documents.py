"""The document of a job: all of a few local jobs, and of very many those that may need a person."""

import pytest

from jim.model import State, SubmissionState
from jim.reading.documents import json_documents as documents
from jim.reading.documents.json_documents import Wanted, chosen, of_member
from jim.reading.view import View


@pytest.fixture
def view(home):
    home.add(size=6)
    return View(home.site, home.store)


def test_no_state_is_left_out():
    assert sorted(documents.FIRST, key=str) == sorted(set(State) - {State.UNKNOWN}, key=str)
    assert sorted(documents.SUBMISSION_STATES, key=str) == sorted(SubmissionState, key=str)


def test_of_very_many_local_jobs_those_that_may_need_a_person_are_shown_by_number(home, view, monkeypatch):
    monkeypatch.setattr(documents, "SHOWN", 3)
    home.move(5, State.FAILED)
    home.move(3, State.COMPLETED)
    home.move(4, State.RUNNING)
    assert [each.n for each in chosen(view, view.grid_job(1), Wanted())] == [0, 4, 5]


def test_who_names_states_or_a_limit_gets_these(home, view):
    home.move(5, State.FAILED)
    found = chosen(view, view.grid_job(1), Wanted((State.WAITING,), first=2, limit=2))
    assert [each.n for each in found] == [2, 3]


def test_a_piece_tells_its_arguments_always_and_what_is_empty_never(view):
    told = of_member(view, view.grid_job(1), view.store.local_job(1, 0))["piece"]
    assert {"first_event", "events", "arguments"} <= told.keys()
    assert "files" not in told
