"""What arrives is taken in: not lost when it is published again meanwhile, nor held up by a flood of others."""

import os

import pytest

from jim.keeper.attempts import arrivals
from jim.keeper.attempts.arrivals import take_spool
from jim.model import State
from tests.support.stand_ins import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    return world


def shown(world):
    return {name: content for _, name, content, *_ in world.store.publications.details(1)}


def test_what_is_published_meanwhile_is_taken_in_next(world, monkeypatch):
    (task,) = world.batch.tasks.values()
    file = world.site.work / f"spool/{task.mark}.1.pub.phase-sim"
    newer = ["phase sim 250 250 events\n", "phase sim 240 250 events\n"]
    file.write_text("phase sim 0 250 events\n")
    publish = world.store.publications.publish

    def publish_while_more_arrives(*words):
        publish(*words)
        if newer:
            draft = file.with_name(".draft")
            draft.write_text(newer.pop())
            draft.rename(file)

    monkeypatch.setattr(world.store.publications, "publish", publish_while_more_arrives)
    world.go(1)
    assert 'done="0"' in shown(world)["phase-sim"]
    world.go(1)
    assert 'done="240"' in shown(world)["phase-sim"]
    world.go(2)
    assert 'done="250"' in shown(world)["phase-sim"]
    assert not list((world.site.work / "spool").iterdir())


def test_of_two_that_came_meanwhile_the_last_one_counts(world, monkeypatch):
    """One more appears just while the keeper puts the other one back."""
    (task,) = world.batch.tasks.values()
    file = world.site.work / f"spool/{task.mark}.1.pub.phase-sim"
    file.write_text("phase sim 0 250 events\n")
    publish, link = world.store.publications.publish, __import__("os").link

    def publish_and_replace(*words):
        publish(*words)
        if 'done="0"' in words[3]:
            file.unlink()
            file.write_text("phase sim 240 250 events\n")

    def link_too_late(source, target):
        file.write_text("phase sim 250 250 events\n")
        link(source, target)

    monkeypatch.setattr(world.store.publications, "publish", publish_and_replace)
    monkeypatch.setattr("jim.keeper.attempts.arrivals.os.link", link_too_late)
    world.go(2)
    assert 'done="250"' in shown(world)["phase-sim"]
    assert not list((world.site.work / "spool").iterdir())


def test_a_flood_of_publications_holds_up_no_end(tmp_path, monkeypatch):
    """In whatever order the file system lists them: of twenty ends, one would come after the flood."""
    monkeypatch.setattr("jim.keeper.attempts.arrivals.AT_ONCE", 50)
    world = World(tmp_path, monkeypatch)
    world.submit(20)
    world.until(lambda: len(world.batch.tasks) == 20)
    for id_, index in world.batch.tasks:
        world.batch.start(id_, index)
    world.go(1)
    task = next(iter(world.batch.tasks.values()))
    for n in range(500):
        (world.site.work / f"spool/{task.mark}.1.pub.name{n}").write_text("phase sim 0 250 events\n")
    for id_, index in world.batch.tasks:
        world.batch.finish(id_, index)
    take_spool(world.keeper)
    assert not list((world.site.work / "spool").glob("*.exit"))
    assert len(list((world.site.work / "spool").iterdir())) == 450


def test_what_arrives_is_taken_in_whole_or_not_at_all(world, monkeypatch):
    """A record leads to a verdict in several steps; one that cannot be stored leaves nothing of those before it."""
    world.batch.start(1)
    world.go(1)
    store, was = world.store, world.store.local_job(1, 0)
    monkeypatch.setattr(store, "set_local_job", lambda *_, **__: int("no number"))
    world.batch.finish(1, code=3)
    take_spool(world.keeper)
    assert store.local_job(1, 0) == was
    assert [each.verdict for each in store.attempts(1, n=0)] == [""]


@pytest.fixture
def half(world):
    """Let an attempt end, and give the report of that, of which only a part is there."""
    world.batch.start(1)
    take_spool(world.keeper)
    world.batch.finish(1, code=3)
    (report,) = (world.site.work / "spool").glob("*.exit")
    report.write_text(report.read_text()[:50])
    return report


def verdicts(world):
    return [each.verdict for each in world.store.attempts(1, n=0)]


def rejected(world):
    return list((world.site.work / "rejected").iterdir())


