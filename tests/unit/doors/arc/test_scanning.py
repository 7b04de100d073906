"""What A-REX is told of ends, and what a scan does beside: each story begins with A-REX's files and JIM's answers."""

import errno
import json
import os
import re
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from jim import run_grid_job
from jim.doors import generations, inbox
from jim.doors.arc import scanning
from jim.doors.arc.told_ends import told_of
from jim.doors.generations import told_file
from jim.files import locked
from jim.model import Answer, State
from tests.support.stand_ins import INSTANCE, World

ID = "VaONDmKqjR"
LONG_AGO = time.time() - 1000
DO = scanning._do


class Arex:
    """A control directory with one job, and a keeper that takes it through its life."""

    def __init__(self, tmp_path: Path, world: World, id_: str = ID) -> None:
        self.id, self.control, self.session, self.world = id_, tmp_path / "control", tmp_path / "session" / id_, world
        (self.control / "processing").mkdir(parents=True, exist_ok=True)
        self.session.mkdir(parents=True)
        for each in ("diag", "comment"):
            Path(f"{self.session}.{each}").touch()
        self.grami = self.control / f"job.{self.id}.grami"
        self.grami.write_text(
            f"joboption_directory='{self.session}'\njoboption_controldir='{self.control}'\njoboption_arg_0='/bin/true'\n"
            f"joboption_stdout='{self.session}/out'\njoboption_gridid='{self.id}'\njoboption_queue='jim'\n"
        )
        self.told = self.control / f"job.{self.id}.lrms_done"

    def submit(self) -> int:
        assert run_grid_job.main(["--door", "arc", "submit", str(self.grami)]) == 0
        return generations.number_of_last(self.world.site.state, self.id)

    def run(self, code: int = 0) -> int:
        """Hand the job in, and let it run to its end; return its grid job."""
        number, batch = self.submit(), self.world.batch
        self.world.until(lambda: batch.accepted[-1:] == [f"jim-{INSTANCE.strip()}-{number}-1"])
        for id_, index in [each for each, task in batch.tasks.items() if task.state is State.SUBMITTED]:
            batch.start(id_, index)
            batch.finish(id_, index, code)
        answer = self.world.site.state / f"answers/{number}"
        self.world.until(lambda: answer.read_bytes().startswith(b"ended"))
        return number

    def is_at(self, word: str, when: float = LONG_AGO, reruns: str = "2") -> None:
        status = self.control / f"processing/job.{self.id}.status"
        status.write_text(word + "\n")
        os.utime(status, (when, when))
        number = generations.number_of_last(self.world.site.state, self.id) or 1
        local = f"localid={os.getuid()}.{number}\nsessiondir={self.session}\nrerun={reruns}\n"
        (self.control / f"job.{self.id}.local").write_text(local)

    def scan(self) -> str:
        """Scan; return what A-REX is told."""
        scanning.scan([self.control])
        return self.told.read_text() if self.told.exists() else ""

    def later(self) -> list[str]:
        """Return what a scan would do after its answers."""
        found = []
        (job,) = scanning.jobs(self.control)
        scanning._end(self.world.site.state, job, found)
        return [what for what, *_ in found]


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, None)
    monkeypatch.setenv("JIM_STATE", str(world.site.state))
    monkeypatch.setattr(run_grid_job, "wake", lambda _: None)
    monkeypatch.setattr(scanning, "ACCOUNT_SECONDS", 30.0)  # on a busy machine a second is short
    monkeypatch.setattr(scanning, "_do", lambda _: None)  # another process would start a keeper
    return world


@pytest.fixture
def arex(tmp_path, world, capfdbinary):
    return Arex(tmp_path, world)


def test_a_job_that_runs_is_told_of_once_it_has_ended(arex, world):
    arex.submit()
    world.until(lambda: world.batch.tasks)
    arex.is_at("INLRMS")
    assert arex.scan() == ""
    arex.run()
    assert arex.scan() == "0 \n"
    facts = Path(f"{arex.session}.diag").read_text().splitlines()
    assert facts[0] == "exitcode=0"
    assert "Processors=1" in facts


