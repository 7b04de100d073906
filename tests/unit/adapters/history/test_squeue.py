"""squeue as the history of Slurm."""

from __future__ import annotations

import pytest

from jim.errors import Unclear
from jim.model import Answer
from tests.unit.adapters.history.chosen import by_name, captured, words

ADAPTED = by_name("slurm", "squeue")


def test_it_is_asked_for_ids_alone():
    command = ADAPTED.history_command(["1", "2"])
    assert (command[0], command[1:-1], command[-1]) == ("squeue", list(ADAPTED.listing), "--jobs=1,2")


def test_it_tells_how_jobs_ended():
    found = words("slurm/22.05.8", "history", adapter=ADAPTED)
    assert found.items() >= {"1.1": "COMPLETED", "2.1": "FAILED", "5.1": "TIMEOUT"}.items()


def test_that_no_job_is_known_is_an_answer_and_that_none_came_is_not():
    assert ADAPTED.parse_history(captured("slurm/22.05.8", "history-unknown", 1)) == {}
    for answer in (captured("slurm/22.05.8", "history-down", 1), Answer(("squeue",), None, "", "", 20.0)):
        with pytest.raises(Exception) as error:
            ADAPTED.parse_history(answer)
        assert (answer.code is None) is isinstance(error.value, Unclear)
