"""The local batch system: a real daemon, real processes, and what is left of them."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from jim.clock import Clock
from jim.localbatch import __main__ as command_line
from jim.localbatch import area, daemon, processes
from jim.localbatch.books import Books
from jim.localbatch.queue import Order, Queue

CHECKOUT = str(Path(__file__).parents[2])
PYTHON = (sys.executable, "-P", "-s")
WAIT_FOR_GO = 'while [ ! -e "$(dirname "$0")/go" ]; do sleep 0.02; done\n'


def until(condition, seconds=10.0):
    """Wait for a condition, and return what it gave."""
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, "waited in vain"
        threading.Event().wait(0.01)
    return result


def living(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


class Place:
    """An area, the daemons that serve it, and short ways to ask it."""

    def __init__(self, directory):
        self.home, self.directory, self.daemons = directory, directory / "area", []
        self.queue = Queue(area.connect(self.directory), Clock())
        self.queue.configure(slots=2, grace=0.2, idle=60)

    def command(self, *words, **environment):
        return subprocess.run(
            [*PYTHON, "-m", "jim.localbatch", "--area", str(self.directory), *map(str, words)],
            env={**os.environ, "PYTHONPATH": CHECKOUT, **environment},
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )

    def serve(self, before=""):
        """Start a daemon; `before` is Python that it runs first."""
        code = f"import sys\n{before}\nfrom jim.localbatch.__main__ import main\nsys.exit(main(sys.argv[1:]))"
        words = [*PYTHON, "-c", code, "--area", str(self.directory), "serve"]
        self.daemons.append(subprocess.Popen(words, env={**os.environ, "PYTHONPATH": CHECKOUT}, cwd="/"))
        return self.daemons[-1]

    def until_served(self):
        """Wait until the lock's file names the last daemon; to try the lock could make it give way."""
        file = self.directory / area.LOCK_FILE
        until(lambda: file.exists() and file.read_text() == f"{self.daemons[-1].pid}\n")

    def kill_daemon(self):
        self.daemons[-1].kill()
        self.daemons[-1].wait()

    def script(self, text, name="script"):
        file = self.home / name
        file.write_text(f'#!/bin/sh\ncd "{self.home}"\n{text}')
        file.chmod(0o755)
        return str(file)

    def submit(self, text, size=1, name="mark", **more):
        return self.queue.submit(Order(name, self.script(text, f"script-{time.monotonic_ns()}"), size, **more))

    def states(self):
        return {(job, index): state for job, index, state, _ in self.queue.live()}

    def history(self, job):
        return {row[1]: row[2:6] for row in self.queue.history([(job, 0)])}

    def ended(self, job, size=1):
        return until(lambda: len(self.history(job)) == size and self.history(job))

    def events(self, *words):
        return [(event, job, index) for _, _, event, job, index, _, _ in self.queue.ledger() if event in words]

    def pid(self, job, index=1):
        rows = "SELECT pid FROM tasks WHERE job = ? AND idx = ? AND pid IS NOT NULL"
        return until(lambda: self.queue.db.execute(rows, (job, index)).fetchone())[0]

    def number(self, name):
        """Wait for a payload to write a number into a file."""
        file = self.home / name
        return int(until(lambda: file.exists() and file.read_text().endswith("\n") and file.read_text()))

    def go(self):
        (self.home / "go").touch()

    def close(self):
        for each in self.daemons:
            if each.poll() is None:
                each.kill()
            each.wait()
        on_demand = (self.directory / area.LOCK_FILE).read_text() if (self.directory / area.LOCK_FILE).exists() else ""
        with suppress(psutil.Error, ValueError):
            server = psutil.Process(int(on_demand))
            if str(self.directory) in server.cmdline():
                server.kill()
                until(lambda: not living(server.pid))
        identity = self.queue.settings().identity
        until(lambda: not processes.strike([each for each, _ in processes.marked(identity)], signal.SIGKILL) and
              not processes.marked(identity))  # fmt: skip
        self.queue.db.close()


@pytest.fixture
def place(tmp_path):
    with closing(Place(tmp_path)) as place:
        yield place


@pytest.fixture
def served(place):
    place.serve()
    return place


# The command line


