"""Tables in pipes, and on terminals of 40, 80 and 200 columns."""

import re
from collections import Counter

import pytest

from jim.cli.table import COLOURS, table, wrapped
from jim.statusdb.task_rows import TaskState
from jim.tasks.pool.concluding import COMPLETED, WITH_FAILURES

HEAD = ("id", "status", "local jobs", "reason")
ROWS = (
    ("1", "failed", "49,000 completed, 1,000 failed", "exit 5: sbatch refused the queue named long (143), exit 6 (12)"),
    ("22", "completed", "4 completed", ""),
)


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Print the table on a terminal of so many columns; give its lines."""

    def printed(columns, *, colours=False, rows=ROWS):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        if not colours:
            monkeypatch.setenv("NO_COLOR", "1")
        table(HEAD, rows)
        return capsys.readouterr().out.splitlines()

    return printed


def test_in_a_pipe_a_row_is_a_line_however_long_it_is(capsys):
    table(HEAD, ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "id  status     local jobs                      reason",
        "1   failed     49,000 completed, 1,000 failed  exit 5: sbatch refused the queue named long (143), exit 6 (12)",
        "22  completed  4 completed",
    ]


def test_on_a_wide_terminal_a_row_is_a_line(terminal, capsys):
    assert terminal(200) == [
        "id  status     local jobs                      reason",
        "1   failed     49,000 completed, 1,000 failed  exit 5: sbatch refused the queue named long (143), exit 6 (12)",
        "22  completed  4 completed",
    ]


def test_on_a_usual_terminal_the_widest_cells_wrap(terminal):
    assert terminal(80) == [
        "id  status     local jobs                      reason",
        "1   failed     49,000 completed, 1,000 failed  exit 5: sbatch refused the queue",
        "                                               named long (143), exit 6 (12)",
        "22  completed  4 completed",
    ]


def test_on_a_narrow_terminal_sentences_stand_below_their_rows(terminal):
    assert terminal(40) == [
        "id  status     local jobs",
        "    reason",
        "1   failed     49,000 completed, 1,000",
        "               failed",
        "    exit 5: sbatch refused the queue",
        "    named long (143), exit 6 (12)",
        "22  completed  4 completed",
    ]


def test_on_a_very_narrow_terminal_each_value_has_a_line(terminal):
    assert terminal(26) == [
        "id          1",
        "status      failed",
        "local jobs  49,000",
        "            completed,",
        "            1,000 failed",
        "reason      exit 5: sbatch",
        "            refused the",
        "            queue named",
        "            long (143),",
        "            exit 6 (12)",
        "",
        "id          22",
        "status      completed",
        "local jobs  4 completed",
    ]


def test_empty_columns_take_no_room_where_there_is_little(terminal):
    rows = (("1", "", "49,000 completed, 1,000 failed", ""),)
    assert terminal(34, rows=rows) == ["id  local jobs", "1   49,000 completed, 1,000 failed"]
    assert terminal(80, rows=rows)[0] == "id  status  local jobs                      reason"


@pytest.mark.parametrize("columns", range(40, 121, 5))
def test_no_line_is_longer_than_the_terminal_and_no_word_is_broken_or_lost(terminal, columns):
    lines = terminal(columns)
    assert max(map(len, lines)) <= columns
    words = Counter(word for row in ROWS for cell in row for word in cell.split())
    assert words - Counter(" ".join(lines).split()) == Counter()


def test_states_have_their_colour_also_where_they_stand_in_a_narrow_column(terminal):
    assert "status      \x1b[1;31mfailed\x1b[0m" in terminal(26, colours=True)
    assert "1   \x1b[1;31mfailed\x1b[0m     49,000 completed, 1,000" in terminal(40, colours=True)
    assert terminal(40, colours=True)[1] == "    \x1b[1mreason\x1b[0m"
    wide = terminal(200, colours=True)
    assert wide[0].startswith("\x1b[1mid\x1b[0m  \x1b[1mstatus\x1b[0m     ")
    assert "\x1b[32mcompleted\x1b[0m  4 completed" in wide[2]
    assert re.sub(r"\x1b\[[\d;]*m", "", "\n".join(wide)) == "\n".join(terminal(200))


def test_where_no_table_fits_spare_columns_are_left_out(monkeypatch, capsys):
    rows = [("repro-194341", "running", "12,004 (9 late)", "1,100 of 1,201 completed", "61", "exit 3")]
    head = ("task", "state", "items", "pieces", "failed", "reason")

    def told(columns: int) -> list[str]:
        monkeypatch.setattr("jim.cli.table.room", lambda _: columns)
        table(head, rows, spare=("items", "failed"))
        return capsys.readouterr().out.splitlines()

    assert told(0)[0].split() == told(85)[0].split() == list(head)
    assert told(55) == [
        "task          state    pieces                    reason",
        "repro-194341  running  1,100 of 1,201 completed  exit 3",
    ]
    assert told(30)[2] == "items   12,004 (9 late)", "a list has all"


def test_states_of_tasks_have_colours_but_those_before_the_start():
    ended = {f"finished: {outcome}" for outcome in (COMPLETED, WITH_FAILURES)}
    plain = {TaskState.CONFIGURED, TaskState.READY, TaskState.FINISHED}
    assert {*TaskState} - plain | ended <= COLOURS.keys()
    assert not plain & COLOURS.keys()


def test_a_very_long_cell_is_cut_and_says_so():
    lines = list(wrapped(" ".join(f"word{n:02}" for n in range(40)), 20))
    assert lines[:2] == ["word00 word01 word02", "word03 word04 word05"]
    assert lines[5:] == ["word15 word16 …"]
    assert max(map(len, lines)) <= 20


def test_a_table_in_blocks_is_printed_whole(capsys, monkeypatch):
    monkeypatch.setattr("jim.cli.table.BLOCK", 2)
    table(("id", "words"), (("1", "a"), ("2", "longer"), ("3333", "b")))
    assert capsys.readouterr().out == "id  words\n1   a\n2   longer\n3333  b\n"
    table(("id", "words"), ())
    assert capsys.readouterr().out == "id  words\n"
