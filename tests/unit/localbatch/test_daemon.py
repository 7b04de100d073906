"""The local batch system's daemon: tasks are started once, ended whole, and found again whoever dies."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import psutil
import pytest

from jim.clock import Clock
from jim.localbatch import area, daemon, processes
from jim.localbatch.books import Books
from jim.localbatch.queue import Order
from tests.unit.localbatch.place import WAIT_FOR_GO, in_process, living, until

NONCE = "73f56a2c-1245-44f8-ad5d-17f44022cfc2"

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


class SetClock(Clock):
    """A clock that stands still until a test sets it."""

    now = 100.0

    def boot(self):
        return self.now


def test_a_birth_waits_for_what_else_is_to_be_recorded(place, monkeypatch):
    """Each transaction takes the time of a disk, for which free slots wait: a short task takes one, not two."""
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    clock = SetClock()
    job = place.submit("")
    working = in_process(place, clock)
    working.books.changed()
    working.turn()
    (pid,) = working.children
    assert (place.states(), working.pressing(), place.events("started")) == ({(job, 1): "running"}, False, [])
    assert working._pause() == pytest.approx(daemon.BIRTH_SECONDS)
    until(lambda: not living(pid))
    working.reap()
    assert (working.pressing(), working._pause()) == (True, 0)
    working.turn()
    assert place.history(job) == {1: ("ended", 0, None, "")}
    assert place.events("started", "ended") == [("started", job, 1), ("ended", job, 1)]


def test_a_birth_does_not_wait_for_long(place):
    clock = SetClock()
    job = place.submit(WAIT_FOR_GO)
    working = in_process(place, clock)
    working.books.changed()
    working.turn()
    ((_, child),) = working.children.values()
    clock.now += daemon.BIRTH_SECONDS
    assert (working.pressing(), working._pause()) == (True, 0)
    working.turn()
    assert (place.events("started"), working.pressing()) == ([("started", job, 1)], False)
    place.go()
    child.wait(10)


def test_wall_time_ends_even_what_ignores_term(served):
    trap = "[ $LOCALBATCH_INDEX = 1 ] && trap '' TERM || trap 'exit 5' TERM\n"
    job = served.submit(trap + "while :; do sleep 0.05; done", size=2, wall=1)
    assert served.ended(job, 2) == {1: ("ended", None, 9, "wall time"), 2: ("ended", 5, None, "wall time")}


HOLDS = f"exec {sys.executable} -I -S -c 'held = b\"x\" * ({{}} << 20); import os, time; os.fork(); time.sleep({{}})'"


def test_a_task_that_uses_more_memory_than_it_asked_for_is_killed(served):
    """With all its processes together; one that asked for more, or for nothing, is left alone."""
    job = served.submit(HOLDS.format(40, 60), memory_mb=60)  # what a child shares with its parent counts twice
    more, free = served.submit(HOLDS.format(20, 1), memory_mb=200), served.submit(HOLDS.format(40, 1))
    assert served.ended(job) == {1: ("ended", None, 9, "memory limit")}
    assert served.ended(more) == served.ended(free) == {1: ("ended", 0, None, "")}


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
    pids = pid, served.pid(job)
    until(lambda: {psutil.Process(each).status() for each in pids} == {psutil.STATUS_STOPPED})  # the signal was sent
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


HIDES = "(cd run.1 && env -i PATH=$PATH setsid sh -c 'echo $$ >../pid; exec sleep 60' &)\n"


def test_what_hides_where_a_task_works_is_found_after_the_death_of_its_daemon(served):
    """It has neither mark nor parents, and is no child of the next daemon. Whoever only reads there is left alone."""
    (served.home / "run.1").mkdir()
    (served.home / "run.1/file").touch()
    job = served.submit(HIDES + WAIT_FOR_GO)
    pid = served.number("pid")
    reader = subprocess.Popen(["tail", "-f", served.home / "run.1/file"], stdout=subprocess.DEVNULL, cwd="/")
    try:
        served.kill_daemon()
        served.serve()
        served.ended(served.submit(""))  # by now the tasks are taken over
        assert living(pid)
        served.go()
        assert served.ended(job)[1][0] == "ended"
        assert not living(pid)
        assert living(reader.pid)
    finally:
        reader.kill()
        reader.wait()


def test_what_a_killed_daemon_had_still_to_sweep_is_swept_by_the_next(served):
    (served.home / "run.1").mkdir()
    job = served.submit(HIDES + WAIT_FOR_GO)
    pid, main = served.number("pid"), served.pid(job)
    served.kill_daemon()
    served.queue.db.execute("UPDATE tasks SET state = 'ending'")
    os.kill(main, signal.SIGKILL)
    until(lambda: not living(main))
    served.serve()
    served.ended(job)
    assert not living(pid)


UNSIGNED = (
    "here=$PWD; (cd / && env -i PATH=$PATH "
    "setsid sh -c \"echo \\$\\$ >'$here/pid'; exec sleep 60\" >/dev/null 2>&1 &)\n"
)


@pytest.mark.parametrize("boot", ["this", "another"])
def test_what_the_toucher_of_a_task_has_seen_is_found_after_the_death_of_its_daemon(served, boot):
    """The worker has left everything by which it could be known; after a reboot its numbers are others'."""
    (served.home / "claim.1").write_text(f"nonce {NONCE}\n")
    job = served.submit(UNSIGNED + WAIT_FOR_GO)
    pid = served.number("pid")
    whole = f"boot {Clock().boot_id() if boot == 'this' else boot}\n{pid} {processes.birth(pid)}\nend\n"
    (served.home / f"known.1.{NONCE}").write_text(whole)
    try:
        served.kill_daemon()
        served.serve()
        served.ended(served.submit(""))
        assert living(pid)
        served.go()
        served.ended(job)
        assert living(pid) == (boot == "another")
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_suspend_and_resume_by_the_next_daemon_reach_what_hides(served):
    (served.home / "run.1").mkdir()
    job = served.submit(HIDES + WAIT_FOR_GO)
    pid = served.number("pid")
    served.kill_daemon()
    served.queue.change("suspend", [(job, 0)])
    served.serve()
    until(lambda: served.states()[job, 1] == "suspended")
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    served.queue.change("resume", [(job, 0)])
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_SLEEPING)
    served.go()
    served.ended(job)
    assert not living(pid)