def test_the_verbs_from_end_to_end(place):
    script = place.script(WAIT_FOR_GO + "exit $LOCALBATCH_INDEX")
    submitted = place.command("submit", "--name", "jim-1-2", "--wall", 60, "--array", 2, "--queue", "q", script)
    assert (submitted.returncode, submitted.stdout, submitted.stderr) == (0, "1\n", "")
    until(lambda: set(place.states().values()) == {"running"})  # a daemon came by itself
    assert place.command("list").stdout == "jobs 2\n1|1|running|jim-1-2\n1|2|running|jim-1-2\nend\n"
    found = "jobs 2\n1|1|running|-|-|-|jim-1-2\n1|2|running|-|-|-|jim-1-2\nend\n"
    assert place.command("find", "jim-1-2").stdout == found
    assert place.command("history", 1).stdout == "jobs 0\nend\n"
    assert place.command("ping").stdout == "slots 2 running 2\n"
    place.go()
    place.ended(1, 2)
    ended = "jobs 2\n1|1|ended|1|-|-|jim-1-2\n1|2|ended|2|-|-|jim-1-2\nend\n"
    assert place.command("history", 1, 99).stdout == ended
    assert place.command("find", "jim-1-2").stdout == ended
    assert place.command("list").stdout == "jobs 0\nend\n"
    ledger = place.command("ledger").stdout.splitlines()
    assert (ledger[0], ledger[-1]) == ("events 8", "end")
    assert ledger[1].split("|")[2:] == ["accepted", "1", "1", "jim-1-2", "-"]


@pytest.mark.parametrize("name", ["", "a b", "a|b", "a\nb", "a/b", "é", "a" * 201, "$(id)", "\udcff"])
def test_a_hostile_name_is_refused_in_one_line(tmp_path, capsys, name):
    with pytest.raises(SystemExit) as end:
        command_line.main(["--area", str(tmp_path / "area"), "submit", f"--name={name}", "/bin/true"])
    said = capsys.readouterr()
    assert (end.value.code, said.out) == (2, "")
    assert said.err.startswith("localbatch: argument --name: expected ")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "area").exists()


@pytest.mark.parametrize("words", [["--wall=0"], ["--wall=x"], ["--wall=٣"], ["--array=10001"], ["--array=-1"]])
def test_a_hostile_number_is_refused(tmp_path, capsys, words):
    with pytest.raises(SystemExit):
        command_line.main(["--area", str(tmp_path / "area"), "submit", "--name=a", *words, "/bin/true"])
    assert "expected a number from 1 to" in capsys.readouterr().err


def main_without_daemon(place, monkeypatch, *words):
    monkeypatch.setattr(command_line, "wake", lambda _: None)
    return command_line.main(["--area", str(place.directory), *words])


def test_an_unknown_job_is_said_and_the_known_ones_are_done(place, monkeypatch, capsys):
    job = place.submit("", size=2)
    assert main_without_daemon(place, monkeypatch, "cancel", "99", f"{job}.1", f"{job}.3", "x;y") == 1
    assert capsys.readouterr().err == f"unknown job 99\nunknown job {job}.3\nunknown job x;y\n"
    assert place.history(job) == {1: ("cancelled", None, None, "cancelled")}
    assert main_without_daemon(place, monkeypatch, "cancel", f"{job}.1") == 0  # repeated


def test_a_locked_or_full_queue_is_said_as_such(place, monkeypatch, capsys):
    monkeypatch.setattr(area, "BUSY_SECONDS", 0.01)
    submit = ("submit", "--name=a", "--array=5000", "/bin/true")
    with place.queue.transaction():
        assert main_without_daemon(place, monkeypatch, *submit) == 75
    assert capsys.readouterr().err == "localbatch: cannot record: database is locked\n"
    connect = area.connect

    def full(directory):
        db = connect(directory)
        db.execute("PRAGMA max_page_count = 12")
        return db

    monkeypatch.setattr(command_line, "connect", full)
    assert main_without_daemon(place, monkeypatch, *submit) == 75
    assert capsys.readouterr() == ("", "localbatch: cannot record: database or disk is full\n")
    assert place.queue.live() == []


def test_an_answer_that_cannot_be_written_is_no_failure_to_record(place):
    script = place.script("")
    command = [*PYTHON, "-m", "jim.localbatch", "--area", str(place.directory), "submit", "--name=a", script]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": CHECKOUT}, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 74
    assert done.stderr.startswith(b"localbatch: done, but cannot answer:")
    place.ended(1)


