"""Where a payload puts a link in the place of a directory, JIM writes nothing behind it, and concludes nothing."""

from __future__ import annotations

import tarfile
from errno import EACCES, ENOTDIR
from pathlib import Path

import pytest

from jim.files import LinkFound, held
from jim.keeper.queue import handing_over
from jim.keeper.queue.sending import _jobs
from jim.model import State, SubmissionState
from jim.workdir import credentials, packages, submission
from jim.workdir.claims import claim_of, claims, fence, put_over, trace
from jim.workdir.pinned import pinned
from jim.workdir.removed import remake, was_remade, was_removed
from tests.support.stand_ins import Answers, Instead

PLACES = ["1", "1/s1"]
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
DAT = {"extra": f"file 3 {ABC} dat\n", "files": [("dat", b"abc")]}


class Link:
    """A link in the place of a directory, to one that looks as the payload wants: everything sent is missing there."""

    def __init__(self, directory: Path, home: Path) -> None:
        self._directory, self._aside, self._home = directory, home / "aside", home / "target"
        (self._home / "s1").mkdir(parents=True)
        (self._home / "local-job").write_bytes(b"")
        (self._home / "result").mkdir()
        if directory.exists():
            directory.rename(self._aside)
        directory.symlink_to(self._home)

    def is_untouched(self) -> bool:
        """Tell whether nothing was made, changed or removed behind the link, and the link is as it was."""
        below = sorted(str(path.relative_to(self._home)) for path in self._home.rglob("*"))
        return self._directory.is_symlink() and below == ["local-job", "result", "s1"]

    def give_way(self) -> None:
        """Put the directory back, if there was one."""
        self._directory.unlink()
        if self._aside.exists():
            self._aside.rename(self._directory)


@pytest.fixture
def link(world, tmp_path):
    (world.site.work / "instance").touch()
    return lambda place: Link(world.site.work / place, tmp_path / "home")


@pytest.fixture
def grid(world):
    """A local job that runs."""
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    world.go(2)
    return grid


@pytest.mark.parametrize("place", PLACES)
def test_a_link_sends_no_lost_submission_twice(world, link, place):
    """The answer is lost: JIM fences, and sends again. Behind the link, nothing of the submission is to be seen."""
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)]
    grid = world.submit(1)
    world.until(lambda: world.store.submission(grid, 1) and world.store.submission(grid, 1).state == "unknown")
    world.batch.start(1)  # only the claim tells of it
    for each in (world.site.work / "spool").iterdir():
        each.unlink()
    world.batch.tasks["1", 1].state = State.COMPLETED  # so that no listing shows it
    made = link(place)
    world.go(20, 30.0)
    assert made.is_untouched()
    assert len(world.batch.tasks) == 1
    assert world.store.submission(grid, 1).state == SubmissionState.UNKNOWN
    assert "is a link, and JIM keeps a directory there" in world.store.submission(grid, 1).trouble
    made.give_way()
    world.until(lambda: world.state(grid) is State.RUNNING, seconds=30.0)
    assert len(world.batch.ledger) == 1


@pytest.mark.parametrize("place", PLACES)
def test_a_link_lets_no_silent_attempt_be_done_again(world, grid, link, place, caplog):
    made = link(place)
    world.batch.kill(1)
    world.go(25, 100.0)
    assert (world.state(grid), made.is_untouched()) == (State.RUNNING, True)
    where = world.site.work / place
    assert f"1: submission 1, index 1 cannot be looked at just now: {where} is a link" in caplog.text
    assert "/proc/" not in caplog.text
    made.give_way()
    world.until(lambda: world.state(grid) is not State.RUNNING, seconds=30.0)
    world.run_all(grid)
    assert (world.state(grid), len(world.batch.ledger)) == (State.COMPLETED, 2)


@pytest.mark.parametrize("place", PLACES)
def test_a_link_makes_no_cancel_look_done(world, link, place, caplog):
    grid = world.submit(1)
    world.until(lambda: world.batch.tasks)
    made = link(place)
    world.wish("cancel", "1")
    world.go(20, 30.0)
    assert (world.state(grid), made.is_untouched()) == (State.SUBMITTED, True)
    assert f"{world.site.work / place} is a link" in caplog.text
    made.give_way()
    world.until(lambda: world.finished(grid), seconds=10.0)
    assert (world.state(grid), world.batch.ledger) == (State.KILLED, [])


@pytest.mark.parametrize("place", PLACES)
def test_a_link_ends_no_attempt_that_is_given_up(world, grid, link, place):
    """Once an attempt is given up, JIM writes `over.1`, and judges it by what is there then."""
    world.batch.kill(1)
    world.until(lambda: world.store.given_up(), seconds=30.0)
    made = link(place)
    world.go(20, 30.0)
    assert (world.state(grid), made.is_untouched()) == (State.RUNNING, True)
    made.give_way()
    world.until(lambda: world.state(grid) is not State.RUNNING, seconds=10.0)
    assert (world.site.work / "1/s1/over.1").is_file()
    world.run_all(grid)
    assert (world.state(grid), len(world.batch.ledger)) == (State.COMPLETED, 2)


