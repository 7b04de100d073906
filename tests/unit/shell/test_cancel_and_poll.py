"""The doors: cancel, poll, and a stdout that fails."""

import os
import re
import select

import pytest

from jim.clock import Clock
from jim.doors.gram import protocol
from jim.site import lock
from tests.unit.shell.place import HOME, PROTOCOL

# Cancel


def test_cancel_leaves_a_wish(place):
    place.add(4, size=3)
    for target in ("4", "4.2"):
        assert place.door("jim-cancel", target) == (0, "GRAM_SCRIPT_JOB_STATE:4\n\n", "")
    assert sorted(place.left()[0]) == [("cancel", "4"), ("cancel", "4.2")]


@pytest.mark.parametrize("target", ["4.3", "4.999999999", "5", "5.0"])
def test_cancel_of_what_is_not_there_is_refused(place, target):
    place.add(4, size=3)
    code, out, err = place.door("jim-cancel", target)
    assert (code, out.splitlines()[1]) == (4, "GRAM_SCRIPT_ERROR:156")
    assert err.startswith("jim-cancel: there is no ")
    assert place.left() == ([], [])


def test_cancel_of_a_local_job_says_which_there_are(place):
    place.add(4, size=3)
    assert place.door("jim-cancel", "4.3")[2] == "jim-cancel: there is no local job 4.3: 4 has 4.0 to 4.2\n"


def test_before_it_is_split_a_grid_job_may_have_any_local_job(place):
    place.request()
    assert place.door("jim-submit", "request.toml")[0] == 0
    place.add(2)
    for target in ("1.0", "2.7"):  # still in the inbox; taken, and not yet split
        assert place.door("jim-cancel", target) == (0, "GRAM_SCRIPT_JOB_STATE:4\n\n", "")


def test_so_it_may_while_the_store_is_not_there_or_cannot_be_read(place):
    place.add(4, size=3)
    place.store.close()
    (place.state / "status.db").unlink()
    assert place.door("jim-cancel", "4.7")[0] == 0
    (place.state / "status.db").write_bytes(b"no database" * 100)
    assert place.door("jim-cancel", "4.7")[0] == 0


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (protocol.state(protocol.DONE), 8),
        (protocol.failure("2 of 3 local jobs failed", protocol.EXECUTION_FAILED), 4),
        (protocol.failure("cancelled", protocol.USER_CANCELLED), 4),
        (protocol.state(protocol.ACTIVE), 4),
    ],
)
def test_cancel_of_what_has_ended_says_how_it_ended(place, answer, state):
    place.add(4, size=3, answer=answer)
    assert place.door("jim-cancel", "4") == (0, f"GRAM_SCRIPT_JOB_STATE:{state}\n\n", "")
    assert place.door("jim-cancel", "4.0")[1] == f"GRAM_SCRIPT_JOB_STATE:{state}\n\n"
    assert place.door("jim-poll", "4")[1] == answer.decode()


# A stdout that cannot be written

CLOSED, FULL = "cannot write to stdout: stdout is closed", "cannot write to stdout: No space left on device"
UNHEARD = [(">&-", CLOSED), (">/dev/full", FULL), (">&- <&-", CLOSED)]


@pytest.mark.parametrize(("to", "trouble"), UNHEARD)
def test_a_submission_that_cannot_be_answered_says_what_was_taken_in(place, to, trouble):
    place.request('job_type = "executable"\nexecutable = "/bin/true"\nkey = "k"\n')
    done = "the request was taken in as grid job 1; if handed in again with the same key, it gets the same id"
    assert place.unheard("jim-submit", "request.toml", to=to) == (74, f"jim-submit: {trouble}; {done}\n")
    assert place.unheard("jim", "submit", "request.toml", to=to) == (74, f"jim: {trouble}; {done}\n")
    assert place.door("jim-submit", "request.toml")[1].startswith("GRAM_SCRIPT_JOB_ID:1\n")


@pytest.mark.parametrize(("to", "trouble"), UNHEARD)
def test_a_cancel_that_cannot_be_answered_is_left(place, to, trouble):
    place.add(4)
    said = f"jim-cancel: {trouble}; the wish to cancel was taken in\n"
    assert place.unheard("jim-cancel", "4", to=to) == (74, said)
    assert place.left() == ([("cancel", "4")], [])


SPOKEN = [("status",), ("status", "--json"), ("--help",), ("xml", "--schema"), ("show", "-h")]


@pytest.mark.parametrize(
    ("words", "to", "trouble"),
    [
        pytest.param(words, *case, marks=[] if words == SPOKEN[0] or case == UNHEARD[1] else pytest.mark.torture)
        for words in SPOKEN
        for case in UNHEARD
    ],
)
def test_what_people_cannot_be_told_is_no_fault_of_jim(place, words, to, trouble):
    assert place.unheard("jim", *words, to=to) == (74, f"jim: {trouble}\n")


@pytest.mark.parametrize("to", [">&-", ">/dev/full", ">&- 2>&-", "2>/dev/full", "2>&-"])
@pytest.mark.parametrize("name", ["jim-submit", "jim-cancel"])
def test_a_failure_that_cannot_be_said_keeps_its_exit_code(place, to, name):
    command = ("/bin/sh", "-c", f'"$0" a b {to}', str(HOME / "shell" / name))
    code, out, err = place.door(name, program=command)
    assert (code, "GRAM_SCRIPT_ERROR:48\n\n" in out) == (2, to in ("2>/dev/full", "2>&-"))
    assert "Traceback" not in err


