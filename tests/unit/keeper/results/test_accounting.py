"""Each attempt has one line in the accounting, however often the keeper is killed while it writes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime

import pytest

from jim.doors import inbox
from jim.errors import Busy
from jim.evidence.exit_record import read_exit_record, times_of
from jim.jobs import Sender
from jim.keeper.results import accounting
from jim.model import State
from jim.site.settings import Keep
from jim.statusdb.seen.resource_totals import totals_of
from tests.support.carried_by_hand import claim, finish
from tests.support.stand_ins import INSTANCE, World

DN, FQANS = '/O=Test/CN=A "B"', ("/dteam/Role=NULL/Capability=NULL", "/dteam/prod")


class Killed(BaseException):
    """What a kill leaves, seen from within: nothing is done any more."""


def die(*_):
    raise Killed


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def files(world, pattern="????-??-??.jsonl"):
    return sorted((world.site.state / "accounting").glob(pattern))


def lines(world):
    return [json.loads(line) for file in files(world) for line in file.read_text().splitlines()]


def ids(world):
    return Counter(line["id"] for line in lines(world))


def sent(world, key="k1", **attributes):
    raw = {"job_type": "executable", "executable": "/bin/true", "memory_mb": 2000, "queue": "short", **attributes}
    from jim import request

    sender = {"dn": DN, "fqans": FQANS, "contact": "https://gk:2119/1/2/"}
    return inbox.deposit(world.site.state, key, request.check(raw)[1] | {"key": key}, sender=sender)


def test_a_line_says_what_was_used_by_whom_for_what(world):
    grid = sent(world)
    world.run_all(grid)
    world.go()
    (line,) = lines(world)
    assert line["id"] == f"{INSTANCE}-1.0-1"
    assert {name: line[name] for name in ("dn", "vo", "fqan", "contact", "key", "job_type", "queue", "verdict")} == {
        "dn": DN,
        "vo": "dteam",
        "fqan": "/dteam/Role=NULL/Capability=NULL",
        "contact": "https://gk:2119/1/2/",
        "key": "k1",
        "job_type": "executable",
        "queue": "short",
        "verdict": "completed",
    }
    assert (line["host"], line["batch_id"], line["exit_code"], line["memory_mb"]) == ("node1", "1", 0, 2000)
    (file,) = files(world, "blahp.log-*")
    assert file.name.removeprefix("blahp.log-") == files(world)[0].stem.replace("-", "")
    text = file.read_text()
    assert text.count("\n") == 1
    assert f'"userDN=/O=Test/CN=A \\"B\\"" "userFQAN={FQANS[0]}" "userFQAN={FQANS[1]}" "ceID=' in text
    assert (
        f'-short" "jobID={line["id"]}" "lrmsID=1" "localUser={line["account"]}" "clientID=https://gk:2119/1/2/"' in text
    )


def test_each_attempt_has_a_line_and_what_nobody_measured_has_no_number(world):
    world.submit(2)
    world.until(lambda: len(world.batch.tasks) == 2)
    world.batch.start(1, 1)
    world.batch.finish(1, 1, code=None, signal=9)
    world.until(lambda: world.state(1, 0) is State.WAITING)
    world.wish("cancel", "1.1")
    world.until(lambda: world.state(1, 1) is State.KILLED)
    world.run_all(1)
    world.go(3, 1.0)
    assert ids(world) == {f"{INSTANCE}-1.0-1": 1, f"{INSTANCE}-1.0-2": 1, f"{INSTANCE}-1.1-1": 1}
    verdicts = {line["id"][-5:]: (line["verdict"], line["wall_seconds"] is None) for line in lines(world)}
    assert verdicts == {"1.0-1": ("again", False), "1.0-2": ("completed", False), "1.1-1": ("killed", True)}
    assert files(world, "blahp*") == []  # nobody has a name in the grid


@pytest.mark.parametrize("step", ["write", "append_whole", "sync_directory", "_remove_old", "Accounting._written"])
def test_a_keeper_killed_anywhere_on_the_way_writes_each_line_once(world, monkeypatch, step):
    sent(world)
    with monkeypatch.context() as patched:
        patched.setattr(f"jim.keeper.results.accounting.{step}", die)
        with pytest.raises(Killed):
            world.run_all(1)
    world.restart()
    world.run_all(1)
    world.go(2, 1.0)
    assert ids(world) == {f"{INSTANCE}-1.0-1": 1}
    assert files(world, "blahp*")[0].read_text().count("\n") == 1
    assert world.store.senders.unaccounted(9) == []


def test_half_a_line_of_a_power_cut_is_written_anew(world, monkeypatch):
    sent(world)
    with monkeypatch.context() as patched:
        patched.setattr("jim.keeper.results.accounting.Accounting._written", die)
        with pytest.raises(Killed):
            world.run_all(1)
    whole = files(world)[0].read_bytes()
    files(world)[0].write_bytes(whole[:-5])
    world.restart()
    world.run_all(1)
    world.go(2, 1.0)
    assert files(world)[0].read_bytes() == whole


def test_lines_whose_marks_could_not_be_removed_are_not_written_again(world, monkeypatch):
    sent(world)

    def busy(*_):
        raise Busy("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(world.store.senders, "are_accounted", busy)
        with pytest.raises(Busy):
            world.run_all(1)
    world.run_all(1)
    world.go(2, 1.0)
    assert ids(world) == {f"{INSTANCE}-1.0-1": 1}


def test_a_full_disk_holds_up_nothing_and_loses_no_line(world, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device", "/state/accounting/day")

    with monkeypatch.context() as patched:
        patched.setattr("jim.keeper.results.accounting.append_whole", full)
        world.submit(1)
        world.run_all(1)
        assert "the accounting cannot be written" in caplog.text
        assert lines(world) == []
    world.until(lambda: bool(files(world)))
    assert ids(world) == {f"{INSTANCE}-1.0-1": 1}


def test_a_line_belongs_to_the_day_of_the_end_also_after_midnight(world, monkeypatch):
    sent(world)
    monkeypatch.setattr(type(world.clock), "utc", lambda _: "2026-01-31T23:59:59.900Z")
    with monkeypatch.context() as patched:
        patched.setattr("jim.keeper.results.accounting.Accounting._written", die)
        with pytest.raises(Killed):
            world.run_all(1)
    monkeypatch.setattr(type(world.clock), "utc", lambda _: "2026-02-01T00:00:01.000Z")
    world.restart()
    world.run_all(1)
    world.go(2, 1.0)
    assert [file.name for file in files(world, "*")] == ["2026-01-31.jsonl", "blahp.log-20260131"]
    assert ids(world) == {f"{INSTANCE}-1.0-1": 1}


def test_old_days_are_removed_and_nothing_else(tmp_path):
    for name in ("2025-01-01.jsonl", "blahp.log-20250101", "2026-01-30.jsonl", "notes", "2025-01-01.jsonl.gz"):
        (tmp_path / name).touch()
    accounting.write(tmp_path, {tmp_path / "2026-01-31.jsonl": {b"a": b"a\n"}}, frozenset(), 30.0)
    left = {each.name for each in tmp_path.iterdir()}
    assert left == {"2026-01-30.jsonl", "2026-01-31.jsonl", "notes", "2025-01-01.jsonl.gz"}


def test_a_site_without_accounting_writes_none(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, keep=Keep(accounting_days=0))
    world.submit(1)
    world.run_all(1)
    assert not (world.site.state / "accounting").exists()
    assert world.store.senders.unaccounted(9) == []


def test_a_grid_job_stays_until_its_lines_are_written(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, keep=Keep(finished_days=0))
    with monkeypatch.context() as patched:
        patched.setattr("jim.keeper.results.accounting.Accounting.__call__", lambda *_: None)
        world.submit(1)
        world.run_all(1)
        world.go(3, 3700.0)
        assert [each.id for each in world.store.grid_jobs()] == [1]
    world.until(lambda: not world.store.grid_jobs(), seconds=3700.0)
    assert ids(world) == {f"{INSTANCE}-1.0-1": 1}


def test_who_sent_it_is_forgotten_everywhere_when_its_time_is_over(tmp_path, monkeypatch):
    world = World(tmp_path, monkeypatch, keep=Keep(finished_days=36_500, identity_days=1))
    sent(world)
    world.run_all(1)
    assert world.store.senders.of(1) == Sender(DN, FQANS, "https://gk:2119/1/2/")
    assert world.store.senders.sent_as("https://gk:2119/1/2/") == 1
    kept = world.site.state / "keys" / inbox.request_name("k1")
    assert json.loads(kept.read_text())["sender"]["dn"] == DN
    world.go(3, 3700.0)
    assert world.store.senders.of(1).dn == DN
    monkeypatch.setattr(type(world.clock), "utc", lambda _: "2099-01-01T00:00:00.000Z")
    world.go(3, 3700.0)
    assert world.store.senders.of(1) == Sender()
    assert "sender" not in json.loads(kept.read_text())
    assert inbox.known(world.site.state, "k1", {}, None) == 1


def test_a_broken_file_of_a_key_keeps_no_other_sender(tmp_path, monkeypatch, caplog):
    world = World(tmp_path, monkeypatch, keep=Keep(finished_days=36_500, identity_days=1))
    for key in ("k1", "k2"):
        sent(world, key)
    world.run_all(2)
    kept = world.site.state / "keys" / inbox.request_name("k1")
    whole = kept.read_text()
    kept.write_text("{}")
    monkeypatch.setattr(type(world.clock), "utc", lambda _: "2099-01-01T00:00:00.000Z")
    world.go(3, 3700.0)
    world.go(3, 3700.0)
    assert (world.store.senders.of(1).dn, world.store.senders.of(2).dn) == (DN, "")
    told = [each for each in caplog.messages if "sender of grid job 1" in each]
    assert told == [
        f"sender of grid job 1: cannot be removed: {kept} is broken: it has no id of a grid job; it is tried again"
    ]
    kept.write_text(whole)
    world.go(3, 3700.0)
    assert world.store.senders.of(1) == Sender()


def ran(world, seconds, **more):
    """Let a local job run so long by the clock since boot, and end as it likes."""
    sent(world, cores=2)
    world.until(lambda: world.batch.tasks, seconds=0.0)
    world.batch.start(1, 1)
    world.go(2)
    world.clock.now += seconds
    world.batch.finish(1, 1, **more)
    world.until(lambda: lines(world), seconds=0.0)
    return lines(world)[0]


@pytest.mark.parametrize("code", [0, 3])
def test_no_wall_time_is_booked_that_the_keeper_cannot_have_seen(world, code):
    line = ran(world, 60.0, extra="up 999999999.5\ncpu 777.00\n", code=code)
    assert (line["wall_seconds"], line["cpu_seconds"]) == (62.0, 777.0)  # 60 s, and what is rounded
    assert line["implausible"] == {
        "wall_seconds": {"reported": 999999999.5, "most": 62.0},
        "cpu_seconds": {"reported": 777.0, "most": 124.0},
    }


def test_times_that_can_be_true_are_booked_as_they_are_reported(world):
    line = ran(world, 60.0, extra="up 59.75\ncpu 118.00\n")
    assert (line["wall_seconds"], line["cpu_seconds"], line["implausible"]) == (59.75, 118.0, None)


def test_a_payload_that_writes_what_the_keeper_saw_is_not_believed(world):
    """Neither does it make its own time shorter, nor another bound than that of the keeper."""
    assert ran(world, 60.0, extra="up 59.75\nseen 1.00 1\n")["wall_seconds"] == 59.75


def test_a_payload_that_writes_a_longer_time_that_the_keeper_saw_is_not_believed(world):
    line = ran(world, 60.0, extra="seen 1e9 1\nup 1000\nseen 5000.00 9\n")
    assert line["implausible"] == {"wall_seconds": {"reported": 1000.0, "most": 62.0}}


@pytest.mark.parametrize(
    "sent_at", ["2026-01-31T13:00:00.000Z", "2026-01-31T12:29:00.000Z", "2026-01-31T12:00:00.000Z"]
)
def test_a_clock_that_was_set_cuts_no_honest_times(world, monkeypatch, sent_at):
    """It ran for half an hour; the keeper's clock says minus half an hour, or a minute."""
    at = [sent_at]
    monkeypatch.setattr(type(world.clock), "utc", lambda _: at[0])
    sent(world, cores=2)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1, 1)
    world.go(2)
    at[0] = "2026-01-31T12:30:00.000Z"
    world.clock.now += 1800.0
    world.batch.finish(1, 1, extra="up 1799.75\ncpu 3500.00\n")
    world.until(lambda: lines(world))
    (line,) = lines(world)
    assert (line["wall_seconds"], line["cpu_seconds"], line["implausible"]) == (1799.75, 3500.0, None)