def test_a_lost_queue_does_not_look_empty(tmp_path, capsys):
    (tmp_path / area.LOCK_FILE).touch()
    assert command_line.main(["--area", str(tmp_path), "list"]) == 1
    assert "has no queue.db, but is not empty" in capsys.readouterr().err


def test_a_queue_of_another_format_is_left_alone(place, capsys):
    place.queue.db.execute("PRAGMA user_version = 1")
    assert command_line.main(["--area", str(place.directory), "list"]) == 1
    assert "has format 1, this program knows 2: let the JIM that made it end its jobs" in capsys.readouterr().err


def test_of_two_that_make_an_area_the_first_counts(place):
    before = place.queue.settings()
    area._make(place.directory)
    with closing(area.connect(place.directory)) as db:
        assert Queue(db, Clock()).settings() == before


def test_the_command_line_starts_light(place):
    code = "import sys; from jim.localbatch.__main__ import main; main(sys.argv[1:]); print(*sys.modules)"
    place.serve()
    place.until_served()
    words = [*PYTHON, "-c", code, "--area", str(place.directory), "list"]
    loaded = subprocess.check_output(words, env={**os.environ, "PYTHONPATH": CHECKOUT}, text=True).split()
    assert not {"psutil", "subprocess", "logging", "dataclasses"} & set(loaded)


# The queue file


@pytest.mark.parametrize(
    "forgery",
    [
        "UPDATE ledger SET event = 'x'",
        "DELETE FROM ledger",
        "INSERT OR REPLACE INTO ledger (seq, time, event, job, idx, name) VALUES (1, '', 'x', 1, 1, '')",
    ],
)
def test_the_ledger_is_append_only(place, forgery):
    place.submit("")
    before = place.queue.ledger()
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        place.queue.db.execute(forgery)
    assert place.queue.ledger() == before


# What is too old


def cancelled(place, size=1):
    """Submit a job and end it at once, without a daemon."""
    job = place.submit("", size)
    place.queue.change("cancel", [(job, 0)])
    return job


def later(place, days):
    """Let so many days of use go by."""
    place.queue.db.execute("UPDATE area SET day = day + ?", (days,))


def known(place):
    """Give the jobs that each table knows: with their tasks, with their lines in the ledger."""
    tables = [("jobs", "id"), ("tasks", "job"), ("ledger", "job")]
    return [{row[0] for row in place.queue.db.execute(f"SELECT {column} FROM {table}")} for table, column in tables]


def forget_all(place):
    books = Books(place.queue.db, Clock())
    while True:
        with books.transaction():
            if not books.forget():
                return


def test_an_ended_job_is_known_for_its_days_and_then_forgotten_as_a_whole(place):
    old = cancelled(place, size=3)
    later(place, 1)
    younger = cancelled(place)
    later(place, 29)
    forget_all(place)
    assert known(place) == [{old, younger}] * 3
    later(place, 1)
    forget_all(place)
    assert known(place) == [{younger}] * 3
    assert place.history(old) == {}
    assert place.queue.change("cancel", [(old, 0)]) == [(old, 0)]


def test_days_without_use_do_not_count(place):
    """Neither a machine that stood still for a year, nor a clock set forward, takes the history away."""
    job = cancelled(place)
    for date in ("2027-01-31", "2027-01-31", "2031-12-24"):
        place.queue.clock = type("SetClock", (Clock,), {"utc": lambda _, date=date: f"{date}T12:00:00.000Z"})()
        place.submit("")
    assert place.queue.db.execute("SELECT day, date FROM area").fetchone() == (3, "2031-12-24")
    forget_all(place)
    assert job in known(place)[0]


def test_what_has_not_ended_as_a_whole_is_never_too_old(place):
    job = place.submit("", size=2)
    place.queue.change("cancel", [(job, 1)])
    place.queue.change("hold", [(job, 2)])
    later(place, 10_000)
    forget_all(place)
    assert known(place) == [{job}] * 3
    assert (len(place.history(job)), place.states()) == (1, {(job, 2): "held"})


def test_ids_are_never_used_again(place):
    first = cancelled(place)
    later(place, 31)
    forget_all(place)
    assert known(place) == [set()] * 3
    assert place.submit("") > first