@pytest.mark.parametrize("length", [0, 50])
def test_where_a_part_of_a_report_is_seen_the_record_itself_counts(world, half, length):
    """Wrappers write it in place, and may be killed meanwhile; the record was whole before."""
    half.write_text(half.read_text()[:length])
    take_spool(world.keeper)
    assert verdicts(world) == ["failed"]
    assert (half.exists(), rejected(world)) == (False, [])


def test_a_part_of_a_report_waits_where_the_record_is_not_seen_yet(world, half):
    record = world.site.work / "1/s1/exit.1"
    aside = record.rename(record.with_name("aside"))
    take_spool(world.keeper)
    assert (verdicts(world), half.exists(), rejected(world)) == ([""], True, [])
    aside.rename(record)
    take_spool(world.keeper)
    assert (verdicts(world), half.exists(), rejected(world)) == (["failed"], False, [])


def test_a_part_of_a_report_waits_for_no_record_once_there_is_a_verdict(world, half):
    take_spool(world.keeper)
    (world.site.work / "1/s1/exit.1").unlink()
    half.write_text("jim-exit 1\n")
    take_spool(world.keeper)
    assert (verdicts(world), half.exists(), rejected(world)) == (["failed"], False, [])


def test_nothing_of_a_payload_stands_in_the_way_of_what_is_taken_out_of_the_spool(world):
    """Else each round would fail there, and nothing that comes after the spool would ever be done."""
    (task,) = world.batch.tasks.values()
    file = world.site.work / f"spool/{task.mark}.1.pub.phase-sim"
    file.write_text("phase sim 0 250 events\n")
    file.with_name(f".taken.{file.name}").mkdir()
    world.go(2)
    assert (list(shown(world)), file.exists()) == (["phase-sim"], False)


def test_what_becomes_a_directory_while_it_is_taken_in_ends_no_round(world, monkeypatch):
    """A payload may change it again and again."""
    (task,) = world.batch.tasks.values()
    world.batch.start(1)
    file, real = world.site.work / f"spool/{task.mark}.1.start", arrivals.bulk_reports.take

    def take(*arguments):
        file.unlink()
        file.mkdir()
        return real(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(arrivals.bulk_reports, "take", take)
        world.go(1)
    assert world.store.attempt(1, 1, 1).started
    world.go(2)
    assert not list((world.site.work / "spool").iterdir())


def test_very_long_records_hold_up_no_others(tmp_path, monkeypatch):
    """One file can have as many names as a payload likes, and each is read; it may have the names of all attempts."""
    world = World(tmp_path, monkeypatch)
    world.submit(60)
    world.until(lambda: len(world.batch.tasks) == 60)
    for id_, index in world.batch.tasks:
        world.batch.start(id_, index)
    world.go(1)
    spool, task = world.site.work / "spool", world.batch.tasks["1", 1]
    for index in range(1, 51):
        if index == 1:
            (spool / f"{task.mark}.1.exit").write_text("jim-exit 1\n" + "a\n" * 2_000_000 + "end\n")
        else:
            os.link(spool / f"{task.mark}.1.exit", spool / f"{task.mark}.{index}.exit")
    for index in range(51, 61):
        world.batch.finish(1, index)
    read, real = [], arrivals.bulk_reports.record_in
    monkeypatch.setattr(arrivals.bulk_reports, "record_in", lambda path: read.append(path.stat().st_size) or real(path))
    take_spool(world.keeper)
    assert sum(read) < 20_000_000
    assert world.store.counts(1)[State.COMPLETING] == 10
    world.until(lambda: not list(spool.iterdir()))
    assert world.store.counts(1)[State.RUNNING] == 50


def test_reports_that_only_leave_a_word_do_not_fill_the_journal(world):
    """A payload may write them again and again, for each attempt of its account."""
    (task,) = world.batch.tasks.values()
    world.batch.start(1)
    world.go(1)
    for _ in range(5):
        (world.site.work / f"spool/{task.mark}.1.refused").write_text(f"nonce 1\nhost {'h' * 4000}\n")
        world.go(1)
    world.batch.finish(1, code=3)
    for _ in range(5):
        world.go(3)
        world.batch.finish(1, code=3)
    lines = [each for each in world.store.journals.of(1, 0) if each.now in ("refused", "late exit record")]
    assert [each.now for each in lines] == ["refused", "late exit record"]
    assert len(lines[0].reason) < 400