@pytest.mark.parametrize("place", ["1", "1/s2"])
def test_a_link_gets_no_script_and_the_next_attempt_waits(world, grid, link, place):
    made = link(place)
    world.batch.tasks["1", 1].directory = world.site.work / "1/s1"
    _end_badly(world)
    world.until(lambda: world.store.submission(grid, 2), seconds=1.0)
    world.go(20, 30.0)
    assert (made.is_untouched(), len(world.batch.tasks)) == (True, 1)
    assert world.store.submission(grid, 2).state == SubmissionState.INTENDED
    assert f"{world.site.work / place} is a link" in str(world.store.submission(grid, 2).reason)
    other = world.submit(1, "k2")
    world.until(lambda: len(world.batch.tasks) == 2, seconds=1.0)  # a link of one grid job holds up no other
    made.give_way()
    world.until(lambda: len(world.batch.tasks) == 3, seconds=60.0)
    for each in (grid, other):
        world.run_all(each)
    assert [world.state(each) for each in (grid, other)] == [State.COMPLETED, State.COMPLETED]
    assert len(world.batch.ledger) == 3


@pytest.mark.parametrize("error", [NotADirectoryError(ENOTDIR, "x"), PermissionError(EACCES, "x")])
def test_what_a_payload_does_to_the_directory_of_its_grid_job_holds_up_no_other(world, grid, error, monkeypatch):
    """It is a file now, or nobody may enter it."""
    real = handing_over.prepare_submission

    def prepare(directory, *words, **more):
        if directory.parent.name == str(grid):
            raise error
        return real(directory, *words, **more)

    monkeypatch.setattr(handing_over, "prepare_submission", prepare)
    _end_badly(world)
    world.until(lambda: world.store.submission(grid, 2), seconds=1.0)
    world.go(20, 30.0)
    assert (world.keeper.hold.written.failures, world.store.submission(grid, 2).state) == (0, SubmissionState.INTENDED)
    world.submit(1, "k2")
    world.until(lambda: len(world.batch.tasks) == 2, seconds=0.1)
    monkeypatch.undo()
    world.until(lambda: len(world.batch.tasks) == 3, seconds=60.0)


def _end_badly(world):
    """Let the wrapper report the end of the first attempt, of which only the spool is where it was."""
    task = world.batch.tasks["1", 1]
    record = (
        f"jim-exit 1\nmark {task.mark}\nindex 1\nnonce {task.nonce}\nn 0\nattempt 1\nhost {world.batch.host}\nbatch 1\n"
        "started 2026-01-01T00:00:00Z\nended 2026-01-01T00:00:01Z\ncpu 0.1\ncode -\nsignal 15\n"
        "reason TERM\nrecovery -\nend\n"
    )
    (world.site.work / "spool" / f"{task.mark}.1.exit").write_text(record)
    task.state, task.code = State.FAILED, 1


@pytest.mark.parametrize("place", PLACES)
def test_outputs_behind_a_link_are_waited_for_however_long(world, grid, link, place):
    world.batch.finish(1, 1, 0, **DAT)
    made = link(place)
    world.go(30, 400.0)
    assert (world.state(grid), made.is_untouched(), len(world.batch.ledger)) == (State.COMPLETING, True, 1)
    made.give_way()
    world.until(lambda: world.finished(grid), seconds=10.0)
    assert (world.state(grid), len(world.batch.ledger)) == (State.COMPLETED, 1)


def test_no_tar_goes_behind_a_link_and_it_is_made_once_the_directory_is_back(world, grid, link, monkeypatch):
    from jim.keeper.results import collecting

    made, gather = [], collecting._gather

    def first_link(*arguments):
        if not made:
            made.append(link("1"))
        return gather(*arguments)

    monkeypatch.setattr(collecting, "_gather", first_link)
    world.batch.finish(1, 1, 0, **DAT)
    world.go(20, 30.0)
    assert made[0].is_untouched()
    assert not world.finished(grid)
    assert f"collecting: {world.site.work / '1'} is a link" in world.store.grid_job(grid).reason
    made[0].give_way()
    world.until(lambda: world.finished(grid), seconds=60.0)
    assert (world.site.work / "1/result/1.tar").is_file()


def test_what_a_failed_attempt_has_left_is_waited_for_behind_a_link(world, grid, link):
    world.batch.finish(1, 1, 3, **DAT)
    made = link("1/s1")
    world.go(20, 30.0)
    assert (made.is_untouched(), world.finished(grid)) == (True, False)
    made.give_way()
    world.until(lambda: world.finished(grid), seconds=60.0)
    with tarfile.open(world.site.work / "1/result/1.tar") as tar:
        assert "1.0.failed/dat" in tar.getnames()


