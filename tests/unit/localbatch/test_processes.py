"""The processes of a task: what they inherit, that none outlives it, and that no other is taken for one."""

from __future__ import annotations

import subprocess

import psutil
import pytest

from jim.localbatch import processes
from tests.unit.localbatch.place import WAIT_FOR_GO, living


def test_a_task_inherits_nothing_by_chance(place):
    session = "read -r _ _ _ _ _ sid _ </proc/$$/stat; echo $sid >sid.txt"
    script = place.script(f"env >env.txt; ls -l /proc/$$/fd >fds.txt; {session}; echo $$ >pid.txt")
    place.command("submit", "--name=a", script, SECRET="1", BASH_ENV="/x")
    place.ended(1)
    environment = dict(line.split("=", 1) for line in (place.home / "env.txt").read_text().splitlines())
    identity = place.queue.settings().identity
    assert not {"SECRET", "BASH_ENV", "PYTHONPATH"} & environment.keys()
    assert (environment["LOCALBATCH_ID"], environment["LOCALBATCH_INDEX"]) == ("1", "1")
    assert environment["JIM_LOCALBATCH_TASK"] == f"{identity}.1.1"
    assert str(place.directory) not in (place.home / "fds.txt").read_text()  # neither lock nor queue
    assert int((place.home / "sid.txt").read_text()) == int((place.home / "pid.txt").read_text())


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


ALL_READY = "until [ $(ls | grep -c '^ready') = 20 ]; do sleep 0.02; done"


def test_nothing_that_a_task_leaves_goes_on_as_another_part_of_it_dies(served):
    waits = "setsid sh -c 'sleep 60 & : >ready.$n; wait; : >$n.went-on'"
    numbers = " ".join(map(str, range(20)))
    job = served.submit(f"for n in {numbers}; do export n; ({waits} &); done\n{ALL_READY}")
    assert served.ended(job)[1] == ("ended", 0, None, "")
    assert list(served.home.glob("*.went-on")) == []


@pytest.mark.parametrize(
    "escape",
    [
        "(setsid sh -c 'echo $$ >pid; exec sleep 60' &)",
        "(setsid sh -c '(env -i PATH=$PATH sh -c \"echo \\$\\$ >pid; exec sleep 60\" &) ; exec sleep 60' &)",
    ],
    ids=["marked", "in a session of a marked one"],
)
def test_what_has_left_a_running_task_is_left_alone_when_another_task_ends(served, escape):
    job = served.submit(f"{escape}\n{WAIT_FOR_GO}")
    pid = served.number("pid")
    served.ended(served.submit(""))
    assert living(pid)
    served.go()
    served.ended(job)
    assert not living(pid)


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