def test_the_queue_itself_keeps_what_is_not_too_old(place):
    cancelled(place)
    later(place, 30)
    with pytest.raises(sqlite3.IntegrityError, match="a job is kept until"):
        place.queue.db.execute("DELETE FROM jobs")


def test_the_days_are_set_at_init(place, monkeypatch):
    job = cancelled(place)
    assert main_without_daemon(place, monkeypatch, "init", "--history-days", "2") == 0
    later(place, 2)
    forget_all(place)
    assert known(place)[0] == {job}
    later(place, 1)
    forget_all(place)
    assert known(place)[0] == set()


def test_the_daemon_forgets_in_parts(place, monkeypatch):
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    jobs = [cancelled(place, size=400) for _ in range(4)]
    later(place, 31)
    working = in_process(place)
    working.turn()
    assert known(place)[0] == set(jobs[3:])
    assert working.due <= Clock().boot() + daemon.LOOK_SECONDS
    working.turn()
    assert known(place) == [set()] * 3


@pytest.mark.parametrize("at", ["DELETE FROM jobs", "DELETE FROM ledger", "DELETE FROM tasks", "COMMIT"])
def test_a_daemon_killed_while_it_forgets_leaves_whole_jobs(place, at):
    old = cancelled(place, size=3)
    later(place, 31)
    place.submit("echo ran >>ran")
    code = f"""
import os
from jim.localbatch.books import Books
def forget(books, forget=Books.forget):
    books.db.set_trace_callback(lambda text: text.startswith({at!r}) and os.kill(os.getpid(), 9))
    return forget(books)
Books.forget = forget
"""
    assert place.serve(before=code).wait(10) == -9
    assert known(place)[0] == known(place)[1] == known(place)[2] >= {old}
    place.serve()
    until(lambda: known(place) == [{old + 1}] * 3)
    place.ended(old + 1)
    assert place.events("starting") == [("starting", old + 1, 1)]


def test_the_opposite_verb_takes_a_wish_back_but_not_a_cancel(place):
    job = place.submit("")
    place.queue.db.execute("UPDATE tasks SET state = 'running'")
    wishes = []
    for verb in ("suspend", "resume", "suspend", "cancel", "resume"):
        place.queue.change(verb, [(job, 0)])
        wishes.append(place.queue.db.execute("SELECT wish FROM tasks").fetchone()[0])
    assert wishes == ["suspend", None, "suspend", "cancel", "cancel"]


# Starting and ending


def test_slots_are_kept_and_filled_in_order(served):
    taken = "mkdir a 2>&- && trap 'rmdir a' 0 || { mkdir b && trap 'rmdir b' 0; } || echo crowded >>crowded\n"
    first = served.submit(taken + "sleep 0.1", size=4)
    second = served.submit(taken)
    served.ended(second)
    served.ended(first, 4)
    assert not (served.home / "crowded").exists()
    assert served.events("starting") == [("starting", first, n) for n in (1, 2, 3, 4)] + [("starting", second, 1)]


def test_exit_codes_and_signals(served):
    jobs = [served.submit(text) for text in ("exit 0", "exit 7", "kill -9 $$", "kill -s SEGV $$")]
    ends = [served.ended(job)[1] for job in jobs]
    assert ends == [("ended", code, number, "") for code, number in ((0, None), (7, None), (None, 9), (None, 11))]


def test_a_script_that_cannot_be_started(served):
    missing = served.queue.submit(Order("a", "/no/such/file"))
    (served.home / "plain").write_text("")
    plain = served.queue.submit(Order("a", str(served.home / "plain")))
    assert served.ended(missing)[1] == ("ended", 127, None, "cannot start: No such file or directory")
    assert served.ended(plain)[1] == ("ended", 126, None, "cannot start: Permission denied")


def test_a_task_inherits_nothing_by_chance(place):
    script = place.script("env >env.txt; ls -l /proc/$$/fd >fds.txt; ps -o sid= -p $$ >sid.txt; echo $$ >pid.txt")
    place.command("submit", "--name=a", script, SECRET="1", BASH_ENV="/x")
    place.ended(1)
    environment = dict(line.split("=", 1) for line in (place.home / "env.txt").read_text().splitlines())
    identity = place.queue.settings().identity
    assert not {"SECRET", "BASH_ENV", "PYTHONPATH"} & environment.keys()
    assert (environment["LOCALBATCH_ID"], environment["LOCALBATCH_INDEX"]) == ("1", "1")
    assert environment["JIM_LOCALBATCH_TASK"] == f"{identity}.1.1"
    assert str(place.directory) not in (place.home / "fds.txt").read_text()  # neither lock nor queue
    assert int((place.home / "sid.txt").read_text()) == int((place.home / "pid.txt").read_text())


