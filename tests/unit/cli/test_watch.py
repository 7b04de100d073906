"""jim watch."""

import re

from jim.cli import watch
from jim.evidence.reasons import reason
from jim.model import Kind, State, Witness
from tests.support.cli_home import EVIL, EVIL_SHOWN, PHASE, RECORD_NAMES

# watch


def steps(home, *moves):
    """Give a pause that makes the next move instead of waiting."""
    left = list(moves)

    def pause(seconds):
        left.pop(0)()

    return pause


def test_watch_prints_a_line_for_each_change(home):
    home.beat()
    home.add(size=2)
    code = watch.follow(
        1,
        pause=steps(
            home,
            lambda: home.move(0, State.RUNNING, Witness.CLAIM),
            lambda: None,
            lambda: home.store.publications.publish(
                1, 0, "g", PHASE.format("g", 1, 2, "events")
            ),  # too soon for a line of its own
            lambda: home.move(1, State.FAILED, Witness.CLAIM),
            lambda: home.finish("failed", f"1 of 2 {EVIL}", tar="/w/1.tar", bytes=10, local_jobs=1, line=""),
        ),
    )
    assert code == 1
    assert home.capsys.readouterr().out == (
        "1 waiting: 2 of 2\n"
        "1 running: 1 of 2\n"
        "1 running: 1 of 2, 1 failed | g 1 of 2 events\n"
        "1 finished (failed: 1 of 2, 1 running) | g 1 of 2 events\n"
        f"1 failed: 1 of 2 {EVIL_SHOWN}\n"
        "tar          /w/1.tar (10 bytes, outputs of 1 of 2 local jobs)\n"
    )
    assert home.woken == []


def test_watch_says_that_a_local_job_can_never_start(home):
    """Else whoever calls `jim run` waits for an hour without a word."""
    home.beat()
    home.add(size=2)
    home.send(0, 1, state="confirmed", batch_id="4711")
    vain = reason(Kind.NEVER_STARTS, told="PartitionTimeLimit")
    pause = steps(
        home,
        lambda: home.move(1, State.SUBMITTED, Witness.QUEUE, vain),
        lambda: home.finish("killed", "cancelled"),
    )
    watch.follow(1, pause=pause)
    lines = home.capsys.readouterr().out.splitlines()
    assert "1 local job: can never start as it was asked for: PartitionTimeLimit" in lines[1]
    assert lines[-1] == "1 killed: cancelled"


def test_watch_of_what_completed(home):
    home.add(size=0)
    home.finish()
    assert home.run("watch", "1")[:2] == (0, "1 finished (no local jobs)\n1 completed\n")


def test_watch_gives_the_record_in_the_end_and_nothing_before(home):
    home.add()
    home.finish()
    record = home.json("watch", "1")
    assert (list(record), record["id"], record["step"]) == (RECORD_NAMES, 1, "finished")
    assert home.json("status", "1") == [record | {"name": ""}]


def test_watch_wakes_the_keeper_that_is_missing(home, monkeypatch):
    home.add(size=0)
    ticks = iter(range(0, 1000, 6))
    monkeypatch.setattr("time.monotonic", lambda: next(ticks))
    watch.follow(1, pause=steps(home, lambda: None, lambda: None, home.finish), quiet=True)
    assert set(home.woken) == {home.site.state}


def test_bars_on_a_terminal(home, monkeypatch):
    home.beat()
    home.add(size=2)
    home.store.publications.publish(1, 0, "generate", PHASE.format("generate", 117, 250, "events"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    assert watch.follow(1, pause=steps(home, home.finish)) == 0
    out = home.capsys.readouterr().out
    assert "1 local job" in out
    assert "0/2" in out
    assert "117/250" in out
    assert out.endswith("1 completed\n")


def test_on_a_narrow_terminal_words_take_the_place_of_bars(home, monkeypatch):
    home.beat()
    home.add(size=2)
    home.move(0, State.RUNNING, Witness.CLAIM)
    home.move(1, State.FAILED, Witness.CLAIM)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    watch.follow(1, pause=steps(home, home.finish))
    told = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", home.capsys.readouterr().out)
    assert "━" not in told
    assert "1 finished (running: 1 of 2, 1 failed)" in " ".join(told.split())
    assert max(len(line.rstrip()) for line in re.split(r"[\r\n]", told)) <= 40