# Poll


def test_poll_prints_the_answer_while_the_heart_beats_and_after(place):
    place.add(12)
    for ago in (0, 15, 25):
        place.beat(ago)
        assert place.door("jim-poll", "12", JIM_PYTHON="/bin/false") == (0, "GRAM_SCRIPT_JOB_STATE:2\n\n", "")
        assert (place.state / "woken").exists() == (ago > 20)


@pytest.mark.parametrize("called", ["by its path", "by its name"])
def test_a_poll_that_is_called_by_a_link_wakes_the_keeper(place, called):
    """What it starts says so into a pipe."""
    place.add(12)
    place.beat(25)
    os.mkfifo(place.directory / "heard")
    python = place.directory / "python"
    python.write_text(f'#!/bin/sh\necho "$*" >{place.directory}/heard\n')
    python.chmod(0o755)
    (place.directory / "poll").symlink_to(HOME / "shell" / "jim-poll")
    heard = os.open(place.directory / "heard", os.O_RDONLY | os.O_NONBLOCK)
    program = [str(place.directory / "poll"), "12"] if called == "by its path" else ["sh", "-c", "poll 12"]
    search = f"{place.directory}:/usr/bin:/bin"
    assert place.door("poll", program=program, PATH=search, JIM_PYTHON=str(python)) == (
        0,
        "GRAM_SCRIPT_JOB_STATE:2\n\n",
        "",
    )
    assert select.select([heard], [], [], 20)[0]
    assert os.read(heard, 4096).decode().endswith(f" wake {place.state}\n")
    os.close(heard)


@pytest.mark.parametrize("to", [">/dev/full", ">&-"])
@pytest.mark.parametrize(
    "answer", [protocol.state(protocol.DONE), protocol.failure("exit 3", protocol.EXECUTION_FAILED), None]
)
def test_poll_denies_no_job_because_its_stdout_fails(place, to, answer):
    if answer:
        place.add(12, answer=answer)
        place.beat(0)
    words = "stdout cannot be written (closed or full), so there is no answer; ask again"
    assert place.unheard("jim-poll", "12", to=to) == (74, f"jim-poll: {words}\n")


def test_poll_of_an_unknown_job_says_so_also_where_stdout_fails(place):
    place.beat(0)
    assert place.unheard("jim-poll", "12") == (4, f"jim-poll: there is no grid job 12 in {place.state}\n")


def test_poll_and_everyone_else_mean_the_same_by_a_beating_heart():
    assert f"-le {lock.FRESH_SECONDS} ]" in (HOME / "shell/jim-answers").read_text()


def test_poll_of_an_unknown_job(place):
    assert place.door("jim-poll", "7", JIM_PYTHON="/bin/false") == (0, "\n", "")  # nobody keeps it just now
    for beat in (f"{Clock().boot_id()} idle\n", f"{Clock().boot_id()} {int(Clock().boot())}\n"):
        (place.state / "heartbeat").write_text(beat)
        code, out, err = place.door("jim-poll", "7")
        words = f"there is no grid job 7 in {place.state}"
        assert (code, err) == (4, f"jim-poll: {words}\n")
        assert out == f"GRAM_SCRIPT_GT3_FAILURE_MESSAGE:{words}\nGRAM_SCRIPT_ERROR:156\n\n"


@pytest.mark.parametrize("ago", [0, 25])
@pytest.mark.parametrize("content", [b"", b"\0" * 26])
def test_an_empty_answer_is_none_and_denies_no_job(place, content, ago):
    """A power cut may leave it so; the next keeper writes it anew. No file at all would mean that there is no job."""
    place.add(12, answer=content)
    place.beat(ago)
    assert place.door("jim-poll", "12", JIM_PYTHON="/bin/false") == (0, "\n", "")
    assert (place.state / "woken").exists() == (ago > 20)


@pytest.mark.parametrize("name", ["none", "none/below/none", "file", "file/below", "empty", "odd\nname\x1b[2J"])
def test_poll_says_so_where_there_is_no_state_directory(place, name):
    (place.directory / "file").touch()
    (place.directory / "empty").mkdir()
    code, out, err = place.door("jim-poll", "7", JIM_STATE=str(place.directory / name))
    assert (code, out.splitlines()[1]) == (4, "GRAM_SCRIPT_ERROR:156")
    assert PROTOCOL.fullmatch(out)
    shown = re.sub(r"[\n\x1b]", " ", f"{place.directory}/{name}")
    assert err == f"jim-poll: {shown} is no state directory of JIM\n"
    assert not list((place.directory / "empty").iterdir())


def test_what_cannot_be_looked_at_is_unchanged(place):
    (place.directory / "loop").symlink_to("loop")
    assert place.door("jim-poll", "7", JIM_STATE=str(place.directory / "loop")) == (0, "\n", "")


@pytest.mark.parametrize("left", [False, True])
def test_a_keeper_without_work_is_not_missed_until_something_comes_in(place, left):
    """The keeper that the submission has started may have been killed before it did anything."""
    place.add(12)
    (place.state / "heartbeat").write_text(f"{Clock().boot_id()} idle\n")
    (place.state / "inbox/.draft").touch()
    if left:
        (place.state / "inbox/request-6b").touch()
    assert place.door("jim-poll", "12", JIM_PYTHON="/bin/false")[0] == 0
    assert (place.state / "woken").exists() == left
