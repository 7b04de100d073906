"""The places by which a process of JIM's tasks is known, whatever became of the claim."""

from __future__ import annotations

import os

import pytest

from jim.localbatch.places import places, seen_below

NONCE = "73f56a2c-1245-44f8-ad5d-17f44022cfc2"


def seen(tmp_path, *paths):
    pattern = places(str(tmp_path / "job.sh"), 1)
    return [bool(pattern.match(path)) for path in paths]


def test_the_directory_of_its_index_and_its_scratch(tmp_path):
    (tmp_path / "claim.1").write_text(f"nonce {NONCE}\nhost h\n")
    own = f"{tmp_path}/run.1", f"{tmp_path}/run.1/a/b", f"{tmp_path}/run.1 (deleted)"
    scratch = f"/disk/jim-{NONCE}", f"/disk/jim-{NONCE}/a\nb"
    assert seen(tmp_path, *own, *scratch) == [True] * 5
    assert (
        seen(tmp_path, str(tmp_path), f"{tmp_path}/run.10", f"/x{tmp_path}/run.1", f"/disk/jim-{NONCE}0") == [False] * 4
    )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda claim: None,
        lambda claim: claim.write_text(""),
        lambda claim: claim.write_text("nonce .*\n"),
        lambda claim: claim.write_bytes(bytes(range(256))),
        os.mkfifo,
        os.mkdir,
        lambda claim: claim.symlink_to("/etc/passwd"),
    ],
)
def test_a_spoilt_claim_leaves_the_directory(tmp_path, spoil):
    spoil(tmp_path / "claim.1")
    assert seen(tmp_path, f"{tmp_path}/run.1", "/disk/jim-", "/disk/jim-x") == [True, False, False]


HERE = "2a41d3c4-0f43-4a4a-9a42-9d5c1f0a7c11"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (f"boot {HERE}\n12 345\n6 78\nend\n", {(12, 345), (6, 78)}),
        (f"boot {HERE}\nend\n", set()),
        (f"boot {HERE}\n12 345\n", set()),
        (f"boot {HERE}\n12 345\nend", set()),
        (f"boot {HERE}\n12 x\nend\n", set()),
        (f"boot {HERE}0\n12 345\nend\n", set()),
        ("12 345\nend\n", set()),
        ("", set()),
    ],
)
def test_what_a_toucher_has_seen_counts_if_it_is_whole_and_of_this_boot(tmp_path, told, expected):
    (tmp_path / "claim.1").write_text(f"nonce {NONCE}\n")
    assert seen_below(str(tmp_path / "job.sh"), 1, HERE) == set()
    (tmp_path / f"known.1.{NONCE}").write_text(told)
    assert seen_below(str(tmp_path / "job.sh"), 1, HERE) == expected


def test_a_list_of_another_claim_or_behind_a_link_does_not_count(tmp_path):
    (tmp_path / "other").write_text(f"boot {HERE}\n12 345\nend\n")
    (tmp_path / f"known.1.{NONCE}").symlink_to("other")
    assert seen_below(str(tmp_path / "job.sh"), 1, HERE) == set()
    (tmp_path / "claim.1").write_text(f"nonce {NONCE}\n")
    assert seen_below(str(tmp_path / "job.sh"), 1, HERE) == set()


def test_names_are_no_patterns(tmp_path):
    odd = tmp_path / "a(b.*"
    assert seen(odd, f"{odd}/run.1", f"{tmp_path}/a(bc/run.1", f"{odd}/runx1") == [True, False, False]


def test_a_carrier_is_where_those_are_that_it_has_begun_and_not_ended(tmp_path):
    (tmp_path / "carried.1").write_text("1\n4\n7\n")
    (tmp_path / "exit.4").touch()
    (tmp_path / "claim.7").write_text(f"nonce {NONCE}\n")
    (tmp_path / f"known.7.{NONCE}").write_text(f"boot {HERE}\n12 345\nend\n")
    paths = [f"{tmp_path}/run.{index}" for index in (1, 4, 7, 10)]
    assert seen(tmp_path, *paths, f"/disk/jim-{NONCE}") == [True, False, True, False, True]
    assert seen_below(str(tmp_path / "job.sh"), 1, HERE) == {(12, 345)}


@pytest.mark.parametrize("told", ["", "x\n", "1 2\n", "-1\n"])
def test_what_no_carrier_has_written_is_passed_over(tmp_path, told):
    (tmp_path / "carried.1").write_text(told)
    assert seen(tmp_path, f"{tmp_path}/run.1", f"{tmp_path}/run.2") == [True, False]


def test_what_another_carrier_was_quicker_to_claim_is_no_place_of_this_one(tmp_path):
    """It has noted 1 and 4 before it lost both claims, or has noted nothing and come too late for 1."""
    (tmp_path / "carried.1").write_text("1\n4\n7\n")
    for index, carrier in ((1, 2), (4, 3), (7, 1)):
        (tmp_path / f"claim.{index}").write_text(f"nonce {NONCE}\nhost h\ncarrier {carrier}\nstarted x\n")
    paths = [f"{tmp_path}/run.{index}" for index in (1, 4, 7)]
    assert seen(tmp_path, *paths) == [False, False, True]
    (tmp_path / "exit.7").touch()
    assert seen(tmp_path, *paths) == [False, False, False]
    (tmp_path / "carried.1").unlink()
    assert seen(tmp_path, *paths) == [False, False, False]
    assert not seen(tmp_path, "/", "")[0]