def test_a_machine_without_room_for_a_process_lets_the_task_wait(place, monkeypatch):
    monkeypatch.setattr(processes, "strangers", lambda _: [])

    def start(*_, **__):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    job = place.submit("")
    working = in_process(place, start=start)
    working.turn()
    working.turn()
    assert place.states() == {(job, 1): "pending"}
    assert [event for event, *_ in place.events("starting", "deferred", "started")] == ["starting", "deferred"]
    assert working.next_start > Clock().boot()


def test_wall_time_ends_even_what_ignores_term(served):
    trap = "[ $LOCALBATCH_INDEX = 1 ] && trap '' TERM || trap 'exit 5' TERM\n"
    job = served.submit(trap + "while :; do sleep 0.05; done", size=2, wall=1)
    assert served.ended(job, 2) == {1: ("ended", None, 9, "wall time"), 2: ("ended", 5, None, "wall time")}


@pytest.mark.parametrize(
    "escape",
    [
        "sleep 60 & echo $! >pid",
        "setsid sh -c 'echo $$ >pid; exec sleep 60' &",
        "(setsid sh -c 'echo $$ >pid; exec sleep 60' &) &",
        "(env -i PATH=$PATH setsid sh -c 'echo $$ >pid; exec sleep 60' &)",
        "(env -i PATH=$PATH setsid sh -c '(setsid sh -c \"echo \\$\\$ >pid; exec sleep 60\" &)' &)",
    ],
    ids=["outlives", "session", "forks twice", "hides", "hides twice"],
)
def test_nothing_of_a_task_outlives_it(served, escape):
    other = served.submit(WAIT_FOR_GO)  # a live task beside it, which must not be harmed
    job = served.submit(f"{escape}\nwhile [ ! -s pid ]; do sleep 0.02; done")
    assert served.ended(job)[1] == ("ended", 0, None, "")
    assert not living(served.number("pid"))
    served.go()
    assert served.ended(other)[1] == ("ended", 0, None, "")


def test_a_task_is_ending_until_its_leavings_are_gone(place, monkeypatch):
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    child = subprocess.Popen(["sleep", "60"], start_new_session=True)
    left = psutil.Process(child.pid)
    job = place.submit("")
    monkeypatch.setattr(processes, "marked", lambda _: [(left, (job, 1))] if living(left.pid) else [])
    place.queue.db.execute("UPDATE tasks SET state = 'ending', code = 0")
    working = in_process(place)
    working.turn()
    assert place.states() == {(job, 1): "ending"}
    child.wait()
    working.next_sweep = 0
    working.turn()
    assert place.history(job) == {1: ("ended", 0, None, "")}


# Cancel, hold, suspend


def test_cancel_of_pending_running_and_one_index(place):
    running = place.submit("trap 'exit 9' TERM; while :; do sleep 0.02; done", size=2)
    place.serve()
    place.pid(running, 1), place.pid(running, 2)
    pending = place.submit("", size=3)
    assert place.queue.change("cancel", [(pending, 2), (running, 1)]) == []
    assert place.history(pending) == {2: ("cancelled", None, None, "cancelled")}  # at once
    place.ended(running)
    assert place.history(running) == {1: ("cancelled", 9, None, "cancelled")}
    place.ended(pending, 3)
    assert place.states() == {(running, 2): "running"}
    place.queue.change("cancel", [(running, 0)])
    place.ended(running, 2)
    assert place.events("starting", "cancelled").count(("cancelled", running, 2)) == 1
    assert ("starting", pending, 2) not in place.events("starting")


def test_cancel_kills_all_of_it(served):
    job = served.submit("trap '' TERM; setsid sh -c 'echo $$ >pid; exec sleep 60' & while :; do sleep 0.05; done")
    pid = served.number("pid")
    served.queue.change("cancel", [(job, 0)])
    assert served.ended(job)[1] == ("cancelled", None, 9, "cancelled")
    assert not living(pid)


