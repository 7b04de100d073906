"""jim submit."""

import io
import json
import os
import re
import signal
from pathlib import Path

import pytest

from jim.doors import inbox
from jim.model import Step
from jim.site.file import Keep
from tests.support.cli_home import RECORD_NAMES
from tests.support.stand_ins import World

# submit


@pytest.fixture
def request_file(tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "pythia_monte_carlo"\nevents = 1100\nevents_per_job = 250\ncpu_seconds_per_event = 2\n')
    return str(file)


def test_a_dry_run_shows_the_size_and_stores_nothing(home, request_file):
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
            "warn_seconds": None,
            "gpus": None,
            "constraint": None,
            "licences": None,
            "batch_options": None,
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
    (listed,) = home.json("status")
    assert {name: listed[name] for name in RECORD_NAMES} == record


# keeper


def hand_in(home, *words, **attributes):
    file = home.site.state.parent / "request.json"
    file.write_text(json.dumps(attributes))
    return home.run("submit", str(file), *words)


def handed_in(home):
    return [json.loads(each.read_text())["request"] for each in sorted((home.site.state / "inbox").glob("request-*"))]


def test_a_test_is_one_small_piece_under_a_name_of_its_own(home):
    events = {"job_type": "pythia_monte_carlo", "events": 20_000, "key": "request-13669"}
    assert hand_in(home, "--test", **events) == (0, "1\n", "submitted as a test; `jim watch 1` follows it to its end\n")
    [request] = handed_in(home)
    assert (request["events"], request["events_per_job"], request["test"]) == (10, 10, "yes")
    assert request["key"].startswith("test-")
    # The production that follows is not taken for the test.
    assert hand_in(home, **events)[1] == "2\n"
    assert {each["key"]: each["events"] for each in handed_in(home)}["request-13669"] == 20_000


def test_a_test_under_a_key_leaves_that_to_the_production(home):
    hello = {"job_type": "executable", "executable": "/bin/echo"}
    assert [
        hand_in(home, *words, **hello)[1] for words in (["--test", "--key=k"], ["--key=k"], ["--test", "--key=k"])
    ] == [
        "1\n",
        "2\n",
        "1\n",
    ]
    assert {each["key"] for each in handed_in(home)} == {"test-k", "k"}


def test_what_a_test_would_become(home):
    sets = {"job_type": "parametric", "executable": "/bin/echo", "argument_sets": [["1"], ["2"], ["3"]]}
    code, out, err = hand_in(home, "--test", "--dry-run", **sets)
    assert (code, err) == (0, "")
    assert "local jobs   1\n" in out
    assert "why          one small local job: this is a test\n" in out


@pytest.mark.parametrize(("size", "more"), [(5, {}), (1, {"events": 3})])
def test_a_test_becomes_one_local_job_and_is_kept_for_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, more: dict[str, int]
) -> None:
    world = World(tmp_path, monkeypatch, keep=Keep(finished_days=30))
    if more:
        from jim import request
        from jim.doors import inbox
        from jim.work import sizing

        asked = request.check({"job_type": "pythia_monte_carlo", "test": "yes", **more})[1]
        grid = inbox.deposit(world.site.state, "k1", {**sizing.of_test(asked), "key": "k1"})
    else:
        grid = world.submit(size, test="yes")
    other = world.submit(1, key="production")
    world.until(lambda: len(world.batch.tasks) == 2)
    assert world.store.grid_job(grid).size == 1
    for id_ in (1, 2):
        world.batch.start(id_)
        world.batch.finish(id_, files=[("events.tsv", b""), ("summary.json", b"")], code=3)
    world.until(lambda: len(world.store.grid_jobs(Step.FINISHED)) == 2)
    later = "2999-01-01T00:00:00.000Z"
    for id_ in (grid, other):
        world.store.db.execute("UPDATE grid_job SET updated = ? WHERE id = ?", ("2998-12-30T00:00:00.000Z", id_))
    monkeypatch.setattr(world.clock, "utc", lambda: later)
    world.go(3, seconds=3600.0)
    assert [job.id for job in world.store.grid_jobs()] == [other]


# several requests, and stdin


