"""A request key: the same key is the same grid job, whoever hands it in, and however many at once."""

from __future__ import annotations

import json
import os

import pytest

from jim import inbox
from jim.errors import UnknownJob


def key_file(world, key="k1"):
    return world.site.state / "keys" / inbox.request_name(key)


def interrupted(monkeypatch, meanwhile):
    """Let something happen between a door's look and its link."""
    link, left = os.link, [meanwhile]

    def late(source, target):
        while left:
            left.pop()()
        link(source, target)

    monkeypatch.setattr("jim.inbox.os.link", late)


def settled(world, number):
    """Tell whether a key has one grid job, and nothing is left of any other."""
    state = world.site.state
    assert json.loads(key_file(world).read_bytes())["id"] == number
    assert [path.name for path in (state / "answers").iterdir()] == [str(number)]
    assert [path.name for path in (state / "inbox").iterdir() if not path.name.startswith(".")] == []
    assert [job.id for job in world.store.grid_jobs()] == [number]
    return world.submit(1) == number


def test_a_request_that_is_taken_between_a_door_s_look_and_its_link_leaves_no_ghost(world, monkeypatch):
    printed = []

    def another_door():
        printed.append(world.submit(1))
        world.go(1)

    interrupted(monkeypatch, another_door)
    printed.append(world.submit(1))
    assert printed == [2, 2]
    assert json.loads(key_file(world).read_bytes())["id"] == 2
    world.go(2)
    assert settled(world, 2)


def test_a_third_door_prints_the_first_one_s_id_though_it_finds_the_second_one_s_file(world, monkeypatch):
    """The keeper takes the first one's just when the third one has not seen it under its key."""
    read, printed, left = inbox.read_regular, [], []

    def late(path, limit):
        while path.parent.name == "inbox" and left:
            left.pop()()
        return read(path, limit)

    def two_others():
        world.go(1)
        os.link(second, first)

    printed.append(world.submit(1))
    first = world.site.state / "inbox" / inbox.request_name("k1")
    second = first.with_name(".second")
    second.write_bytes(first.read_bytes().replace(b'{"id": 1,', b'{"id": 2,'))
    (world.site.state / "answers/2").write_bytes(b"")
    left.append(two_others)
    monkeypatch.setattr(inbox, "read_regular", late)
    printed.append(world.submit(1))
    assert printed == [1, 1]
    world.go(1)
    assert settled(world, 1)


@pytest.mark.parametrize("place", ["stored", "linked"])
def test_a_keeper_that_is_killed_while_it_takes_a_request_takes_it_once(world, monkeypatch, place):
    """Killed after the row was stored, or once the key was kept: the request lies in the inbox still."""

    def killed(path, *_):
        if place == "linked":
            os.link(path, key_file(world))
        raise KeyboardInterrupt

    assert world.submit(1) == 1
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "taken", killed)
        with pytest.raises(KeyboardInterrupt):
            world.go(1)
    world.restart()
    assert world.submit(1) == 1
    world.go(1)
    assert settled(world, 1)


def test_a_key_that_is_kept_is_of_the_row_that_is_stored(world, monkeypatch):
    """A door that could not make its file durable takes it back, just when the keeper has stored it."""
    taken = inbox.taken

    def gone(path, *more):
        path.unlink()
        taken(path, *more)

    world.submit(1)
    monkeypatch.setattr(inbox, "taken", gone)
    world.go(1)
    assert settled(world, 1)


def test_a_number_that_another_request_has_is_put_aside(world):
    world.submit(1)
    world.go(1)
    file = world.site.state / "inbox" / inbox.request_name("other")
    file.write_bytes(key_file(world).read_bytes().replace(b'"key": "k1"', b'"key": "other"'))
    world.go(1)
    assert [job.key for job in world.store.grid_jobs()] == ["k1"]
    assert not key_file(world, "other").exists()
    assert file.with_name(f".unreadable-{file.name}").exists()


def test_an_id_that_nobody_has_is_unknown(world):
    with pytest.raises(UnknownJob):
        world.wish("cancel", "1")
