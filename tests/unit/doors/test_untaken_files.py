"""Files of the inbox that no keeper can take are told where people look, with what they can do."""

from __future__ import annotations

import errno
import os

import pytest

from jim.admin import check
from jim.doors import inbox, untaken_files
from jim.files import open_regular
from jim.reading.site.site_state import look_around
from jim.reading.view import View

WISH = f"wish-000000001-1-{'a' * 24}"


@pytest.fixture
def bar(home, monkeypatch):
    """Let files of the inbox be such as this account may not read; give their places."""
    barred = set()

    def opened(path):
        if path.name in barred:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return open_regular(path)

    def arrange(*names):
        places = [home.site.state / "inbox" / name for name in names]
        for each in places:
            each.touch()
        barred.update(names)
        return places

    monkeypatch.setattr(untaken_files, "open_regular", opened)
    return arrange


def put(home, name):
    path = home.site.state / "inbox" / f".unreadable-{name}"
    path.touch()
    return path


def test_only_what_may_not_be_read_is_barred(home, bar):
    (first,) = bar("request-61")
    (home.site.state / "inbox/request-62").touch()
    (home.site.state / "inbox/request-63").symlink_to("nowhere")
    damaged = put(home, WISH)
    assert untaken_files.barred(home.site.state) == [first]
    assert untaken_files.aside(home.site.state) == [damaged]
    assert untaken_files.wish_for(damaged) == untaken_files.wish_for(damaged.with_name(WISH)) == 1
    assert untaken_files.wish_for(first) == 0


def test_the_way_to_read_a_file_is_that_of_its_owner(home, bar, monkeypatch):
    (path,) = bar(WISH)
    assert untaken_files.remedy(path) == f"`chmod u+r {path}` lets JIM read it"
    monkeypatch.setattr("os.geteuid", lambda: 4_321_987)
    assert untaken_files.remedy(path) == f"`chown {inbox.account()} {path}` lets JIM read it (as root)"


def test_explain_names_a_wish_that_cannot_be_taken(home, bar):
    home.add(1)
    home.add(2)
    (path,) = bar(WISH)
    damaged = put(home, f"wish-000000002-1-{'b' * 24}")
    out = home.out("explain", "1")
    words = " ".join(out.split())
    assert f"something was requested, but this account may not read {path}; later requests wait behind it" in words
    assert f"next: `chmod u+r {path}` lets JIM read it; or remove the file, and ask again" in words
    assert f"something was requested, but its file was damaged, and was put aside as {damaged}" in words
    assert "something was requested" not in home.out("explain", "2")


@pytest.mark.parametrize("words", ["explain 7", "retry 7", "show 7"])
def test_an_accepted_request_that_cannot_be_read_is_named(home, bar, words):
    (path,) = bar("request-61")
    damaged = put(home, "request-62")
    put(home, WISH)
    assert str(path) not in home.run("explain", "8")[2], "no door has accepted it"
    (home.site.state / "answers/7").touch()
    code, out, err = home.run(*words.split())
    assert (code, out) == (4, "")
    assert " ".join(err.split()) == (
        f"jim: there is no grid job 7 in {home.site.state}; {path} may be its request: `chmod u+r {path}` lets JIM "
        f"read it; {damaged} may be its request, but is damaged: submit the request again"
    )


def test_site_check_counts_and_names_both(home, bar):
    state = home.site.state
    assert check._inbox(state) == check.Finding("", "ok", "every request and wish can be read")
    (path,) = bar("request-61")
    found = check._inbox(state)
    assert (found.level, found.said) == (
        "warning",
        f"in {state}/inbox: 1 file (request-61) cannot be read by this account",
    )
    assert found.todo == f"`chmod u+r {path}` lets JIM read it; or remove the file"
    for n in range(7):
        put(home, f"request-{n}")
    found = check._inbox(state)
    names = ", ".join(f".unreadable-request-{n}" for n in range(5))
    assert found.said.endswith(f"by this account; 7 files ({names}, 2 more) are damaged")
    assert found.todo.endswith("; submit the request, or ask for the wish, again; then remove the damaged file")


def test_the_page_of_the_site_counts_both(home, bar):
    bar("request-61", WISH)
    put(home, "request-62")
    found = look_around(View(home.site, home.store))
    assert (found.barred, found.put_aside) == (2, 1)


def test_a_file_that_is_taken_just_now_is_not_barred(home, monkeypatch):
    monkeypatch.setattr(inbox, "names", lambda state: ["request-gone"])
    assert untaken_files.barred(home.site.state) == []
