"""The log of what administrators did."""

import os

import pytest

from jim.errors import JimError
from jim.site.acts import Act, record, recorded
from jim.site.file import Site

FIRST = Act("2026-01-31T12:00:00.000Z", "site drain", "until then; disks\x1b", "root, by the command line")
SECOND = Act("2026-01-31T12:00:01.000Z", "keeper --end", "", "mc, by the command line")


def test_what_was_recorded_is_read_and_what_makes_no_sense_is_left_out(tmp_path):
    log = tmp_path / "acts.jsonl"
    assert list(recorded(log)) == []
    record(log, FIRST, 0o644)
    with log.open("ab") as file:
        file.write(b'\xff{\n[]\n{"at": 1}\nhalf a line')
    record(log, SECOND, 0o644)
    assert list(recorded(log)) == [FIRST, SECOND]
    assert log.stat().st_mode & 0o777 == 0o644


def test_what_was_named_is_cut_where_it_is_too_long(tmp_path):
    record(tmp_path / "log", FIRST._replace(of="x" * 3000))
    (found,) = recorded(tmp_path / "log")
    assert found.of == "x" * 2000


def test_a_log_that_cannot_be_written_is_no_secret(tmp_path):
    with pytest.raises(JimError) as refused:
        record(tmp_path / "none/log", SECOND)
    assert (
        str(refused.value)
        == f"keeper --end is done, but {tmp_path}/none/log cannot record it: No such file or directory"
    )


def test_a_pipe_in_place_of_the_log_holds_nobody(tmp_path):
    os.mkfifo(tmp_path / "log")
    assert list(recorded(tmp_path / "log")) == []


def test_what_root_did_for_all_accounts_has_a_log_of_its_own(tmp_path):
    ours, theirs = (Site(state=tmp_path / name, managed=True) for name in ("mc", "cms"))
    assert ours.shared_acts == theirs.shared_acts == tmp_path / ".acts.jsonl"
    assert ours.acts == tmp_path / "mc/acts.jsonl"
    assert ours._replace(managed=False).shared_acts == ours.acts