@pytest.mark.parametrize(("sent_at", "wall"), [("12:00", 1802.0), ("13:00", 999999.0)])
def test_after_a_start_of_the_machine_the_clock_of_people_bounds_the_times_unless_it_was_set_back(
    world, monkeypatch, sent_at, wall
):
    at = [f"2026-01-31T{sent_at}:00.000Z"]
    monkeypatch.setattr(type(world.clock), "utc", lambda _: at[0])
    sent(world)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1, 1)
    world.go(2)
    world.clock.id, world.clock.now = "boot-2", 50.0
    world.restart()
    at[0] = "2026-01-31T12:30:00.000Z"
    world.batch.finish(1, 1, extra="up 999999\n")
    world.until(lambda: lines(world))
    assert lines(world)[0]["wall_seconds"] == wall


def test_a_pause_of_the_keeper_s_machine_cuts_no_honest_times(world, monkeypatch):
    """The worker node went on for half an hour. The keeper's virtual machine did not, and its clock was set right."""
    at = ["2026-01-31T12:00:00.000Z"]
    monkeypatch.setattr(type(world.clock), "utc", lambda _: at[0])
    sent(world, cores=2)
    world.until(lambda: world.batch.tasks)
    world.batch.start(1, 1)
    world.go(2)
    at[0] = "2026-01-31T12:30:00.000Z"
    world.batch.finish(1, 1, extra="up 1799.75\ncpu 3500.00\n")
    world.until(lambda: lines(world))
    (line,) = lines(world)
    assert (line["wall_seconds"], line["cpu_seconds"], line["implausible"]) == (1799.75, 3500.0, None)


