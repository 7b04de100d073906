"""Publications by attempt: limits, order, what comes after the end, and how many a second."""

import pytest

from jim.doors import inbox
from jim.errors import JimError
from jim.keeper.attempts import arrivals, publishing
from jim.keeper.attempts.arrivals import TakingSpool, take_spool
from jim.keeper.attempts.publishing import Allowance, element
from tests.support.stand_ins import World

GRID_JOB = 1


@pytest.fixture
def world(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch)
    world.submit(1)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1)
    take_spool(world.keeper)
    return world


def task_of(world):
    return list(world.batch.tasks.values())[-1]


def publish(world, text, key, mark=None):
    (world.site.work / f"spool/{mark or task_of(world).mark}.1.pub.{key}").write_text(text)


def phase(world, done, mark=None):
    publish(world, f"phase sim {done} 250 events\n", "phase-sim", mark)


def stored(world):
    return {each.name: (each.content, each.attempt, each.late) for each in world.store.publications.details(1, 0)}


def done(world):
    return [(each.done, each.attempt, each.late) for each in world.store.publications.phases_of(1, 0)]


def spool(world):
    return [path.name for path in (world.site.work / "spool").iterdir()]


def rejected(world):
    return [path.name.partition("-")[2] for path in (world.site.work / "rejected").iterdir()]


def second_attempt(world):
    """Let the first attempt be killed, and the second one begin; return the mark of the first."""
    first = task_of(world).mark
    world.batch.finish(1, code=None, signal=9)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(2)
    take_spool(world.keeper)
    assert world.store.local_job(1, 0).attempt == 2
    return first


# Limits


def test_a_65th_key_is_refused_and_counted_and_the_others_go_on(world):
    for n in range(64):
        publish(world, f"<a>{n}</a>", f"key{n}")
    take_spool(world.keeper)
    publish(world, "<a>new</a>", "key64")
    publish(world, "<a>again</a>", "key63")
    take_spool(world.keeper)
    found = stored(world)
    assert (len(found), found["key63"][0], "key64" in found) == (64, "<a>again</a>", False)
    assert (world.store.publications.refused(1, 0), spool(world), rejected(world)) == ((1, 0), [], [])


def test_more_than_a_mebibyte_of_one_local_job_is_refused(world):
    most = 65_536 - len("<a></a>")
    for n in range(16):
        publish(world, f"<a>{'x' * most}</a>", f"key{n}")
    publish(world, "phase sim 0 250 events", "phase-sim")
    take_spool(world.keeper)
    assert len(stored(world)) == 16
    assert world.store.publications.refused(1, 0).refused == 1
    publish(world, "<a/>", "key0")
    take_spool(world.keeper)
    phase(world, 1)
    take_spool(world.keeper)
    assert (len(stored(world)), done(world)) == (17, [(1, 1, 0)])


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("phase-sim", "<sim/>"),
        ("mine", '<phase name="sim" done="1" total="2" unit="events"/>'),
        ("mine", '<a xmlns="urn:jim:status:1"/>'),
        ("mine", "<a>"),
        ("mine", f"<a>{'x' * 65_536}</a>"),
    ],
)
def test_what_is_against_the_rules_is_put_aside_and_counted(world, key, text):
    publish(world, text, key)
    take_spool(world.keeper)
    assert (stored(world), world.store.publications.refused(1, 0), len(rejected(world))) == ({}, (1, 0), 1)
    world.batch.finish(1)
    world.until(lambda: world.store.grid_job(1).outcome == "completed")


def test_a_phase_needs_no_parser_and_its_unit_is_escaped():
    assert element("phase-a", 'phase a 1 2 "<&\n') == '<phase name="a" done="1" total="2" unit="&quot;&lt;&amp;"/>'
    with pytest.raises(JimError, match="phase-a is the name of a phase"):
        element("phase-a", "phase a 1\n")


# Merging


def test_the_same_content_again_changes_the_time_and_makes_no_new_version(world, monkeypatch):
    phase(world, 7)
    take_spool(world.keeper)
    version, (before,) = world.store.version(1), world.store.publications.phases_of(1, 0)
    monkeypatch.setattr(world.clock, "utc", lambda: "2099-01-01T00:00:00.000Z")
    phase(world, 7)
    take_spool(world.keeper)
    assert world.store.publications.phases_of(1, 0) == [before._replace(updated="2099-01-01T00:00:00.000Z")]
    assert [each.updated for each in world.store.publications.details(1)] == ["2099-01-01T00:00:00.000Z"]
    assert world.store.version(1) == version
    phase(world, 8)
    take_spool(world.keeper)
    assert world.store.version(1) == version + 1


# Order


def test_what_an_older_attempt_publishes_is_kept_and_counts_in_no_sum(world):
    first = second_attempt(world)
    phase(world, 200, first)
    take_spool(world.keeper)
    assert [each[:3] for each in done(world)] == [(200, 1, 1)]
    assert world.store.publications.phases(1) == []
    phase(world, 3)
    take_spool(world.keeper)
    assert done(world) == [(3, 2, 0)]
    phase(world, 210, first)
    take_spool(world.keeper)
    assert done(world) == [(3, 2, 0)], "a newer attempt has published under this name"
    assert [(each.done, each.local_jobs) for each in world.store.publications.phases(1)] == [(3, 1)]