def test_facts_are_written_where_an_account_may_make_no_file(arex, world):
    """A-REX makes the file for the account, in a directory that may be root's."""
    arex.run()
    arex.is_at("INLRMS")
    facts = Path(f"{arex.session}.diag")
    facts.write_text("runtimeenvironments=\nnodename=of A-REX\n")
    before = facts.stat().st_ino
    arex.scan()
    assert facts.stat().st_ino == before
    assert facts.read_text().splitlines()[:2] == ["runtimeenvironments=", "exitcode=0"]
    elsewhere = facts.with_name("elsewhere")
    elsewhere.write_text("theirs")
    facts.unlink()
    facts.symlink_to(elsewhere)
    told_file(world.site.state, ID).unlink()
    arex.told.unlink()
    assert arex.scan() == "0 \n"
    assert elsewhere.read_text() == "theirs"


def test_the_reason_of_a_failure_is_told(arex, world):
    arex.run(9)
    arex.is_at("INLRMS")
    assert arex.scan() == "9 1 of 1 local job failed: exit 9\n"


def test_an_end_that_a_rex_has_not_taken_is_told_again_as_it_was(arex, world):
    """A kill between the account's note and the file for A-REX, or a file that somebody removed."""
    number = arex.run()
    arex.is_at("INLRMS")
    first = arex.scan()
    arex.told.unlink()
    (world.site.state / f"answers/{number}").unlink()  # its grid job may even be removed meanwhile
    assert arex.later() == []
    assert arex.scan() == first


def test_a_job_of_which_a_rex_has_the_end_already_is_left_alone(arex, world):
    arex.submit()
    arex.is_at("INLRMS")
    arex.told.write_text("5 theirs\n")
    assert list(scanning.jobs(arex.control)) == []
    assert arex.scan() == "5 theirs\n"


def test_a_job_that_its_user_resumes_is_handed_in_once_more(arex, world, monkeypatch):
    """A-REX calls no submit then: the job is INLRMS again, with the id of the grid job that has failed."""
    first = arex.run(9)
    arex.is_at("INLRMS", LONG_AGO - 500)
    arex.scan()
    arex.told.unlink()
    arex.is_at("INLRMS", reruns="1")
    assert arex.later() == ["resume"]
    assert arex.scan() == ""  # not the old end
    generations.begin(world.site.state, ID, 1)
    assert arex.later() == ["submit"]
    second = arex.run()
    assert second not in (0, first)
    assert arex.submit() == second
    assert arex.scan() == "0 \n"
    assert told_of(world.site.state, ID).number == second


def test_no_end_is_told_of_a_job_that_has_moved_on_meanwhile(arex, world, monkeypatch):
    """A-REX would take it for the end of the job when its user resumes that."""
    arex.run(9)
    arex.is_at("INLRMS")
    real = scanning._ended

    def slow(uid, mine):
        for each in list(real(uid, mine)):
            arex.is_at("FINISHING", time.time())
            yield each

    monkeypatch.setattr(scanning, "_ended", slow)
    assert arex.scan() == ""


def test_a_rex_that_starts_anew_resumes_no_job(arex, world):
    """It writes the state of a job once more then. It may have taken the end, and been killed before it said so."""
    arex.run(9)
    arex.is_at("INLRMS", LONG_AGO - 500)
    first = arex.scan()
    arex.told.unlink()
    arex.is_at("INLRMS")
    assert arex.later() == []
    assert arex.scan() == first == "9 1 of 1 local job failed: exit 9\n"


def test_a_job_that_is_killed_right_after_it_was_resumed_is_not_handed_in(arex, world, monkeypatch):
    first = arex.run(9)
    arex.is_at("INLRMS", LONG_AGO - 500)
    arex.scan()
    arex.told.unlink()
    arex.is_at("CANCELING", time.time(), reruns="1")
    assert (arex.later(), arex.scan()) == ([], "")  # an earlier scan may hand it in just now
    arex.is_at("CANCELING", reruns="1")
    assert arex.later() == []
    assert arex.scan() == "9 1 of 1 local job failed: exit 9\n"
    assert generations.number_of_last(world.site.state, ID) == first