def test_several_requests_are_all_checked_before_the_first_is_stored(home, request_file, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text('job_type = "executable"\n')
    code, out, err = home.run("submit", request_file, str(bad))
    assert (code, out, "bad.toml" in err) == (2, "", True)
    assert list((home.site.state / "inbox").iterdir()) == []
    bad.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    assert home.run("submit", request_file, str(bad))[:2] == (0, "1\n2\n")
    assert [each["id"] for each in home.json("submit", request_file, str(bad))] == [3, 4]
    told = home.out("submit", request_file, str(bad), "--dry-run").splitlines()
    assert [line for line in told if line.startswith("==")] == [f"== {request_file}", f"== {bad}"]


def test_a_request_comes_from_stdin(home, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog").write_text("#!/bin/sh\n")
    (tmp_path / "prog").chmod(0o755)
    words = b'job_type = "executable"\nexecutable = "/bin/true"\ninputs = ["prog"]\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(words)))
    assert home.run("submit", "-")[:2] == (0, "1\n")
    (handed_in,) = (each for each in (home.site.state / "inbox").iterdir() if each.is_file())
    assert str(tmp_path / "prog") in handed_in.read_text()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"job_type = ", "-: not TOML: Invalid value (at line 1, column 12)"),
        (b"", "-: the request is empty; it needs at least the attribute job_type"),
        (b"# " + b"x" * 1_048_576, "cannot read the request: stdin holds more than 1,048,576 bytes"),
    ],
)
def test_a_bad_request_from_stdin_is_told(home, monkeypatch, content, told):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    code, _, err = home.run("submit", "-")
    assert (code, err) == (2, f"jim: {told}\n")


def test_a_script_is_no_request_and_the_verb_for_it_is_told(home, tmp_path):
    (tmp_path / "ok.sh").write_text("#!/bin/sh\necho hello\n")
    code, _, err = home.run("submit", str(tmp_path / "ok.sh"))
    assert (code, err) == (2, f"jim: {tmp_path}/ok.sh: not TOML: it is a program; `jim run` runs it\n")


def test_what_several_requests_cannot_share_is_refused(home, request_file):
    assert home.run("submit", request_file, "-")[::2] == (2, "jim: stdin (`-`) must be the only request\n")
    refused = home.run("submit", request_file, request_file, "--key", "a")
    assert refused[::2] == (2, "jim: --key is for one request: a key belongs to one grid job\n")


def test_a_key_of_two_lines_is_refused_in_a_sentence_of_one(home, tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\n')
    told = "jim: key: contains a line break, but must be one line\n"
    assert home.run("submit", str(file), "--key", "a\nb") == (2, "", told)


def damage(home):
    """Make the status DB unreadable, as a broken disk would."""
    home.add()
    home.close()
    (home.site.state / "status.db-wal").unlink(missing_ok=True)
    (home.site.state / "status.db").write_bytes(b"garbage" * 1000)


def test_what_is_taken_in_beside_a_damaged_status_db_is_no_failure(home, request_file):
    """The id was printed, and then an error with exit code 1: whoever believed that handed the work in once more."""
    damage(home)
    code, out, err = home.run("submit", request_file)
    assert (code, out) == (0, "2\n")
    assert err.startswith(
        "jim: warning: grid job 2 was accepted, and is done all the same; but JIM cannot look at it now: "
    )
    assert "status.db is damaged" in err
    assert len(list((home.site.state / "inbox").glob("request-*"))) == 1


@pytest.mark.parametrize(("option", "code", "out"), [("--json", 0, '{\n  "id": 2\n}\n'), ("--watch", 6, "2\n")])
def test_what_cannot_be_shown_gets_its_id_and_is_no_failure(home, request_file, option, code, out):
    damage(home)
    *told, err = home.run("submit", request_file, option)
    assert told == [code, out]
    assert "grid job 2 was accepted, and is done all the same; but JIM cannot look at it now: " in err
    assert "status.db is damaged" in err


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "x"), MemoryError(), KeyError("key")])
@pytest.mark.parametrize(("option", "code"), [("--json", 0), ("--watch", 6), ("--test", 0)])
def test_no_fault_after_a_request_is_durable_is_a_failure(home, request_file, monkeypatch, error, option, code):
    def look(*_):
        raise error

    monkeypatch.setattr("jim.cli.submit.look", look)
    monkeypatch.setattr("jim.cli.watch.look", look)
    monkeypatch.setattr("jim.cli.watch.PATIENCE_SECONDS", 0)
    monkeypatch.setattr("jim.cli.watch.LOOK_SECONDS", 0)
    told, out, err = home.run("submit", request_file, option)
    assert (told, json.loads(out) if option == "--json" else out) == (code, {"id": 1} if option == "--json" else "1\n")
    assert "grid job 1 was accepted, and is done all the same" in err


