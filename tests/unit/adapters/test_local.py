"""The words of the local batch system, held against what it really said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jim.adapters.local import ADAPTER, STATES
from jim.errors import BadSite, BatchError, Unclear
from jim.localbatch.__main__ import parser
from jim.model import Answer, Batch, Observation, Resources, State

CAPTURED = Path(__file__).parents[2] / "captured/local/1"
WORDS = [sys.executable, "-P", "-s", "-m", "jim.localbatch", "--area", "/area"]
ADAPTED = ADAPTER({}, "/area")


def answer(out="", err="", code=0):
    return Answer(("localbatch",), code, out, err, 0.1)


# Parsing


def test_an_unknown_word_is_kept_and_is_no_end():
    line = answer("jobs 1\n1|1|levitating|m\nend\n")
    assert ADAPTED.parse_query(line) == {("1", 1): Observation(State.UNKNOWN, "m", word="levitating")}
    line = answer("jobs 1\n1|1|levitated|0|-|-|m\nend\n")
    assert ADAPTED.parse_history(line)["1", 1].state is State.UNKNOWN


# Answers that prove nothing

NONSENSE = [
    "",
    "\n",
    "end\n",
    "jobs 0\n",
    "jobs 0\nend",
    "jobs 1\nend\n",
    "jobs x\nend\n",
    "jobs 0\nend\nend\n",
    "Segmentation fault\n",
    "jobs 1\n1|1|running\nend\n",
    "jobs 1\n1|0|running|m\nend\n",
    "jobs 1\n1|x|running|m\nend\n",
    "jobs 1\n1|1|running|m|m\nend\n",
    "jobs 1\n1|1|running|m\n1|2|running|m\nend\n",
    "Warning: odd\njobs 0\nend\n",
]


@pytest.mark.parametrize("text", NONSENSE)
@pytest.mark.parametrize("parse", [ADAPTED.parse_query, ADAPTED.parse_history, ADAPTED.parse_find])
def test_an_odd_listing_raises(parse, text):
    with pytest.raises(Unclear):
        parse(answer(text))


def test_every_truncated_history_raises():
    whole = (CAPTURED / "history.txt").read_text()
    for length in range(len(whole)):
        with pytest.raises(Unclear):
            ADAPTED.parse_history(answer(whole[:length]))


@pytest.mark.parametrize("text", ["", "1", "x\n", "0\n", "-1\n", "1\n2\n", "Submitted batch job 1\n", "١\n"])
def test_an_odd_answer_to_submit_raises(text):
    with pytest.raises(Unclear):
        ADAPTED.parse_submit(answer(text))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (answer(err="localbatch: cannot record: database or disk is full", code=75), BatchError),
        (answer(err="localbatch: cannot record: disk I/O error", code=75), Unclear),
        (answer(err="localbatch: done, but cannot answer: Broken pipe", code=74), Unclear),
        (answer(err="Killed", code=137), Unclear),
        (answer(err="localbatch: cannot record: database is locked", code=-9), Unclear),
        (answer(code=None), Unclear),
    ],
)
def test_a_failed_submit_is_one_of_three_kinds(said, kind):
    with pytest.raises(BatchError) as raised:
        ADAPTED.parse_submit(said)
    assert type(raised.value) is kind


def test_a_failed_listing_proves_nothing():
    with pytest.raises(BatchError):
        ADAPTED.parse_query(answer("jobs 0\nend\n", code=1))


# Building commands

FULL = Batch("jim-1-1", "/w/job.sh", "/w", 3, Resources(queue="short", wall_seconds=60, memory_mb=500))
BARE = Batch("jim-1-1", "/w/job.sh", "/w", 1)
COMMANDS = [
    (
        ADAPTED.submit_command(FULL),
        "submit --name jim-1-1 --array 3 --wall 60 --memory-mb 500 --queue short /w/job.sh",
    ),
    (ADAPTED.submit_command(BARE), "submit --name jim-1-1 --array 1 /w/job.sh"),
    (ADAPTED.query_command(), "list"),
    (ADAPTED.history_command(["1", "2"]), "history 1 2"),
    (ADAPTED.find_command("jim-1-1"), "find jim-1-1"),
    (ADAPTED.cancel_command([("1", 2), ("3", 0)]), "cancel 1.2 3"),
    (ADAPTED.change_command("hold", [("1", 1)]), "hold 1.1"),
    (ADAPTED.change_command("resume", [("1", 1)]), "resume 1.1"),
    (ADAPTED.ping_command(), "ping"),
]


@pytest.mark.parametrize(("command", "words"), COMMANDS)
def test_a_command_is_what_the_batch_system_takes(command, words):
    assert command == [*WORDS, *words.split()]
    parser().parse_args(command[5:])  # exits where the command line does not know it


def test_a_site_has_its_own_words():
    adapted = ADAPTER({"query": ["/opt/list", "--mine"]}, "/area")
    assert adapted.query_command() == ["/opt/list", "--mine"]
    assert adapted.ping_command() == ADAPTED.ping_command()
    assert ADAPTER({}, "/other").query_command() != ADAPTED.query_command()
    with pytest.raises(BadSite, match="did you mean 'query'"):
        ADAPTER({"qery": ["x"]})


def test_every_state_of_the_queue_has_a_meaning():
    assert State.UNKNOWN not in STATES.values()
    assert {word for word, state in STATES.items() if state.final} == {"ended", "cancelled"}
