"""After local jobs have failed, workers read what they have said and look for inputs that are gone."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest

from jim.cli import explain, parser_of, show
from jim.keeper.results import why_failed
from jim.model import Kind, State
from jim.pages.admission import seen_by
from jim.pages.tokens import Role
from jim.reading.documents import json_documents as documents
from jim.reading.job import last_lines
from jim.reading.view import View
from jim.statusdb.list_filters import LastLine, PiecesAsked
from tests.support.stand_ins import World
from tests.unit.tasks.chain import Chain


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def sent(world, size, **attributes):
    world.submit(size, **attributes)
    world.until(lambda: len(world.batch.tasks) == size)
    for index in range(1, size + 1):
        world.batch.start(1, index)


def fail(world, index, stderr=b"", code=3):
    world.batch.finish(1, index, code, files=[("stderr", stderr)])


def failed(world, count):
    world.until(lambda: world.store.counts(1).get(State.FAILED) == count)
    world.go(5, why_failed.PAUSE_SECONDS)


def test_the_line_that_local_jobs_with_a_reason_share_is_stored_once(world):
    sent(world, 4)
    for index, words in ((1, b"start\nno calibration of run 7\n"), (2, b"no calibration of run 9"), (3, b"bad luck")):
        fail(world, index, words)
    fail(world, 4, b"segmentation fault\n", code=139)
    failed(world, 4)
    assert world.store.last_lines.of(1) == {
        "exit 139": LastLine("segmentation fault", 1, 1),
        "exit 3": LastLine("no calibration of run *", 2, 3),
    }


def test_at_most_twenty_are_read_for_a_reason(world, monkeypatch):
    read = []
    monkeypatch.setattr(why_failed, "_tail", lambda *place: read.append(place) or "the same")
    sent(world, 50)
    for index in range(1, 51):
        fail(world, index)
    failed(world, 50)
    assert len(read) == 20
    assert world.store.last_lines.of(1) == {"exit 3": LastLine("the same", 20, 20)}


def test_only_the_last_four_kilobytes_are_read(world):
    sent(world, 1)
    fail(world, 1, b"first\n" + b"\n" * 5000)
    failed(world, 1)
    assert world.store.last_lines.of(1) == {}


@pytest.mark.parametrize("kind", ["link", "link to the directory", "pipe", "directory"])
def test_nothing_but_a_file_of_the_payload_is_read(world, tmp_path, kind):
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "stderr").write_text("root:x:0:0")
    sent(world, 1)
    fail(world, 1)
    run = world.batch.tasks["1", 1].directory / "run.1"
    (run / "stderr").unlink()
    if kind == "link":
        (run / "stderr").symlink_to(secret / "stderr")
    elif kind == "link to the directory":
        run.rmdir()
        run.symlink_to(secret)
    elif kind == "pipe":
        os.mkfifo(run / "stderr")
    else:
        (run / "stderr").mkdir()
    failed(world, 1)
    assert world.store.last_lines.of(1) == {}


def test_a_restart_reads_again_and_stores_the_same(world):
    sent(world, 2)
    fail(world, 1, b"no space")
    failed(world, 1)
    world.restart()
    fail(world, 2, b"no space")
    failed(world, 2)
    assert world.store.last_lines.of(1) == {"exit 3": LastLine("no space", 2, 2)}


def test_a_finished_grid_job_has_the_lines_of_its_last_end(world):
    sent(world, 1)
    fail(world, 1, b"no space")
    world.until(lambda: world.finished(1))
    world.go(5, why_failed.PAUSE_SECONDS)
    assert world.store.last_lines.of(1) == {"exit 3": LastLine("no space", 1, 1)}
    world.store.removals.remove(world.store.grid_job(1))
    world.store.last_lines.put(1, {"exit 3": LastLine("no space", 1, 1)})  # by an errand that has begun before
    assert world.store.last_lines.of(1) == {}


def test_people_see_it_and_only_who_may_read_logs(world, monkeypatch, capsys):
    sent(world, 2)
    fail(world, 1, b"</td><script>x\x1b[2J")
    fail(world, 2, b"</td><script>x")
    failed(world, 2)
    view = View(world.site, world.store)
    job = world.store.grid_job(1)
    assert list(last_lines.sentences(view, job)) == ["2 local jobs, exit 3: </td><script>x"]
    document = documents.of_job(view, job)
    assert document["last_lines"] == [{"reason": "exit 3", "line": "</td><script>x", "times": 2, "read": 2}]
    assert "last_lines" not in seen_by(Role.SEE, document)
    assert seen_by(Role.LOOK, document)["last_lines"] == document["last_lines"]
    for name, verb in {"explain": explain, "show": show}.items():
        monkeypatch.setattr(verb, "look", lambda: view)
        verb.run(parser_of(name).parse_args(["1"]))
        assert "2 local jobs, exit 3: </td><script>x" in " ".join(capsys.readouterr().out.split())
        verb.run(parser_of(name).parse_args(["1", "--json"]))
        assert json.loads(capsys.readouterr().out)["last_lines"] == document["last_lines"]


# Inputs


def given(world, n, *paths):
    """Let a local job have input files."""
    world.store.db.execute(
        "UPDATE local_job SET piece = ? WHERE n = ?", (json.dumps({"files": list(map(str, paths))}), n)
    )


def test_a_missing_input_is_named_and_is_not_the_programs_own_failure(world, tmp_path):
    there, gone, other = tmp_path / "there", tmp_path / "gone", tmp_path / "other"
    there.touch()
    sent(world, 4)
    for n, paths in enumerate([(there,), (there, gone), (gone, other), ("catalogue/name",)]):
        given(world, n, *paths)
        fail(world, n + 1, b"cat: no such file", code=1)
    failed(world, 4)
    locals_ = [world.store.local_job(1, n) for n in range(4)]
    assert [each.reason for each in locals_] == [
        "exit 1",
        f"input {gone} is gone (exit 1)",
        f"input {gone} and 1 more are gone (exit 1)",
        "exit 1",
    ]
    assert [each.kind for each in locals_] == [Kind.EXIT, Kind.INPUT_GONE, Kind.INPUT_GONE, Kind.EXIT]
    assert world.store.attempts(1, n=1)[0].reason == locals_[1].reason
    assert world.store.last_lines.of(1) == {"exit 1": LastLine("cat: no such file", 2, 2)}
    assert [line.now for line in world.store.journals.of(1, 1)][-1] == "input gone"


def test_an_input_that_another_task_has_brought_has_the_name_that_tasks_give_it(tmp_path, monkeypatch):
    chain = Chain(tmp_path, monkeypatch)
    chain.chain(files=1)

    def reco():
        """Let each piece of gen bring its file, and each of reco start."""
        started = chain.begin()
        for key in started:
            if chain.words(key)[1] == "gen":
                chain.end_one(*key)
        return [key for key in started if chain.words(key)[1] == "reco"]

    started = []
    chain.until(lambda: started.extend(reco()) or started)
    path = Path(chain.words(started[0])[2])
    path.unlink()  # after its piece was handed in
    chain.batch.finish(*started[0], code=1)
    task = chain.task("reco").id

    def named():
        return [each.reason for each in chain.store.seen_tasks.pieces_page(task, PiecesAsked(states=("failed",)), 9)]

    chain.until(lambda: any("gone" in each for each in named()))
    number = re.search(r"(\d+)-gen", path.name)[1]
    assert named() == [f"input gen/{int(number)} is gone (exit 1)"]


def test_a_sender_learns_nothing_of_files_of_others(world, tmp_path):
    sent(world, 1)
    given(world, 0, tmp_path / "gone")
    world.store.set_grid_job(1, realm='{"directories": []}')
    fail(world, 1, code=1)
    failed(world, 1)
    assert world.store.local_job(1, 0).reason == "exit 1"


def test_a_name_of_a_catalogue_is_no_file_that_is_gone(tmp_path):
    (tmp_path / "file").touch()
    for name in ("/a", "/store/mc/run1.root", f"{tmp_path}/no/such", f"{tmp_path}/file", "/x\0"):
        assert not why_failed.is_gone(Path(name), seen=False), name
    assert why_failed.is_gone(tmp_path / "gone", seen=False)
    assert why_failed.is_gone(tmp_path / "no/such", seen=True)
    assert why_failed.is_gone(tmp_path / "file/below", seen=True)


def test_a_file_server_that_is_away_proves_nothing(monkeypatch):
    def away(self, **_):
        raise OSError(errno.ESTALE, "stale", str(self))

    monkeypatch.setattr(why_failed.Path, "stat", away)
    assert not why_failed.is_gone(Path("/x/y"), seen=True)