def test_of_several_requests_those_before_a_failure_are_named(home, request_file, tmp_path, monkeypatch):
    """With --json nothing was printed yet, and whoever handed all in again would have had the first one twice."""
    other, deposit, left = tmp_path / "other.toml", inbox.deposit, [None]
    other.write_bytes(Path(request_file).read_bytes())

    def full(*told, **more):
        if not left:
            raise OSError(28, "No space left on device", "inbox")
        left.pop()
        return deposit(*told, **more)

    monkeypatch.setattr(inbox, "deposit", full)
    code, out, err = home.run("submit", request_file, str(other), "--json")
    assert (code, out) == (1, "")
    assert err.startswith("jim: inbox: No space left on device; the request was taken in as grid job 1; ")


def test_a_current_directory_that_the_account_cannot_read_is_no_matter(home, request_file, tmp_path, monkeypatch):
    """SQLite's name for a store in memory was looked up there; a pipe of that name shows it to root, too."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo(":memory:")
    code, out, err = home.run("submit", request_file)
    assert (code, out, err.partition(";")[0]) == (0, "1\n", "submitted")


# Ctrl-C


def test_ctrl_c_while_a_grid_job_is_watched_says_that_it_runs_on(home, request_file, monkeypatch):
    def pressed(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("jim.cli.watch._sight", pressed)
    code, out, err = home.run("submit", request_file, "--watch")
    assert (code, out) == (130, "1\n")
    assert err == "jim: 1 runs on: `jim watch 1` follows it, `jim cancel 1` cancels it\n"
    assert home.run("watch", "1") == (130, "", err)


def test_ctrl_c_while_several_are_watched_names_all_that_run_on(home, request_file, tmp_path, monkeypatch):
    other = tmp_path / "other.toml"
    other.write_bytes(Path(request_file).read_bytes())

    def pressed(number, **_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jim.cli.watch.follow", pressed)
    code, out, err = home.run("submit", request_file, str(other), "--watch")
    assert (code, out) == (130, "1\n2\n")
    assert err == "jim: 1, 2 run on: `jim watch 1` follows one, `jim cancel 1 2` cancels them\n"


@pytest.mark.parametrize(("option", "code"), [("", 0), ("--json", 0), ("--watch", 130)])
def test_ctrl_c_while_a_request_becomes_durable_hides_no_id(home, request_file, monkeypatch, option, code):
    link = os.link

    def linked(*names):
        link(*names)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("jim.doors.inbox.os.link", linked)
    told, out, _ = home.run("submit", request_file, *filter(None, [option]))
    assert told == code
    assert out.startswith("1\n") or json.loads(out)["id"] == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("bundle = 2", "2 batch jobs, each for 2 local jobs, one after another"),
        ("bundle = 9\nat_once = 3\ncores = 1\nmemory_mb = 100", "1 batch job, for 3 local jobs, 3 at once"),
        ("bundle = 1", "3 batch jobs, each for 1 local job, one after another"),
    ],
)
def test_a_dry_run_tells_of_bundles(home, tmp_path, more, told):
    file = tmp_path / "request.toml"
    work = 'argument_sets = [["1"], ["2"], ["3"]]'
    file.write_text(f'job_type = "parametric"\nexecutable = "/bin/true"\n{work}\n{more}\n')
    assert home.out("submit", str(file), "--dry-run").splitlines()[2] == f"batch jobs   {told}"


def test_a_dry_run_shares_local_jobs_among_batch_jobs(home, tmp_path):
    file = tmp_path / "request.toml"
    sets = [[str(n)] for n in range(24)]
    file.write_text(f'job_type = "parametric"\nexecutable = "/bin/true"\nargument_sets = {sets}\nbundle = 20\n')
    told = home.out("submit", str(file), "--dry-run").splitlines()[2]
    assert told == "batch jobs   2 batch jobs, each for 12 local jobs, one after another"


def test_a_bundle_that_says_too_little_is_refused_at_the_door(home, tmp_path):
    file = tmp_path / "request.toml"
    file.write_text('job_type = "executable"\nexecutable = "/bin/true"\nbundle = 2\nat_once = 2\n')
    code, out, err = home.run("submit", str(file))
    assert (code, out) == (2, "")
    assert "at_once: 2 at once, but the request does not say what each needs: ask for cores and memory_mb, too" in err
    assert not list((home.site.state / "inbox").iterdir())