def test_a_job_that_has_moved_on_since_the_scan_began_is_not_handed_in(arex, world, monkeypatch):
    monkeypatch.setattr(scanning, "run", lambda *_, **__: pytest.fail("it is handed in"))
    arex.run(9)
    arex.is_at("INLRMS")
    (job,) = scanning.jobs(arex.control)
    arex.is_at("CANCELING", time.time())
    DO([("resume", job, 1), ("submit", job, 1)])
    (arex.control / f"processing/job.{ID}.status").unlink()
    DO([("resume", job, 1), ("submit", job, 1)])
    assert generations.last(world.site.state, ID) == 1


def test_scans_that_overlap_resume_a_job_once(arex, world, monkeypatch):
    """What a scan does after its answers may take longer than the pause to the next scan, which finds the same."""
    again = partial(run_grid_job.main, ["--door", "arc", "submit", str(arex.grami)])
    monkeypatch.setattr(scanning, "run", lambda words, limit: Answer(tuple(words), again(), "", "", 0.0))
    first = arex.run(9)
    arex.is_at("INLRMS", LONG_AGO - 500)
    arex.scan()
    arex.told.unlink()
    arex.is_at("INLRMS", reruns="1")
    (job,) = scanning.jobs(arex.control)
    state, early, late = world.site.state, [], []
    scanning._end(state, job, early)
    scanning._end(state, job, late)
    DO(early)
    second = generations.number_of_last(state, ID)
    DO(late)
    assert first != second == generations.number_of_last(state, ID)


def test_an_end_that_cannot_be_written_for_a_rex_holds_up_no_other(arex, world, tmp_path, capfdbinary, monkeypatch):
    other = Arex(tmp_path, world, "Other")
    for each in (arex, other):
        each.run()
        each.is_at("INLRMS")
    replace, full = scanning.replace_durably, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(arex.told))
    with monkeypatch.context() as patched:
        patched.setattr(
            scanning, "replace_durably", lambda file, *more: _raise(full) if file == arex.told else replace(file, *more)
        )
        assert (arex.scan(), other.told.read_text()) == ("", "0 \n")
    said = capfdbinary.readouterr().err.decode().splitlines()
    assert said == [
        f"{ID}: A-REX is not told its end; tried again in the next scan: {arex.told}: No space left on device"
    ]
    assert arex.scan() == "0 \n"


def _raise(error):
    raise error


WRONG = [
    "7",
    "[]",
    "[1]",
    '"a"',
    "null",
    "",
    "{",
    '{"id": []}',
    '{"id": {}}',
    '{"id": "x"}',
    '{"id": "１"}',
    '{"id": 1',
    "{}",
]


@pytest.mark.parametrize("content", WRONG)
def test_a_broken_file_of_a_key_holds_up_no_other_job_of_the_account(arex, world, tmp_path, content, capfdbinary):
    other = Arex(tmp_path, world, "Other")
    for each in (arex, other):
        each.run()
        each.is_at("INLRMS")
    file = world.site.state / "keys" / inbox.request_name(ID)
    file.write_text(content)
    assert (arex.scan(), other.told.read_text()) == ("", "0 \n")
    (said,) = capfdbinary.readouterr().err.decode().splitlines()
    assert said.startswith(f"{ID}: its end is not known; tried again in the next scan: {file} ")


PIPES = {
    "status": lambda arex, state: arex.control / f"processing/job.{ID}.status",
    "local": lambda arex, state: arex.control / f"job.{ID}.local",
    "proxy": lambda arex, state: arex.control / f"job.{ID}.proxy",
    "a renewed proxy": lambda arex, state: arex.control / "delegations/a3a/ad0/c14/a50",
    "diag": lambda arex, state: Path(f"{arex.session}.diag"),
    "key": lambda arex, state: state / "keys" / inbox.request_name(ID),
    "inbox": lambda arex, state: state / "inbox" / inbox.request_name(ID),
    "generation": lambda arex, state: state / "keys" / f"last-{inbox.request_name(ID)}",
    "told": lambda arex, state: told_file(state, ID),
    "answer": lambda arex, state: state / "answers/1",
    "lock": lambda arex, state: state / "scan.lock",
}