def test_hold_and_release(served):
    served.queue.configure(slots=1, grace=None, idle=None)
    first = served.submit(WAIT_FOR_GO)
    held, free_ = served.submit(""), served.submit("")
    served.queue.change("hold", [(held, 0)])
    served.go()
    served.ended(first), served.ended(free_)
    assert served.states() == {(held, 1): "held"}
    served.queue.change("release", [(held, 0)])
    served.ended(held)


def test_suspend_stops_all_of_it_and_gives_the_slot_away(served):
    served.queue.configure(slots=1, grace=None, idle=None)
    job = served.submit("(env -i sleep 60 & echo $! >pid; wait) &\n" + WAIT_FOR_GO, wall=1)
    pid = served.number("pid")
    served.queue.change("suspend", [(job, 0)])
    until(lambda: served.states()[job, 1] == "suspended")
    assert {psutil.Process(each).status() for each in (pid, served.pid(job))} == {psutil.STATUS_STOPPED}
    other = served.submit(WAIT_FOR_GO)
    until(lambda: served.states()[other, 1] == "running")
    served.queue.change("resume", [(job, 0)])
    until(lambda: served.queue.db.execute("SELECT wish FROM tasks WHERE job = ?", (job,)).fetchone() == ("resume",))
    threading.Event().wait(1)  # its wall time would be over if it were counted
    assert served.states() == {(job, 1): "suspended", (other, 1): "running"}  # no slot yet
    served.go()
    assert served.ended(other)[1][1] == 0
    assert served.ended(job)[1] == ("ended", 0, None, "")
    assert not living(pid)


def test_what_is_suspended_can_be_cancelled(served):
    job = served.submit("trap 'exit 4' TERM; while :; do sleep 0.02; done")
    served.pid(job)
    served.queue.change("suspend", [(job, 0)])
    until(lambda: served.states()[job, 1] == "suspended")
    served.queue.change("cancel", [(job, 0)])
    assert served.ended(job)[1] == ("cancelled", 4, None, "cancelled")


# Deaths


def test_a_daemon_finds_the_tasks_of_a_killed_one_again(served):
    job = served.submit(WAIT_FOR_GO, size=3)
    pids = [served.pid(job, 1), served.pid(job, 2)]
    served.kill_daemon()
    served.serve()
    served.until_served()
    assert [served.pid(job, 1), served.pid(job, 2)] == pids
    assert served.states() == {(job, 1): "running", (job, 2): "running", (job, 3): "pending"}
    served.queue.configure(slots=3)
    served.pid(job, 3)  # it has looked for the others before it started this one
    served.go()
    lost = ("ended", None, None, "started by an earlier daemon: how it ended cannot be known")
    assert served.ended(job, 3) == {1: lost, 2: lost, 3: ("ended", 0, None, "")}
    assert sorted(served.events("started")) == [("started", job, n) for n in (1, 2, 3)]


def test_a_task_that_ended_while_no_daemon_looked(served):
    job = served.submit("setsid sh -c 'echo $$ >pid; exec sleep 60' &\n" + WAIT_FOR_GO)
    pid, main = served.number("pid"), served.pid(job)
    served.kill_daemon()
    served.go()
    until(lambda: not living(main))
    served.serve()
    assert served.ended(job)[1] == ("ended", None, None, "ended while the daemon was down")
    assert not living(pid)


def test_a_cancel_outlives_the_daemon_that_should_have_done_it(served):
    job = served.submit("trap '' TERM; " + WAIT_FOR_GO)
    served.pid(job)
    served.kill_daemon()
    served.queue.change("cancel", [(job, 0)])
    served.serve()
    assert served.ended(job)[1][0] == "cancelled"


DIES_BEFORE = "import os, jim.idealizer.run as room\nroom.spawn = lambda *a, **k: os.kill(os.getpid(), 9)"
DIES_AFTER = """
import os, jim.idealizer.run as room
def spawn(*words, start=room.spawn, **more):
    start(*words, **more)
    os.kill(os.getpid(), 9)
room.spawn = spawn
"""


def test_a_start_of_unknown_outcome_is_an_end(place):
    job = place.submit("echo ran >>ran")
    assert place.serve(before=DIES_BEFORE).wait(10) == -9
    assert place.states() == {(job, 1): "running"}
    place.serve()
    assert place.ended(job)[1] == ("ended", None, None, "daemon died while starting it")
    assert place.events("starting", "started") == [("starting", job, 1)]
    assert not (place.home / "ran").exists()