def test_pages_totals_and_learned_sizes_have_the_times_of_the_books(world):
    ran(world, 60.0, extra="up 999999999.5\ncpu 777.00\n")
    ((record, _),) = world.store.seen.records_of_completed(1, 10)
    assert times_of(record) == (62.0, 777.0)
    assert read_exit_record(record).seconds == 62.0
    totals = totals_of(world.store, world.store.grid_job(1))
    assert totals is not None
    assert totals.wall_seconds == 62.0


def test_what_was_found_after_a_restore_is_bounded_by_the_life_of_its_grid_job(world, monkeypatch):
    at = ["2026-01-31T12:00:00.000Z"]
    monkeypatch.setattr(type(world.clock), "utc", lambda _: at[0])
    sent(world)
    world.until(lambda: world.batch.tasks)
    world.store.set_submission(1, 1, intended="", booted="", asked={})
    world.store.db.execute("UPDATE grid_job SET created = '2026-01-31T11:58:00Z'")
    world.batch.start(1, 1)
    world.batch.finish(1, 1, extra="up 999999999\n")
    world.until(lambda: lines(world))
    assert lines(world)[0]["wall_seconds"] == 122.0


# Carriers


def carried(world: World, count: int, of: Mapping[int, int], **more: object) -> int:
    """Let carriers of two local jobs each run these indices, and end well."""
    grid = sent(world, executable="/bin/true", job_type="parametric", argument_sets=[["1"]] * count, bundle=2, **more)
    world.until(lambda: len(world.batch.tasks) == -(-count // 2))
    for index, carrier in of.items():
        claim(world, carrier, index)
        finish(world, carrier, index)
    return grid


def carrier_lines(world: World) -> list[dict[str, object]]:
    return [json.loads(line) for file in files(world, "*.carriers.jsonl") for line in file.read_text().splitlines()]


def test_a_carrier_has_a_line_beside_those_of_its_local_jobs(world):
    """Carrier 2 has run three of four: for who counts batch jobs, there are two, and for who counts work, four."""
    grid = carried(world, 4, {1: 1, 2: 2, 3: 2}, at_once=2, cores=3, memory_mb=500)
    world.go(2, 1.0)
    assert carrier_lines(world) == []  # what it runs may become more
    claim(world, 2, 4)
    finish(world, 2, 4)
    world.go(3, 1.0)
    assert ids(world) == {f"{INSTANCE}-{grid}.{n}-1": 1 for n in range(4)}
    one, two = carrier_lines(world)
    assert (one["id"], two["id"]) == (f"{INSTANCE}-{grid}.s1-1", f"{INSTANCE}-{grid}.s1-2")
    assert (one["local_jobs"], two["local_jobs"]) == (1, 3)
    assert (two["batch_id"], two["index"], two["host"], two["dn"]) == ("1", 2, "wn1", DN)
    assert (two["cores"], two["memory_mb"]) == (6, 1000)
    began, ended = (datetime.fromisoformat(two[name]) for name in ("started", "ended"))
    assert began < ended
    assert two["wall_seconds"] == round((ended - began).total_seconds(), 2)
    (blah,) = files(world, "blahp*")
    assert [line.split('"lrmsID=')[1].split('"')[0] for line in blah.read_text().splitlines()] == ["1_1", "1_2"]


def test_a_keeper_killed_while_it_writes_of_carriers_writes_each_line_once(world, monkeypatch):
    carried(world, 2, {1: 1})
    world.go(2, 1.0)
    claim(world, 1, 2)
    with monkeypatch.context() as patched:
        patched.setattr("jim.keeper.results.accounting.Accounting._written", die)
        with pytest.raises(Killed):
            finish(world, 1, 2)
    world.restart()
    world.go(3, 1.0)
    assert [each["local_jobs"] for each in carrier_lines(world)] == [2]
    assert files(world, "blahp*")[0].read_text().count("\n") == 1