def test_a_cancel_outlives_the_daemon_that_should_have_done_it(served):
    job = served.submit("trap '' TERM; " + WAIT_FOR_GO)
    served.pid(job)
    served.kill_daemon()
    served.queue.change("cancel", [(job, 0)])
    served.serve()
    assert served.ended(job)[1][0] == "cancelled"


DIES_BEFORE = "import os, jim.command as room\nroom.spawn = lambda *a, **k: os.kill(os.getpid(), 9)"
DIES_AFTER = """
import os, jim.command as room
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


def test_a_second_daemon_gives_way(served):
    served.until_served()
    second = served.command("serve")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == f"localbatch: another daemon serves {served.directory}\n"
    assert served.command("ping").returncode == 0
    assert served.daemons[0].poll() is None
    assert int((served.directory / area.LOCK_FILE).read_text()) == served.daemons[0].pid


CROWDED = """
import os, resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(1100)]
assert opened[-1] > 1024
"""


def test_more_than_1024_open_descriptors_are_no_fault(place):
    place.serve(CROWDED)
    assert place.ended(place.submit("exit 3"))[1] == ("ended", 3, None, "")


def test_an_idle_daemon_ends_and_a_verb_starts_the_next(place):
    place.queue.configure(slots=None, grace=None, idle=0)
    held = place.submit("")
    place.queue.change("hold", [(held, 0)])
    assert place.serve().wait(10) == 0  # what is held needs no daemon
    assert place.command("release", held).returncode == 0
    place.ended(held)


def test_an_idle_daemon_looks_once_more_after_giving_up_its_lock(place, monkeypatch):
    monkeypatch.setattr(processes, "settle", lambda: 0)
    monkeypatch.setattr(processes, "strangers", lambda _: [])
    turns = []

    def work(_self, _wakeup, _is_at_its_place):
        turns.append(place.states())
        if len(turns) == 1:
            place.submit("")  # by a verb that finds the lock taken
        else:
            place.queue.change("cancel", [(1, 0)])
        return True

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