def test_a_process_whose_pid_was_never_recorded_is_found_by_its_mark(place):
    job = place.submit("echo ran >>ran\n" + WAIT_FOR_GO)
    assert place.serve(before=DIES_AFTER).wait(10) == -9
    place.serve()
    assert living(place.pid(job))
    assert place.states() == {(job, 1): "running"}
    place.go()
    place.ended(job)
    assert (place.home / "ran").read_text() == "ran\n"
    assert place.events("starting", "started") == [("starting", job, 1), ("started", job, 1)]


def in_process(place, clock=None, **more):
    """Make a daemon that this process drives."""
    return daemon.Daemon(Books(place.queue.db, clock or Clock()), **more)


class NextBoot(Clock):
    def boot_id(self):
        return "another boot"

    def boot(self):
        return 5.0


def test_nothing_survives_a_reboot_and_nothing_is_started_again(place, monkeypatch):
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    job = place.submit("echo ran >>ran", size=2)
    started = []
    with place.queue.transaction():
        # The pid is ours: after a reboot it may be anyone's.
        Books(place.queue.db, Clock()).intend(1, Clock().boot(), Clock().boot_id())
        place.queue.db.execute("UPDATE tasks SET pid = ?, birth = 1 WHERE idx = 1", (os.getpid(),))

    def start(words, **_):
        started.append(words)
        raise FileNotFoundError(errno.ENOENT, "no")

    working = in_process(place, NextBoot(), start=start)
    working.recover()
    working.turn()
    assert place.history(job) == {1: ("ended", None, None, "reboot")}
    assert len(started) == 1  # the second, which was pending


def test_a_pid_used_again_is_not_taken_for_the_task(place):
    child = subprocess.Popen(["sleep", "60"])
    try:
        born = processes.birth(child.pid)
        assert processes.the_same(child.pid, born) == psutil.Process(child.pid)
        assert processes.the_same(child.pid, born - 1) is None
    finally:
        child.kill()
        child.wait()
    assert processes.the_same(child.pid, born) is None


def test_a_second_daemon_gives_way(served):
    served.until_served()
    second = served.command("serve")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == f"localbatch: another daemon serves {served.directory}\n"
    assert served.command("ping").returncode == 0
    assert served.daemons[0].poll() is None
    assert int((served.directory / area.LOCK_FILE).read_text()) == served.daemons[0].pid


def test_an_idle_daemon_ends_and_a_verb_starts_the_next(place):
    place.queue.configure(slots=None, grace=None, idle=0)
    held = place.submit("")
    place.queue.change("hold", [(held, 0)])
    assert place.serve().wait(10) == 0  # what is held needs no daemon
    assert place.command("release", held).returncode == 0
    place.ended(held)


def test_an_idle_daemon_looks_once_more_after_giving_up_its_lock(place, monkeypatch):
    monkeypatch.setattr(daemon, "_settle", lambda: 0)
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    turns = []

    def work(_self, _wakeup):
        turns.append(place.states())
        if len(turns) == 1:
            place.submit("")  # by a verb that finds the lock taken
        else:
            place.queue.change("cancel", [(1, 0)])

    monkeypatch.setattr(daemon.Daemon, "work", work)
    lock = area.Lock.open(place.directory)
    assert lock.take()
    daemon.serve(place.directory, lock)
    lock.close()
    assert turns == [{}, {(1, 1): "pending"}]


def test_a_daemon_waits_out_a_queue_that_cannot_be_written(place, caplog):
    """What was seen meanwhile is recorded later: the exit code is not lost."""
    place.serve()
    job = place.submit(WAIT_FOR_GO + "exit 6")
    main = place.pid(job)
    shorter = "from jim.localbatch import area\narea.BUSY_SECONDS = 0.05"
    place.kill_daemon()
    place.serve(before=shorter)
    other = place.submit("echo $$ >pid\n" + WAIT_FOR_GO + "exit 6")
    place.pid(other)
    with place.queue.transaction():
        place.go()
        until(lambda: not living(place.pid(other)) and not living(main))
        threading.Event().wait(0.2)
    assert place.ended(other)[1] == ("ended", 6, None, "")