def test_a_link_that_is_there_when_a_grid_job_is_removed_goes_and_what_it_leads_to_stays(world, link):
    made = link("1")
    submission.remove_grid_directory(world.site.work / "1")
    assert not (world.site.work / "1").is_symlink()
    assert not (world.site.work / ".removed-1").is_symlink()
    assert (made._home / "local-job").exists()


def test_behind_a_link_nothing_says_that_a_submission_was_never_sent(world, link):
    """The link leads where a wrapper is, and no sign that the submission was ever made."""
    world.batch.lies = [Instead("submit", Answers.LOST_AFTER)]
    grid = world.submit(1)
    world.until(lambda: world.store.submission(grid, 1) and world.store.submission(grid, 1).state == "unknown")
    row = world.store.submission(grid, 1)
    arguments = world.keeper, world.store.grid_job(grid), row, _jobs(world.keeper, row)
    made = link("1")
    (made._home / "s1").rmdir()
    for look in (handing_over.look_for_tries, handing_over.require_untried):
        with pytest.raises(LinkFound):
            look(*arguments)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "use",
    [
        lambda s: fence(s, [1]),
        lambda s: put_over(s, 1, "x", "y"),
        lambda s: claim_of(s, 1),
        claims,
        lambda s: trace(s, 1),
        remake,
        was_remade,
        lambda s: submission.mark_sent(s, 1),
        submission.tries_sent,
        submission.jobs_file_in,
        lambda s: submission.prepare_submission(s, {"index": "I", "id": "B", "restart": ""}, [], []),
        lambda s: submission.prepare_submission(s, {"index": "I", "id": "B", "restart": ""}, [], [], shared=False),
    ],
)
def test_whatever_is_done_in_a_submission_directory_follows_no_link(tmp_path, place, use):
    (tmp_path / "work/1/s1").mkdir(parents=True)
    made = Link(tmp_path / "work" / place, tmp_path / "home")
    if use is remake and place == "1/s1":
        use(tmp_path / "work/1/s1")  # something is there: it stays as it is
    else:
        with pytest.raises(LinkFound) as raised:
            use(tmp_path / "work/1/s1")
        assert str(raised.value).startswith(f"{tmp_path / 'work' / place} is a link, and JIM keeps a directory there.")
    assert made.is_untouched()


@pytest.mark.parametrize(
    "use",
    [
        lambda g: credentials.pass_on(g, "token", b"abc"),
        lambda g: credentials.take_back(g, {}),
        credentials.remove,
        submission.submissions_in,
        lambda g: was_removed(g.parent, g / "s1"),
        lambda g: was_removed(g.parent, g / "s2"),
    ],
)
def test_whatever_is_done_in_the_directory_of_a_grid_job_follows_no_link(tmp_path, use):
    (tmp_path / "work/1").mkdir(parents=True)
    made = Link(tmp_path / "work/1", tmp_path / "home")
    with pytest.raises(LinkFound):
        use(tmp_path / "work/1")
    assert made.is_untouched()


@pytest.mark.parametrize("linked", ["packages", "1"])
def test_no_package_goes_behind_a_link(tmp_path, linked):
    (tmp_path / "work/1").mkdir(parents=True)
    (tmp_path / "code").mkdir()
    (tmp_path / "code/run.sh").write_text("x")
    made = Link(tmp_path / "work" / linked, tmp_path / "home")
    found = packages.members([str(tmp_path / "code")], 1000)
    with pytest.raises(LinkFound):
        packages.share(tmp_path / "work", tmp_path / "work/1", found, "somebody")
    assert made.is_untouched()


def test_a_link_between_check_and_use_leads_nowhere(tmp_path):
    """What is opened stays what it is, whatever becomes of its name."""
    (tmp_path / "work/1/s1").mkdir(parents=True)
    with pinned(tmp_path / "work/1/s1") as here:
        made = Link(tmp_path / "work/1/s1", tmp_path / "home")
        (here / "claim.1").write_text("x")
    assert made.is_untouched()
    made.give_way()
    assert (tmp_path / "work/1/s1/claim.1").read_text() == "x"


def test_errors_name_the_directory_that_people_know(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    with pytest.raises(FileNotFoundError) as raised, pinned(tmp_path / "a/b") as here:
        (here / "no").read_text()
    assert raised.value.filename == str(tmp_path / "a/b/no")
    with pytest.raises(OSError, match="No such file") as renamed, held(tmp_path / "a") as here:
        (here / "no").rename(here / "b/yes")
    assert (renamed.value.filename, renamed.value.filename2) == (str(tmp_path / "a/no"), str(tmp_path / "a/b/yes"))