def test_within_an_attempt_a_phase_may_go_back(world):
    for number in (100, 50):
        phase(world, number)
        take_spool(world.keeper)
    assert done(world) == [(50, 1, 0)]


# After the end


def test_a_late_publication_is_marked_and_a_later_one_dropped_and_counted(world, monkeypatch):
    world.batch.finish(1, code=3)
    take_spool(world.keeper)
    phase(world, 240)
    take_spool(world.keeper)
    assert done(world) == [(240, 1, 1)]
    monkeypatch.setattr(world.clock, "utc", lambda: "2099-01-01T00:00:00.000Z")
    phase(world, 250)
    take_spool(world.keeper)
    assert (done(world), world.store.publications.refused(1, 0), spool(world)) == ([(240, 1, 1)], (0, 1), [])


def test_what_comes_together_with_the_end_is_not_late(world):
    phase(world, 250)
    world.batch.finish(1, code=3)
    take_spool(world.keeper)
    assert (world.store.local_job(1, 0).state.value, done(world)) == ("failed", [(250, 1, 0)])


def test_after_the_removal_of_its_grid_job_it_goes_without_a_trace(world):
    mark = task_of(world).mark
    world.batch.finish(1)
    world.until(lambda: world.store.grid_job(1).outcome)
    world.store.removals.remove(world.store.grid_job(1))
    phase(world, 1, mark)
    take_spool(world.keeper)
    assert (spool(world), rejected(world)) == ([], [])


# How many a second


def test_an_allowance_is_so_many_a_second_and_never_more_at_once():
    allowance = Allowance()
    assert allowance.now(1000.0) == 2000
    allowance.spend(2000)
    assert (allowance.now(1000.0), allowance.now(1000.25), allowance.now(9000.0)) == (0, 500, 2000)


def test_starts_and_exits_come_first_and_publications_within_their_allowance(world, monkeypatch):
    monkeypatch.setattr(arrivals.publishing, "A_SECOND", 30)
    taking = TakingSpool()
    for n in range(50):
        publish(world, f"<a>{n}</a>", f"key{n}")
    world.batch.finish(1, code=3)
    taking(world.keeper)
    assert world.store.local_job(1, 0).state.value == "failed"
    assert len(spool(world)) == 20
    taking(world.keeper)
    assert len(spool(world)) == 20
    world.clock.now += 1
    taking(world.keeper)
    assert spool(world) == []


def test_a_keeper_does_not_leave_while_publications_wait(world, monkeypatch):
    monkeypatch.setattr(arrivals.publishing, "A_SECOND", 30)
    for n in range(50):
        publish(world, f"<a>{n}</a>", f"key{n}")
    world.batch.finish(1, code=0)
    world.until(lambda: not world.store.unfinished(), seconds=0.001)
    assert len(spool(world)) == 20
    assert (world.rounds.idle(), world.rounds.rest() <= 2) == (False, True)
    world.go(2, seconds=1)
    assert (spool(world), world.rounds.idle()) == ([], True)


# About the grid job itself


def test_a_wish_publishes_about_the_grid_job_itself(world):
    lines = len(world.store.journals.of(1))
    inbox.wish(world.site.state, "publish", "1", name="phase-merged", content="phase merged 3 10 files")
    inbox.wish(world.site.state, "publish", "1", name="note", content="<note>mine</note>")
    inbox.wish(world.site.state, "publish", "1", name="bad", content="<note>")
    world.go(2)
    assert [(each.name, each.content) for each in world.store.publications.details(1, -1)] == [
        ("note", "<note>mine</note>"),
        ("phase-merged", '<phase name="merged" done="3" total="10" unit="files"/>'),
    ]
    assert list((world.site.state / "inbox").glob("[!.]*")) == []
    assert world.store.publications.refused(1, -1) == (1, 0)
    assert len(world.store.journals.of(1)) == lines


def test_a_job_type_publishes_as_it_collects(world, monkeypatch):
    from jim.handlers.executable import HANDLER

    def collect(self, request, results, beside):
        self.publish("peak", f"<peak>{sum(1 for _ in results)}</peak>")
        return "done"

    monkeypatch.setattr(HANDLER, "collect", collect)
    world.batch.finish(1)
    world.until(lambda: world.store.grid_job(1).outcome)
    world.go(2)
    assert world.store.grid_job(1).result["line"] == "done"
    assert [(each.name, each.content) for each in world.store.publications.details(1, -1)] == [
        ("peak", "<peak>1</peak>")
    ]


def test_what_takes_long_to_parse_holds_up_no_round(world, monkeypatch):
    """One file of XML can have as many names as a payload likes."""
    for n in range(20):
        publish(world, "<a/>", f"n{n}")

    def slowly(name, text):
        world.clock.now += 0.1
        return element(name, text)

    monkeypatch.setattr(publishing, "element", slowly)
    began = world.clock.boot()
    take_spool(world.keeper)
    assert world.clock.boot() - began < 1
    world.until(lambda: not spool(world))
    assert len(stored(world)) == 20


def test_what_is_over_the_limit_is_not_parsed(world, monkeypatch):
    for n in range(70):
        publish(world, "<a/>", f"n{n}")
    parsed, real = [], publishing.element
    monkeypatch.setattr(publishing, "element", lambda name, text: parsed.append(name) or real(name, text))
    world.go(2, 1.0)
    assert (len(parsed), len(stored(world)), spool(world)) == (64, 64, [])
