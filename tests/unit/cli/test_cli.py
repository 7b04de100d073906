"""The people's door: its words, its command line, handing in and wishing."""

import argparse
import json
import os
import pwd
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jim import cli
from jim.cli import keeper
from jim.cli.text import escaped, plain
from jim.errors import BadRequest, BadSite, BatchError, JimError, UnknownJob
from jim.model import Answer, Piece, State
from jim.reading.quantities import ago, counted, size_of, span
from jim.site.lock import Lock
from tests.cli_home import EVIL, EVIL_SHOWN, RECORD_NAMES

# Words


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – ä ✓", "plain – ä ✓"),
        ("a\nb", "a\\nb"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b2J\x7f\u202e", "\\x9b2J\\x7f\\u202e"),
        ("\udcff", "\\udcff"),
        (EVIL, EVIL_SHOWN),
    ],
)
def test_plain(text, shown):
    assert plain(text) == shown


def test_escaped_keeps_lines_and_tabs():
    assert escaped("a\tb\r\n\x1b[31mred\n") == "a       b\\r\n\\x1b[31mred\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (-5, "0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (3661, "1 h 1 min"),
        (90_000, "1 d 1 h"),
        (86_399.9, "1 d"),
    ],
)
def test_span(seconds, words):
    assert span(seconds) == words
    assert ago(seconds) == f"{words} ago"


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (123_456, "123 kB"), (5_500_000, "5.5 MB")],
)
def test_size_of(count, words):
    assert size_of(count) == words


def test_counted():
    assert counted([("running", 1200), ("held", 1)]) == "1,200 running, 1 held"


# The command line


@pytest.mark.parametrize("verb", [name for name in cli.VERBS if name != "site"])
def test_every_verb_has_help_with_an_example(home, verb):
    code, out, err = home.run(verb, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: jim {verb}")
    assert f"example: jim {verb}" in out


def test_alone_it_guides(home):
    assert "jim submit FILE --watch" in home.out()


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_the_overview_names_every_verb_and_exit_code(home, word):
    lines = home.out(word).splitlines()
    first = {line.split()[0] for line in lines if line.startswith("  ")}
    assert first == {*cli.VERBS, "0", "1", "2", "3", "4", "5", "6", "70", "74", "130", "141"}


def test_exit_codes_are_those_of_the_errors():
    codes = [error.exit_code for error in (JimError, BadRequest, BadSite, UnknownJob, BatchError, cli.NotYet)]
    assert codes == [1, 2, 3, 4, 5, 6]
    assert set(codes) < set(cli.EXIT_CODES)


def test_version(home):
    assert home.out("--version") == "jim 0.1.0\n"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("stauts",), 2, "unknown verb 'stauts'; did you mean 'status'?"),
        (("status", "--jsno"), 2, "unrecognized arguments: --jsno (see `jim status --help`)"),
        (("logs",), 2, "the following arguments are required: G.n (see `jim logs --help`)"),
        (("logs", "1"), 2, "`jim logs` needs a local job, for example 1.0; 1 is"),
        (("outputs", "1.2"), 2, "`jim outputs` needs a whole grid job: use 1 instead of 1.2"),
        (("status", "1.9"), 4, "there is no local job 1.9"),
        (("watch", "7.1"), 4, "there is no grid job 7 in "),
        (("suspend", "1.2"), 2, "`jim suspend` needs a whole grid job: use 1 instead of 1.2"),
        (("xml",), 2, "name a grid job or use --schema, not both"),
        (("submit", "/no/such"), 2, "cannot read the request: /no/such: No such file or directory"),
        (("show", "x"), 4, "'x' is not an id: a grid job has a number such as 12, a local job a name such as 12.3"),
        (("show", "7"), 4, "there is no grid job 7 in "),
        (("show", "1.9"), 4, "there is no local job 1.9"),
        (("cancel", "7"), 4, "there is no grid job 7 in "),
        (("cancel", "1.9"), 4, "there is no local job 1.9: 1 has 0 … 3"),
        (("outputs", "1"), 6, "1 is not finished (step split); `jim watch 1` follows it to its end"),
        (("logs", "1.0"), 6, "1.0 has not been submitted yet, so there are no logs; `jim explain 1.0` says why"),
    ],
)
def test_what_is_refused(home, words, code, said):
    home.add()
    found, out, err = home.run(*words)
    assert (found, out) == (code, "")
    assert err.startswith(f"jim: {said}")
    assert err.count("\n") == 1


