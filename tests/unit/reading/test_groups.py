"""Reasons that differ in numbers and names alone are one group."""

from __future__ import annotations

import pytest

from jim.jobs import Alike
from jim.model import Kind, Reason
from jim.reading.groups import Group, alike, grouped


@pytest.mark.parametrize(
    ("words", "group"),
    [
        ("node failure on wn013", "node failure on *"),
        ("node failure on wn013.cern.ch, again", "node failure on *, again"),
        ("exit 139: Segmentation fault", "exit 139: Segmentation fault"),
        ("killed by signal 9: by the site", "killed by signal 9: by the site"),
        ("time limit: it ran for 7,201 s", "time limit: it ran for * s"),
        ("no space on /scratch/12/x y", "no space on * y"),
        ("'z 1.dat' is not there", "* is not there"),
        ("quota of alice is used up", "quota of * is used up"),
        ("malice", "malice"),
        ("a*b", "a*b"),
        ("", ""),
        ("\x00k\x00 exit 3", "*k* exit 3"),
        ("exit 3, then exit 4 on wn7", "exit 3, then exit 4 on *"),
    ],
)
def test_numbers_and_names_are_left_out(words: str, group: str) -> None:
    assert alike(words, ("alice", "")) == group


def test_groups_are_counted_and_the_most_frequent_comes_first() -> None:
    found = [
        Alike(Reason(Kind.EXIT, {}, "exit 3"), 2),
        Alike(Reason(Kind.NODE, {}, "node failure on wn1"), 1),
        Alike(Reason(Kind.NODE, {}, "node failure on wn2"), 4),
        Alike(Reason(Kind.UNKNOWN, {}, "lost on wn3"), 1),
    ]
    assert grouped(found) == [
        Group("node failure on *", 5, 2),
        Group("exit 3", 2, 1),
        Group("lost on wn3", 1, 1),  # as it was written, for there is no other
    ]


def test_the_same_words_of_another_kind_are_another_group() -> None:
    found = [Alike(Reason(kind, {}, f"lost {n}"), 1) for n, kind in enumerate((Kind.LOST, Kind.LOST, Kind.VANISHED))]
    assert grouped(found) == [Group("lost *", 2, 2), Group("lost 2", 1, 1)]