@pytest.mark.parametrize("what", PIPES)
def test_no_scan_waits_for_a_pipe_in_the_place_of_a_file(arex, world, tmp_path, what):
    """The other job is told of in the time that an account has."""
    other = Arex(tmp_path, world, "Other")
    for each in (arex, other):
        each.run()
        each.is_at("INLRMS")
    local = arex.control / f"job.{ID}.local"
    local.write_text(local.read_text() + "delegationid=a3aad0c14a50\n")
    pipe = PIPES[what](arex, world.site.state)
    pipe.parent.mkdir(parents=True, exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    began = time.monotonic()
    arex.scan()
    assert other.told.read_text() == "0 \n"
    assert time.monotonic() - began < 5
    assert what not in ("diag", "lock", "proxy", "a renewed proxy", "told") or arex.told.read_text() == "0 \n"


@pytest.mark.parametrize("what", ["grami", "local", "proxy", "key", "generation", "answer", "next-id", "next-id.lock"])
def test_no_door_waits_for_a_pipe_in_the_place_of_a_file(arex, world, what):
    state = world.site.state
    arex.is_at("INLRMS")
    here = {"grami": arex.grami, "next-id": state / "next-id", "next-id.lock": state / "next-id.lock"}
    pipe = here.get(what) or PIPES[what](arex, state)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    began = time.monotonic()
    run_grid_job.main(["--door", "arc", "submit", str(arex.grami)])
    run_grid_job.main(["--door", "arc", "cancel", "1"])
    assert time.monotonic() - began < 5


def test_why_an_account_gives_no_answer_is_told(arex, world, capfdbinary):
    arex.run()
    arex.is_at("INLRMS")
    (world.site.state / "site.toml").write_text("[batch\n")
    assert arex.scan() == ""
    (said,) = capfdbinary.readouterr().err.decode().splitlines()
    assert said.startswith(
        f"uid {os.getuid()}: no answer about its jobs (1); tried again in the next scan: {world.site.state}/"
    )
    assert "site.toml: " in said


def test_no_text_of_an_account_stops_the_scan_of_the_others(arex, world):
    number = arex.run()
    arex.is_at("INLRMS")
    written = f'{{"number": {number}, "reruns": 2, "code": 5, "words": "half \\ud800 of a\\ncharacter"}}'
    told_file(world.site.state, ID).write_text(written)
    assert arex.scan() == "5 half   of a character\n"


@pytest.mark.parametrize("odd", ["\r", "\x0b", "\x0c", "\x1e", "\x85", "\u2028"])
def test_no_text_of_a_user_hands_a_job_to_another_account(arex, world, odd):
    """A-REX drops newlines from texts such as the name of a job, and no other character that ends a line elsewhere."""
    arex.submit()
    arex.is_at("INLRMS")
    local = arex.control / f"job.{ID}.local"
    local.write_text(local.read_text() + f"jobname=x{odd}localid=0.7{odd}sessiondir=/etc\n")
    (job,) = scanning.jobs(arex.control)
    assert (job.uid, job.session) == (os.getuid(), str(arex.session))


def test_no_account_hands_its_job_to_another_one(arex):
    """The file belongs to the account, which may write what it likes."""
    arex.submit()
    arex.is_at("INLRMS")
    local, mine = arex.control / f"job.{ID}.local", os.getuid() or 4711
    os.chown(local, mine, -1)
    local.write_text(f"localid={mine + 1}.7\nsessiondir=/tmp\n")
    assert list(scanning.jobs(arex.control)) == []
    local.write_text(f"localid={mine}.7\nsessiondir=/tmp\n")
    assert [job.uid for job in scanning.jobs(arex.control)] == [mine]


def test_an_odd_number_stops_nobody(arex):
    arex.submit()
    arex.is_at("INLRMS", reruns="９" * 5000)
    assert [job.reruns for job in scanning.jobs(arex.control)] == [0]
    (arex.control / f"job.{ID}.local").write_text(f"localid={'9' * 5000}.1\n")
    assert arex.scan() == ""


def test_a_directory_without_jobs_hides_no_other(arex, tmp_path):
    arex.run()
    arex.is_at("INLRMS")
    scanning.scan([tmp_path / "none", arex.control])
    assert arex.told.read_text() == "0 \n"


def test_more_jobs_than_can_be_looked_at_in_time_have_their_turn(arex, world, monkeypatch):
    arex.submit()
    arex.is_at("INLRMS")
    (job,) = scanning.jobs(arex.control)
    many = [job._replace(id=f"{ID}{number}") for number in range(100)]
    looked = []
    monkeypatch.setattr(scanning, "_end", lambda _, job, later: looked.append(job.id) or time.sleep(0.05))
    monkeypatch.setattr(scanning, "ACCOUNT_SECONDS", 0.2)
    monkeypatch.setattr(scanning, "become", lambda _: None)
    for _ in range(20):
        assert scanning._told_by("", many, []) == b"[]"
    assert len(looked) < 100
    assert len(set(looked)) > 10


def test_a_broken_file_of_one_job_holds_up_no_other(arex, world, monkeypatch, capfdbinary):
    number = arex.run()
    arex.is_at("INLRMS")
    (job,) = scanning.jobs(arex.control)
    (world.site.state / f"answers/{number}").write_text("ended well\n")
    monkeypatch.setattr(scanning, "become", lambda _: None)
    gone = job._replace(id="gone")  # JIM does not know it
    told = json.loads(scanning._told_by("", [job, gone], []))
    assert [place for place, _, _ in told] == [1]
    assert f"{ID}: its end is not known; tried again in the next scan: ".encode() in capfdbinary.readouterr().err


def test_thousands_of_jobs_without_an_answer_do_not_fill_the_log(arex, world, tmp_path, capfdbinary):
    for n in range(25):
        other = Arex(tmp_path, world, f"job{n}")
        other.is_at("INLRMS")
    keys = world.site.state / "keys"
    keys.rename(keys.with_name("away"))
    scanning.scan([arex.control])
    said = capfdbinary.readouterr().err.decode().splitlines()
    assert len(said) == 10
    assert said[0].endswith(
        f"tried again in the next scan: {world.site.state} has no keys or no store: it may be out of reach"
    )


def test_a_cancel_that_did_not_reach_jim_is_left_by_the_scan(arex, world):
    number = arex.submit()
    world.until(lambda: world.batch.tasks)
    arex.is_at("CANCELING")
    assert arex.later() == ["poll", "cancel"]
    assert run_grid_job.main(["--door", "arc", "cancel", str(number)]) == 0
    assert arex.later() == ["poll"]
    answer = world.site.state / f"answers/{number}"
    world.until(lambda: answer.read_bytes().startswith(b"ended"))
    assert arex.scan().startswith("1 cancelled")


def test_a_repeated_submit_after_a_cancel_runs_nothing_a_second_time(arex, world):
    """A submit that A-REX has left behind in a crash may come after the user's kill."""
    number = arex.submit()
    assert run_grid_job.main(["--door", "arc", "cancel", str(number)]) == 0
    assert arex.submit() == number


def test_a_grid_job_that_is_gone_ends_the_job_only_if_the_state_directory_is_there(arex, world, capfdbinary):
    number = arex.run()
    arex.is_at("INLRMS")
    inbox.free(world.site.state, ID, number)
    keys = world.site.state / "keys"
    keys.rename(keys.with_name("away"))
    assert arex.scan() == ""
    assert (
        f"{world.site.state} has no keys or no store: it may be out of reach" in capfdbinary.readouterr().err.decode()
    )
    keys.with_name("away").rename(keys)
    assert arex.scan().startswith("255 JIM does not know this job any more")


def test_an_account_that_hangs_or_lies_holds_up_nobody(arex, world):
    number = arex.submit()
    arex.is_at("INLRMS")
    answer = world.site.state / f"answers/{number}"
    answer.unlink()
    os.mkfifo(answer)
    began = time.monotonic()
    assert arex.scan() == ""
    assert time.monotonic() - began < 5


def test_while_an_earlier_scan_is_still_at_it_a_scan_only_answers(arex, world, monkeypatch):
    """What is done after the answers may take minutes, and a scan begins every ten seconds."""
    arex.submit()
    arex.is_at("INLRMS")
    (job,) = scanning.jobs(arex.control)
    calls = []
    monkeypatch.setattr(scanning, "run", lambda words, limit: calls.append(words) or Answer((), 0, "", "", 0.0))
    with locked(world.site.state / "scan.lock"):
        DO([("poll", job, 0), ("cancel", job, 0)])
    assert calls == []
    DO([("poll", job, 0), ("cancel", job, 0)])
    assert len(calls) == 2


def test_what_fails_about_one_job_holds_up_no_other(arex, world, monkeypatch, capfdbinary):
    calls = []
    monkeypatch.setattr(scanning, "run", lambda words, limit: calls.append(words) or Answer((), 0, "", "", 0.0))
    arex.submit()
    arex.is_at("INLRMS")
    (job,) = scanning.jobs(arex.control)
    (world.site.state / "keys" / f"last-{inbox.request_name(ID)}").mkdir()
    DO([("resume", job, 1), ("cancel", job._replace(id="other"), 0)])
    assert [words[-1] for words in calls] == [f"{arex.control}/job.other.grami"]
    assert capfdbinary.readouterr().err.decode().startswith(f"{ID}: resume failed; tried again in the next scan: ")


def test_what_is_to_be_done_later_is_done_by_jim_s_own_programs(arex, world, monkeypatch):
    calls = []

    def run(words, *, limit):
        calls.append([Path(words[0]).name, *words[1:]])
        refused = "submit" in words[0]
        return Answer(tuple(words), 2 if refused else 0, "", "jim-submit: no such\nqueue\n" if refused else "", 0.0)

    monkeypatch.setattr(scanning, "run", run)
    arex.submit()
    arex.is_at("INLRMS")
    (job,) = scanning.jobs(arex.control)
    DO([("poll", job, 0), ("resume", job, 1), ("cancel", job, 0)])
    assert calls == [
        ["jim-poll", "1"],
        ["submit-jim-job", "--again", str(arex.grami)],
        ["cancel-jim-job", "--again", str(arex.grami)],
    ]
    assert generations.last(world.site.state, ID) == 2
    told = told_of(world.site.state, ID)  # it can never be accepted: the next scan tells A-REX
    assert (told.reruns, told.code, told.words) == (2, 1, "jim-submit: no such queue")


DELEGATION, OTHERS = "a3aad0c14a50", "a3aad0c14a51"


def given(arex: Arex, *delegations: str) -> Path:
    """Let A-REX have a proxy of a user, and of another one; give its record of which jobs they are for."""
    place = arex.control / "delegations"
    for name in (DELEGATION, OTHERS):
        file = place.joinpath(*re.findall("...", name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"proxy {name}")
    place.chmod(0o700)
    with closing(sqlite3.connect(place / "list")) as db, db:
        db.execute("CREATE TABLE rec(id, owner, uid, meta, UNIQUE(id, owner), UNIQUE(uid))")
        db.execute("CREATE TABLE lock(lockid, uid)")
        db.executemany("INSERT INTO rec VALUES (?1, ?2, ?1, '')", [(DELEGATION, "/CN=Ann"), (OTHERS, "/CN=Ben")])
        db.executemany("INSERT INTO lock VALUES (?, ?)", [(ID, DELEGATION) for DELEGATION in delegations])
        db.execute("INSERT INTO lock VALUES ('Other', ?)", (OTHERS,))
    (place / "list").chmod(0o644)
    return place / "list"


def names(arex: Arex, delegation: str) -> Path:
    """Let the account's own file about its job name a delegation; give the proxy of the job."""
    arex.submit()
    arex.is_at("INLRMS")
    local, proxy = arex.control / f"job.{ID}.local", arex.control / f"job.{ID}.proxy"
    local.write_text(f"{local.read_text()}delegationid={delegation}\n")
    proxy.write_text("as A-REX writes it")
    return proxy


def test_a_renewed_proxy_is_written_into_the_file_that_jim_reads(arex):
    """A-REX keeps what a user renews among its delegations; the file of a job it writes only when the job moves on."""
    given(arex, DELEGATION)
    proxy, kept = names(arex, DELEGATION), arex.control / "delegations/a3a/ad0/c14/a50"
    for text in ("first", "second"):
        kept.write_text(text)
        os.utime(kept, (LONG_AGO, LONG_AGO + len(text)))  # the clock was set back, or not
        arex.scan()
        assert (proxy.read_text(), proxy.stat().st_mode & 0o777) == (text, 0o600)
    before = proxy.stat().st_ino
    arex.scan()
    assert proxy.stat().st_ino == before


def test_an_account_that_names_the_delegation_of_somebody_else_gets_nothing(arex):
    given(arex, DELEGATION)
    proxy = names(arex, OTHERS)
    arex.scan()
    assert proxy.read_text() == "as A-REX writes it"


RECORDS = {
    "there is none": lambda file: file.unlink(),
    "a database of another kind": lambda file: file.write_bytes(b"\0" * 12 + b"\x62\x31\x05\0" * 4096),
    "empty": lambda file: file.write_bytes(b""),
    "cut short": lambda file: os.truncate(file, 5000),
    "A-REX is about to change it": lambda file: file.with_name("list-journal").write_bytes(b""),
    "its last change is in a log": lambda file: file.with_name("list-wal").write_bytes(b""),
    "others may write it": lambda file: file.chmod(0o666),
    "others may write beside it": lambda file: file.parent.chmod(0o777),
    "it is a link": lambda file: file.symlink_to(file.rename(file.with_name("elsewhere"))),
    "it is a pipe": lambda file: (file.unlink(), os.mkfifo(file)),
    "it has other tables": lambda file: _without_locks(file),
    "the job was given to nobody": lambda file: _without_locks(file, keep=True),
}


def _without_locks(file: Path, *, keep: bool = False) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DELETE FROM lock" if keep else "DROP TABLE lock")


@pytest.mark.parametrize("record", RECORDS)
def test_without_a_whole_record_of_a_rex_no_proxy_is_renewed(arex, world, tmp_path, record):
    RECORDS[record](given(arex, DELEGATION))
    proxy, other = names(arex, DELEGATION), Arex(tmp_path, world, "Other")
    other.run()
    other.is_at("INLRMS")
    arex.scan()
    assert proxy.read_text() == "as A-REX writes it"
    assert other.told.read_text() == "0 \n"  # and the scan goes on


def test_a_record_that_a_rex_changes_while_it_is_read_is_read_in_the_next_scan(arex, monkeypatch):
    file, connect = given(arex, DELEGATION), sqlite3.connect
    proxy = names(arex, DELEGATION)

    def changed_meanwhile(*words, **more):
        with closing(connect(file)) as db, db:
            db.execute("DELETE FROM lock")
        return connect(*words, **more)

    with monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", changed_meanwhile)
        arex.scan()
    assert proxy.read_text() == "as A-REX writes it"
    with closing(connect(file)) as db, db:
        db.execute("INSERT INTO lock VALUES (?, ?)", (ID, DELEGATION))
    arex.scan()
    assert proxy.read_text() == f"proxy {DELEGATION}"


def test_a_rex_that_writes_its_record_is_not_held_up_and_holds_up_no_scan(arex):
    """The scan takes no lock: a scan that is stopped would stop A-REX, which waits for locks without an end."""
    file = given(arex, DELEGATION)
    proxy = names(arex, DELEGATION)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")  # writes nothing yet, so that what the file says is whole
        arex.scan()
        assert proxy.read_text() == f"proxy {DELEGATION}"


@pytest.mark.parametrize("delegation", ["", "../../etc", "a3a/ad0"])
def test_an_odd_name_of_a_credential_leads_nowhere(arex, delegation):
    arex.submit()
    arex.is_at("INLRMS")
    local = arex.control / f"job.{ID}.local"
    local.write_text(local.read_text() + f"delegationid={delegation}\n")
    (arex.control / f"job.{ID}.proxy").write_text("first")
    assert arex.scan() == ""
    assert (arex.control / f"job.{ID}.proxy").read_text() == "first"


def test_what_was_told_is_forgotten_with_the_grid_job(arex, world):
    number = arex.run()
    arex.is_at("INLRMS")
    arex.scan()
    assert told_of(world.site.state, ID)
    generations.free(world.site.state, ID, number)
    assert not list((world.site.state / "keys").iterdir())


@pytest.mark.parametrize("told", ['{"number": Infinity, "reruns": 0, "code": 0, "words": ""}', "[" * 60_000])
def test_a_told_end_that_makes_no_sense_holds_up_no_other(arex, world, told):
    """Payloads of the account may write there."""
    arex.run()
    arex.is_at("INLRMS")
    told_file(world.site.state, ID).write_text(told)
    assert arex.scan() == "0 \n"