def test_a_bad_site_file_exits_3(home):
    (home.site.state / "site.toml").write_text("[batch]\nslotz = 2\n")
    code, _, err = home.run("status")
    assert code == 3
    assert "site.toml:2: batch.slotz: unknown key; did you mean 'slots'?" in err


def test_a_store_that_is_none(home):
    (home.site.state / "status.db").write_text("no database, but long enough to be looked at " * 50)
    code, _, err = home.run("status")
    words = "is damaged (file is not a database): end its keeper, and move the whole state directory away"
    assert (code, err) == (1, f"jim: {home.site.state}/status.db {words} (docs/operating.md, Troubleshooting)\n")


def test_errors_are_escaped(home):
    assert home.run("status", "--\x1b[2J")[2].startswith("jim: unrecognized arguments: --\\x1b[2J")


def raising(error):
    def action(words):
        raise error

    return action


def test_a_fault_of_jim_is_one_line_with_its_place(home, monkeypatch):
    monkeypatch.setattr(cli, "_run", raising(KeyError("x\x1b")))
    code, out, err = home.run("status")
    assert (code, out) == (70, "")
    assert err.startswith("jim: unexpected KeyError: 'x\\x1b' (a fault in JIM itself, at ")
    assert "test_cli.py:" in err
    assert err.count("\n") == 1


def test_a_full_disk_is_no_fault_of_jim(home, monkeypatch):
    monkeypatch.setattr(cli, "_run", raising(OSError(28, "No space left on device", "/x")))
    todo = "free space, or inodes, on its disk, and do it again"
    assert home.run("status") == (1, "", f"jim: /x: No space left on device; {todo}\n")


def test_ctrl_c_is_quiet(home, monkeypatch):
    monkeypatch.setattr(cli, "_run", raising(KeyboardInterrupt()))
    assert home.run("status") == (130, "", "")


def test_a_closed_pipe_is_quiet(tmp_path, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.main([]) == 141  # and closing the stream raises nothing any more


# submit


@pytest.fixture
def request_file(tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "pythia_monte_carlo"\nevents = 1100\nevents_per_job = 250\ncpu_seconds_per_event = 2\n')
    return str(file)


def test_dry_run(home, request_file):
    (home.site.state / "site.toml").write_text("[batch]\nslots = 2\nqueue = 'long'\n")
    assert home.out("submit", request_file, "--dry-run") == (
        "job type     pythia_monte_carlo\n"
        "local jobs   5, of 250 events each, the last one 100 (1,100 in all)\n"
        "why          events_per_job of the request\n"
        "each takes   about 8 min 20 s of CPU\n"
        "all take     about 36 min 40 s of CPU, 20 min on the 2 slots of this machine\n"
        "resources    queue long, at most 1 d each, no memory requested\n"
        "stored       nothing: this was a dry run\n"
    )
    assert list((home.site.state / "inbox").iterdir()) == []
    assert home.woken == []


@pytest.mark.parametrize(
    ("events", "slots", "told"),
    [
        (1000, 2, "16 min 40 s"),  # 500 s twice
        (1100, 1, "36 min 40 s"),  # four times 500 s, and 200 s
        (1100, 3, "16 min 40 s"),  # 500 s twice: the last one runs beside another
        (1100, 4, "11 min 40 s"),  # 500 s, and then the last one alone, 200 s
        (1100, 9, "8 min 20 s"),
        (100, 2, "3 min 20 s"),
    ],
)
def test_dry_run_counts_the_turns_of_the_slots(home, request_file, events, slots, told):
    file = Path(request_file)
    file.write_text(file.read_text().replace("1100", str(events)))
    (home.site.state / "site.toml").write_text(f"[batch]\nslots = {slots}\n")
    said = home.out("submit", request_file, "--dry-run").splitlines()[4]
    assert said.endswith(f" of CPU, {told} on the {slots} slots of this machine")


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (1101, "5, of 220 or 221 events each (1,101 in all)"),
        (1100, "5, of 220 events each (1,100 in all)"),
        (250, "1, of 250 events each (250 in all)"),
    ],
)
def test_dry_run_of_balanced_local_jobs(home, tmp_path, events, told):
    file = tmp_path / "request.toml"
    file.write_text(f'job_type = "pythia_monte_carlo"\nevents = {events}\nevents_per_job = 250\nbalanced = true\n')
    assert home.out("submit", str(file), "--dry-run").splitlines()[1:3] == [
        f"local jobs   {told}",
        "why          events_per_job of the request, balanced",
    ]


