"""Torque, where it differs from PBS."""

from __future__ import annotations

import pytest

from jim.adapters.torque import ADAPTER
from jim.model import Resources

TORQUE = ADAPTER()


def test_resources_have_torque_s_names():
    asked = Resources(wall_seconds=3600, memory_mb=2000, cores=4, disk_mb=500)
    assert list(TORQUE.wanted(asked)) == ["walltime=3600", "nodes=1:ppn=4", "mem=2000mb", "file=500mb"]
    assert list(TORQUE.wanted(Resources())) == []


@pytest.mark.parametrize(("size", "words"), [(1, ["-r", "n"]), (3, ["-r", "n", "-t", "1-3"])])
def test_only_several_jobs_are_an_array(size, words):
    assert TORQUE.array(size) == words


def test_members_are_named_one_by_one_and_a_whole_array_with_empty_brackets():
    assert list(TORQUE.names([("4[].server", 2), ("4[].server", 0), ("5.server", 1)])) == [
        "4[2].server",
        "4[].server",
        "5.server",
    ]


@pytest.mark.parametrize(
    ("name", "index", "mark"),
    [
        ("jim-cafe-1-1-2", "2", "jim-cafe-1-1"),
        ("jim-cafe-1-1[2]", "2", "jim-cafe-1-1"),
        ("jim-cafe-1-1", None, "jim-cafe-1-1"),
        ("jim-cafe-1-12", "2", "jim-cafe-1-12"),  # not an index
    ],
)
def test_the_mark_is_the_name_without_the_index(name, index, mark):
    assert TORQUE.mark(name, index) == mark


def test_torque_s_own_numbers_mean_other_limits_than_those_of_pbs():
    assert (TORQUE.reasons[-10], TORQUE.reasons[-11], TORQUE.reasons[-12]) == (
        "memory limit",
        "wall time limit",
        "CPU time limit",
    )