def test_dry_run_as_json(home, request_file):
    assert home.json("submit", request_file, "--dry-run") == {
        "type": "pythia_monte_carlo",
        "pieces": 5,
        "events": 1100,
        "events_per_job": 250,
        "cpu_seconds": 500,
        "why": "events_per_job of the request",
        "resources": {
            "queue": None,
            "wall_seconds": 86_400,
            "memory_mb": None,
            "account": None,
            "cores": None,
            "disk_mb": None,
        },
    }


def test_dry_run_of_what_would_be_refused(home, tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "pythia_monte_carlo"\nevents = 10\nevents_per_job = 10\ncpu_seconds_per_event = 9000\n')
    code, out, err = home.run("submit", str(file), "--dry-run")
    assert (code, out) == (2, "")
    assert err.startswith(
        f"jim: {file}: a local job of 10 events needs 90,000 s of CPU, more than its time limit of 86,400 s"
    )


def test_submit_prints_the_id_alone(home, request_file):
    code, out, err = home.run("submit", request_file)
    assert (code, out, err) == (0, "1\n", "submitted; `jim watch 1` follows it to its end\n")
    assert home.woken == [home.site.state]


def test_submit_with_the_same_key_is_the_same_grid_job(home, request_file):
    first, again = (home.run("submit", request_file, "--key", "k") for _ in range(2))
    assert first == (0, "1\n", "submitted; `jim watch 1` follows it to its end\n")
    assert again[:2] == (0, "1\n")
    assert re.match(
        r"its key belongs to grid job 1, submitted [0-9.]+ s ago: nothing has changed; `jim watch 1`", again[2]
    )


def test_submit_gives_the_record_before_the_keeper_has_it(home, request_file):
    record = home.json("submit", request_file, "--key", "k")
    assert list(record) == RECORD_NAMES
    assert (record["id"], record["key"], record["step"], record["counts"]) == (1, "k", "accepted", {})
    assert home.json("status") == [record]


# Wishes


def wishes(home):
    return [json.loads(path.read_text()) for path in (home.site.state / "inbox").glob("wish-*")]


@pytest.mark.parametrize(
    ("verb", "next_"),
    [
        (
            "cancel",
            "waiting local jobs are not submitted, others are cancelled; completed outputs are still collected",
        ),
        ("suspend", "JIM submits no more, holds queued jobs, and suspends running jobs if the batch system can"),
        ("resume", "JIM releases held jobs, and submits again"),
    ],
)
def test_a_wish_is_left_and_the_keeper_woken(home, verb, next_):
    home.add()
    assert home.out(verb, "1") == f"1: {verb} requested: {next_}; `jim explain 1` shows the progress\n"
    assert [(wish["verb"], wish["target"]) for wish in wishes(home)] == [(verb, "1")]
    assert home.woken == [home.site.state]


def test_several_are_cancelled_or_none(home):
    home.add()
    assert home.run("cancel", "1", "1.2", "8")[0] == 4
    assert wishes(home) == []
    assert home.run("cancel", "1", "1.2")[0] == 0
    assert sorted(wish["target"] for wish in wishes(home)) == ["1", "1.2"]


def test_a_wish_that_comes_too_late(home):
    home.add()
    home.finish()
    assert home.out("cancel", "1") == "1: has already finished as completed; cancel changes nothing\n"
    assert home.out("cancel", "1.0") == "1.0: 1 has already finished as completed; cancel changes nothing\n"
    assert home.out("retry", "1.0") == "1.0: no local job failed or was killed; retry changes nothing\n"
    assert wishes(home) == []


def test_retry_opens_what_failed(home):
    home.add()
    assert home.out("retry", "1") == "1: no local job has failed or was killed so far; retry changes nothing\n"
    home.move(2, State.FAILED)
    home.finish("failed", "1 of 4 local jobs failed")
    assert "1: retry requested: " in home.out("retry", "1")
    assert "1.2: retry requested: " in home.out("retry", "1.2")
    assert "1.3: no local job failed or was killed" in home.out("retry", "1.3")


def test_why_there_is_nothing_to_retry_is_said(home):
    home.add(size=0)
    home.finish("failed", "cannot be split: there are no files")
    assert home.out("retry", "1") == "1: it has no local jobs; retry changes nothing\n"
    assert "1 has no local jobs: correct the request and submit it again" in home.run("recover", "1")[2]
    home.store.add_pieces(1, 0, [Piece(files=("a",)), Piece(files=("b",), failure="no site")])
    home.store.end_split(1, 2)
    home.move(0, State.COMPLETED)
    home.finish("failed", "1 of 2 local jobs failed")
    for target in ("1", "1.1"):
        told = f"{target}: the failed local jobs failed on their creation, and can never run; retry changes nothing\n"
        assert home.out("retry", target) == told
    assert home.out("retry", "1.0") == "1.0: no local job failed or was killed; retry changes nothing\n"


# keeper


def test_keeper_all_starts_what_is_needed(home, monkeypatch):
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    assert home.out("keeper", "--all") == "alice: nothing to do\n"
    assert started == []
    home.add()
    assert home.out("keeper", "--all") == "alice: keeper started, 1 grid job is unfinished\n"
    assert started == [home.site.state]


@pytest.mark.parametrize(
    ("test", "old", "not_yet"), [("no", "2026-03-02", "2026-03-01"), ("yes", "2026-02-01", "2026-01-31")]
)
def test_keeper_all_starts_one_that_removes_what_is_old(home, monkeypatch, test, old, not_yet):
    """Kept for 30 days, or 1."""
    started = []
    monkeypatch.setattr("jim.cli.keeper.start_keeper", started.append)
    home.add(test=test)
    home.finish()
    for day, times in ((not_yet, 0), (old, 1)):
        home.later(f"{day}T12:00:01.000Z")
        home.out("keeper", "--all")
        assert started == [home.site.state] * times


def test_keeper_all_leaves_a_running_keeper_alone(home, monkeypatch):
    monkeypatch.setattr("jim.cli.keeper.account", lambda: "alice")
    home.add()
    lock = Lock(home.site.state)
    assert lock.take()
    assert home.out("keeper", "--all") == "alice: a keeper runs, 1 grid job is unfinished\n"
    lock.release()


def test_root_lets_each_account_look_after_itself(home, tmp_path, monkeypatch):
    mine = pwd.getpwuid(os.getuid()).pw_name
    for name in (mine, "no such account", ".published"):
        (tmp_path / "managed" / name).mkdir(parents=True)
    (tmp_path / "managed" / "link").symlink_to(tmp_path)
    assert list(keeper._accounts(tmp_path / "managed")) == [mine]
    assert home.capsys.readouterr().out == "no such account: there is no such account; skipped\n"


@pytest.mark.parametrize("name", ["status.db", "status.db-wal", "status.db-journal", "keeper.lock"])
def test_a_pipe_in_place_of_a_file_holds_nobody(home, name):
    """Of root's `keeper --all` one account would take a minute with it, and every account after it."""
    home.add()
    home.store.close()
    (home.site.state / name).unlink(missing_ok=True)
    os.mkfifo(home.site.state / name)
    code = (
        "from jim.cli import keeper, main; keeper.start_keeper = lambda state: None; raise SystemExit(main(['keeper', "
        "'--all']))"
    )
    command = [sys.executable, "-P", "-s", "-c", code]
    environment = {**os.environ, "JIM_STATE": str(home.site.state), "PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    if name == "keeper.lock":
        assert "keeper started" in done.stdout
    else:
        assert (done.returncode, f"{name} is not a regular file: move it away" in done.stderr) == (1, True)


def test_accounts_are_looked_after_at_the_same_time(home, monkeypatch):
    """One that takes its minute holds up no other."""
    meet = threading.Barrier(3)
    monkeypatch.setattr("jim.cli.keeper.site_file.load", lambda: home.site._replace(managed=True))
    monkeypatch.setattr("jim.cli.keeper.os.getuid", lambda: 0)
    monkeypatch.setattr("jim.cli.keeper._accounts", lambda place: iter(["a", "b", "c"]))
    monkeypatch.setattr("jim.cli.keeper._start_as", lambda name: int(meet.wait(10) < 0 or name == "b"))
    assert keeper.run(argparse.Namespace(all=True)) == 1


def test_a_child_runs_as_the_account(home, monkeypatch):
    asked = []

    def run(command, *, limit, account):
        asked.append((command[-2:], account))
        return Answer(command, 0, "bob: nothing to do\n", "", 0.1)

    monkeypatch.setattr("jim.cli.keeper.run_command", run)
    assert keeper._start_as("bob") == 0
    assert asked == [(("keeper", "--all"), "bob")]
    assert home.capsys.readouterr().out == "bob: nothing to do\n"
